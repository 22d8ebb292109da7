/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps what was looked up by process and number in its file. */
#include "tools/report/causes/place_names.h"

#include "base/toolkit/array.h"
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

/* Looks up a key. Sets *is_new if its row, for which there is room then, has to be filled in.
 * Returns its number; KEY_NONE without memory. */
static uint32_t number_of(struct key_table *keys, uint32_t process, uint64_t key, void **rows,
                          size_t *room, size_t size, bool *is_new)
{
    uint32_t count = keys->count;
    void *grown = array_grown(*rows, count, room, size);
    if (grown == NULL)
        return KEY_NONE;
    *rows = grown;
    uint32_t i = key_table_add(keys, process, key);
    *is_new = i == count;
    return i;
}

struct named_path place_names_path(struct place_names *n, uint32_t process, uint32_t path)
{
    struct report *r = n->report;
    const struct rt_rank *file = path != 0 ? comms_file(n->comms, process) : NULL;
    struct named_path place = {KEY_NONE, KEY_NONE};
    void *paths = n->paths;
    bool is_new;
    if (file == NULL)
        return place;
    uint32_t i =
        number_of(&n->path_keys, process, path, &paths, &n->path_room, sizeof *n->paths, &is_new);
    n->paths = paths;
    if (i != KEY_NONE && !is_new)
        return n->paths[i];
    n->no_memory |= i == KEY_NONE || call_sites_find(&r->addresses, file, path, &place.item) != 0 ||
                    call_tree_path(&r->call_tree, &r->addresses, file, path, &place.node) != 0;
    if (i != KEY_NONE)
        n->paths[i] = place;
    return place;
}

static uint32_t node(void *context, uint32_t process, uint32_t path)
{
    return place_names_path(context, process, path).node;
}

static uint32_t function(void *context, uint32_t process, uint64_t address, uint64_t clock)
{
    struct place_names *n = context;
    struct addresses *a = &n->report->addresses;
    void *functions = n->functions;
    bool is_new;
    uint32_t i = number_of(&n->function_keys, process, address, &functions, &n->function_room,
                           sizeof *n->functions, &is_new);
    n->functions = functions;
    if (i == KEY_NONE || !is_new)
        return i != KEY_NONE ? n->functions[i] : KEY_NONE;
    n->functions[i] = KEY_NONE;
    if (addresses_begin_rank(a, comms_file(n->comms, process)) != 0 ||
        addresses_find(a, address, clock, &n->functions[i]) != 0)
        return KEY_NONE;
    return n->functions[i];
}

static uint32_t region(void *context, uint32_t process, uint32_t string)
{
    struct place_names *n = context;
    void *regions = n->regions;
    uint32_t same = 0;
    bool is_new;
    uint32_t i = number_of(&n->region_keys, process, string, &regions, &n->region_room,
                           sizeof *n->regions, &is_new);
    n->regions = regions;
    if (i == KEY_NONE || !is_new)
        return i != KEY_NONE ? n->regions[i].same : KEY_NONE;
    const char *name = rt_rank_string(comms_file(n->comms, process), string);
    n->regions[i] = (struct named_region){.same = KEY_NONE};
    while (same < i && (n->regions[same].text == NULL || strcmp(n->regions[same].text, name) != 0))
        same++;
    if (same == i && (n->regions[i].text = strdup(name)) == NULL)
        return KEY_NONE;
    return n->regions[i].same = same;
}

struct history_names place_names_of(struct place_names *n)
{
    return (struct history_names){node, region, function, n};
}

const char *place_names_region(const struct place_names *n, uint32_t number)
{
    return n->regions[number].text;
}

void place_names_free(struct place_names *n)
{
    for (uint32_t i = 0; i < n->region_keys.count; i++)
        free(n->regions[i].text);
    key_table_free(&n->path_keys);
    key_table_free(&n->function_keys);
    key_table_free(&n->region_keys);
    free(n->paths);
    free(n->functions);
    free(n->regions);
    *n = (struct place_names){0};
}
