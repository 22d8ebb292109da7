/* SPDX-License-Identifier: BSD-3-Clause
 * Events that a process drops before and after its writer is killed. recover counts each once, by
 * thread and in /losses, no matter whether the file has the report of them, only the stream has it,
 * or only the thread counted them. Also tests what the file says if the stream is gone. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20000, FEW = 100 };

static void emit(struct fixture *f, uint64_t count)
{
    uint64_t from = atomic_load(&f->shared->emitted[0]);
    for (uint64_t i = 0; i < count; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 0, from + i);
    atomic_store(&f->shared->seen[1], atomic_load(&recorder_self.row->dropped));
    atomic_store(&f->shared->emitted[0], from + count);
}

/* Step 1 emits more than the stream holds, while the writer is stopped. Step 2 emits a few events
 * when the writer has made room, with the report of the events dropped before. Step 3 emits more
 * than the stream holds again, when the writer is dead. */
static void produce(struct fixture *f, struct producer *p)
{
    p->stream.header->flags |= STREAM_FLAG_DROP;
    for (uint32_t step = 1;; step++) {
        while (atomic_load(&f->shared->go) < step)
            fixture_sleep_ms(1);
        emit(f, step == 2 ? FEW : MANY);
        atomic_store(&f->shared->started, step);
        if (step == 1)
            while (atomic_load(&p->stream.header->chunks_freed) == 0)
                fixture_sleep_ms(1);
        atomic_store(&f->shared->seen[0], step);
    }
}

static void step(struct fixture *f, uint32_t n)
{
    atomic_store(&f->shared->go, n);
    while (atomic_load(&f->shared->started) < n)
        fixture_sleep_ms(1);
}

static uint64_t count_marks(struct rt_rank *rank, uint64_t *reports)
{
    struct rt_error e = {{0}};
    struct rt_event *rows = NULL;
    size_t count = 0;
    uint64_t marks = 0;
    *reports = 0;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0)
        diag("%s", e.text);
    for (size_t i = 0; i < count; i++) {
        marks += rows[i].code == EV_MARK_SET;
        *reports += rows[i].code == EV_DROPPED;
    }
    free(rows);
    return marks;
}

/* Waits until everything that was not dropped is in the file: the writer stores it once a second,
 * or later on a busy machine. */
static void wait_until_stored(struct fixture *f)
{
    uint64_t all = atomic_load(&f->shared->emitted[0]) - atomic_load(&f->shared->seen[1]);
    for (int i = 0; i < 600; i++) {
        uint64_t reports;
        struct rt_rank *rank = fixture_open(f);
        uint64_t marks = count_marks(rank, &reports);
        rt_rank_close(rank);
        if (marks == all)
            return;
        fixture_sleep_ms(100);
    }
    diag("not stored within a minute");
}

enum report { IN_FILE, IN_STREAM, STREAM_GONE, NOT_REPORTED };

/* Runs the steps until process and writer are dead. */
static void run(struct fixture *f, enum report where)
{
    fixture_begin(f);
    f->geometry = (struct stream_geometry){.pool_bytes = 256u << 10};
    pid_t pid = fixture_run(f, produce);
    while (atomic_load(&f->shared->writer) == 0)
        fixture_sleep_ms(1);
    pid_t writer = atomic_load(&f->shared->writer);
    (void)kill(writer, SIGSTOP);
    step(f, 1);
    (void)kill(writer, SIGCONT);
    while (atomic_load(&f->shared->seen[0]) < 1)
        fixture_sleep_ms(1);
    if (where == IN_STREAM)
        (void)kill(writer, SIGSTOP);
    step(f, 2);
    if (where == NOT_REPORTED) { /* drops, and no later event that could report them */
        (void)kill(writer, SIGSTOP);
        step(f, 3);
        (void)kill(writer, SIGCONT);
    }
    if (where != IN_STREAM)
        wait_until_stored(f);
    (void)kill(writer, SIGKILL);
    if (where == IN_FILE || where == IN_STREAM)
        step(f, 3);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    (void)fixture_wait_all(20);
    if (where == STREAM_GONE || where == NOT_REPORTED)
        (void)unlink(f->stream);
}

static void judge(struct fixture *f, const char *what, enum report where)
{
    struct rt_recovered r;
    uint64_t reports, lost = 0, emitted = atomic_load(&f->shared->emitted[0]);
    ok(fixture_recover(f, &r) == 0, "%s: recover", what);
    struct rt_rank *rank = fixture_open(f);
    uint64_t marks = count_marks(rank, &reports);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->loss_count; i++)
        lost += t->losses[i].kind == RT_LOSS_DROPPED ? t->losses[i].count : 0;
    diag("%" PRIu64 " events from the file, %" PRIu64 " from the stream, %" PRIu64
         " marks of %" PRIu64,
         r.from_file, r.from_stream, marks, emitted);
    ok(marks > FEW && marks < emitted && reports > 0, "%s: some were dropped, and that is an event",
       what);
    ok(lost == emitted - marks, "%s: /losses says how many (%" PRIu64 ")", what, lost);
    ok(t->thread_count == 1 && t->threads[0].dropped == emitted - marks,
       "%s: so does the thread's row", what);
    ok(where >= STREAM_GONE ? r.from_stream == 0 : r.from_stream >= FEW,
       "%s: the rest came from where it should", what);
    rt_rank_close(rank);
    fixture_end(f);
}

int main(void)
{
    struct fixture f;
    run(&f, IN_FILE);
    judge(&f, "reported in the file", IN_FILE);
    run(&f, IN_STREAM);
    judge(&f, "reported in the stream", IN_STREAM);
    run(&f, STREAM_GONE);
    judge(&f, "stream gone", STREAM_GONE);
    run(&f, NOT_REPORTED);
    judge(&f, "stream gone, not reported", NOT_REPORTED);
    return done_testing();
}
