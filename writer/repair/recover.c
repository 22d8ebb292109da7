/* SPDX-License-Identifier: BSD-3-Clause
 * recover: completes the files that killed writers left, from the old file and from the stream. */
#include "writer/claim.h"
#include "writer/stream_facts.h"
#include "writer/repair/leftover_ctl.h"
#include "writer/repair/old_rows.h"
#include "writer/repair/old_tables.h"
#include "writer/repair/old_threads.h"
#include "writer/repair/old_values.h"
#include "writer/read/reader.h"
#include "writer/repair/recover_list.h"
#include "writer/repair/verify.h"

#include "base/identity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK 65536u

struct recovery {
    const char *dir;
    const struct rt_recover_listener *listener;
    char host[65], boot_id[40];
    struct recover_list list;
};

/* One abandoned process: its old file, its stream, or both. */
struct patient {
    struct claim claim;
    struct rt_rank *old; /* NULL: the writer created no file, or it is beyond repair */
    struct stream stream;
    bool has_stream;
    struct drain drain;
    struct rankfile file;
    struct stream_facts facts;
    struct old_threads threads; /* used if there is no stream */
    struct old_rows rows;
    struct rt_recovered *result;
    const struct rt_recover_listener *listener;
};

/* Opens the stream if it is that of exactly this process (pid and start time). No process drains
 * it. */
static bool open_stream(struct patient *p, const char *path, struct rt_error *e)
{
    int fd = path[0] == '\0' ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (stream_open(&p->stream, fd, e) != 0) {
        (void)close(fd);
        return false;
    }
    const struct stream_header *h = p->stream.header;
    if (h->pid != p->claim.pid || h->pid_start_time != p->claim.pid_start_time ||
        drain_init(&p->drain, &p->stream) != 0) {
        stream_close(&p->stream);
        return false;
    }
    if (stream_facts_read(&p->facts, &p->drain) != 0) {
        drain_free(&p->drain);
        stream_close(&p->stream);
        rt_error_set(e, "no memory");
        return false;
    }
    p->drain.resumed = true;
    p->has_stream = true;
    return true;
}

static int copy_windows(struct patient *p, const struct rt_rank_tables *t)
{
    for (size_t i = 0; i < p->rows.windows; i++) {
        uint64_t row = table_rows(&p->file.tables[SCHEMA_WINDOWS]);
        int rc = table_append(&p->file.tables[SCHEMA_WINDOWS], &t->windows[i], 1);
        if (rc == 0 && t->windows[i].close_row == RT_NO_ROW && !t->windows[i].truncated)
            rc = drain_resume_window(&p->drain, &t->windows[i], row);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int copy_tables(struct patient *p)
{
    const struct rt_rank_tables *t = rt_rank_tables(p->old);
    struct table *to = p->file.tables;
    int rc = old_tables_copy(&p->file, p->old, p->has_stream ? &p->drain : NULL);
    if (rc == 0 && p->rows.fired > 0)
        rc = table_append(&to[SCHEMA_FIRED], t->fired, p->rows.fired);
    for (uint64_t i = 0; i < p->rows.fired && rc == 0; i++)
        rc = drain_note_close(&p->drain, &t->fired[i]);
    if (rc == 0)
        rc = copy_windows(p, t);
    if (rc == 0)
        rc = old_values_images(&p->drain, t);
    if (rc == 0 && !p->has_stream)
        rc = old_threads_begin(&p->threads, t);
    for (size_t i = 0; i < t->function_count && rc == 0; i++)
        if (EVENT_IS_MPI_ENTER(t->functions[i].code) || EVENT_IS_MPI_LEAVE(t->functions[i].code)) {
            uint32_t number = EVENT_MPI_FUNCTION(t->functions[i].code);
            p->file.mpi_known[number % RANKFILE_MPI_FUNCTIONS] = true;
            rc = table_append(&to[SCHEMA_FUNCTIONS], &t->functions[i], 1);
        }
    return rc;
}

/* Tells the drain about an event that the file has already: the count and the last clock of its
 * thread. Losses are made anew from the events that report them, since a row of /losses may be
 * ahead of /events. */
static int account(struct patient *p, const struct rt_event *e)
{
    struct drain *d = &p->drain;
    if (e->clock > d->last_clock)
        d->last_clock = e->clock;
    if (!p->has_stream)
        old_threads_take(&p->threads, e);
    for (uint32_t i = 0; p->has_stream && i < d->thread_capacity; i++) {
        if ((int32_t)drain_thread_row(d, i)->tid != e->thread ||
            atomic_load(&drain_thread_row(d, i)->state) == THREAD_UNUSED)
            continue;
        d->threads[i].rows++;
        if (e->code == EV_DROPPED)
            d->threads[i].dropped_reported += e->a;
        if (e->clock > d->threads[i].last_clock)
            d->threads[i].last_clock = e->clock;
        break;
    }
    struct rt_loss row = {
        .kind = RT_LOSS_DROPPED, .thread = e->thread, .count = e->a, .clock = e->clock};
    return e->code == EV_DROPPED ? table_append(&p->file.tables[SCHEMA_LOSSES], &row, 1) : 0;
}

static int copy_events(struct patient *p, struct rt_error *e)
{
    struct rt_event *rows = malloc(BLOCK * sizeof *rows);
    uint64_t total = rt_rank_info(p->old)->event_count, done = 0;
    int rc = rows == NULL ? -ENOMEM : 0;
    while (done < total && rc == 0) {
        size_t got = 0;
        rc = rt_rank_read_events(p->old, done, BLOCK, rows, &got, e);
        if (rc == 0 && got == 0)
            rc = -EBADMSG;
        for (size_t i = 0; i < got && rc == 0; i++) {
            rc = rankfile_add(&p->file, &rows[i]);
            if (rc == 0)
                rc = old_rows_take(&p->rows, &p->drain, &rows[i], done + i);
            if (rc == 0)
                rc = account(p, &rows[i]);
        }
        if (rc == 0)
            rc = rankfile_commit(&p->file, false);
        done += got;
        if (rc == 0 && p->listener->step != NULL)
            p->listener->step(p->listener->context, p->claim.file, done, total);
    }
    free(rows);
    p->result->from_file = done;
    return rc;
}

static int add_stream_gone(struct patient *p)
{
    struct rt_loss row = {.kind = RT_LOSS_STREAM_GONE, .thread = -1, .clock = p->drain.last_clock};
    int rc = old_threads_end(&p->threads, &p->file, row.clock);
    return rc != 0 ? rc : table_append(&p->file.tables[SCHEMA_LOSSES], &row, 1);
}

static int drain_rest(struct patient *p)
{
    bool moved;
    struct stream_header *h = p->stream.header;
    uint64_t before = rankfile_next_row(&p->file);
    struct rt_calibration start = {h->clock_start.ticks, h->clock_start.monotonic_ns,
                                   h->clock_start.realtime_ns, h->clock_start.uncertainty};
    int rc = 0;
    p->drain.resumed_rows = before;
    if (table_rows(&p->file.tables[SCHEMA_CALIBRATION]) == 0)
        rc = table_append(&p->file.tables[SCHEMA_CALIBRATION], &start, 1);
    clock_init(h->clock_source == CLOCK_SOURCE_MONOTONIC);
    struct clock_point now = clock_calibrate(); /* same boot: same tick counter */
    struct rt_calibration last = {now.ticks, now.monotonic_ns, now.realtime_ns, now.uncertainty};
    if (rc == 0)
        rc = table_append(&p->file.tables[SCHEMA_CALIBRATION], &last, 1);
    if (rc == 0)
        rc = drain_step(&p->drain, DRAIN_FINAL, &moved);
    if (rc == 0)
        rc = drain_end(&p->drain);
    p->result->from_stream = rankfile_next_row(&p->file) - before;
    return rc;
}

static int fill(struct patient *p, struct rt_error *e)
{
    int rc = 0;
    p->drain.file = &p->file;
    if (p->has_stream)
        rc = drain_set_file(&p->drain, &p->file);
    if (rc == 0 && p->old != NULL)
        rc = old_rows_begin(&p->rows, p->old, e);
    if (rc == 0 && p->old != NULL)
        rc = copy_tables(p);
    if (rc == 0 && p->old != NULL)
        rc = copy_events(p, e);
    if (rc == 0 && p->has_stream)
        rc = rankfile_commit(&p->file, true);
    if (rc == 0)
        rc = p->has_stream ? drain_rest(p) : add_stream_gone(p);
    if (rc == 0 && !p->has_stream)
        rc = drain_close_windows_at(&p->drain, p->drain.last_clock);
    if (rc == 0 && p->drain.values != NULL)
        rc = values_write(p->drain.values, &p->file);
    return rc;
}

static int write_new(struct patient *p, const char *path, struct rt_error *e)
{
    struct rankfile_identity id;
    size_t old_bytes = 0;
    uint32_t stream_bytes = 0;
    const char *metadata = p->old != NULL ? rt_rank_raw_metadata(p->old, &old_bytes) : "";
    if (p->has_stream) {
        metadata = drain_metadata(&p->drain, &stream_bytes);
        old_bytes = stream_bytes;
        stream_facts_identity(&id, &p->facts, &p->stream);
        p->drain.metadata_done = stream_bytes;
    } else {
        rank_identity(&id, p->old);
    }
    id.writer_pid = 0;
    id.writer_start_time = 0;
    const char *level = p->old != NULL ? rt_rank_metadata(p->old, "option.compress") : NULL;
    unsigned deflate = p->has_stream   ? p->facts.deflate
                       : level != NULL ? (unsigned)strtoul(level, NULL, 10)
                                       : 1;
    int rc = rankfile_create(&p->file, path, &id, metadata, old_bytes, deflate > 9 ? 9 : deflate,
                             false, e);
    if (rc != 0)
        return rc;
    rc = old_values_begin(&p->drain, &p->claim,
                          p->has_stream    ? p->facts.values
                          : p->old != NULL ? rt_rank_metadata(p->old, "values")
                                           : NULL);
    if (rc == 0)
        rc = fill(p, e);
    if (rc != 0) {
        if (e->text[0] == '\0')
            rt_error_set(e, "cannot write %s: %s", path, strerror(-rc));
        return rc;
    }
    rc = rankfile_finish(&p->file, "recovered",
                         p->has_stream ? "writer killed" : "writer killed; stream gone");
    if (rc != 0)
        rt_error_set(e, "cannot write %s: %s", path, strerror(-rc));
    return rc;
}

static void close_patient(struct patient *p)
{
    rt_rank_close(p->old);
    old_threads_free(&p->threads);
    rankfile_abandon(&p->file);
    drain_free(&p->drain);
    if (p->has_stream)
        stream_close(&p->stream);
}

static void fail(struct rt_recovered *r, const char *text)
{
    r->result = RT_RECOVER_FAILED;
    (void)snprintf(r->text, sizeof r->text, "%.500s", text);
}

static void tell_stream_gone(const struct patient *p)
{
    uint64_t torn = p->old != NULL ? rt_rank_raw_info(p->old)->tail_left_out : 0;
    int n = snprintf(p->result->text, sizeof p->result->text,
                     "the stream is gone (rebooted node, or deleted): what the "
                     "writer had not stored is lost");
    if (torn > 0)
        (void)snprintf(
            p->result->text + n, sizeof p->result->text - (size_t)n,
            "; it was killed while it stored the last events: from a torn row on, %" PRIu64
            " %s left out",
            torn, torn == 1 ? "is" : "are");
}

/* Removes the name of the stream. The process may still run: it keeps its mapping, and continues
 * without being recorded. */
static void finish_stream(struct patient *p)
{
    if (!p->has_stream)
        return;
    atomic_store(&p->stream.header->writer_state, WRITER_FAILED);
    if (p->facts.stream_path[0] != '\0')
        (void)unlink(p->facts.stream_path);
}

/* Returns true if there are neither events nor MPI. Such a process leaves no file, as with a living
 * writer. */
static bool nothing_recorded(const struct patient *p)
{
    return p->has_stream && atomic_load(&p->stream.header->mpi_state) == STREAM_MPI_NONE &&
           (atomic_load(&p->stream.header->state) == STREAM_EMPTY ||
            !drain_has_events(&p->drain, true));
}

/* Writes the complete file as `fresh` and moves it to `path`. */
static void complete(struct patient *p, const char *fresh, const char *path)
{
    struct rt_error e = {{0}};
    struct rt_recovered *result = p->result;
    int rc = write_new(p, fresh, &e);
    bool last;
    if (rc == 0 && rename(fresh, path) != 0) {
        rc = -errno;
        rt_error_set(&e, "cannot rename %s: %s", fresh, strerror(-rc));
    }
    if (rc != 0) {
        (void)unlink(fresh);
        fail(result, e.text);
        return;
    }
    result->result = p->has_stream ? RT_RECOVER_DONE : RT_RECOVER_STREAM_GONE;
    if (!p->has_stream)
        tell_stream_gone(p);
    old_rows_tell(&p->rows, result->text, sizeof result->text);
    finish_stream(p);
    old_values_done(&p->drain, result->text, sizeof result->text);
    verify_note(&p->claim);
    (void)!claim_finish(&p->claim, CLAIM_RECOVERED, p->file.written, &last);
}

/* Recovers one process. Returns false if there was nothing to recover and nothing to report. */
static bool recover_one(struct recovery *r, const struct claim *c, struct rt_recovered *result)
{
    struct rt_error e = {{0}};
    struct patient p = {
        .claim = *c, .file = {.file = -1, .fd = -1}, .result = result, .listener = r->listener};
    char path[PATH_MAX], fresh[PATH_MAX + 16];
    bool had_file = c->file[0] != '\0';
    (void)open_stream(&p, c->stream, &(struct rt_error){{0}});
    if (!had_file && nothing_recorded(&p)) {
        finish_stream(&p);
        claim_withdraw(&p.claim);
        close_patient(&p);
        return false;
    }
    if (!had_file && claim_take(&p.claim, &e) != 0) {
        fail(result, e.text);
        close_patient(&p);
        return true;
    }
    (void)snprintf(result->file, sizeof result->file, "%s", p.claim.file);
    if (claim_new_path(&p.claim, path) == 0)
        (void)unlink(path); /* the writer was killed while it created the file */
    (void)snprintf(path, sizeof path, "%s/%s", r->dir, p.claim.file);
    (void)snprintf(fresh, sizeof fresh, "%s/.regtrace/recover.%s", r->dir, p.claim.file);
    bool unreadable =
        had_file && access(path, F_OK) == 0 && rt_rank_open_file(&p.old, path, &e) != 0;
    /* If the writer was killed while it created its file, the stream still holds everything.
     * Otherwise the file stays as it is. */
    if (unreadable && !(p.has_stream && atomic_load(&p.stream.header->chunks_freed) == 0)) {
        fail(result, e.text);
        close_patient(&p);
        return true;
    }
    if (p.old == NULL && !p.has_stream) {
        fail(result,
             "neither a file nor its stream is left (the node was rebooted, or both were deleted)");
        claim_withdraw(&p.claim);
        close_patient(&p);
        return true;
    }
    complete(&p, fresh, path);
    close_patient(&p);
    return true;
}

/* Returns true if recover must complete the file of this entry. */
static bool needs_recovery(const struct recovery *r, struct claim *c, struct rt_recovered *result)
{
    int lives = claim_writer_lives(c, r->host, r->boot_id);
    /* The writer may have closed its file after we read the entry. Read the entry again: a dead
     * writer changes it no more. */
    if (lives == 0 && claim_reload(c) == -ENOENT)
        return false; /* nothing was recorded */
    (void)snprintf(result->file, sizeof result->file, "%s", c->file);
    if (c->state == CLAIM_CLOSED || c->state == CLAIM_RECOVERED) {
        verify_file(r->dir, c->file, c, r->listener, result);
        return false;
    }
    if (c->state == CLAIM_FAILED || lives == 0)
        return true;
    result->result = RT_RECOVER_LIVE;
    if (lives < 0)
        (void)snprintf(result->text, sizeof result->text,
                       "it belongs to a writer on %s, which may be alive: run recover there",
                       c->host);
    return false;
}

static void tell_alive(const struct recovery *r, uint32_t pid)
{
    struct rt_recovered result = {.result = RT_RECOVER_LIVE};
    (void)snprintf(result.file, sizeof result.file, "process %" PRIu32 ", without a file yet", pid);
    if (r->listener->report != NULL)
        r->listener->report(r->listener->context, &result);
}

int rt_recover_dir(const char *dir, const struct rt_recover_listener *listener, struct rt_error *e)
{
    struct recovery r = {.dir = dir, .listener = listener};
    claim_this_host(r.host, r.boot_id);
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    rc = recover_list_make(&r.list, dir, e);
    if (rc != 0) {
        recover_list_free(&r.list);
        return rc;
    }
    bool failed = false;
    for (size_t i = 0; i < r.list.alive_count; i++)
        tell_alive(&r, r.list.alive[i]);
    for (size_t i = 0; i < r.list.count; i++) {
        struct claim *c = &r.list.claims[i];
        struct rt_recovered result = {.result = RT_RECOVER_DONE};
        if (needs_recovery(&r, c, &result)) {
            leftover_remove(dir, c->pid, strcmp(c->host, r.host) == 0);
            if (!recover_one(&r, c, &result))
                continue;
        } else if (result.result == RT_RECOVER_DONE)
            continue; /* complete */
        else if (c->file[0] == '\0') {
            tell_alive(&r, c->pid);
            continue;
        }
        failed |= result.result == RT_RECOVER_FAILED || result.result == RT_RECOVER_DAMAGED;
        if (listener->report != NULL)
            listener->report(listener->context, &result);
    }
    failed |= verify_others(dir, r.list.claims, r.list.count, listener);
    recover_list_free(&r.list);
    rc = rt_index_build(dir, e);
    if (rc == -ENOENT && !failed)
        rc = 0; /* nothing was recorded at all */
    if (rc == 0 && failed) {
        rt_error_set(e, "not every file could be recovered");
        rc = -EIO;
    }
    return rc;
}
