/* SPDX-License-Identifier: BSD-3-Clause
 * Unit tests of mpi/ that need no MPI: names, safe reading of strings, numbers of partitioned
 * messages, cut edges, arguments that are passed through. */
#include "mpi/mpi.h"
#include "mpi/functions.h"
#include "mpi/number_keys.h"
#include "t/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void test_names(void)
{
    ok(event_mpi_functions == MPI_FUNCTIONS, "as many names as numbers");
    is_str(event_mpi_name(MPI_NUMBER_Send), "MPI_Send", "a name");
    is_str(event_mpi_name(MPI_FUNCTIONS - 1), "MPIX_Grequest_start", "the last name");
    ok(event_mpi_name(MPI_FUNCTIONS) == NULL, "none beyond it");
    bool good = true;
    for (uint32_t f = 0; f < MPI_FUNCTIONS; f++) {
        good &= EVENT_IS_MPI_ENTER(EVENT_MPI_ENTER(f)) && !EVENT_IS_MPI_LEAVE(EVENT_MPI_ENTER(f));
        good &= EVENT_IS_MPI_LEAVE(EVENT_MPI_LEAVE(f)) && !EVENT_IS_MPI_ENTER(EVENT_MPI_LEAVE(f));
        good &= EVENT_MPI_FUNCTION(EVENT_MPI_ENTER(f)) == f &&
                EVENT_MPI_FUNCTION(EVENT_MPI_LEAVE(f)) == f;
        good &= event_find(EVENT_MPI_ENTER(f)) == NULL && event_find(EVENT_MPI_LEAVE(f)) == NULL;
    }
    ok(good, "every number goes into codes and back, and meets no other event");
}

static void test_strings(void)
{
    char buffer[16];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    is_int(mpi_read_string((uint64_t)(uintptr_t) "solve", buffer, sizeof buffer), 5,
           "a string has its length");
    is_str(buffer, "solve", "and its text");
    is_int(mpi_read_string((uint64_t)(uintptr_t) "", buffer, sizeof buffer), 0, "the empty string");
    is_int(mpi_read_string((uint64_t)(uintptr_t) "0123456789abcdefgh", buffer, sizeof buffer), 15,
           "a long one is cut");
    is_str(buffer, "0123456789abcde", "and ended");
    const uint64_t bad[] = {
        0, 1, 0xfff, UINT64_MAX, 0x8000000000000000u, 0x00007ffffffff000u, 0xffffffff81000000u};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        if (!ok(mpi_read_string(bad[i], buffer, sizeof buffer) == -1,
                "unreadable address %zu is refused", i))
            diag("address %llx", (unsigned long long)bad[i]);
    }
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (two == MAP_FAILED || mprotect(two + page, page, PROT_NONE) != 0)
        exit(99);
    memcpy(two + page - 4, "end", 4);
    is_int(mpi_read_string((uint64_t)(uintptr_t)(two + page - 4), buffer, sizeof buffer), 3,
           "up to the last byte of a page");
    memcpy(two + page - 4, "over", 4);
    is_int(mpi_read_string((uint64_t)(uintptr_t)(two + page - 4), buffer, sizeof buffer), -1,
           "not beyond it");
    is_int(mpi_read_string((uint64_t)(uintptr_t) "x", buffer, 0), -1, "no room");
}

/* --- numbers of partitioned messages ---------------------------------------------------------- */

enum { SOME_COMM = 5 };

static mpi_number made_one(int tag, bool a_send)
{
    struct mpi_partitioned p = mpi_partitioned_begin(SOME_COMM, 1, tag, a_send);
    mpi_partitioned_made(&p, true);
    return p.number;
}

/* The numbers of a key's requests lie one after the other, and none is that of another message. */
static void test_partitioned_numbers(void)
{
    bool apart = true, ends = true;
    uint64_t last = 0;
    for (uint64_t order = 0; order < 70000; order++) {
        mpi_number n = made_one(0, true);
        unsigned bits = 0;
        while (order >> bits != 0)
            bits++;
        apart &= n > last && event_is_partitioned(n) && mpi_is_partitioned(n);
        apart &= mpi_partitioned_next(n) == n + 1;
        last = n + (UINT64_C(1) << (40 - bits)) - 1;
        apart &= last < EVENT_NO_NUMBER && event_is_partitioned(last);
        ends &= mpi_partitioned_next(last - 1) == last && mpi_partitioned_next(last) == NO_NUMBER;
    }
    ok(apart, "requests of a key have numbers apart from each other");
    ok(ends, "... until there are no more");
    ok(!mpi_is_partitioned(NO_NUMBER) && !mpi_is_partitioned(NUMBER_LOST) &&
           !mpi_is_partitioned(mpi_number_send(SOME_COMM, 1, 0)) &&
           !event_is_partitioned(EVENT_NO_NUMBER),
       "other numbers are not taken for them");
}

static void test_partitioned_calls(void)
{
    mpi_number first = made_one(1, true), second = made_one(1, true);
    ok(made_one(1, false) == first && made_one(1, false) == second,
       "requests of sends and of receives count apart, and alike");
    struct mpi_partitioned a = mpi_partitioned_begin(SOME_COMM, 1, 1, false);
    mpi_partitioned_made(&a, false);
    mpi_number third = made_one(1, true);
    ok(made_one(1, false) == third, "a call that fails does not count");
    uint64_t before = mpi_messages_unnumbered;
    a = mpi_partitioned_begin(SOME_COMM, 1, 1, true);
    struct mpi_partitioned b = mpi_partitioned_begin(SOME_COMM, 1, 1, true);
    mpi_partitioned_made(&a, true);
    mpi_partitioned_made(&b, true);
    ok(a.number == NO_NUMBER && b.number == NO_NUMBER && mpi_messages_unnumbered == before + 2,
       "of calls at once nobody knows the order: they are counted");
    (void)made_one(1, false);
    (void)made_one(1, false);
    ok(made_one(1, true) == made_one(1, false), "later ones have their places");
}

static struct stream stream;

static void start_recording(void)
{
    char path[64];
    struct rt_error e = {{0}};
    struct stream_geometry g = {.pool_bytes = 1u << 20};
    (void)snprintf(path, sizeof path, "/dev/shm/regtrace-unit-%d", (int)getpid());
    clock_init(false);
    if (stream_create(&stream, path, &g, &e) != 0) {
        printf("Bail out! %s\n", e.text);
        exit(99);
    }
    (void)unlink(path);
    recorder_start(&stream);
}

static void test_cuts(void)
{
    struct recorder_thread *t = &recorder_self;
    start_recording();
    ok(recorder_thread_attach(t, false), "attached");
    t->open_calls[0] = MPI_NUMBER_Recv;
    t->open_calls[1] = MPI_NUMBER_Type_size;
    t->open_depth = 2;
    recorder_set_window(t, 0, 1);
    mpi_cut_enters(t);
    mpi_cut_enters(t);
    mpi_cut_leaves(t);
    mpi_cut_leaves(t);
    recorder_set_window(t, STREAM_NO_WINDOW, 0);
    t->open_depth = 0;
    const uint32_t want[4] = {
        EVENT_MPI_ENTER(MPI_NUMBER_Recv), EVENT_MPI_ENTER(MPI_NUMBER_Type_size),
        EVENT_MPI_LEAVE(MPI_NUMBER_Type_size), EVENT_MPI_LEAVE(MPI_NUMBER_Recv)};
    const uint8_t flags[4] = {EVENT_FLAG_CUT, EVENT_FLAG_CUT | EVENT_FLAG_NESTED,
                              EVENT_FLAG_CUT | EVENT_FLAG_NESTED, EVENT_FLAG_CUT};
    struct event_slot *slot = chunk_slots(t->chunk);
    for (int i = 0; i < 4; i++)
        ok(EVENT_HEAD_CODE(slot[i].head) == want[i] && EVENT_HEAD_FLAGS(slot[i].head) == flags[i],
           "cut edge %d", i);
    ok(atomic_load(&t->cursor) == slot + 4, "each once, however often asked");
}

int main(void)
{
    test_names();
    test_strings();
    mpi_numbering = 1;
    test_partitioned_numbers();
    test_partitioned_calls();
    mpi_numbering = 0;
    test_cuts();
    return done_testing();
}
