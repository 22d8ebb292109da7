/* SPDX-License-Identifier: BSD-3-Clause
 * Nowhere to write: full file system, read-only folder, deleted folder, size limit. The process
 * goes on, one line is logged, and the file has what was recorded before. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 400000 };

static unsigned lines_of(const char *text)
{
    unsigned n = 0;
    for (; *text != '\0'; text++)
        n += *text == '\n';
    return n;
}

/* Makes a payload that cannot be compressed, so that the file grows with every event. */
static uint64_t scramble(uint64_t i)
{
    i = (i ^ (i >> 31)) * UINT64_C(0x9e3779b97f4a7c15);
    i = (i ^ (i >> 29)) * UINT64_C(0xbf58476d1ce4e5b9);
    return i ^ (i >> 32);
}

static void produce(struct fixture *f, struct producer *p)
{
    static const uint64_t more[3] = {UINT64_MAX, UINT64_MAX, 0xffff};
    (void)recorder_emit_long(&recorder_self, EV_WINDOW_OPEN, UINT64_C(1) << 33, 0, more, 1);
    for (uint64_t i = 0; i < MANY; i++) {
        (void)recorder_emit(&recorder_self, EV_MARK_SET, scramble(i), i);
        if (i % 1000 == 0 && i < 20000)
            fixture_sleep_ms(1);
    }
    atomic_store(&f->shared->seen[0], 1);
    atomic_store(&f->shared->seen[1], atomic_load(&stream_threads(&p->stream)[0].dropped));
    atomic_store(&f->shared->seen[2], producer_finish(p, STREAM_FINISHED));
}

/* Returns how many events there are up to the first gap; sets *all to how many there are. */
static uint64_t count_prefix(struct rt_rank *rank, uint64_t *all)
{
    struct rt_error e;
    struct rt_event *rows;
    size_t count;
    uint64_t n = 0;
    if (rt_rank_load_events(rank, &rows, &count, &e) != 0) {
        diag("%s", e.text);
        return *all = 0;
    }
    *all = 0;
    for (size_t i = 0; i < count; i++) {
        bool ours = rows[i].code == EV_MARK_SET && rows[i].a == scramble(rows[i].b);
        n += ours && rows[i].b == n;
        *all += ours;
    }
    free(rows);
    return n;
}

static bool end_of(struct fixture *f, pid_t pid)
{
    int status = fixture_wait(pid);
    bool fine =
        WIFEXITED(status) && WEXITSTATUS(status) == 0 && atomic_load(&f->shared->seen[0]) == 1;
    return fixture_wait_all(20) && fine && fixture_crashes() == 0;
}

/* A window that the size limit cuts off ends with the last event in the file, not with the
 * process. */
static void judge_limited_window(struct rt_rank *rank)
{
    struct rt_event *rows = NULL;
    struct rt_error e;
    size_t count = 0;
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    bool loaded = rt_rank_load_events(rank, &rows, &count, &e) == 0 && count > 0;
    ok(loaded && t->window_count == 1 && t->windows[0].truncated == 1 &&
           t->windows[0].reason == RT_WINDOW_LIMIT &&
           t->windows[0].stop_clock == rows[count - 1].clock,
       "size limit: the window is cut off there, for that reason");
    free(rows);
}

static void test_limit(void)
{
    static const char *const meta[] = {"option.max_size", "1000000", NULL};
    struct fixture f;
    fixture_begin(&f);
    f.meta = meta;
    ok(end_of(&f, fixture_run(&f, produce)), "size limit: the process ends as usual");
    is_int((int)atomic_load(&f.shared->seen[2]), WRITER_FAILED, "size limit: the process was told");
    struct rt_rank *rank = fixture_open(&f);
    is_int(rt_rank_info(rank)->state, RT_FILE_CLOSED,
           "size limit: the file is closed all the same");
    ok(strstr(rt_rank_info(rank)->end_reason, "size limit") != NULL,
       "size limit: end_reason says it");
    uint64_t stored, lost = 0, prefix = count_prefix(rank, &stored);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    for (size_t i = 0; i < t->loss_count; i++)
        lost += t->losses[i].count;
    if (stored + lost != MANY)
        for (size_t i = 0; i < t->loss_count; i++)
            diag("prefix %" PRIu64 ", stored %" PRIu64 ", loss kind %u thread %d count %" PRIu64,
                 prefix, stored, t->losses[i].kind, t->losses[i].thread, t->losses[i].count);
    is_u64(stored + lost, MANY, "size limit: stored and lost are all");
    judge_limited_window(rank);
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s", f.dir, rt_rank_info(rank)->file);
    ok(stat(path, &st) == 0 && st.st_size < 2500000,
       "size limit: the file is about as large as allowed");
    rt_rank_close(rank);
    char *log = fixture_log(&f);
    ok(lines_of(log) == 1 && strstr(log, "REGTRACE_MAX_SIZE") != NULL,
       "size limit: one line in the log");
    free(log);
    fixture_end(&f);
}

static void test_full_disk(void)
{
    struct fixture f;
    fixture_begin(&f);
    if (mount("regtrace-test", f.dir, "tmpfs", 0, "size=2m") != 0) {
        skip("full file system", "mounting a small tmpfs needs root");
        fixture_end(&f);
        return;
    }
    char log_path[PATH_MAX];
    (void)snprintf(log_path, sizeof log_path, "%s/regtrace.log", f.dir);
    /* allocates a page of the log before the disk is full */
    int fd = open(log_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    (void)!write(fd, "\n", 1);
    (void)close(fd);
    ok(end_of(&f, fixture_run(&f, produce)),
       "full file system: the process ends as usual, the writer does not crash");
    is_int((int)atomic_load(&f.shared->seen[2]), WRITER_FAILED,
           "full file system: the process was told");
    char *log = fixture_log(&f);
    ok(lines_of(log) == 2 && strstr(log, "No space left") != NULL,
       "full file system: one line in the log");
    ok(strstr(log, "make room, then `regtrace recover` finishes the file") != NULL,
       "full file system: with what to do");
    free(log);
    ok(access(f.stream, F_OK) == 0, "full file system: the stream stays for recover");
    struct rt_rank *rank = fixture_open(&f);
    uint64_t all, before = count_prefix(rank, &all);
    rt_rank_close(rank);
    ok(before > 8192, "full file system: what was written can be read at once (%" PRIu64 " events)",
       before);
    (void)mount("regtrace-test", f.dir, "tmpfs", MS_REMOUNT, "size=64m");
    struct rt_recovered r;
    is_int(fixture_recover(&f, &r), 0, "full file system: with room, recover works");
    rank = fixture_open(&f);
    uint64_t after = count_prefix(rank, &all);
    rt_rank_close(rank);
    ok(after > before && r.from_stream > 0,
       "full file system: and adds what the stream held (%" PRIu64 " events)", after);
    (void)umount2(f.dir, MNT_DETACH);
    fixture_end(&f);
}

static void test_read_only(void)
{
    struct fixture f;
    fixture_begin(&f);
    if (mount("regtrace-test", f.dir, "tmpfs", MS_RDONLY, "size=1m") != 0) {
        skip("read-only folder", "mounting a read-only tmpfs needs root");
        fixture_end(&f);
        return;
    }
    ok(end_of(&f, fixture_run(&f, produce)), "read-only folder: the process ends as usual");
    is_int((int)atomic_load(&f.shared->seen[2]), WRITER_FAILED,
           "read-only folder: the process was told");
    (void)umount2(f.dir, MNT_DETACH);
    fixture_end(&f);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

static void produce_until_deleted(struct fixture *f, struct producer *p)
{
    for (uint64_t i = 0; i < 50000; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, i, i);
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/rank-00000.h5", f->dir);
    /* until the writer has begun its file */
    for (int i = 0; i < 2000 && access(path, F_OK) != 0; i++)
        fixture_sleep_ms(10);
    (void)nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    produce(f, p);
}

static void test_deleted(void)
{
    struct fixture f;
    fixture_begin(&f);
    ok(end_of(&f, fixture_run(&f, produce_until_deleted)),
       "deleted folder: the process ends as usual");
    is_int((int)atomic_load(&f.shared->seen[2]), WRITER_FAILED,
           "deleted folder: the process was told");
    ok(access(f.stream, F_OK) != 0, "deleted folder: no stream stays behind");
    fixture_end(&f);
}

static void produce_nothing(struct fixture *f, struct producer *p)
{
    (void)recorder_emit(&recorder_self, EV_MARK_SET, 0, 0);
    fixture_sleep_ms(1300); /* long enough for the tail: the file exists by now */
    atomic_store(&f->shared->seen[0], 1);
    atomic_store(&f->shared->seen[2], producer_finish(p, STREAM_EMPTY));
}

static void test_empty(void)
{
    struct fixture f;
    char path[PATH_MAX];
    fixture_begin(&f);
    ok(end_of(&f, fixture_run(&f, produce_nothing)), "empty: the process ends as usual");
    (void)snprintf(path, sizeof path, "%s/rank-00000.h5", f.dir);
    ok(access(path, F_OK) != 0, "empty: no file is left behind");
    fixture_end(&f);
}

int main(void)
{
    test_limit();
    test_full_disk();
    test_read_only();
    test_deleted();
    test_empty();
    return done_testing();
}
