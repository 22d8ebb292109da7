/* SPDX-License-Identifier: BSD-3-Clause
 * Kills the process or its writer by SIGKILL at random moments: every event that was logged as
 * emitted is found, once and in order. The first argument or REGTRACE_ROUNDS sets the number of
 * rounds; the seed is then new each time. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "t/writer/gave_up.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 3, BURST = 64 };

static struct fixture *current;

/* Emits forever and logs in shared memory how many events are complete. Pauses at times, so that
 * kills hit full chunks, tails and idle phases alike. */
static void *emit(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    (void)recorder_thread_attach(&recorder_self, false);
    unsigned seed = (unsigned)me;
    for (uint64_t i = 0;; i++) {
        if (i % 5000 == 0) {
            uint64_t more[3] = {UINT64_MAX, i, 0xffff};
            (void)recorder_emit_long(&recorder_self, EV_WINDOW_OPEN, (i / 5000) | UINT64_C(1) << 33,
                                     0, more, 1);
        }
        (void)recorder_emit(&recorder_self, EV_MARK_SET, me, i);
        atomic_store_explicit(&current->shared->emitted[me], i + 1, memory_order_release);
        if (i % 5000 == 4999) {
            uint64_t more[3] = {UINT64_MAX, i, 0xffff};
            (void)recorder_emit_long(&recorder_self, EV_WINDOW_CLOSE, i / 5000, 0, more, 1);
        }
        if (i % BURST == 0 && rand_r(&seed) % 100 == 0)
            fixture_sleep_ms(rand_r(&seed) % 8);
    }
    return NULL;
}

static void produce(struct fixture *f, struct producer *p)
{
    pthread_t thread;
    (void)p;
    current = f;
    for (uintptr_t i = 0; i < THREADS; i++)
        (void)pthread_create(&thread, NULL, emit, (void *)i);
    atomic_store(&f->shared->started, 1);
    for (;;)
        (void)pause();
}

struct verdict {
    uint64_t missing, doubled, misplaced, damaged_windows, losses;
};

static struct verdict compare(struct fixture *f, struct rt_rank *rank, bool allow_dropped)
{
    struct verdict v = {0};
    struct rt_error e = {{0}};
    struct rt_event *rows;
    size_t count;
    uint64_t next[THREADS] = {0};
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0) {
        diag("%s", e.text);
        v.missing = UINT64_MAX;
        return v;
    }
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code != EV_MARK_SET || rows[i].a >= THREADS)
            continue;
        uint64_t *n = &next[rows[i].a];
        v.doubled += rows[i].b < *n;
        if (rows[i].b > *n && !allow_dropped)
            diag("thread %d: after %" PRIu64 " comes %" PRIu64 " in row %zu", rows[i].thread, *n,
                 rows[i].b, i);
        v.misplaced += rows[i].b > *n && !allow_dropped;
        *n = rows[i].b + 1;
    }
    for (int i = 0; i < THREADS; i++)
        if (next[i] < atomic_load(&f->shared->emitted[i]) && !allow_dropped)
            v.missing += atomic_load(&f->shared->emitted[i]) - next[i];
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->window_count; i++) {
        const struct rt_window *w = &t->windows[i];
        bool open_row = w->open_row < count && rows[w->open_row].code == EV_WINDOW_OPEN &&
                        (int32_t)rows[w->open_row].a == w->ordinal;
        bool close_row = w->truncated
                             ? w->reason == RT_WINDOW_KILLED
                             : w->close_row < count && rows[w->close_row].code == EV_WINDOW_CLOSE &&
                                   (int32_t)rows[w->close_row].a == w->ordinal;
        v.damaged_windows += !open_row || !close_row || w->stop_clock < w->start_clock;
    }
    /* A thread may die between taking a slot and filling it (a long record takes a few slots);
     * nothing else may be lost. */
    for (size_t i = 0; i < t->loss_count; i++)
        v.losses += t->losses[i].kind != RT_LOSS_INCOMPLETE || t->losses[i].count > 2;
    free(rows);
    return v;
}

static uint64_t count_opened(struct rt_rank *rank)
{
    struct rt_error e;
    struct rt_event *rows;
    size_t count;
    uint64_t n = 0;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0)
        return UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        n += rows[i].code == EV_WINDOW_OPEN;
    free(rows);
    return n;
}

static void start(struct fixture *f, pid_t *pid)
{
    fixture_begin(f);
    f->geometry = (struct stream_geometry){.pool_bytes = 1u << 20};
    *pid = fixture_run(f, produce);
    while (atomic_load(&f->shared->started) == 0)
        fixture_sleep_ms(1);
    for (int i = 0; i < THREADS; i++) /* a process that recorded nothing rightly has no file */
        while (atomic_load(&f->shared->emitted[i]) == 0)
            fixture_sleep_ms(1);
}

static bool judge(struct fixture *f, int want_state, bool allow_dropped, const char *what,
                  int round)
{
    struct rt_rank *rank = fixture_open(f);
    if (gave_up(rank)) {
        diag("%s, round %d: the writer was without progress for 2 s", what, round);
        allow_dropped = true;
    }
    struct verdict v = compare(f, rank, allow_dropped);
    bool windows = count_opened(rank) == rt_rank_tables(rank)->window_count;
    bool good = v.missing == 0 && v.doubled == 0 && v.misplaced == 0 && v.damaged_windows == 0 &&
                (v.losses == 0 || allow_dropped) && windows &&
                (int)rt_rank_info(rank)->state == want_state;
    if (!good)
        diag("%s, round %d: missing %" PRIu64 ", doubled %" PRIu64 ", misplaced %" PRIu64
             ", false losses %" PRIu64 ", damaged windows %" PRIu64
             ", windows %s, state %d, %" PRIu64 " events",
             what, round, v.missing, v.doubled, v.misplaced, v.losses, v.damaged_windows,
             windows ? "all" : "differ", (int)rt_rank_info(rank)->state,
             rt_rank_info(rank)->event_count);
    rt_rank_close(rank);
    return good;
}

static bool kill_process(int round, unsigned *seed)
{
    struct fixture f;
    pid_t pid;
    start(&f, &pid);
    fixture_sleep_ms(rand_r(seed) % (round % 4 == 0 ? 2500 : 300));
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    bool good = fixture_wait_all(20 * slowdown());
    if (!good)
        diag("round %d: the writer did not end", round);
    good = good && judge(&f, RT_FILE_CLOSED, false, "process killed", round);
    good &= access(f.stream, F_OK) != 0;
    fixture_end(&f);
    return good;
}

/* Kills the writer, then the process (at once or later), and recovers. Everything emitted before
 * the process ended must be there, unless the process dropped events for lack of a writer: then
 * only the order counts. */
static bool kill_writer(int round, unsigned *seed)
{
    struct fixture f;
    pid_t pid;
    start(&f, &pid);
    fixture_sleep_ms(rand_r(seed) % (round % 4 == 0 ? 2500 : 300));
    (void)kill(atomic_load(&f.shared->writer), SIGKILL);
    bool later = round % 3 == 0;
    if (later)
        fixture_sleep_ms(20);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    bool good = fixture_wait_all(20 * slowdown());
    struct rt_recovered r = {.result = RT_RECOVER_FAILED};
    int rc = fixture_recover(&f, &r);
    if (rc != 0 || r.result != RT_RECOVER_DONE)
        diag("round %d: recover %d: %s", round, rc, r.text);
    good = good && rc == 0 && r.result == RT_RECOVER_DONE &&
           judge(&f, RT_FILE_RECOVERED, false, "writer killed", round);
    good &= access(f.stream, F_OK) != 0;
    fixture_end(&f);
    return good;
}

int main(int argc, char **argv)
{
    const char *asked = argc > 1 ? argv[1] : getenv("REGTRACE_ROUNDS");
    int rounds = asked != NULL ? atoi(asked) : 1 + 19 / slowdown();
    unsigned seed = argc > 2 ? (unsigned)atoi(argv[2]) : asked != NULL ? (unsigned)getpid() : 1;
    diag("seed %u, %d rounds each", seed, rounds);
    int good = 0;
    for (int i = 0; i < rounds; i++)
        good += kill_process(i, &seed);
    is_int(good, rounds,
           "process killed: its file closes and holds every event emitted, in each round");
    good = 0;
    for (int i = 0; i < rounds; i++)
        good += kill_writer(i, &seed);
    is_int(
        good, rounds,
        "writer killed: recover finds every event that the file or the stream held, in each round");
    return done_testing();
}
