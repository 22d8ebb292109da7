/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps the places of call paths by their row in the file. */
#include "tools/report/calls/path_places.h"

#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>

struct placed_path {
    bool is_known;
    struct path_place place;
};

int path_places_find(struct path_places *p, struct report *r, const struct rt_rank *file,
                     uint32_t path, struct path_place *place)
{
    const struct rt_rank_tables *t = rt_rank_tables(file);
    const struct rt_path *row = call_path_find(file, path);
    *place = (struct path_place){KEY_NONE, KEY_NONE};
    if (row == NULL)
        return 0;
    if (p->rows == NULL && (p->rows = calloc(t->path_count, sizeof *p->rows)) == NULL)
        return -ENOMEM;
    struct placed_path *x = &p->rows[row - t->paths];
    if (!x->is_known &&
        (call_sites_place(&r->addresses, file, row, &x->place.item) != 0 ||
         addresses_same(&r->addresses, &x->place.item) != 0 ||
         call_tree_path(&r->call_tree, &r->addresses, file, path, &x->place.node) != 0))
        return -ENOMEM;
    x->is_known = true;
    *place = x->place;
    return 0;
}

void path_places_free(struct path_places *p)
{
    free(p->rows);
    p->rows = NULL;
}
