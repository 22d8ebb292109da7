/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats`: analyses a run's accesses: footprint, strides, reuse distances. Replays
 * several recordings at once; one thread for each reads its accesses. */
#include "tools/memory/stats/skel_stats.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int opens(void *context, size_t i)
{
    (void)context;
    (void)i;
    return SKEL_PIPE;
}

static bool begins(void *context, size_t i, struct skel_player *p)
{
    struct stats *s = context;
    struct stats_lane *l = calloc(1, sizeof *l);
    if (l == NULL) {
        tool_error("skel", "there is no memory left");
        return false;
    }
    *l = (struct stats_lane){
        .grain = &s->grain,
        .records = {.use = &stats_records_use, .context = l, .recording = s->folder->list[i]}};
    s->lanes[i] = l;
    return skel_records_start(&l->records, p);
}

/* There are statistics of all recordings or none: one that fails ends all. */
static int ended(void *context, size_t i, int status)
{
    const struct stats *s = context;
    struct stats_lane *l = s->lanes[i];
    bool good = l != NULL && skel_records_wait(&l->records) && status == ACCESSES_DONE &&
                stats_lane_finish(l);
    return good ? ACCESSES_DONE : ACCESSES_UNWRITTEN;
}

static unsigned bits_of(uint64_t n)
{
    return (unsigned)__builtin_ctzll(n);
}

static void print(const struct stats *s)
{
    const char *format = s->options->format;
    if (strcmp(format, "json") == 0)
        stats_print_json(s);
    else if (strcmp(format, "csv") == 0)
        stats_print_csv(s);
    else
        stats_print_text(s);
}

static void tell_incomplete(const struct stats *s)
{
    size_t all = 0, incomplete = 0;
    for (size_t k = 0; k < s->folder->count; k++)
        for (size_t n = 0; s->lanes[k] != NULL && n < s->lanes[k]->stream_count; n++, all++)
            incomplete += stats_is_incomplete(&s->lanes[k]->streams[n]);
    if (incomplete > 0)
        tool_warning("skel",
                     "%zu of %zu stream%s %s incomplete: what is missing there is missing in "
                     "these statistics (regtrace skel replay -format count %s says which, and "
                     "why)",
                     incomplete, all, all == 1 ? "" : "s", incomplete == 1 ? "is" : "are",
                     s->options->path);
}

static bool analyse(struct stats *s)
{
    const struct skel_use use = {
        .format = "binary", .opens = opens, .begins = begins, .ended = ended, .context = s};
    s->lanes = calloc(s->folder->count, sizeof(struct stats_lane *));
    if (s->lanes == NULL) {
        tool_error("skel", "there is no memory left");
        return false;
    }
    if (skel_each(s->folder, &use) != ACCESSES_DONE) {
        tool_error("skel", "there are no statistics; -rank, -thread and -window leave out what "
                           "cannot be replayed");
        return false;
    }
    if (!skel_folder_had_some(s->folder))
        return skel_folder_lacks(s->folder) == TOOL_OK;
    if (!skel_shapes_read(&s->shapes, s->folder))
        return false;
    skel_shapes_resolve(&s->shapes);
    return stats_sum(s);
}

static void free_all(struct stats *s)
{
    for (size_t k = 0; s->lanes != NULL && k < s->folder->count; k++)
        if (s->lanes[k] != NULL)
            stats_lane_free(s->lanes[k]);
    for (size_t k = 0; k < s->scope_count; k++)
        free((void *)(uintptr_t)s->scopes[k].expression);
    free(s->lanes);
    free(s->scopes);
    skel_shapes_free(&s->shapes);
}

int skel_stats(const struct skel_options *o)
{
    struct skel_folder f;
    struct stats s = {.options = o, .folder = &f};
    bool good = false;
    s.grain.line_bits = bits_of(o->line_bytes);
    s.grain.page_bits = bits_of(o->page_bytes);
    s.grain.words = o->line_bytes <= 64 ? 1 : (unsigned)(o->line_bytes / 64);
    int code = skel_folder_open(&f, o);
    if (code == TOOL_OK)
        code = skel_folder_look(&f, false);
    if (code == TOOL_OK && f.count == 0)
        code = skel_folder_lacks(&f);
    if (code == TOOL_OK) {
        good = analyse(&s);
        if (good) {
            print(&s);
            tell_incomplete(&s);
        }
    }
    free_all(&s);
    skel_folder_close(&f);
    return good ? output_finish("skel", TOOL_OK) : TOOL_FAILURE;
}
