/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces of /events that belong to one thread: written after the events, row by row, and trusted by
 * readers as long as they hold together. */
#include "writer/file/pieces.h"

uint32_t pieces_check(const struct rt_piece *p)
{
    const uint64_t words[] = {(uint32_t)p->thread, p->row, p->rows, p->first_clock, p->last_clock};
    return schema_sum(words, sizeof words / sizeof words[0]);
}

int pieces_end(struct rt_piece *open, struct table *to)
{
    if (open->rows == 0)
        return 0;
    open->check = pieces_check(open);
    int rc = table_append(to, open, 1);
    *open = (struct rt_piece){.rows = 0};
    return rc;
}

/* Returns how many of `most` events, from the first on, are of the thread. */
static size_t of_thread(const struct rt_event *events, size_t most, int32_t thread)
{
    enum { STEP = 8 };
    size_t n = 0;
    for (int32_t other = 0; other == 0 && n + STEP <= most; n += other == 0 ? STEP : 0)
        for (size_t i = 0; i < STEP; i++)
            other |= events[n + i].thread ^ thread;
    while (n < most && events[n].thread == thread)
        n++;
    return n;
}

int pieces_add(struct rt_piece *open, struct table *to, const struct rt_event *events, size_t count,
               uint64_t first)
{
    int rc = 0;
    for (size_t i = 0, end; i < count && rc == 0; i = end) {
        if (open->rows == PIECES_LONGEST || open->thread != events[i].thread)
            rc = pieces_end(open, to);
        if (open->rows == 0)
            *open = (struct rt_piece){
                .row = first + i, .thread = events[i].thread, .first_clock = events[i].clock};
        size_t most =
            PIECES_LONGEST - open->rows < count - i ? PIECES_LONGEST - open->rows : count - i;
        end = i + of_thread(events + i, most, open->thread);
        open->rows += end - i;
        open->last_clock = events[end - 1].clock;
    }
    return rc;
}

size_t rt_rank_pieces(const struct rt_rank *rank, uint64_t *events)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint64_t total = rt_rank_info(rank)->event_count;
    size_t n = 0;
    for (*events = 0; n < t->piece_count; n++) {
        const struct rt_piece *p = &t->pieces[n];
        if (p->row != *events || p->rows == 0 || p->rows > total - *events ||
            p->check != pieces_check(p))
            break;
        *events += p->rows;
    }
    return n;
}
