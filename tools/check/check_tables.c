/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the invariants of the small tables: windows, threads, alarms, losses. */
#include "tools/check/check.h"

#include "base/options.h"
#include "base/search.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool is_complete(const struct rt_rank_info *info)
{
    return info->state == RT_FILE_CLOSED || info->state == RT_FILE_RECOVERED;
}

static const struct rt_thread *find_thread(const struct rt_rank_tables *t, int32_t tid)
{
    for (size_t i = 0; i < t->thread_count; i++)
        if (t->threads[i].thread == tid)
            return &t->threads[i];
    return NULL;
}

static bool has_alarm(const struct rt_rank_tables *t, int32_t alarm)
{
    for (size_t i = 0; i < t->alarm_count; i++)
        if (t->alarms[i].alarm == alarm)
            return true;
    return alarm == RT_NO_ALARM;
}

/* Returns the first ordinal of the file: 0, or in a file of `regtrace split` that of its only
 * window. */
static int32_t first_ordinal(const struct rt_rank *rank)
{
    const char *split = rt_rank_metadata(rank, "split.window");
    uint64_t first = 0;
    return split != NULL && argument_number(split, 0, INT32_MAX, &first) == 0 ? (int32_t)first : 0;
}

/* Counts threads that the end of the process cut off, at any instruction. A thread takes the next
 * ordinal before it records that its window opens. So each of these threads may have taken one
 * ordinal that no row has. */
static uint64_t threads_cut_off(const struct rt_rank_tables *t)
{
    uint64_t n = 0;
    for (size_t i = 0; i < t->thread_count; i++)
        n += t->threads[i].ended == 0;
    return n;
}

/* Checks that every ordinal from the first to the largest occurs, so that no window is lost. */
static void check_ordinals(struct check *c, const struct rt_rank *rank,
                           const struct rt_rank_tables *t)
{
    int32_t most = -1, first = first_ordinal(rank);
    for (size_t i = 0; i < t->window_count; i++) {
        if (t->windows[i].ordinal < first)
            check_violation(c, CHECK_ORDINALS, "window row %zu has ordinal %" PRId32, i,
                            t->windows[i].ordinal);
        most = t->windows[i].ordinal > most ? t->windows[i].ordinal : most;
    }
    c->facts += t->window_count;
    if (most < first)
        return;
    if ((uint64_t)(most - first) > 64 * (uint64_t)t->window_count + 1024) {
        check_violation(c, CHECK_ORDINALS,
                        "ordinals go up to %" PRId32 ", but there are %zu window rows", most,
                        t->window_count);
        return;
    }
    bool *seen = calloc((size_t)(most - first) + 1, sizeof *seen);
    if (seen == NULL) {
        check_violation(c, CHECK_READABLE, "no memory to check ordinals");
        return;
    }
    for (size_t i = 0; i < t->window_count; i++)
        if (t->windows[i].ordinal >= first)
            seen[t->windows[i].ordinal - first] = true;
    uint64_t missing = 0, allowed = threads_cut_off(t);
    for (int64_t o = first; o <= most; o++)
        missing += !seen[o - first];
    for (int64_t o = first; missing > allowed && o <= most; o++)
        if (!seen[o - first])
            check_violation(c, CHECK_ORDINALS,
                            "no window has ordinal %" PRId64 ", though %" PRId32 " exists", o,
                            most);
    free(seen);
}

static int by_thread_and_start(const void *a, const void *b)
{
    const struct rt_window *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->start_clock < y->start_clock ? -1 : x->start_clock > y->start_clock;
}

/* Checks that windows of one thread do not overlap, and that no ordinal occurs twice in a
 * thread. */
static void check_overlap(struct check *c, const struct rt_rank_tables *t)
{
    struct rt_window *sorted = calloc(t->window_count + 1, sizeof *sorted);
    if (sorted == NULL) {
        check_violation(c, CHECK_READABLE, "no memory to check windows");
        return;
    }
    size_t count = 0;
    for (size_t i = 0; i < t->window_count; i++)
        if (window_span_has(&c->windows, t->windows[i].ordinal))
            sorted[count++] = t->windows[i];
    qsort(sorted, count, sizeof *sorted, by_thread_and_start);
    for (size_t i = 1; i < count; i++) {
        const struct rt_window *p = &sorted[i - 1], *w = &sorted[i];
        if (p->thread != w->thread)
            continue;
        if (p->ordinal == w->ordinal)
            check_violation(c, CHECK_WINDOWS, "thread %" PRId32 " has two rows of window %" PRId32,
                            w->thread, w->ordinal);
        else if (p->stop_clock > w->start_clock)
            check_violation(c, CHECK_WINDOWS,
                            "thread %" PRId32 ": windows %" PRId32 " and %" PRId32 " overlap",
                            w->thread, p->ordinal, w->ordinal);
    }
    free(sorted);
}

static void check_window(struct check *c, const struct rt_rank_info *info,
                         const struct rt_rank_tables *t, const struct rt_window *w)
{
    bool open = w->close_row == RT_NO_ROW;
    c->facts++;
#define WHICH "window %" PRId32 " of thread %" PRId32 ": "
    if (is_complete(info) && open && !w->truncated)
        check_violation(c, CHECK_WINDOWS, WHICH "has neither a stop nor a truncation mark",
                        w->ordinal, w->thread);
    if (is_complete(info) && w->reason == RT_WINDOW_OPEN)
        check_violation(c, CHECK_WINDOWS, WHICH "is marked as open in a finished file", w->ordinal,
                        w->thread);
    if (!open && w->truncated)
        check_violation(c, CHECK_WINDOWS, WHICH "has a stop and a truncation mark", w->ordinal,
                        w->thread);
    if (w->stop_clock != 0 && w->stop_clock < w->start_clock)
        check_violation(c, CHECK_WINDOWS, WHICH "stops before it starts", w->ordinal, w->thread);
    if (!open && w->close_row <= w->open_row)
        check_violation(c, CHECK_WINDOWS, WHICH "its stop stands before its start in the file",
                        w->ordinal, w->thread);
    if (w->start_icount >= 0 && w->stop_icount >= 0 && w->stop_icount < w->start_icount)
        check_violation(c, CHECK_WINDOWS, WHICH "instruction counts go down", w->ordinal,
                        w->thread);
    if (!(w->weight >= 0 && w->weight < 1e300) || !(w->multiplier >= 0 && w->multiplier < 1e300))
        check_violation(c, CHECK_WINDOWS, WHICH "weight %g, multiplier %g", w->ordinal, w->thread,
                        w->weight, w->multiplier);
    if (w->kind > 3)
        check_violation(c, CHECK_WINDOWS, WHICH "unknown kind %u", w->ordinal, w->thread, w->kind);
    if (!has_alarm(t, w->start_alarm) || !has_alarm(t, w->stop_alarm))
        check_violation(c, CHECK_FIRED, WHICH "names an alarm that /alarms has not", w->ordinal,
                        w->thread);
    if (find_thread(t, w->thread) == NULL)
        check_violation(c, CHECK_FOOTERS, WHICH "its thread has no row in /threads", w->ordinal,
                        w->thread);
#undef WHICH
}

/* Checks that each thread has exactly one row, and does not end before it starts. */
static void check_footers(struct check *c, const struct rt_rank_tables *t)
{
    for (size_t i = 0; i < t->thread_count; i++) {
        const struct rt_thread *a = &t->threads[i];
        c->facts++;
        for (size_t k = 0; k < i; k++)
            if (t->threads[k].thread == a->thread)
                check_violation(c, CHECK_FOOTERS, "thread %" PRId32 " has more than one row",
                                a->thread);
        if (a->ended != 0 && a->ended < a->started)
            check_violation(c, CHECK_FOOTERS, "thread %" PRId32 " ends before it starts",
                            a->thread);
    }
}

static void check_losses(struct check *c, const struct rt_rank_info *info,
                         const struct rt_rank_tables *t)
{
    for (size_t i = 0; i < t->thread_count; i++) {
        uint64_t dropped = 0, incomplete = 0;
        for (size_t k = 0; k < t->loss_count; k++) {
            if (t->losses[k].thread != t->threads[i].thread)
                continue;
            dropped += t->losses[k].kind == RT_LOSS_DROPPED ? t->losses[k].count : 0;
            incomplete += t->losses[k].kind == RT_LOSS_INCOMPLETE ? t->losses[k].count : 0;
        }
        c->facts += 2;
        if (is_complete(info) && dropped != t->threads[i].dropped)
            check_violation(c, CHECK_LOSSES,
                            "thread %" PRId32 " dropped %" PRIu64
                            " events, /losses accounts for %" PRIu64,
                            t->threads[i].thread, t->threads[i].dropped, dropped);
        if (is_complete(info) && incomplete != t->threads[i].incomplete)
            check_violation(c, CHECK_LOSSES,
                            "thread %" PRId32 " left %" PRIu64
                            " events incomplete, /losses accounts for %" PRIu64,
                            t->threads[i].thread, t->threads[i].incomplete, incomplete);
    }
    for (size_t k = 0; k < t->loss_count; k++)
        if (t->losses[k].kind < RT_LOSS_DROPPED || t->losses[k].kind > RT_LOSS_STORAGE)
            check_violation(c, CHECK_LOSSES, "loss row %zu has the unknown kind %" PRIu32, k,
                            t->losses[k].kind);
}

static void check_fired(struct check *c, const struct rt_rank_info *info,
                        const struct rt_rank_tables *t)
{
    for (size_t i = 0; i < t->fired_count; i++) {
        const struct rt_fired *f = &t->fired[i];
        c->facts++;
        if (!has_alarm(t, f->alarm))
            check_violation(c, CHECK_FIRED,
                            "fired row %zu names alarm %" PRId32 ", which /alarms has not", i,
                            f->alarm);
        if (f->row >= info->event_count)
            check_violation(c, CHECK_FIRED, "fired row %zu points to event %" PRIu64 " of %" PRIu64,
                            i, f->row, info->event_count);
        if (i > 0 && f->row <= t->fired[i - 1].row)
            check_violation(c, CHECK_FIRED,
                            "fired rows %zu and %zu are not in the order of their events", i - 1,
                            i);
    }
}

static void check_string(struct check *c, const struct rt_rank *rank, uint32_t id,
                         const char *where, size_t row)
{
    c->facts++;
    if (id != 0 && strcmp(rt_rank_string(rank, id), "?") == 0)
        check_violation(c, CHECK_STRINGS,
                        "%s row %zu names string %" PRIu32 ", which is not in the file", where, row,
                        id);
}

/* Checks the windows of a span: each ordinal occurs, and each row is valid. */
static void check_span(struct check *c, const struct rt_rank_info *info,
                       const struct rt_rank_tables *t)
{
    uint64_t rows = 0, files_last = 0;
    for (size_t i = 0; i < t->window_count; i++) {
        if ((uint64_t)t->windows[i].ordinal + 1 > files_last && t->windows[i].ordinal >= 0)
            files_last = (uint64_t)t->windows[i].ordinal + 1;
        if (!window_span_has(&c->windows, t->windows[i].ordinal))
            continue;
        check_window(c, info, t, &t->windows[i]);
        rows++;
    }
    c->in_span += rows;
    /* Only a check of the whole file can tell which ordinals may have no window. */
    if (threads_cut_off(t) > 0)
        return;
    for (int64_t o = c->windows.first; o <= c->windows.last && (uint64_t)o < files_last; o++) {
        bool seen = false;
        for (size_t i = 0; !seen && i < t->window_count; i++)
            seen = t->windows[i].ordinal == o;
        c->facts++;
        if (!seen)
            check_violation(c, CHECK_ORDINALS,
                            "no window has ordinal %" PRId64 ", though %" PRIu64 " exists", o,
                            files_last - 1);
    }
}

size_t check_path_row(const struct rt_rank_tables *t, uint32_t path)
{
    size_t n;
    SEARCH_FIRST(n, t->path_count, t->paths[n].path < path);
    return n < t->path_count && t->paths[n].path == path ? n : t->path_count;
}

/* Does the way from this row to the outermost place come to an end? No recorder stores longer
 * paths: a row more than -callpath says that a path was cut. */
static bool path_ends(const struct rt_rank_tables *t, size_t row)
{
    for (unsigned steps = 0; steps <= OPTION_CALLPATH_MAX + 1; steps++) {
        if (row == t->path_count || t->paths[row].parent == 0)
            return true;
        row = check_path_row(t, t->paths[row].parent);
    }
    return false;
}

/* Checks that numbers are unique, that parents are there, and that no path leads to itself. */
static void check_paths(struct check *c, const struct rt_rank *rank, const struct rt_rank_tables *t)
{
    for (size_t i = 0; i < t->path_count; i++) {
        const struct rt_path *p = &t->paths[i];
        c->facts += 3;
        if (p->path == 0 || (i > 0 && p->path == t->paths[i - 1].path))
            check_violation(c, CHECK_PATHS, "path %" PRIu32 " is 0 or has two rows", p->path);
        if (p->parent != 0 && check_path_row(t, p->parent) == t->path_count)
            check_violation(c, CHECK_PATHS,
                            "path %" PRIu32 " was called from path %" PRIu32
                            ", which is not in the file",
                            p->path, p->parent);
        if (!path_ends(t, i))
            check_violation(c, CHECK_PATHS, "path %" PRIu32 " has more than %d callers or a cycle",
                            p->path, OPTION_CALLPATH_MAX);
        check_string(c, rank, p->image, "/paths", i);
        check_string(c, rank, p->build_id, "/paths", i);
    }
}

void check_tables(struct check *c, const struct rt_rank *rank)
{
    const struct rt_rank_info *info = rt_rank_info(rank);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    if (c->windows.given) {
        check_span(c, info, t);
        check_overlap(c, t);
        return;
    }
    check_ordinals(c, rank, t);
    for (size_t i = 0; i < t->window_count; i++)
        check_window(c, info, t, &t->windows[i]);
    check_overlap(c, t);
    check_footers(c, t);
    check_losses(c, info, t);
    check_fired(c, info, t);
    for (size_t i = 0; i < t->thread_count; i++) {
        check_string(c, rank, t->threads[i].name, "/threads", i);
        check_string(c, rank, t->threads[i].start_image, "/threads", i);
    }
    for (size_t i = 0; i < t->window_count; i++)
        check_string(c, rank, t->windows[i].region, "/windows", i);
    for (size_t i = 0; i < t->map_count; i++) {
        check_string(c, rank, t->maps[i].path, "/maps", i);
        check_string(c, rank, t->maps[i].build_id, "/maps", i);
    }
    check_paths(c, rank, t);
}
