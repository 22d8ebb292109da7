/* SPDX-License-Identifier: BSD-3-Clause
 * Derives from /windows, /threads and /losses how much a process has recorded. */
#include "tools/messages/recorded_until.h"

#include <stdlib.h>

/* Numbers of helper threads lie in this range. */
static bool is_helper(int32_t thread)
{
    return thread >= 1000 && thread < 1000000;
}

/* Did the process or the thread end with this window? */
static bool is_last(const struct rt_window *w)
{
    return w->reason == RT_WINDOW_PROGRAM_END || w->reason == RT_WINDOW_THREAD_END ||
           w->reason == RT_WINDOW_KILLED || w->reason == RT_WINDOW_EXITED ||
           w->reason == RT_WINDOW_OPEN;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Returns the clock up to which the thread was in windows without a gap, from that window on. */
static int64_t followed(const struct rt_rank *file, int32_t thread, int32_t window)
{
    const struct rt_rank_tables *t = rt_rank_tables(file);
    const struct rt_window *now = NULL;
    for (size_t i = 0; i < t->window_count; i++)
        if (t->windows[i].thread == thread && t->windows[i].ordinal == window)
            now = &t->windows[i];
    if (now == NULL)
        return INT64_MIN;
    uint64_t end = now->stop_clock;
    for (bool more = true; more && !is_last(now);) {
        more = false;
        for (size_t i = 0; i < t->window_count && !more; i++) {
            const struct rt_window *w = &t->windows[i];
            if (w->thread != thread || w->start_clock >= end ||
                (!is_last(w) && w->stop_clock <= end))
                continue;
            now = w;
            end = w->stop_clock;
            more = true;
        }
    }
    return is_last(now) ? INT64_MAX : rt_rank_ns(file, end);
}

/* Returns the time up to which a thread has recorded everything: its start, if it does not record
 * from its begin on. It does if its default start fired (flag 16), or if others opened by theirs
 * the window that it came into. */
static int64_t of_thread(const struct rt_rank *file, const struct rt_thread *row)
{
    const struct rt_rank_tables *t = rt_rank_tables(file);
    bool from_begin = false;
    const struct rt_window *first = NULL;
    for (size_t i = 0; i < t->fired_count; i++)
        from_begin |= t->fired[i].thread == row->thread && (t->fired[i].flags & 16) != 0;
    for (size_t i = 0; i < t->window_count; i++)
        if (t->windows[i].thread == row->thread &&
            (first == NULL || t->windows[i].start_clock < first->start_clock))
            first = &t->windows[i];
    return from_begin && first != NULL ? followed(file, row->thread, first->ordinal)
                                       : rt_rank_ns(file, row->started);
}

static bool has_lost(const struct rt_rank *file)
{
    const struct rt_rank_tables *t = rt_rank_tables(file);
    for (size_t i = 0; i < t->loss_count; i++)
        switch (t->losses[i].kind) {
        case RT_LOSS_INCOMPLETE: /* the last events of a killed thread */
        case RT_LOSS_STRINGS:
        case RT_LOSS_STORAGE: break; /* its windows end where the limit was reached */
        default: return true;
        }
    const char *skipped = rt_rank_metadata(file, "mpi_completions_skipped");
    return skipped != NULL && strtoull(skipped, NULL, 10) != 0;
}

int64_t whole_until(const struct rt_rank *file, int32_t thread, int32_t window, int level)
{
    if (has_lost(file))
        return INT64_MIN;
    int64_t until = followed(file, thread, window);
    const struct rt_rank_tables *t = rt_rank_tables(file);
    for (size_t i = 0; level >= LEVEL_SERIALIZED && i < t->thread_count; i++)
        if (t->threads[i].thread != thread && !is_helper(t->threads[i].thread))
            until = least(until, of_thread(file, &t->threads[i]));
    return until;
}
