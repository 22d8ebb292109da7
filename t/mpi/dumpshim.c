/* SPDX-License-Identifier: BSD-3-Clause
 * Test fixture: a preload object of the MPI wrappers and the recorder alone, which writes its
 * events as text at exit.
 *
 * - DUMPSHIM_OUT=FILE: the text goes to FILE.PID.
 * - DUMPSHIM_IDLE=1: nothing is recorded.
 * - DUMPSHIM_CLOCK=NS,PPM: CLOCK_MONOTONIC is NS ahead and gains PPM us a second, since it was 0.
 * - DUMPSHIM_DISCARD=1: a thread empties full chunks, as the writer would, and discards them (for
 *   measuring).
 *
 * A line: clock-order-number tid code-name flags a b, where code-name is +MPI_X, -MPI_X or an EV_
 * name. */
#include "base/clock.h"
#include "base/format/event.h"
#include "base/format/recorder.h"
#include "mpi/agreement.h"
#include "mpi/mpi.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char stream_path[4096];

static uint32_t sync_always(struct recorder_thread *t)
{
    t->epoch = atomic_load(&recorder_epoch);
    if (recorder_thread_attach(t, false) && getenv("DUMPSHIM_IDLE") == NULL)
        recorder_set_window(t, 0, 1);
    return t->recording;
}

static void note(const char *what, long a, long b)
{
    const char *out = getenv("DUMPSHIM_OUT");
    char path[4096];
    if (out == NULL)
        return;
    (void)snprintf(path, sizeof path, "%s.%d", out, (int)getpid());
    FILE *f = fopen(path, "a");
    if (f != NULL) {
        (void)fprintf(f, "hook %s %ld %ld\n", what, a, b);
        (void)fclose(f);
    }
}

/* The linker replaces clock_gettime() by this one (--wrap). */
int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
    const char *text = getenv("DUMPSHIM_CLOCK");
    long ahead = 0, ppm = 0;
    int rc = __real_clock_gettime(clock, t);
    if (rc != 0 || clock != CLOCK_MONOTONIC || text == NULL ||
        sscanf(text, "%ld,%ld", &ahead, &ppm) != 2)
        return rc;
    long ns = t->tv_sec * 1000000000 + t->tv_nsec;
    ns += ahead + ns / 100 * ppm / 10000;
    t->tv_sec = ns / 1000000000;
    t->tv_nsec = ns % 1000000000;
    return rc;
}

/* Notes when the rank asks the other ranks, which wait 1.5 s or longer. The linker replaces the
 * real function by this one (--wrap). */
bool __real_agreement_all_here(int rank, int size);
bool __wrap_agreement_all_here(int rank, int size);
bool __wrap_agreement_all_here(int rank, int size)
{
    uint64_t now = clock_monotonic_ns();
    bool answer = __real_agreement_all_here(rank, size);
    note("asked", (long)(now / 1000000), answer);
    return answer;
}

static void init_begin(void)
{
    note("init_begin", 0, 0);
}
static void init_done(int rank, int size, int thread_level, int abi)
{
    note("init_done", rank, size);
    note("level_abi", thread_level, abi);
    if (recorder_stream.base != NULL)
        note("clock", atomic_load(&recorder_stream.header->clock_offset_ns),
             atomic_load(&recorder_stream.header->clock_error_ns));
    note("begin", (long)clock_monotonic_ns(), 0);
}
static void finalize_begin(void)
{
    note("end", (long)clock_monotonic_ns(), 0);
    note("finalize_begin", 0, 0);
}
static void finalize_done(void)
{
    note("finalize_done", 0, 0);
    if (recorder_stream.base == NULL)
        return;
    struct stream_header *h = recorder_stream.header;
    note("final", atomic_load(&h->clock_offset_ns), atomic_load(&h->clock_error_ns));
    note("start_and_drift", (long)h->clock_start.monotonic_ns, (long)(h->clock_drift * 1e9));
}
static void abort_called(int code)
{
    note("abort", code, 0);
}
static int ordinal; /* the open window's, or the last one's */

static void pcontrol(int level, uint64_t second, int is_fortran, void *frame)
{
    char text[64];
    (void)frame;
    note("pcontrol", level, is_fortran ? -2 : mpi_read_string(second, text, sizeof text));
    /* Levels 77 and 78 close and open a window in the middle of the program. */
    if (level == 77)
        mpi_cut_leaves(&recorder_self), recorder_set_window(&recorder_self, -1, 0);
    if (level == 78)
        recorder_set_window(&recorder_self, ++ordinal, 1), mpi_cut_enters(&recorder_self);
}

static void *discard(void *unused)
{
    struct timespec pause = {.tv_nsec = 200000};
    for (;;) {
        for (uint32_t i = 0; i < recorder_stream.header->chunk_count; i++) {
            struct chunk_header *c = stream_chunk(&recorder_stream, i);
            if (atomic_load(&c->state) != CHUNK_CLOSED)
                continue;
            c->generation += (c->generation & 0xffff) == 0xffff ? 2 : 1;
            atomic_store(&c->state, CHUNK_FREE);
            atomic_fetch_add(&recorder_stream.header->chunks_freed, 1);
            atomic_fetch_add(&recorder_stream.header->writer_progress, 1);
        }
        (void)nanosleep(&pause, NULL);
    }
    return unused;
}

__attribute__((constructor)) static void begin(void)
{
    struct rt_error e = {{0}};
    struct stream s;
    struct stream_geometry g = {.pool_bytes =
                                    getenv("DUMPSHIM_DISCARD") != NULL ? 4u << 20 : 256u << 20};
    clock_init(false);
    (void)snprintf(stream_path, sizeof stream_path, "/dev/shm/dumpshim-%d", (int)getpid());
    int r = stream_create(&s, stream_path, &g, &e);
    (void)unlink(stream_path);
    if (r != 0) {
        (void)fprintf(stderr, "dumpshim: %s\n", e.text);
        _exit(99);
    }
    const char *dir = getenv("DUMPSHIM_DIR"); /* the run's folder, as preload/ would set it */
    if (dir != NULL && stream_meta_put(&s, "dir", dir) != 0)
        _exit(98);
    s.header->clock_start.monotonic_ns = clock_monotonic_ns();
    recorder_start(&s);
    recorder_sync = sync_always;
    mpi_hooks = (struct mpi_hooks){.init_begin = init_begin,
                                   .init_done = init_done,
                                   .finalize_begin = finalize_begin,
                                   .finalize_done = finalize_done,
                                   .abort_called = abort_called,
                                   .pcontrol = pcontrol};
    atomic_fetch_add(&recorder_epoch, 1);
    pthread_t thread;
    if (getenv("DUMPSHIM_DISCARD") != NULL && pthread_create(&thread, NULL, discard, NULL) == 0)
        (void)pthread_detach(thread);
}

static void print_slot(FILE *f, uint32_t tid, const struct event_slot *slot)
{
    uint32_t code = EVENT_HEAD_CODE(slot->head);
    char name[64];
    if (EVENT_IS_MPI_ENTER(code) || EVENT_IS_MPI_LEAVE(code))
        (void)snprintf(name, sizeof name, "%c%s", EVENT_IS_MPI_ENTER(code) ? '+' : '-',
                       event_mpi_name(EVENT_MPI_FUNCTION(code)));
    else
        (void)snprintf(name, sizeof name, "%s",
                       event_find(code) != NULL ? event_find(code)->name : "?");
    (void)fprintf(f, "%" PRIu64 " %u %s %u %" PRIu64 " %" PRIu64 "\n", slot->clock, tid, name,
                  EVENT_HEAD_FLAGS(slot->head), slot->a, slot->b);
}

static void print_chunks(FILE *f, uint32_t thread, uint32_t tid)
{
    for (uint64_t sequence = 0;; sequence++) {
        struct chunk_header *found = NULL;
        for (uint32_t i = 0; i < recorder_stream.header->chunk_count; i++) {
            struct chunk_header *c = stream_chunk(&recorder_stream, i);
            if (atomic_load(&c->state) != CHUNK_FREE && c->thread == thread &&
                c->sequence == sequence)
                found = c;
        }
        if (found == NULL)
            return;
        for (uint32_t i = 0; i < stream_chunk_slots(&recorder_stream); i++) {
            const uint64_t head = chunk_slots(found)[i].head;
            if (EVENT_HEAD_MARK(head) == chunk_mark(found) &&
                (EVENT_HEAD_FLAGS(head) & EVENT_FLAG_CONTINUED) == 0)
                print_slot(f, tid, &chunk_slots(found)[i]);
        }
    }
}

__attribute__((destructor)) static void end(void)
{
    const char *out = getenv("DUMPSHIM_OUT");
    char path[4096];
    recorder_stop();
    if (out == NULL)
        return;
    (void)snprintf(path, sizeof path, "%s.%d", out, (int)getpid());
    FILE *f = fopen(path, "a");
    if (f == NULL)
        return;
    uint32_t n = atomic_load(&recorder_stream.header->thread_count);
    for (uint32_t i = 0; i < n && i < recorder_stream.header->thread_capacity; i++)
        print_chunks(f, i, stream_threads(&recorder_stream)[i].tid);
    (void)fclose(f);
}
