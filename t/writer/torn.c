/* SPDX-License-Identifier: BSD-3-Clause
 * A writer that is killed in any of its writes. The test notes each write of HDF5 and rebuilds the
 * file up to each write, and up to each page of each write. Whatever a reader then finds must be
 * right:
 * - the events are the first ones that were recorded, and include all committed ones;
 * - no fired alarm or window is torn, and none is there without its event. */
#include "t/tap.h"
#include "t/writer/fixture.h"
#include "writer/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, COMMITS = 14, PER_COMMIT = 1500, IMAGE = 16u << 20 };

struct written {
    off_t at;
    size_t count;
    unsigned char *data;
    uint64_t committed; /* rows that were safe before this write */
};

static struct written writes[4096];
static size_t write_count;
static int watched = -1; /* HDF5's descriptor of the file */
static uint64_t committed;
static char path[PATH_MAX], copy[PATH_MAX + 8];

/* Replaces pwrite() for HDF5, which finds this definition first. Notes the writes to the watched
 * file. */
ssize_t pwrite(int fd, const void *data, size_t count, off_t at)
{
    long n = syscall(SYS_pwrite64, fd, data, count, at);
    if (fd == watched && n > 0 && write_count < sizeof writes / sizeof *writes) {
        struct written *w = &writes[write_count++];
        *w = (struct written){at, (size_t)n, malloc((size_t)n), committed};
        memcpy(w->data, data, (size_t)n);
    }
    return n;
}

static int find_descriptor(void)
{
    char name[64], target[PATH_MAX];
    for (int fd = 3; fd < 64; fd++) {
        (void)snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(name, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (n > 0 && strcmp(target, path) == 0 && (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR)
            return fd;
    }
    return -1;
}

/* Emits the events of one commit: marks, windows that open and close between them, and a fired
 * alarm with each window. */
static void emit(unsigned commit)
{
    static uint64_t ordinal;
    for (uint64_t i = 0; i < PER_COMMIT; i++) {
        uint64_t more[3] = {i, 7 * i, 0xffff};
        if (i % 40 == 3 + commit % 5) {
            (void)recorder_emit_long(&recorder_self, EV_FIRED, UINT64_C(0xffff) << 8, i, more, 1);
            (void)recorder_emit_long(&recorder_self, EV_WINDOW_OPEN, ordinal | UINT64_C(1) << 33, i,
                                     more, 1);
        }
        (void)recorder_emit(&recorder_self, EV_MARK_SET, commit, i);
        if (i % 40 == 27 && i > 40) {
            (void)recorder_emit_long(&recorder_self, EV_FIRED, UINT64_C(0xffff) << 8 | 1, i, more,
                                     1);
            (void)recorder_emit_long(&recorder_self, EV_WINDOW_CLOSE, ordinal++, i, more, 1);
        }
    }
}

struct truth {
    struct rt_rank *rank;
    struct rt_event *rows;
    size_t count;
    const struct rt_rank_tables *tables;
};

static bool load(struct truth *t, const char *name)
{
    struct rt_error e = {{0}};
    if (rt_rank_open_file(&t->rank, name, &e) != 0)
        return false;
    t->tables = rt_rank_tables(t->rank);
    if (rt_rank_load_events(t->rank, &t->rows, &t->count, &e) == 0)
        return true;
    rt_rank_close(t->rank);
    return false;
}

static void unload(struct truth *t)
{
    free(t->rows);
    rt_rank_close(t->rank);
}

/* Returns the window as it must look while the event of its end is missing: open. */
static struct rt_window still_open(struct rt_window w)
{
    w.close_row = RT_NO_ROW;
    w.stop_clock = w.stop_late = 0;
    w.stop_icount = w.stop_requested = RT_NULL;
    w.stop_alarm = RT_NO_ALARM;
    w.reason = RT_WINDOW_OPEN;
    w.truncated = 0;
    return w;
}

static bool same_window(const struct rt_window *a, const struct rt_window *b)
{
    return a->open_row == b->open_row && a->close_row == b->close_row &&
           a->start_clock == b->start_clock && a->stop_clock == b->stop_clock &&
           a->start_icount == b->start_icount && a->stop_icount == b->stop_icount &&
           a->start_requested == b->start_requested && a->stop_requested == b->stop_requested &&
           a->start_late == b->start_late && a->stop_late == b->stop_late &&
           a->ordinal == b->ordinal && a->thread == b->thread && a->stop_alarm == b->stop_alarm &&
           a->reason == b->reason && a->truncated == b->truncated;
}

/* Returns NULL, or what is wrong with what a reader sees. */
static const char *judge(const struct truth *seen, const struct truth *all, uint64_t least)
{
    if (seen->count < least)
        return "committed events are missing";
    if (seen->count > all->count ||
        memcmp(seen->rows, all->rows, seen->count * sizeof *seen->rows) != 0)
        return "events are not those that were recorded";
    size_t n = 0;
    while (n < all->tables->fired_count && all->tables->fired[n].row < seen->count)
        n++;
    if (seen->tables->fired_count != n || (n > 0 && memcmp(seen->tables->fired, all->tables->fired,
                                                           n * sizeof(struct rt_fired)) != 0))
        return "fired alarms are not those of the events";
    for (n = 0; n < all->tables->window_count && all->tables->windows[n].open_row < seen->count;)
        n++;
    if (seen->tables->window_count != n)
        return "windows are not those of the events";
    for (size_t i = 0; i < n; i++) {
        const struct rt_window *w = &all->tables->windows[i], *s = &seen->tables->windows[i];
        struct rt_window open = still_open(*w);
        bool ended = w->close_row < seen->count;
        if (!same_window(s, ended ? w : &open) && !(w->truncated && same_window(s, w)))
            return "a window is torn";
    }
    return NULL;
}

static unsigned states, unreadable, unreadable_whole, wrong;
static unsigned char *image;
static size_t image_bytes;

static void look(const struct truth *all, size_t number, size_t part)
{
    static unsigned turn;
    struct truth seen;
    const char *problem;
    if (turn++ % (unsigned)slowdown() != 0)
        return;
    int fd = open(copy, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool stored = fd >= 0 && write(fd, image, image_bytes) == (ssize_t)image_bytes;
    if (fd >= 0)
        (void)close(fd);
    states++;
    if (!stored || !load(&seen, copy)) {
        unreadable++;
        unreadable_whole += part == writes[number].count;
        diag("write %zu (%zu bytes at %jd) up to %zu: cannot be read", number, writes[number].count,
             (intmax_t)writes[number].at, part);
        return;
    }
    problem = judge(&seen, all, writes[number].committed);
    if (problem != NULL) {
        wrong++;
        diag("write %zu (%zu bytes at %jd) up to %zu: %s", number, writes[number].count,
             (intmax_t)writes[number].at, part, problem);
    }
    unload(&seen);
}

static void apply(const struct written *w, size_t from, size_t to)
{
    size_t end = (size_t)w->at + to;
    if (end > IMAGE || from >= to)
        return;
    memcpy(image + w->at + from, w->data + from, to - from);
    image_bytes = end > image_bytes ? end : image_bytes;
}

/* Cuts each write off where a page of the file ends; for long writes only at the first and last
 * such places, and at some between. */
static void look_at_each(const struct truth *all)
{
    for (size_t i = 0; i < write_count; i++) {
        const struct written *w = &writes[i];
        size_t done = 0, pages = ((size_t)w->at % PAGE + w->count) / PAGE, page = 0;
        size_t stride = pages > 4 ? pages / 2 : 1;
        for (size_t end = PAGE - (size_t)w->at % PAGE; end < w->count; end += PAGE, page++) {
            apply(w, done, end);
            done = end;
            if (page < 2 || page + 2 > pages || page % stride == 0)
                look(all, i, end);
        }
        apply(w, done, w->count);
        look(all, i, w->count);
    }
}

static void read_image(void)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, image, IMAGE);
    if (fd >= 0)
        (void)close(fd);
    image_bytes = n > 0 ? (size_t)n : 0;
}

static bool write_all(struct fixture *f, unsigned deflate)
{
    static struct producer p;
    struct drain d;
    struct rankfile file;
    struct rt_error e = {{0}};
    struct rankfile_identity id = {
        .size = 1, .host = "nowhere", .boot_id = "", .stream = "", .nominal_ns_per_tick = 1};
    uint32_t bytes;
    bool moved;
    producer_create(&p, f->stream, &f->geometry, NULL);
    producer_attach(&p);
    if (drain_init(&d, &p.stream) != 0)
        return false;
    const char *metadata = drain_metadata(&d, &bytes);
    int rc = rankfile_create(&file, path, &id, metadata, bytes, deflate, true, &e);
    rc = rc != 0 ? rc : drain_set_file(&d, &file);
    read_image();
    watched = find_descriptor();
    for (unsigned i = 0; i < COMMITS && rc == 0; i++) {
        emit(i);
        rc = drain_step(&d, i % 3 == 1 ? DRAIN_CLOSED : DRAIN_OPEN, &moved);
        committed = rankfile_committed(&file);
    }
    rc = rc != 0 ? rc : drain_step(&d, DRAIN_FINAL, &moved);
    rc = rc != 0 ? rc : drain_end(&d);
    rc = rc != 0 ? rc : rankfile_finish(&file, "closed", "killed");
    watched = -1;
    drain_free(&d);
    recorder_stop();
    recorder_self = (struct recorder_thread){.end = NULL}; /* another stream may follow */
    return rc == 0;
}

static void forget_writes(void)
{
    while (write_count > 0)
        free(writes[--write_count].data);
    committed = states = unreadable = unreadable_whole = wrong = 0;
    memset(image, 0, IMAGE);
}

static void run(unsigned deflate)
{
    struct fixture f;
    struct truth all;
    fixture_begin(&f);
    forget_writes();
    (void)snprintf(path, sizeof path, "%s/whole.h5", f.dir);
    (void)snprintf(copy, sizeof copy, "%s.part", f.stream); /* in memory: it is written often */
    f.geometry = (struct stream_geometry){.pool_bytes = 4u << 20};
    diag("deflate %u", deflate);
    ok(write_all(&f, deflate), "a file is written");
    ok(write_count > 50 && write_count < sizeof writes / sizeof *writes,
       "and each of its writes noted (%zu)", write_count);
    if (ok(load(&all, path), "it can be read")) {
        ok(all.count > 2 * SCHEMA_EVENT_CHUNK && all.tables->window_count > 300 &&
               all.tables->windows[all.tables->window_count - 1].truncated,
           "%zu events, more than the tail holds, and %zu windows, the last cut off", all.count,
           all.tables->window_count);
        look_at_each(&all);
        unload(&all);
    }
    ok(wrong == 0 && states * (unsigned)slowdown() > 200,
       "whatever was written last: all that is seen is right (%u)", states);
    /* HDF5's own tables have about a hundred bytes each. A table that crosses the end of a page,
     * and is cut off there, makes the file unreadable: nothing can mend that. */
    ok(unreadable_whole == 0 && unreadable * 50 <= states,
       "and it can be seen, but for HDF5's own that were torn (%u)", unreadable);
    (void)unlink(copy);
    fixture_end(&f);
}

int main(void)
{
    if (schema_start_hdf5(NULL) != 0)
        return 99;
    image = calloc(1, IMAGE);
    if (image == NULL)
        return 99;
    for (unsigned deflate = 0; deflate < 2; deflate++)
        run(deflate);
    return done_testing();
}
