/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the invariants of the events themselves: clocks, counts, windows, pairs, names. */
#include "tools/check/check.h"

#include "base/format/event_fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS 65536
#define DEPTH 256
#define DEPTH_AT_A_GAP 8 /* most calls that can be open where events were dropped */

/* State of one thread, while its events are read in order. */
struct passing {
    int32_t thread;
    uint64_t rows, last_clock;
    /* ordinal between EV_WINDOW_OPEN and EV_WINDOW_CLOSE of this thread; -1: none */
    int32_t open_window;
    unsigned depth; /* open MPI calls; beyond DEPTH only counted */
    uint32_t calls[DEPTH];
    /* leaves that may come without an enter, because a gap hides it */
    unsigned lost_enters;
};

struct check_pass {
    struct check *check;
    struct rt_rank *rank;
    struct passing *threads;
    size_t thread_count;
    uint32_t known[256]; /* codes already looked up, in a small hash table */
    uint32_t known_path; /* the latest one that was there */
    uint64_t opens, closes, fired;
};

static struct passing *thread_of(struct check_pass *p, int32_t tid)
{
    for (size_t i = 0; i < p->thread_count; i++)
        if (p->threads[i].thread == tid)
            return &p->threads[i];
    struct passing *more = realloc(p->threads, (p->thread_count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    p->threads = more;
    more += p->thread_count++;
    *more = (struct passing){.thread = tid, .open_window = -1};
    return more;
}

static void check_code(struct check_pass *p, uint32_t code, uint64_t row)
{
    uint32_t *slot = &p->known[(code ^ code >> 8 ^ code >> 16) & 0xff];
    if (*slot == code)
        return;
    *slot = code;
    if (strcmp(rt_rank_function(p->rank, code, NULL), "?") == 0)
        check_violation(p->check, CHECK_CODES,
                        "event %" PRIu64 " has the code 0x%06" PRIx32 ", which /functions has not",
                        row, code);
}

static void check_strings(struct check_pass *p, const struct rt_event *ev, uint64_t row)
{
    uint64_t id = 0;
    if (ev->code == EV_REGION_BEGIN || ev->code == EV_REGION_END || ev->code == EV_EXEC ||
        ev->code == EV_IMAGE)
        id = ev->a;
    else if (ev->code == EV_MPI_PCONTROL || ev->code == EV_MARK_TYPE)
        id = ev->b;
    else if (ev->code == EV_MARK_LABEL)
        id = EVENT_GET(ev, EV_MARK_LABEL, label);
    if (id != 0 && (id > UINT32_MAX || strcmp(rt_rank_string(p->rank, (uint32_t)id), "?") == 0))
        check_violation(p->check, CHECK_STRINGS,
                        "event %" PRIu64 " names string %" PRIu64 ", which is not in the file", row,
                        id);
}

/* Returns the call path that an event names; 0: none. */
static uint32_t path_of(const struct rt_event *ev)
{
    bool flagged = (ev->flags & EVENT_FLAG_PATH) != 0;
    if (EVENT_IS_MPI_LEAVE(ev->code))
        return flagged ? (uint32_t)EVENT_GET(ev, EV_MPI_LEAVE, path) : 0;
    if (ev->code == EV_SAMPLE)
        return flagged ? (uint32_t)EVENT_GET(ev, EV_SAMPLE, path) : 0;
    if (ev->code == EV_MPI_CALL_PATH)
        return (uint32_t)EVENT_GET(ev, EV_MPI_CALL_PATH, path);
    if (ev->code == EV_REGION_BEGIN)
        return (uint32_t)EVENT_GET(ev, EV_REGION_BEGIN, path);
    return ev->code == EV_FUNCTION_LEAVE ? (uint32_t)EVENT_GET(ev, EV_FUNCTION_LEAVE, path) : 0;
}

/* Checks that the path is there. In a live file its row may follow; older files have no table. */
static void check_path(struct check_pass *p, const struct rt_event *ev, uint64_t row)
{
    const struct rt_rank_tables *t = rt_rank_tables(p->rank);
    uint32_t path = path_of(ev);
    if (path == 0 || path == p->known_path || t->paths == NULL ||
        rt_rank_info(p->rank)->state == RT_FILE_LIVE)
        return;
    p->check->facts++;
    if (check_path_row(t, path) < t->path_count)
        p->known_path = path;
    else
        check_violation(p->check, CHECK_PATHS,
                        "event %" PRIu64 " names path %" PRIu32 ", which is not in the file", row,
                        path);
}

/* Checks that enters and leaves match. At a gap (an edge of a window, dropped events) no call is
 * open any more. */
static void check_pairs(struct check_pass *p, struct passing *t, const struct rt_event *ev,
                        uint64_t row)
{
    if (ev->code == EV_DROPPED) {
        t->depth = 0;
        t->lost_enters = DEPTH_AT_A_GAP;
    } else if (ev->code == EV_WINDOW_OPEN || ev->code == EV_WINDOW_CLOSE) {
        if (t->depth > 0)
            check_violation(p->check, CHECK_BALANCE,
                            "event %" PRIu64 ", thread %" PRId32
                            ": %u MPI calls are open over a window's edge",
                            row, t->thread, t->depth);
        t->depth = t->lost_enters = 0;
    } else if (EVENT_IS_MPI_ENTER(ev->code)) {
        if (t->depth < DEPTH)
            t->calls[t->depth] = EVENT_MPI_FUNCTION(ev->code);
        t->depth++;
    } else if (EVENT_IS_MPI_LEAVE(ev->code)) {
        if (t->depth == 0 && t->lost_enters > 0) {
            t->lost_enters--;
            return;
        }
        if (t->depth == 0 ||
            (t->depth <= DEPTH && t->calls[t->depth - 1] != EVENT_MPI_FUNCTION(ev->code)))
            check_violation(p->check, CHECK_BALANCE,
                            "event %" PRIu64 ", thread %" PRId32 ": %s is left, but %s", row,
                            t->thread, rt_rank_function(p->rank, ev->code, NULL),
                            t->depth == 0 ? "none is open" : "another is open");
        t->depth -= t->depth > 0;
    }
}

static void check_edges(struct check_pass *p, struct passing *t, const struct rt_event *ev,
                        uint64_t row)
{
    int32_t ordinal = (int32_t)EVENT_GET(ev, EV_WINDOW_OPEN, ordinal);
    if (ev->code == EV_WINDOW_OPEN) {
        p->opens++;
        if (t->open_window >= 0)
            check_violation(p->check, CHECK_WINDOWS,
                            "event %" PRIu64 ": thread %" PRId32 " opens window %" PRId32
                            " inside window %" PRId32,
                            row, t->thread, ordinal, t->open_window);
        t->open_window = ordinal;
    } else if (ev->code == EV_WINDOW_CLOSE) {
        p->closes++;
        if (t->open_window != ordinal)
            check_violation(p->check, CHECK_WINDOWS,
                            "event %" PRIu64 ": thread %" PRId32 " closes window %" PRId32
                            ", open is %" PRId32,
                            row, t->thread, ordinal, t->open_window);
        t->open_window = -1;
    }
    p->fired += ev->code == EV_FIRED;
}

static int check_event(struct check_pass *p, const struct rt_event *ev, uint64_t row)
{
    struct passing *t = thread_of(p, ev->thread);
    if (t == NULL)
        return -ENOMEM;
    if (ev->clock < t->last_clock)
        check_violation(p->check, CHECK_CLOCKS,
                        "event %" PRIu64 ": the clock of thread %" PRId32 " goes back by %" PRIu64
                        " ticks",
                        row, ev->thread, t->last_clock - ev->clock);
    t->last_clock = ev->clock;
    t->rows++;
    check_code(p, ev->code, row);
    check_strings(p, ev, row);
    check_path(p, ev, row);
    check_edges(p, t, ev, row);
    check_pairs(p, t, ev, row);
    return 0;
}

/* Checks that no call is open at the end of a rank that was not killed. */
static void check_ends(struct check_pass *p, const struct rt_rank_info *info)
{
    bool orderly = strcmp(info->end_reason, "finished") == 0;
    for (size_t i = 0; i < p->thread_count && orderly; i++)
        if (p->threads[i].depth > 0)
            check_violation(p->check, CHECK_BALANCE,
                            "thread %" PRId32 ": %u MPI calls are still open at the end",
                            p->threads[i].thread, p->threads[i].depth);
}

/* Checks that all events that a thread handed over have arrived, or are accounted for. /losses has
 * the events for which the file had no room (its size limit, a full disk), except records of waits
 * and drops, which the thread's row counts. */
static void check_handed_over(struct check_pass *p, const struct rt_thread *row, uint64_t seen,
                              bool orderly)
{
    const struct rt_rank_tables *t = rt_rank_tables(p->rank);
    uint64_t least = seen + row->incomplete, most;
    bool unstored = false, gone = false;
    for (size_t i = 0; i < t->loss_count; i++) {
        gone |= t->losses[i].kind == RT_LOSS_STREAM_GONE; /* how many events is unknown */
        if (t->losses[i].kind == RT_LOSS_STORAGE && t->losses[i].thread == row->thread) {
            least += t->losses[i].count;
            unstored = true;
        }
    }
    for (size_t i = 0; i < t->value_thread_count; i++) /* captured values are no events */
        least += t->value_threads[i].thread == row->thread ? t->value_threads[i].records : 0;
    most = least + (unstored ? row->waits + row->dropped : 0);
    /* A thread counts what it hands over with each whole chunk, so a thread that never ended has
     * not counted its last chunk. */
    if ((row->recorded > most && !gone) || (orderly && row->ended != 0 && row->recorded < least))
        check_violation(p->check, CHECK_COUNTS,
                        "thread %" PRId32 " handed over %" PRIu64 " events, %" PRIu64 " arrived%s",
                        row->thread, row->recorded, least,
                        unstored ? " or are counted as lost" : "");
}

static void check_counts(struct check_pass *p, uint64_t rows)
{
    const struct rt_rank_info *info = rt_rank_info(p->rank);
    const struct rt_rank_tables *t = rt_rank_tables(p->rank);
    uint64_t with_stop = 0, windows = 0;
    bool orderly = strcmp(info->end_reason, "finished") == 0;
    if (rows != info->event_count)
        check_violation(p->check, CHECK_COUNTS,
                        "%" PRIu64 " events are there, %" PRIu64 " are announced", rows,
                        info->event_count);
    for (size_t i = 0; i < t->window_count; i++) {
        bool in_span = window_span_has(&p->check->windows, t->windows[i].ordinal);
        windows += in_span;
        with_stop += in_span && t->windows[i].close_row != RT_NO_ROW;
    }
    if (p->opens != windows || p->closes != with_stop)
        check_violation(p->check, CHECK_COUNTS,
                        "%" PRIu64 " opens and %" PRIu64 " closes among the events, %" PRIu64
                        " and %" PRIu64 " in /windows",
                        p->opens, p->closes, windows, with_stop);
    if (p->check->windows.given)
        return; /* the rest is about the whole file */
    if (p->fired != t->fired_count)
        check_violation(p->check, CHECK_COUNTS,
                        "%" PRIu64 " fired alarms among the events, %zu in /fired", p->fired,
                        t->fired_count);
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct rt_thread *row = &t->threads[i];
        const struct passing *seen = thread_of(p, row->thread);
        p->check->facts++;
        if (seen == NULL) {
            check_violation(p->check, CHECK_READABLE, "no memory to check threads");
            return;
        }
        if (row->rows != seen->rows)
            check_violation(p->check, CHECK_COUNTS,
                            "thread %" PRId32 " has %" PRIu64 " events, its row says %" PRIu64,
                            row->thread, seen->rows, row->rows);
        check_handed_over(p, row, seen->rows, orderly);
    }
    for (size_t i = 0; i < p->thread_count; i++) {
        bool known = false;
        for (size_t k = 0; k < t->thread_count && !known; k++)
            known = t->threads[k].thread == p->threads[i].thread;
        if (!known)
            check_violation(p->check, CHECK_FOOTERS,
                            "events of thread %" PRId32 ", which has no row in /threads",
                            p->threads[i].thread);
    }
}

/* Checks that the rows to which /windows and /fired point are the right events. */
static void check_pointed(struct check_pass *p, const struct rt_event *block, uint64_t first,
                          size_t got)
{
    const struct rt_rank_tables *t = rt_rank_tables(p->rank);
    for (size_t i = 0; i < t->window_count; i++) {
        const struct rt_window *w = &t->windows[i];
        if (!window_span_has(&p->check->windows, w->ordinal))
            continue;
        if (w->open_row - first < got) {
            const struct rt_event *ev = &block[w->open_row - first];
            p->check->facts++;
            if (ev->code != EV_WINDOW_OPEN || ev->thread != w->thread ||
                (int32_t)EVENT_GET(ev, EV_WINDOW_OPEN, ordinal) != w->ordinal ||
                ev->clock != w->start_clock)
                check_violation(p->check, CHECK_WINDOWS,
                                "window %" PRId32 " of thread %" PRId32 ": event %" PRIu64
                                " is not its opening",
                                w->ordinal, w->thread, w->open_row);
        }
        if (w->close_row != RT_NO_ROW && w->close_row - first < got) {
            const struct rt_event *ev = &block[w->close_row - first];
            if (ev->code != EV_WINDOW_CLOSE || ev->thread != w->thread ||
                (int32_t)EVENT_GET(ev, EV_WINDOW_CLOSE, ordinal) != w->ordinal ||
                ev->clock != w->stop_clock)
                check_violation(p->check, CHECK_WINDOWS,
                                "window %" PRId32 " of thread %" PRId32 ": event %" PRIu64
                                " is not its closing",
                                w->ordinal, w->thread, w->close_row);
        }
    }
    for (size_t i = 0; i < t->fired_count && !p->check->windows.given; i++)
        if (t->fired[i].row - first < got &&
            (block[t->fired[i].row - first].code != EV_FIRED ||
             block[t->fired[i].row - first].clock != t->fired[i].clock))
            check_violation(p->check, CHECK_FIRED,
                            "fired row %zu: event %" PRIu64 " is not its firing", i,
                            t->fired[i].row);
}

int check_events(struct check *c, struct rt_rank *rank, struct rt_error *e)
{
    struct check_pass p = {.check = c, .rank = rank};
    struct rt_event *block = calloc(BLOCK_ROWS, sizeof *block);
    int rc = block != NULL ? 0 : -ENOMEM;
    uint64_t row = 0;
    size_t got = 1;
    struct progress progress;
    struct check_pieces pieces = {.count = 0};
    if (!c->windows.given)
        check_pieces_begin(&pieces, c, rank);
    progress_begin(&progress, c->file);
    for (; rc == 0 && got > 0; row += got) {
        rc = rt_rank_read_events(rank, row, BLOCK_ROWS, block, &got, e);
        for (size_t i = 0; rc == 0 && i < got; i++)
            if (window_span_has(&c->windows, block[i].window))
                rc = check_event(&p, &block[i], row + i);
        if (rc == 0) {
            check_pointed(&p, block, row, got);
            check_pieces_block(&pieces, c, block, row, got);
        }
        progress_update(&progress, row, rt_rank_info(rank)->event_count);
    }
    progress_end(&progress);
    if (rc == -ENOMEM)
        rt_error_set(e, "no memory");
    if (rc == 0) {
        c->facts += row;
        check_ends(&p, rt_rank_info(rank));
        check_counts(&p, row);
    }
    free(block);
    free(p.threads);
    return rc;
}
