/* SPDX-License-Identifier: BSD-3-Clause
 * Sets of images that have been seen (seen_images.h). */
#include "preload/images/seen_images.h"

/* Returns the index of the image's row, or the number of rows if it has none. */
static unsigned find(const struct seen_images *s, const struct loaded_image *m)
{
    unsigned i = 0;
    while (i < s->count && (s->rows[i].bias != m->bias || s->rows[i].from != m->from))
        i++;
    return i;
}

bool seen_images_have(const struct seen_images *s, const struct loaded_image *m)
{
    return find(s, m) < s->count;
}

bool seen_images_add(struct seen_images *s, const struct loaded_image *m)
{
    if (s->count == SEEN_IMAGES_MAX)
        return false;
    s->rows[s->count++] = (struct seen_image){.bias = m->bias, .from = m->from, .loaded = true};
    return true;
}

/* Marks the images that are loaded. Ends at the first image if none was unloaded. */
static bool mark(const struct loaded_image *m, void *context)
{
    struct seen_images *s = context;
    if (m->is_program) {
        if (m->info->dlpi_subs == s->subs)
            return true;
        s->subs = m->info->dlpi_subs;
        for (unsigned i = 0; i < s->count; i++)
            s->rows[i].loaded = false;
    }
    unsigned row = find(s, m);
    if (row < s->count)
        s->rows[row].loaded = true;
    return false;
}

/* Visits the first image alone: removes the rows without a mark, under the loader's lock. */
static bool remove_unmarked(const struct loaded_image *m, void *context)
{
    (void)m;
    struct seen_images *s = context;
    unsigned n = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (s->rows[i].loaded)
            s->rows[n++] = s->rows[i];
    s->count = n;
    return true;
}

bool seen_images_forget(struct seen_images *s)
{
    if (images_each(mark, s))
        return false;
    (void)images_each(remove_unmarked, s);
    return true;
}
