/* SPDX-License-Identifier: BSD-3-Clause
 * Compares /pieces with the events that it describes. */
#include "tools/check/check.h"

#include <inttypes.h>

void check_pieces_begin(struct check_pieces *p, struct check *c, const struct rt_rank *rank)
{
    const struct rt_rank_info *info = rt_rank_info(rank);
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint64_t events = 0;
    *p = (struct check_pieces){.pieces = t->pieces, .count = rt_rank_pieces(rank, &events)};
    bool complete = info->state == RT_FILE_CLOSED || info->state == RT_FILE_RECOVERED;
    if (t->pieces == NULL || !complete)
        return;
    c->facts++;
    if (p->count != t->piece_count || events != info->event_count)
        check_violation(c, CHECK_PIECES,
                        "%zu of %zu rows of /pieces hold together, about %" PRIu64 " of %" PRIu64
                        " events",
                        p->count, t->piece_count, events, info->event_count);
}

static void check_clock(struct check *c, const struct rt_piece *p, const char *which, uint64_t said,
                        uint64_t found)
{
    if (said != found)
        check_violation(c, CHECK_PIECES,
                        "the piece of thread %" PRId32 " from event %" PRIu64
                        " on: its %s clock is %" PRIu64 ", not %" PRIu64,
                        p->thread, p->row, which, found, said);
}

void check_pieces_block(struct check_pieces *p, struct check *c, const struct rt_event *block,
                        uint64_t first, size_t got)
{
    for (size_t i = 0; i < got && p->at < p->count; i++) {
        const struct rt_piece *piece = &p->pieces[p->at];
        const struct rt_event *ev = &block[i];
        uint64_t row = first + i;
        if (ev->thread != piece->thread && !p->told) {
            check_violation(c, CHECK_PIECES,
                            "event %" PRIu64 " is thread %" PRId32 "'s, /pieces says %" PRId32 "'s",
                            row, ev->thread, piece->thread);
            p->told = true;
        }
        if (row == piece->row)
            check_clock(c, piece, "first", piece->first_clock, ev->clock);
        if (row < piece->row + piece->rows - 1)
            continue;
        check_clock(c, piece, "last", piece->last_clock, ev->clock);
        p->told = false;
        p->at++;
        c->facts++;
    }
}
