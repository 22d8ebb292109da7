/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the gaps in which events of a thread are lost. The event that reports a gap comes after it,
 * but open states must end where the gap begins: so files with losses are read once beforehand. */
#include "tools/channels/models.h"

#include "base/toolkit/array.h"

#include <stdlib.h>

enum { BLOCK = 65536 };

static bool may_have_gaps(const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    bool lost = rt_rank_info(rank)->state != RT_FILE_CLOSED;
    for (size_t i = 0; i < t->loss_count; i++)
        lost |= t->losses[i].kind == RT_LOSS_DROPPED;
    return lost;
}

static int add(struct event_replay *r, uint32_t stream, const struct rt_event *ev,
               struct rt_error *e)
{
    const struct rt_rank *rank = r->all[stream].rank;
    int64_t to = rt_rank_ns(rank, ev->clock),
            from = ev->b < ev->clock ? rt_rank_ns(rank, ev->clock - ev->b) : to;
    if (from >= to)
        return 0;
    void *gaps = array_grown(r->gaps, r->gap_count, &r->gap_room, sizeof *r->gaps);
    if (gaps == NULL)
        return replay_no_memory(e);
    r->gaps = gaps;
    r->gaps[r->gap_count++] = (struct replay_gap){from, stream, ev->window};
    return 0;
}

/* Finds the gaps in the file whose first stream is `first`. */
static int look(struct event_replay *r, uint32_t first, struct rt_event *block, struct rt_error *e)
{
    uint64_t row = 0;
    size_t got = 1;
    int rc = 0;
    for (; rc == 0 && got != 0; row += got) {
        rc = streams_read(r->streams, first, row, BLOCK, block, &got, e);
        for (size_t i = 0; rc == 0 && i < got; i++) {
            if (block[i].code != EV_DROPPED)
                continue;
            uint32_t s = first;
            while (s + 1 < r->thread_count && r->all[s + 1].rank == r->all[first].rank &&
                   r->all[s].number != block[i].thread)
                s++;
            rc = add(r, s, &block[i], e);
        }
    }
    return rc;
}

static int by_time(const void *a, const void *b)
{
    const struct replay_gap *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns < y->ns ? -1 : 1;
    return x->stream < y->stream ? -1 : x->stream > y->stream;
}

int replay_find_gaps(struct event_replay *r, struct rt_error *e)
{
    struct rt_event *block = NULL;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < r->thread_count; i++) {
        if ((i != 0 && r->all[i].rank == r->all[i - 1].rank) || !may_have_gaps(r->all[i].rank))
            continue;
        if (block == NULL)
            block = malloc(BLOCK * sizeof *block);
        rc = block == NULL ? replay_no_memory(e) : look(r, i, block, e);
    }
    free(block);
    if (r->gap_count != 0)
        qsort(r->gaps, r->gap_count, sizeof *r->gaps, by_time);
    return rc;
}

/* Clears the channels that hold a value until the next: events in the gap may have changed it.
 * Numbers become 0, since EMU_BAD may be a real number. */
static void forget(struct event_replay *r, uint32_t stream)
{
    for (uint32_t k = CHANNEL_REGION_PCONTROL; k < CHANNEL_COUNT; k++) {
        bool number = k >= CHANNEL_PMU_WINDOW && k <= CHANNEL_PMU_STATS_LAST;
        if (r->emu_channels[k].kind == EMU_SINGLE && emu_is_awake(r->emu, k))
            emu_clear(r->emu, stream, k, !number);
    }
}

static int lose(struct event_replay *r, uint32_t stream, enum row_activity activity,
                struct rt_error *e)
{
    r->rows[stream].activity = activity;
    r->rows[stream].has_lost = true;
    replay_settle(r, stream, true);
    forget(r, stream);
    return mpi_show(r, stream, e);
}

int replay_gap_begins(struct event_replay *r, const struct replay_gap *g, struct rt_error *e)
{
    struct replay_row *row = &r->rows[g->stream];
    if (emu_thread_state(r->emu, g->stream) == EMU_UNKNOWN)
        return 0;
    if (row->in_window && row->window != g->window)
        emu_clear(r->emu, g->stream, CHANNEL_REGION_WINDOW, true);
    int rc = lose(r, g->stream, ROW_IN_GAP, e);
    emu_emit(r->emu, g->ns - r->origin);
    return rc;
}

int replay_gap_ends(struct event_replay *r, const struct stream_record *rec, struct rt_error *e)
{
    struct replay_row *row = &r->rows[rec->stream];
    replay_recorded(r, rec->stream, rec->event.window >= 0);
    row->window = rec->event.window;
    int rc = emu_set(r->emu, rec->stream, CHANNEL_REGION_WINDOW, (int64_t)row->window + 1, e);
    return rc == 0 ? lose(r, rec->stream, ROW_BEHIND_GAP, e) : rc;
}
