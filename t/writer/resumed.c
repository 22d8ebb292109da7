/* SPDX-License-Identifier: BSD-3-Clause
 * A writer that was killed while several threads had chunks that it had stored in part: recover goes on in each where the writer
 * had stopped, and what stood in the file's tail is what was recorded. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "writer/schema.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* As a write that was broken off at the end of a page leaves it: the last row of the tail ends in what stood there before. */
static bool tear_last_row(const struct fixture *f)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/rank-00000.h5", f->dir);
    FILE *file = fopen(path, "r+");
    static unsigned char bytes[4u << 20];
    size_t n = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0, at = 0;
    struct rt_tail_row last = {.row = 0};
    for (size_t i = 0; i + sizeof last <= n; i++) {
        struct rt_tail_row row;
        memcpy(&row, bytes + i, sizeof row);
        if (row.event.code == EV_MARK_SET && row.event.a < THREADS && row.row > last.row &&
            row.row < 5 * THREADS * PART && row.event.b < 5 * PART) {
            last = row;
            at = i;
        }
    }
    last.event.a = (last.event.a + 1) % THREADS;
    last.event.b = 0;
    bool good =
        at != 0 && fseek(file, (long)at, SEEK_SET) == 0 && fwrite(&last, sizeof last, 1, file) == 1;
    if (file != NULL)
        good = fclose(file) == 0 && good;
    diag("torn: row %" PRIu64 " at byte %zu", last.row, at);
    return good;
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
    uint64_t counted = 0;
    for (size_t i = 0; i < rt_rank_tables(rank)->thread_count; i++)
        counted += rt_rank_tables(rank)->threads[i].rows;
    is_u64(counted, count, "and the threads' rows count them all");
    free(rows);
    rt_rank_close(rank);
}

static void kill_and_recover(bool torn)
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
    if (torn)
        ok(tear_last_row(&f), "the last row of the tail is torn");
    is_int(fixture_recover(&f, &r), 0, "recover");
    diag("%" PRIu64 " events from the file, %" PRIu64 " from the stream", r.from_file,
         r.from_stream);
    judge(&f, 5);
    fixture_end(&f);
}

int main(void)
{
    kill_and_recover(false);
    kill_and_recover(true);
    return done_testing();
}
