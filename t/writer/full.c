/* SPDX-License-Identifier: BSD-3-Clause
 * A full stream: waiting loses nothing and is counted; drops are counted; a writer without progress
 * is given up. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 20000 };
enum { UNTIL_RECORDED = -1 }; /* for run(): the writer is stopped until all events are recorded */

struct outcome {
    uint64_t rows, dropped, reported, waits, lost_rows;
    bool order;
};

static void produce(struct fixture *f, struct producer *p)
{
    while (atomic_load(&f->shared->go) == 0)
        fixture_sleep_ms(1);
    for (uint64_t i = 0; i < EVENTS; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 0, i);
    atomic_store(&f->shared->seen[0], clock_monotonic_ns());
    /* One of the tests stops the writer: gives it time to come back before the end. */
    while (atomic_load(&f->shared->go) != 2)
        fixture_sleep_ms(1);
    _exit(producer_finish(p, STREAM_FINISHED) == WRITER_CLOSED ? 0 : 1);
}

static void produce_dropping(struct fixture *f, struct producer *p)
{
    p->stream.header->flags |= STREAM_FLAG_DROP;
    produce(f, p);
}

static struct outcome look(struct fixture *f)
{
    struct rt_rank *rank = fixture_open(f);
    struct rt_error e;
    struct rt_event *rows = NULL;
    size_t count = 0;
    struct outcome o = {.order = true};
    uint64_t next = 0;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0)
        diag("%s", e.text);
    for (size_t i = 0; i < count; i++) {
        if (rows[i].code == EV_DROPPED)
            o.reported += rows[i].a;
        if (rows[i].code != EV_MARK_SET)
            continue;
        o.rows++;
        o.order &= rows[i].b >= next;
        next = rows[i].b + 1;
    }
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->thread_count; i++) {
        o.dropped += t->threads[i].dropped;
        o.waits += t->threads[i].waits;
    }
    for (size_t i = 0; i < t->loss_count; i++)
        o.lost_rows += t->losses[i].kind == RT_LOSS_DROPPED ? t->losses[i].count : 0;
    free(rows);
    rt_rank_close(rank);
    return o;
}

/* Runs body while the writer is stopped for `stopped_ms`, or UNTIL_RECORDED: the process records
 * more than the stream holds. Sets *took_ms to how long that took. */
static struct outcome run(struct fixture *f, void (*body)(struct fixture *, struct producer *),
                          long stopped_ms, uint64_t *took_ms)
{
    fixture_begin(f);
    f->geometry = (struct stream_geometry){.pool_bytes = 256u << 10};
    pid_t pid = fixture_run(f, body);
    while (atomic_load(&f->shared->writer) == 0)
        fixture_sleep_ms(1);
    if (stopped_ms != 0)
        (void)kill(atomic_load(&f->shared->writer), SIGSTOP);
    uint64_t began = clock_monotonic_ns();
    atomic_store(&f->shared->go, 1);
    if (stopped_ms > 0) {
        fixture_sleep_ms((unsigned)stopped_ms);
        (void)kill(atomic_load(&f->shared->writer), SIGCONT);
    }
    while (atomic_load(&f->shared->seen[0]) == 0)
        fixture_sleep_ms(1);
    if (stopped_ms == UNTIL_RECORDED)
        (void)kill(atomic_load(&f->shared->writer), SIGCONT);
    *took_ms = (atomic_load(&f->shared->seen[0]) - began) / 1000000;
    atomic_store(&f->shared->go, 2);
    int status = fixture_wait(pid);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0 && fixture_wait_all(10), "the file is closed");
    struct outcome o = look(f);
    fixture_end(f);
    return o;
}

int main(void)
{
    struct fixture f;
    uint64_t ms;
    struct outcome o = run(&f, produce, 1500, &ms);
    is_u64(o.rows + o.dropped, EVENTS, "waiting: recorded and dropped are all");
    if (o.dropped > 0 && ms >= 2000)
        skip("waiting: everything is there", "beside the 1.5 s that it was stopped, the writer was "
                                             "given no processor: it was without progress for 2 s");
    else
        ok(o.dropped == 0 && o.order, "waiting: everything is there");
    ok(o.waits > 0 && ms >= 1400,
       "waiting: the wait is counted (%" PRIu64 " waits, %" PRIu64 " ms)", o.waits, ms);

    o = run(&f, produce_dropping, UNTIL_RECORDED, &ms);
    ok(o.dropped > 0 && o.waits == 0, "dropping: the process does not wait (%" PRIu64 " ms)", ms);
    is_u64(o.rows + o.dropped, EVENTS, "dropping: recorded and dropped are all");
    is_u64(o.lost_rows, o.dropped, "dropping: /losses says how many");
    ok(o.order, "dropping: what is there is in order");

    o = run(&f, produce, UNTIL_RECORDED, &ms);
    ok(o.dropped > 0 && o.waits > 0 && ms >= 1900,
       "a writer without progress is given up after 2 s (%" PRIu64 " ms)", ms);
    is_u64(o.rows + o.dropped, EVENTS, "given up: recorded and dropped are all");
    is_u64(o.lost_rows, o.dropped, "given up: /losses says how many");
    return done_testing();
}
