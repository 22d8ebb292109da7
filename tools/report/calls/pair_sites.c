/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up messages by sender, receiver and call path of the send. */
#include "tools/report/calls/pair_sites.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>

int pair_sites_add(struct pair_sites *p, int32_t sender, int32_t receiver, uint32_t node,
                   uint64_t bytes)
{
    uint64_t pair = (uint64_t)(uint32_t)sender << 32 | (uint32_t)receiver;
    uint32_t count = p->keys.count, n = key_table_find(&p->keys, pair, node);
    if (n == KEY_NONE) {
        p->incomplete |= count == PAIR_SITES_MOST;
        if (p->incomplete)
            return 0;
        n = key_table_add(&p->keys, pair, node);
        void *rows = array_grown(p->rows, count, &p->room, sizeof *p->rows);
        if (n == KEY_NONE || rows == NULL)
            return -ENOMEM;
        p->rows = rows;
        p->rows[n] = (struct pair_site){.sender = sender, .receiver = receiver, .node = node};
    }
    p->rows[n].messages++;
    p->rows[n].bytes += bytes;
    return 0;
}

void pair_sites_free(struct pair_sites *p)
{
    key_table_free(&p->keys);
    free(p->rows);
    *p = (struct pair_sites){0};
}

void pair_sites_json(struct json *j, const struct pair_sites *p)
{
    if (p->incomplete) {
        json_null(j, "message_sites");
        return;
    }
    json_array_begin(j, "message_sites");
    for (uint32_t i = 0; i < p->keys.count; i++) {
        const struct pair_site *s = &p->rows[i];
        json_array_begin(j, NULL);
        json_compact(j);
        json_int(j, NULL, s->sender);
        json_int(j, NULL, s->receiver);
        json_uint_if(j, NULL, s->node != KEY_NONE, s->node);
        json_uint(j, NULL, s->messages);
        json_uint(j, NULL, s->bytes);
        json_array_end(j);
    }
    json_array_end(j);
}
