/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps what was looked up by process and number in its file. */
#include "tools/report/causes/place_names.h"

#include "base/toolkit/array.h"
#include "tools/report/report.h"

#include <stdlib.h>

struct path_place place_names_path(struct place_names *n, uint32_t process, uint32_t path)
{
    const struct rt_rank *file = path != 0 ? comms_file(n->comms, process) : NULL;
    struct path_place place = {KEY_NONE, KEY_NONE};
    if (file == NULL)
        return place;
    if (n->paths == NULL) {
        n->path_count = comms_processes(n->comms);
        n->paths = calloc(n->path_count, sizeof *n->paths);
    }
    n->no_memory |= n->paths == NULL ||
                    path_places_find(&n->paths[process], n->report, file, path, &place) != 0;
    return place;
}

/* Looks up a key. Sets *is_new if its row, for which there is room then, has to be filled in.
 * Returns its number; KEY_NONE without memory. */
static uint32_t number_of(struct key_table *keys, uint32_t process, uint64_t key, uint32_t **rows,
                          size_t *room, bool *is_new)
{
    uint32_t count = keys->count;
    void *grown = array_grown(*rows, count, room, sizeof **rows);
    if (grown == NULL)
        return KEY_NONE;
    *rows = grown;
    uint32_t i = key_table_add(keys, process, key);
    *is_new = i == count;
    return i;
}

static uint32_t node(void *context, uint32_t process, uint32_t path)
{
    return place_names_path(context, process, path).node;
}

static uint32_t function(void *context, uint32_t process, uint64_t address, uint64_t clock)
{
    struct place_names *n = context;
    struct addresses *a = &n->report->addresses;
    bool is_new;
    uint32_t i =
        number_of(&n->function_keys, process, address, &n->functions, &n->function_room, &is_new);
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
    bool is_new;
    uint32_t i = number_of(&n->region_keys, process, string, &n->regions, &n->region_room, &is_new);
    if (i == KEY_NONE)
        return KEY_NONE;
    if (is_new)
        n->regions[i] =
            names_number(&n->region_names, rt_rank_string(comms_file(n->comms, process), string));
    return n->regions[i] != 0 ? n->regions[i] : KEY_NONE;
}

struct history_names place_names_of(struct place_names *n)
{
    return (struct history_names){node, region, function, n};
}

const char *place_names_region(const struct place_names *n, uint32_t number)
{
    return names_text(&n->region_names, number);
}

void place_names_free(struct place_names *n)
{
    for (uint32_t i = 0; n->paths != NULL && i < n->path_count; i++)
        path_places_free(&n->paths[i]);
    free(n->paths);
    key_table_free(&n->function_keys);
    free(n->functions);
    key_table_free(&n->region_keys);
    free(n->regions);
    names_free(&n->region_names);
    *n = (struct place_names){0};
}
