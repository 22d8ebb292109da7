/* SPDX-License-Identifier: BSD-3-Clause
 * Writes one window of a rank file as a separate file, which needs nothing of the old one.
 *
 * The result is a rank file like any other. Identity, calibration, strings, images, communicators
 * and threads are copied, and rows are numbered anew. A thread that continued after the window ends
 * with the window (a synthetic end). The window keeps its ordinal, which the metadata repeats as
 * split.window. */
#include "writer/stream_facts.h"
#include "writer/read/reader.h"

#include "base/search.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 65536u
#define FLAG_IGNORED 8u

struct split {
    struct rt_rank *rank;
    const struct rt_extents *extents;
    const struct rt_extent *window;
    struct rankfile file;
    /* Rows as they will be written; kernel_tid and so on are from the old file. */
    struct rt_thread *threads;
    bool *thread_there;
    size_t thread_count;
    struct rt_window *windows; /* rows of this ordinal; their row numbers follow their events */
    size_t window_count;
    uint64_t *openers; /* old rows of the fired alarms that opened them; RT_NO_ROW: none */
    uint64_t last_clock;
};

static int grow(struct rt_extents *x, int32_t ordinal)
{
    if (ordinal < 0 || (size_t)ordinal < x->count)
        return 0;
    size_t count = (size_t)ordinal + 1;
    struct rt_extent *more = realloc(x->rows, count * sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    for (size_t i = x->count; i < count; i++)
        more[i] = (struct rt_extent){.ordinal = (int32_t)i, .first_row = RT_NO_ROW};
    x->rows = more;
    x->count = count;
    return 0;
}

/* An ordinal that no row of /windows has is damage. However large it is, it makes no room in
 * `rows`. */
static void note_event(struct rt_extents *x, int32_t ordinal, uint64_t row)
{
    if (ordinal < 0) {
        x->outside++;
    } else if ((size_t)ordinal >= x->count || !x->rows[ordinal].known) {
        x->unknown++;
    } else {
        struct rt_extent *w = &x->rows[ordinal];
        w->first_row = row < w->first_row ? row : w->first_row;
        w->end_row = row + 1;
        w->events++;
    }
}

/* Returns true for an event that is recorded once and holds in later windows too. */
static bool is_meaning(const struct rt_event *ev)
{
    return ev->code == EV_MARK_TYPE || ev->code == EV_MARK_LABEL || ev->code == EV_AFFINITY ||
           ev->code == EV_MPI_READY || ev->code == EV_MPI_DONE;
}

static int note_meaning(struct rt_extents *x, const struct rt_event *ev, uint64_t row)
{
    enum { STEP = 256 };
    if (x->meaning_count % STEP == 0) {
        struct rt_meaning *more = realloc(x->meanings, (x->meaning_count + STEP) * sizeof *more);
        if (more == NULL)
            return -ENOMEM;
        x->meanings = more;
    }
    for (size_t i = x->meaning_count; ev->code == EV_AFFINITY && i-- > 0;) {
        struct rt_meaning *m = &x->meanings[i];
        if (m->event.code != EV_AFFINITY || m->event.thread != ev->thread)
            continue;
        m->until = row;
        break;
    }
    x->meanings[x->meaning_count++] = (struct rt_meaning){row, RT_NO_ROW, *ev};
    return 0;
}

int rt_rank_extents(struct rt_rank *rank, struct rt_extents *out, struct rt_error *e)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    struct rt_event *block = malloc(BLOCK * sizeof *block);
    int rc = block == NULL ? -ENOMEM : 0;
    size_t got = 1;
    *out = (struct rt_extents){0};
    for (size_t i = 0; i < t->window_count && rc == 0; i++) {
        rc = t->windows[i].ordinal < (1 << 26) ? grow(out, t->windows[i].ordinal) : -EBADMSG;
        if (rc == 0 && t->windows[i].ordinal >= 0)
            out->rows[t->windows[i].ordinal].known = true;
    }
    for (uint64_t row = 0; rc == 0 && got > 0; row += got) {
        rc = rt_rank_read_events(rank, row, BLOCK, block, &got, e);
        for (size_t i = 0; i < got && rc == 0; i++) {
            note_event(out, block[i].window, row + i);
            rc = is_meaning(&block[i]) ? note_meaning(out, &block[i], row + i) : 0;
        }
    }
    if (rc == -ENOMEM)
        rt_error_set(e, "out of memory for the windows of %s", rt_rank_info(rank)->file);
    else if (rc == -EBADMSG && e != NULL && e->text[0] == '\0')
        rt_error_set(e, "the ordinals of its windows are damaged; `regtrace check` says more");
    free(block);
    if (rc != 0)
        rt_extents_free(out);
    return rc;
}

void rt_extents_free(struct rt_extents *x)
{
    free(x->rows);
    free(x->meanings);
    *x = (struct rt_extents){0};
}

/* Returns the row of the fired alarm, default start or call that opened the window, or RT_NO_ROW.
 * It is right before the window, outside of it. */
static uint64_t opener_of(const struct rt_rank_tables *t, const struct rt_window *w)
{
    const struct rt_fired *last = NULL;
    for (size_t i = 0; w->firing && i < t->fired_count; i++)
        if (t->fired[i].thread == w->thread && t->fired[i].row < w->open_row &&
            t->fired[i].window < 0 && (last == NULL || t->fired[i].row > last->row))
            last = &t->fired[i];
    return last != NULL && last->alarm == w->start_alarm && (last->flags & FLAG_IGNORED) == 0
               ? last->row
               : RT_NO_ROW;
}

static int pick_rows(struct split *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    s->windows = calloc(t->window_count + 1, sizeof *s->windows);
    s->openers = calloc(t->window_count + 1, sizeof *s->openers);
    s->threads = calloc(t->thread_count + 1, sizeof *s->threads);
    s->thread_there = calloc(t->thread_count + 1, sizeof *s->thread_there);
    if (s->windows == NULL || s->openers == NULL || s->threads == NULL || s->thread_there == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < t->window_count; i++) {
        if (t->windows[i].ordinal != s->window->ordinal)
            continue;
        s->openers[s->window_count] = opener_of(t, &t->windows[i]);
        s->windows[s->window_count++] = t->windows[i];
        if (t->windows[i].stop_clock > s->last_clock)
            s->last_clock = t->windows[i].stop_clock;
    }
    s->thread_count = t->thread_count;
    for (size_t i = 0; i < t->thread_count; i++) {
        struct rt_thread *row = &s->threads[i];
        *row = t->threads[i];
        row->rows = row->recorded = row->dropped = row->waits = row->wait_ticks = 0;
        row->incomplete = row->own_ticks = 0;
        row->interrupted = 0;
    }
    return 0;
}

static struct rt_thread *thread_of(struct split *s, int32_t tid)
{
    for (size_t i = 0; i < s->thread_count; i++)
        if (s->threads[i].thread == tid) {
            s->thread_there[i] = true;
            return &s->threads[i];
        }
    return NULL;
}

/* An EV_AFFINITY matters only if its thread was in the window. */
static bool is_meant(const struct split *s, const struct rt_event *ev)
{
    bool there = ev->code != EV_AFFINITY;
    for (size_t i = 0; !there && i < s->window_count; i++)
        there = s->windows[i].thread == ev->thread;
    return there;
}

static bool belongs(const struct split *s, const struct rt_event *ev, uint64_t row)
{
    if (ev->window == s->window->ordinal || (is_meaning(ev) && is_meant(s, ev)))
        return true;
    for (size_t i = 0; ev->code == EV_FIRED && i < s->window_count; i++)
        if (s->openers[i] == row)
            return true;
    return false;
}

/* Copies what other tables say about the old row, for the new row. */
static int carry_row(struct split *s, const struct rt_event *ev, uint64_t old, uint64_t new)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    struct table *to = s->file.tables;
    for (size_t i = 0; i < s->window_count && ev->code == EV_WINDOW_OPEN; i++)
        if (s->windows[i].thread == ev->thread)
            s->windows[i].open_row = new;
    for (size_t i = 0; i < s->window_count && ev->code == EV_WINDOW_CLOSE; i++)
        if (s->windows[i].thread == ev->thread)
            s->windows[i].close_row = new;
    if (ev->code == EV_DROPPED) {
        struct rt_loss loss = {RT_LOSS_DROPPED, ev->thread, ev->a, ev->clock};
        return table_append(&to[SCHEMA_LOSSES], &loss, 1);
    }
    size_t n;
    if (ev->code != EV_FIRED)
        return 0;
    SEARCH_FIRST(n, t->fired_count, t->fired[n].row < old);
    if (n >= t->fired_count || t->fired[n].row != old)
        return 0;
    struct rt_fired fired = t->fired[n];
    fired.row = new;
    return table_append(&to[SCHEMA_FIRED], &fired, 1);
}

static int take_event(struct split *s, const struct rt_event *ev, uint64_t old)
{
    uint64_t new = rankfile_next_row(&s->file);
    struct rt_thread *thread = thread_of(s, ev->thread);
    if (thread != NULL) {
        thread->rows++;
        thread->recorded++;
        thread->dropped += ev->code == EV_DROPPED ? ev->a : 0;
        thread->waits += ev->code == EV_WAITED;
        thread->wait_ticks += ev->code == EV_WAITED ? ev->a : 0;
    }
    if (ev->clock > s->last_clock)
        s->last_clock = ev->clock;
    struct rt_event copy = *ev;
    if (is_meaning(ev) && ev->window != s->window->ordinal)
        copy.window = STREAM_NO_WINDOW;
    int rc = rankfile_add(&s->file, &copy);
    return rc != 0 ? rc : carry_row(s, ev, old, new);
}

static int copy_events(struct split *s, struct rt_error *e)
{
    struct rt_event *block = malloc(BLOCK * sizeof *block);
    uint64_t row = s->window->first_row, end = s->window->end_row;
    int rc = block == NULL ? -ENOMEM : 0;
    for (size_t i = 0; i < s->window_count; i++)
        row = s->openers[i] < row ? s->openers[i] : row;
    for (size_t i = 0; i < s->extents->meaning_count && rc == 0; i++) {
        const struct rt_meaning *m = &s->extents->meanings[i];
        if (m->row < row && m->until >= row && is_meant(s, &m->event))
            rc = take_event(s, &m->event, m->row);
    }
    while (row < end && rc == 0) {
        size_t got = 0;
        rc = rt_rank_read_events(s->rank, row, end - row < BLOCK ? (size_t)(end - row) : BLOCK,
                                 block, &got, e);
        if (rc == 0 && got == 0)
            rc = -EBADMSG;
        for (size_t i = 0; i < got && rc == 0; i++)
            if (belongs(s, &block[i], row + i))
                rc = take_event(s, &block[i], row + i);
        if (rc == 0)
            rc = rankfile_commit(&s->file, false);
        row += got;
    }
    free(block);
    return rc;
}

static int copy_strings(struct split *s)
{
    const char *text;
    uint32_t id;
    int rc = 0;
    for (size_t i = 0; rc == 0 && (text = rt_rank_string_at(s->rank, i, &id)) != NULL; i++) {
        struct rt_string_row row = {id, (uint32_t)strlen(text),
                                    table_rows(&s->file.tables[SCHEMA_STRINGS])};
        rc = table_append(&s->file.tables[SCHEMA_STRINGS], text, row.length);
        if (rc == 0)
            rc = table_append(&s->file.tables[SCHEMA_STRING_INDEX], &row, 1);
    }
    return rc;
}

/* Copies what was known before the window and is needed to read it. The events of these rows are
 * not in the new file; row 0 stands for that. */
static int copy_known(struct split *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    struct table *to = s->file.tables;
    int rc = copy_strings(s);
    if (rc == 0 && t->calibration_count > 0)
        rc = table_append(&to[SCHEMA_CALIBRATION], t->calibration, t->calibration_count);
    for (size_t i = 0; i < t->comm_count && rc == 0; i++) {
        struct rt_comm row = t->comms[i];
        row.row = 0;
        rc = table_append(&to[SCHEMA_COMMS], &row, 1);
    }
    if (rc == 0 && t->path_count > 0)
        rc = table_append(&to[SCHEMA_PATHS], t->paths, t->path_count);
    for (size_t i = 0; i < t->function_count && rc == 0; i++)
        if (EVENT_IS_MPI_ENTER(t->functions[i].code) || EVENT_IS_MPI_LEAVE(t->functions[i].code))
            rc = rankfile_add_mpi_function(&s->file, EVENT_MPI_FUNCTION(t->functions[i].code));
    return rc;
}

/* Values are counted by instruction for the whole life of the process, so each window's file gets
 * all of them. The records that brought them are not events of the window: `records` is 0. */
static int copy_values(struct split *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    struct table *to = s->file.tables;
    const char *plugin = rt_rank_metadata(s->rank, "values");
    int rc = 0;
    if (plugin == NULL || plugin[0] == '\0')
        return 0; /* the run captured no values */
    if (t->value_instruction_count > 0)
        rc = table_append(&to[SCHEMA_VALUE_INSTRUCTIONS], t->value_instructions,
                          t->value_instruction_count);
    if (rc == 0 && t->value_hot_count > 0)
        rc = table_append(&to[SCHEMA_VALUE_HOT], t->value_hot, t->value_hot_count);
    for (size_t i = 0; i < t->value_thread_count && rc == 0; i++) {
        struct rt_value_thread row = t->value_threads[i];
        row.records = 0;
        rc = table_append(&to[SCHEMA_VALUE_THREADS], &row, 1);
    }
    for (int i = SCHEMA_VALUE_INSTRUCTIONS; i <= SCHEMA_VALUE_THREADS && rc == 0; i++)
        rc = table_flush(&to[i]);
    return rc;
}

static bool is_truncated(const struct split *s, int32_t thread)
{
    for (size_t i = 0; i < s->window_count; i++)
        if (s->windows[i].thread == thread && s->windows[i].truncated)
            return true;
    return false;
}

/* Copies the losses that may concern the window, except dropped events: carry_row() copies those
 * from the events that report them. Incomplete and unstored events are the last of their thread, so
 * they belong to a window that was open to the end. The window of the other losses is unknown, so
 * the file of each window gets them. */
static int copy_losses(struct split *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    int rc = 0;
    for (size_t i = 0; i < t->loss_count && rc == 0; i++) {
        const struct rt_loss *l = &t->losses[i];
        bool of_thread = l->kind == RT_LOSS_INCOMPLETE || l->kind == RT_LOSS_STORAGE;
        if (l->kind == RT_LOSS_DROPPED || (of_thread && !is_truncated(s, l->thread)))
            continue;
        struct rt_thread *thread = of_thread ? thread_of(s, l->thread) : NULL;
        if (thread != NULL)
            thread->recorded += l->count;
        if (thread != NULL && l->kind == RT_LOSS_INCOMPLETE)
            thread->incomplete += l->count;
        rc = table_append(&s->file.tables[SCHEMA_LOSSES], l, 1);
    }
    return rc;
}

static int add_threads_and_windows(struct split *s)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    struct table *to = s->file.tables;
    int rc = 0;
    for (size_t i = 0; i < s->window_count && rc == 0; i++) {
        (void)thread_of(s, s->windows[i].thread);
        rc = table_append(&to[SCHEMA_WINDOWS], &s->windows[i], 1);
    }
    for (size_t i = 0; i < s->thread_count && rc == 0; i++) {
        struct rt_thread *row = &s->threads[i];
        if (!s->thread_there[i])
            continue;
        if (row->ended == 0 || row->ended > s->last_clock)
            row->ended = row->started > s->last_clock ? row->started : s->last_clock;
        row->state = THREAD_ENDED;
        rc = table_append(&to[SCHEMA_THREADS], row, 1);
    }
    for (size_t i = 0; i < t->map_count && rc == 0; i++) {
        struct rt_map row = t->maps[i];
        row.row = 0;
        if (row.clock <= s->last_clock)
            rc = table_append(&to[SCHEMA_MAPS], &row, 1);
    }
    return rc;
}

static void identify(const struct split *s, struct rankfile_identity *id)
{
    const struct rt_rank_tables *t = rt_rank_tables(s->rank);
    rank_identity(id, s->rank);
    id->stream = "";
    id->windows_opened = 1;
    id->fired_total = id->ignored_total = 0;
    for (size_t k = 0; k < t->fired_count; k++) {
        bool there = t->fired[k].window == s->window->ordinal;
        for (size_t w = 0; w < s->window_count; w++)
            there |= s->openers[w] == t->fired[k].row;
        id->fired_total += there;
        id->ignored_total += there && (t->fired[k].flags & FLAG_IGNORED) != 0;
    }
}

/* Returns the old file's lines, and lines that say which window of which file this is. The names of
 * rank files hold nothing that the format escapes. */
static char *metadata_of(const struct split *s, size_t *bytes)
{
    size_t old = 0;
    const char *text = rt_rank_raw_metadata(s->rank, &old);
    char *all = malloc(old + 512);
    if (all == NULL)
        return NULL;
    if (old > 0)
        memcpy(all, text, old);
    int n = snprintf(all + old, 512, "%ssplit.window=%d\nsplit.file=%.300s\n",
                     old > 0 && text[old - 1] != '\n' ? "\n" : "", (int)s->window->ordinal,
                     rt_rank_info(s->rank)->file);
    *bytes = old + (size_t)n;
    return all;
}

static int fill(struct split *s, struct rt_error *e)
{
    int rc = copy_known(s);
    if (rc == 0)
        rc = copy_values(s);
    if (rc == 0)
        rc = copy_events(s, e);
    if (rc == 0)
        rc = copy_losses(s);
    return rc != 0 ? rc : add_threads_and_windows(s);
}

static int write_file(struct split *s, const char *path, struct rt_error *e)
{
    struct rankfile_identity id;
    size_t bytes;
    const char *level = rt_rank_metadata(s->rank, "option.compress");
    unsigned deflate = level != NULL ? (unsigned)strtoul(level, NULL, 10) : 1;
    int rc = pick_rows(s);
    char *metadata = rc == 0 ? metadata_of(s, &bytes) : NULL;
    if (metadata == NULL) {
        rt_error_set(e, "out of memory");
        return -ENOMEM;
    }
    identify(s, &id);
    rc = rankfile_create(&s->file, path, &id, metadata, bytes, deflate > 9 ? 9 : deflate, false, e);
    if (rc == 0)
        rc = fill(s, e);
    free(metadata);
    if (rc == 0)
        rc = rankfile_finish(&s->file, "closed", rt_rank_info(s->rank)->end_reason);
    else
        rankfile_abandon(&s->file);
    if (rc != 0 && (e == NULL || e->text[0] == '\0'))
        rt_error_set(e, "cannot write %s: %s", path, strerror(-rc));
    if (rc != 0)
        (void)unlink(path);
    return rc;
}

int rt_rank_split(struct rt_rank *rank, const struct rt_extents *x, const struct rt_extent *window,
                  const char *path, struct rt_error *e)
{
    struct split s = {.rank = rank, .extents = x, .window = window};
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    rc = write_file(&s, path, e);
    free(s.windows);
    free(s.openers);
    free(s.threads);
    free(s.thread_there);
    return rc;
}
