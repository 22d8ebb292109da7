/* SPDX-License-Identifier: BSD-3-Clause
 * A writer is killed while several threads have chunks that it has stored in part. recover
 * continues each chunk where the writer had stopped, and the rows in the file's tail are what was
 * recorded. A row of the tail that was torn when the writer was killed does not disturb any reader,
 * and is reported as missing if nothing else has it. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "writer/file/schema.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, PART = 100 };

static struct fixture *current;

/* Records one part of its marks, and another each time the test raises `go`. */
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

/* Bytes of a row in the file, without the padding of the C struct. */
enum { ROW = offsetof(struct rt_tail_row, check) + sizeof(uint32_t) };

static unsigned char bytes[4u << 20];

static void file_path(const struct fixture *f, char path[PATH_MAX])
{
    (void)snprintf(path, PATH_MAX, "%s/rank-00000.h5", f->dir);
}

/* Returns the place of the tail's last row in the file; 0 if there is none, or if it begins a
 * chunk. */
static size_t find_last_row(const struct fixture *f)
{
    char path[PATH_MAX];
    file_path(f, path);
    FILE *file = fopen(path, "r");
    size_t n = file != NULL ? fread(bytes, 1, sizeof bytes, file) : 0, at = 0;
    struct rt_tail_row row = {.row = 0};
    uint64_t last = 0;
    for (size_t i = ROW; i + ROW <= n; i++) {
        memcpy(&row, bytes + i, ROW);
        if (row.event.code == EV_MARK_SET && row.row > last &&
            row.check == schema_tail_check(&row)) {
            last = row.row;
            at = i;
        }
    }
    if (file != NULL)
        (void)fclose(file);
    memcpy(&row, bytes + at - (at != 0 ? ROW : 0), ROW);
    diag("the last row is %" PRIu64 ", at byte %zu", last, at);
    return row.row + 1 == last ? at : 0;
}

/* Tears a row as a write that was cut off at the end of a page does: from byte `from` on, the
 * row has the bytes of the row before it. Returns 1 if that changes the row, 0 if not, -1 on
 * failure. */
static int tear(const struct fixture *f, size_t at, size_t from)
{
    char path[PATH_MAX];
    unsigned char row[ROW];
    file_path(f, path);
    memcpy(row, bytes + at, ROW);
    memcpy(row + from, bytes + at - ROW + from, ROW - from);
    FILE *file = fopen(path, "r+");
    bool good =
        file != NULL && fseek(file, (long)at, SEEK_SET) == 0 && fwrite(row, ROW, 1, file) == 1;
    if (file != NULL)
        good = fclose(file) == 0 && good;
    return good ? memcmp(row, bytes + at, ROW) != 0 : -1;
}

/* Counts the rows that a reader sees in the file that the writer has left; -1 if marks are not in
 * order. */
static int64_t count_rows(struct fixture *f)
{
    char path[PATH_MAX];
    struct rt_rank *rank;
    struct rt_error e = {{0}};
    struct rt_event *rows = NULL;
    size_t count = 0;
    uint64_t next[THREADS] = {0};
    bool order = true;
    file_path(f, path);
    if (rt_rank_open_file(&rank, path, &e) != 0 ||
        rt_rank_load_events(rank, &rows, &count, &e) != 0) {
        diag("%s", e.text);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        order &=
            rows[i].code == EV_MARK_SET && rows[i].a < THREADS && rows[i].b == next[rows[i].a]++;
    free(rows);
    rt_rank_close(rank);
    return order ? (int64_t)count : -1;
}

/* Tears the row at each byte: the reader sees all rows but that row. Leaves a row that is torn in
 * its event. */
static void tear_everywhere(struct fixture *f)
{
    int64_t whole = count_rows(f);
    size_t at = find_last_row(f);
    unsigned right = 0, torn = 0;
    ok(whole > 0 && at != 0, "the tail's last row is found");
    for (size_t from = ROW; at != 0 && from-- > 0;) {
        int differs = tear(f, at, from);
        int64_t seen = count_rows(f);
        right += differs >= 0 && seen == whole - differs;
        torn += differs == 1;
        if (differs < 0 || seen != whole - differs)
            diag("torn at byte %zu: %" PRId64 " rows of %" PRId64, from, seen, whole);
    }
    is_int((int)right, ROW, "torn at any byte, it is left out: all others are seen, in order");
    ok(torn > 40, "at most of them that makes a difference (%u)", torn);
    ok(at != 0 && tear(f, at, offsetof(struct rt_tail_row, event.a)) == 1, "the row stays torn");
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

/* Records parts 1 to 3 while the writer lives, and two more after its death. The writer is killed
 * at rest, some time after it has stored everything: only the row that it stored last can be torn,
 * and nothing else has begun since. */
static void kill_both(struct fixture *f)
{
    enum { STORED = 3 * PART * THREADS };
    fixture_begin(f);
    pid_t pid = fixture_run(f, produce);
    wait_for_part(f, 1);
    for (uint32_t part = 1; part < 3; part++) {
        fixture_sleep_ms(1300); /* the tail, with this part, is stored once a second */
        atomic_store(&f->shared->go, part);
        wait_for_part(f, part + 1);
    }
    for (int i = 0; i < 1200 && count_rows(f) < STORED; i++)
        fixture_sleep_ms(50);
    fixture_sleep_ms(1300); /* the writer looks again, and finds nothing new */
    (void)kill(atomic_load(&f->shared->writer), SIGKILL);
    atomic_store(&f->shared->go, 4);
    wait_for_part(f, 5);
    (void)kill(pid, SIGKILL);
    (void)fixture_wait(pid);
    (void)fixture_wait_all(20);
}

static void recover_all(bool torn)
{
    struct fixture f;
    struct rt_recovered r;
    kill_both(&f);
    if (torn)
        tear_everywhere(&f);
    is_int(fixture_recover(&f, &r), 0, "recover");
    diag("%" PRIu64 " events from the file, %" PRIu64 " from the stream: %s", r.from_file,
         r.from_stream, r.text);
    is_str(r.text, "", "which has nothing to say of a row that the stream has too");
    judge(&f, 5);
    fixture_end(&f);
}

/* Nothing else has the torn row: recover keeps the rows before it and says that it is missing. */
static void recover_without_stream(void)
{
    struct fixture f;
    struct rt_recovered r;
    kill_both(&f);
    int64_t whole = count_rows(&f);
    size_t at = find_last_row(&f);
    ok(at != 0 && tear(&f, at, offsetof(struct rt_tail_row, event.a)) == 1,
       "stream gone: a row is torn");
    (void)unlink(f.stream);
    is_int(fixture_recover(&f, &r), 0, "stream gone: recover");
    is_u64(r.from_file, (uint64_t)whole - 1, "stream gone: it takes the rows before the torn one");
    is_int(count_rows(&f), (int)whole - 1, "stream gone: and they are what was recorded");
    struct rt_rank *rank = fixture_open(&f);
    uint64_t counted = 0;
    for (size_t i = 0; i < rt_rank_tables(rank)->thread_count; i++)
        counted += rt_rank_tables(rank)->threads[i].rows;
    rt_rank_close(rank);
    is_u64(counted, (uint64_t)whole - 1, "stream gone: and the threads' rows count them");
    ok(strstr(r.text, "from a torn row on, 1 is left out") != NULL, "stream gone: it says so: %s",
       r.text);
    fixture_end(&f);
}

int main(void)
{
    recover_all(false);
    recover_all(true);
    recover_without_stream();
    return done_testing();
}
