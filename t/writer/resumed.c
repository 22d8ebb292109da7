/* SPDX-License-Identifier: BSD-3-Clause
 * A writer that was killed while several threads had chunks that it had stored in part: recover goes on in each where the writer
 * had stopped, and what stood in the file's tail is what was recorded. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PART = 100 };

static struct fixture *current;

/* A part of its marks, and another when it is told so: `go` counts. */
static void *record(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    (void)recorder_thread_attach(&recorder_self, false);
    for (uint64_t part = 0;; part++) {
        while (atomic_load(&current->shared->go) < part)
            fixture_sleep_ms(1);
        for (uint64_t i = 0; i < PART; i++)
            (void)recorder_emit(&recorder_self, EV_MARK_SET, me, part * PART + i);
        atomic_fetch_add(&current->shared->emitted[me], PART);
    }
    return NULL;
}

static void produce(struct fixture *f, struct producer *p)
{
    pthread_t thread;
    (void)p;
    current = f;
    for (uintptr_t i = 0; i < THREADS; i++)
        (void)pthread_create(&thread, NULL, record, (void *)i);
    for (;;)
        (void)pause();
}

static void wait_for_part(struct fixture *f, uint64_t part)
{
    for (int i = 0; i < THREADS; i++)
        while (atomic_load(&f->shared->emitted[i]) < part * PART)
            fixture_sleep_ms(1);
}

static void judge(struct fixture *f, uint64_t parts)
{
    struct rt_rank *rank = fixture_open(f);
    struct rt_error e = {{0}};
    struct rt_event *rows = NULL;
    size_t count = 0;
    uint64_t next[THREADS] = {0};
    bool order = true, all = true;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0)
        diag("%s", e.text);
    for (size_t i = 0; i < count; i++)
        if (rows[i].code == EV_MARK_SET && rows[i].a < THREADS)
            order &= rows[i].b == next[rows[i].a]++;
    for (int i = 0; i < THREADS; i++) {
        all &= next[i] == parts * PART;
        diag("thread %d: %" PRIu64 " of %" PRIu64, i, next[i], parts * PART);
    }
    ok(all, "every thread's marks are there, those before and those after the last commit");
    ok(order, "once and in order");
    is_u64(rt_rank_tables(rank)->loss_count, 0, "nothing is said to be lost");
    free(rows);
    rt_rank_close(rank);
}

int main(void)
{
    struct fixture f;
    struct rt_recovered r;
    fixture_begin(&f);
    pid_t pid = fixture_run(&f, produce);
    wait_for_part(&f, 1);
    for (uint32_t part = 1; part < 4; part++) {
        fixture_sleep_ms(
            1300); /* the tail is stored once a second: so much of each open chunk is in the file */
        atomic_store(&f.shared->go, part);
        wait_for_part(&f, part + 1);
    }
    (void)kill(atomic_load(&f.shared->writer), SIGKILL);
    atomic_store(&f.shared->go, 4);
    wait_for_part(&f, 5);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    (void)fixture_wait_all(20);
    is_int(fixture_recover(&f, &r), 0, "recover");
    diag("%" PRIu64 " events from the file, %" PRIu64 " from the stream", r.from_file,
         r.from_stream);
    judge(&f, 5);
    fixture_end(&f);
    return done_testing();
}
