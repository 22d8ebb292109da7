/* SPDX-License-Identifier: BSD-3-Clause
 * Checks whether files are complete. The policies strict and lint refuse incomplete ones, with all
 * causes. */
#include "tools/channels/models.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Text of causes, one on each line. */
struct causes {
    const struct event_replay *r;
    const struct rt_rank *rank;
    char text[1600];
    size_t n;
    uint32_t files;
    bool named; /* the text has a line for this file */
};

__attribute__((format(printf, 2, 3))) static void add(struct causes *c, const char *fmt, ...)
{
    char line[400];
    const struct rt_rank_info *info = rt_rank_info(c->rank);
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    int n = 0;
    if (c->n < sizeof c->text && !c->named)
        n = snprintf(c->text + c->n, sizeof c->text - c->n, "\n  rank %" PRId32 " (%s): %s",
                     info->rank, info->file, line);
    else if (c->n < sizeof c->text)
        n = snprintf(c->text + c->n, sizeof c->text - c->n, "\n    so %s", line);
    c->n += n > 0 ? (size_t)n : 0;
    c->files += !c->named;
    c->named = true;
}

static const char *loss_text(uint32_t kind)
{
    static const char *const texts[] = {
        [RT_LOSS_DROPPED] = "events were dropped since the stream was full",
        [RT_LOSS_INCOMPLETE] = "events were begun and never made complete",
        [RT_LOSS_UNTHREADED] = "events are of threads beyond the table of threads",
        [RT_LOSS_CHUNKS] = "pieces of the stream are missing",
        [RT_LOSS_STREAM_GONE] = "the stream was gone when it was recovered",
        [RT_LOSS_STORAGE] = "events were not stored: the file had reached its limit"};
    return kind < sizeof texts / sizeof texts[0] ? texts[kind] : NULL;
}

static void look_at(struct causes *c)
{
    const struct rt_rank_info *info = rt_rank_info(c->rank);
    const struct rt_rank_tables *t = rt_rank_tables(c->rank);
    c->named = false;
    if (info->state == RT_FILE_LIVE)
        add(c, "it is still being written");
    else if (info->state == RT_FILE_ABANDONED)
        add(c, "its writer was killed (`regtrace recover %s` finishes it)", "DIR");
    else if (strncmp(info->end_reason, "finished", 8) != 0 &&
             strncmp(info->end_reason, "exec", 4) != 0)
        add(c, "the process ended like this: %s", info->end_reason);
    if (info->left_out != 0)
        add(c, "%" PRIu64 " events after a torn row are left out", info->left_out);
    for (size_t i = 0; i < t->loss_count; i++)
        if (loss_text(t->losses[i].kind) != NULL)
            add(c, "%s: %" PRIu64 " (thread %" PRId32 ")", loss_text(t->losses[i].kind),
                t->losses[i].count, t->losses[i].thread);
    for (size_t i = 0; i < t->window_count; i++)
        if ((t->windows[i].truncated == RT_END_CUT && t->windows[i].reason != RT_WINDOW_EXITED) ||
            t->windows[i].reason == RT_WINDOW_OPEN)
            add(c,
                "window %" PRId32 " of thread %" PRId32
                " was never closed, and what was entered in it not left",
                t->windows[i].ordinal, t->windows[i].thread);
}

int replay_check_files(const struct event_replay *r, const struct rt_run *run, struct rt_error *e)
{
    struct causes c = {.r = r};
    for (uint32_t i = 0; i < r->thread_count; i++) {
        c.rank = r->threads[i].rank;
        if (i == 0 || c.rank != r->threads[i - 1].rank)
            look_at(&c);
    }
    if (c.files == 0)
        return 0;
    rt_error_set(e,
                 "%s: %" PRIu32 " of %" PRIu32
                 " files are not whole; -policy salvage goes on and marks what is unknown:%s%s",
                 rt_run_dir(run), c.files, r->file_count, c.text,
                 c.n >= sizeof c.text ? "\n    ... and more" : "");
    return -EBADMSG;
}
