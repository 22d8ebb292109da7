/* SPDX-License-Identifier: BSD-3-Clause
 * Slots that a thread took and never filled, because it was killed in between. The writer and
 * recover keep the events around these slots, and count the slots. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MARKS = 30, HOLES = 3 };

/* Takes a slot as recorder_emit() does, and does not fill it. */
static void take_slot(void)
{
    struct recorder_thread *t = &recorder_self;
    struct event_slot *slot = atomic_load(&t->cursor);
    if (slot == NULL || slot == t->end)
        _exit(9);
    atomic_store(&t->cursor, slot + 1);
}

static void produce(struct fixture *f, struct producer *p)
{
    (void)p;
    for (uint64_t i = 0; i < MARKS; i++) {
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 0, i);
        if (i % 10 == 4)
            take_slot();
    }
    atomic_store(&f->shared->started, 1);
    while (atomic_load(&f->shared->go) == 0)
        fixture_sleep_ms(1);
    (void)raise(SIGKILL);
}

static void judge(struct fixture *f, const char *who)
{
    struct rt_rank *rank = fixture_open(f);
    struct rt_error e = {{0}};
    struct rt_event *rows = NULL;
    size_t count = 0;
    uint64_t marks = 0, lost = 0, others = 0;
    bool order = true;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0)
        diag("%s", e.text);
    for (size_t i = 0; i < count; i++)
        if (rows[i].code == EV_MARK_SET) {
            order &= rows[i].b == marks;
            marks++;
        }
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->loss_count; i++) {
        lost += t->losses[i].kind == RT_LOSS_INCOMPLETE ? t->losses[i].count : 0;
        others += t->losses[i].kind != RT_LOSS_INCOMPLETE;
    }
    ok(marks == MARKS && order, "%s: every mark is there, in order (%" PRIu64 ")", who, marks);
    uint64_t left = t->thread_count == 1 ? t->threads[0].incomplete : UINT64_MAX;
    ok(left == HOLES, "%s: the thread's row counts the slots that it left (%" PRIu64 ")", who,
       left);
    ok(lost == HOLES && others == 0,
       "%s: so does /losses, and nothing else (%" PRIu64 ", %" PRIu64 ")", who, lost, others);
    free(rows);
    rt_rank_close(rank);
}

static void start(struct fixture *f, pid_t *pid)
{
    fixture_begin(f);
    *pid = fixture_run(f, produce);
    while (atomic_load(&f->shared->started) == 0)
        fixture_sleep_ms(1);
}

int main(void)
{
    struct fixture f;
    struct rt_recovered r;
    pid_t pid;
    start(&f, &pid);
    atomic_store(&f.shared->go, 1);
    (void)fixture_wait(pid);
    ok(fixture_wait_all(20), "the writer closes the file of the killed process");
    judge(&f, "writer");
    fixture_end(&f);

    start(&f, &pid);
    (void)kill(atomic_load(&f.shared->writer), SIGKILL);
    atomic_store(&f.shared->go, 1);
    (void)fixture_wait(pid);
    (void)fixture_wait_all(20);
    is_int(fixture_recover(&f, &r), 0, "both killed: recover");
    judge(&f, "recover");
    fixture_end(&f);
    return done_testing();
}
