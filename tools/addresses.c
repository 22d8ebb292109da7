/* SPDX-License-Identifier: BSD-3-Clause
 * Turns recorded addresses into places (image and offset), by the images that their rank had
 * loaded. */
#include "tools/addresses.h"

#include "base/hash.h"
#include "base/identity.h"
#include "base/toolkit/array.h"
#include "tools/json.h"
#include "tools/perf_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns a malloc'ed copy without control characters, or NULL without memory. */
static char *plain_text(const char *text)
{
    char *plain = NULL;
    size_t size;
    FILE *out = open_memstream(&plain, &size);
    if (out == NULL)
        return NULL;
    text_write_plain(out, text);
    if (fclose(out) == 0)
        return plain;
    free(plain);
    return NULL;
}

static int find_image(struct addresses *a, const char *path, const char *build_id, uint32_t *out)
{
    for (size_t i = 0; i < a->image_count; i++)
        if (strcmp(a->images[i].path, path) == 0 && strcmp(a->images[i].build_id, build_id) == 0) {
            *out = (uint32_t)i;
            return 0;
        }
    struct address_image *more = realloc(a->images, (a->image_count + 1) * sizeof *more);
    struct address_image copy = {.path = strdup(path),
                                 .build_id = strdup(build_id),
                                 .shown = plain_text(identity_base_name(path))};
    if (more != NULL)
        a->images = more;
    if (more == NULL || copy.path == NULL || copy.build_id == NULL || copy.shown == NULL) {
        free(copy.shown);
        free(copy.path);
        free(copy.build_id);
        return -ENOMEM;
    }
    *out = (uint32_t)a->image_count;
    a->images[a->image_count++] = copy;
    return 0;
}

/* Finds the perf map of a rank's process, and reads it the first time. Returns 0 or -ENOMEM. */
static int find_perf_map(struct addresses *a, const struct rt_rank *rank, size_t *out)
{
    char path[PATH_MAX];
    if (!rt_rank_perf_map(rank, path))
        path[0] = '\0';
    for (*out = 0; *out < a->perf_map_count; (*out)++)
        if (strcmp(a->perf_maps[*out].path, path) == 0)
            return 0;
    struct address_map *more = realloc(a->perf_maps, (a->perf_map_count + 1) * sizeof *more);
    char *copy = strdup(path);
    if (more != NULL)
        a->perf_maps = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return -ENOMEM;
    }
    more[a->perf_map_count++] = (struct address_map){copy, perf_map_read(path)};
    return 0;
}

int addresses_begin_rank(struct addresses *a, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    uint32_t *images = realloc(a->image_of_map, (t->map_count + 1) * sizeof *images);
    int rc = images == NULL ? -ENOMEM : 0;
    if (rc == 0)
        a->image_of_map = images;
    for (size_t i = 0; i < t->map_count && rc == 0; i++) {
        const struct rt_map *m = &t->maps[i];
        rc = find_image(a, rt_rank_string(rank, m->path),
                        m->build_id != 0 ? rt_rank_string(rank, m->build_id) : "", &images[i]);
    }
    if (rc == 0)
        rc = find_perf_map(a, rank, &a->perf_map_current);
    a->tables = rc == 0 ? t : NULL;
    return rc;
}

/* Returns the map with the highest base not above the address. If several have that base (unloaded
 * and loaded again), prefers the latest at `clock`. */
static const struct rt_map *find_map(const struct rt_rank_tables *t, uint64_t address,
                                     uint64_t clock)
{
    const struct rt_map *found = NULL;
    for (size_t i = 0; i < t->map_count; i++) {
        const struct rt_map *m = &t->maps[i];
        if (m->base <= address && (found == NULL || m->base > found->base ||
                                   (m->base == found->base && m->clock <= clock)))
            found = m;
    }
    return found;
}

static int find_item(struct addresses *a, uint32_t image, uint64_t offset, uint32_t *item)
{
    struct address *items = array_grown(a->items, a->count, &a->room, sizeof *items);
    if (items == NULL)
        return -ENOMEM;
    a->items = items;
    *item = key_table_add(&a->places, image, offset);
    if (*item == a->count)
        items[a->count++] = (struct address){.image = image, .offset = offset};
    return *item != KEY_NONE ? 0 : -ENOMEM;
}

/* The name alone identifies a function: processes compile the same one at different addresses. */
static int find_generated(struct addresses *a, const char *name, uint32_t *item)
{
    uint32_t image = NO_IMAGE;
    int rc = find_image(a, "[jit]", "", &image);
    if (rc == 0)
        rc = find_item(a, image, hash_bytes(HASH_BEGIN, name, strlen(name)), item);
    struct address *p = rc == 0 ? &a->items[*item] : NULL;
    if (p == NULL || p->named)
        return rc;
    p->name = strdup(name);
    p->named = p->has_line = p->is_generated = true;
    return p->name != NULL ? 0 : -ENOMEM;
}

int addresses_outside(struct addresses *a, const struct rt_rank *rank, uint64_t address,
                      uint32_t *item)
{
    size_t map;
    int rc = find_perf_map(a, rank, &map);
    const char *name = rc == 0 ? perf_map_name(a->perf_maps[map].map, address) : NULL;
    if (rc != 0)
        return rc;
    return name != NULL ? find_generated(a, name, item) : find_item(a, NO_IMAGE, address, item);
}

int addresses_cut(struct addresses *a, uint32_t *item)
{
    /* No call ends there. */
    int rc = find_item(a, NO_IMAGE, UINT64_MAX, item);
    struct address *p = rc == 0 ? &a->items[*item] : NULL;
    if (p == NULL || p->named)
        return rc;
    p->name = strdup("[cut]");
    p->named = p->has_line = p->is_generated = true;
    return p->name != NULL ? 0 : -ENOMEM;
}

bool addresses_is_cut(const struct addresses *a, uint32_t item)
{
    return a->items[item].image == NO_IMAGE && a->items[item].offset == UINT64_MAX;
}

int addresses_find(struct addresses *a, uint64_t address, uint64_t clock, uint32_t *item)
{
    const char *name = perf_map_name(a->perf_maps[a->perf_map_current].map, address);
    if (name != NULL)
        return find_generated(a, name, item);
    const struct rt_map *m = find_map(a->tables, address, clock);
    return m != NULL ? find_item(a, a->image_of_map[m - a->tables->maps], address - m->base, item)
                     : find_item(a, NO_IMAGE, address, item);
}

int addresses_place(struct addresses *a, const char *path, const char *build_id, uint64_t offset,
                    uint32_t *item)
{
    uint32_t image = NO_IMAGE;
    int rc = path != NULL ? find_image(a, path, build_id, &image) : 0;
    return rc != 0 ? rc : find_item(a, image, offset, item);
}

struct image_symbols *addresses_symbols(struct address_image *image)
{
    if (!image->opened)
        image->symbols = image_symbols_open(image->path, image->build_id, &image->problem);
    image->opened = true;
    return image->symbols;
}

const char *addresses_name(struct addresses *a, uint32_t item)
{
    struct address *p = &a->items[item];
    struct image_symbols *s = NULL;
    if (!p->named && p->image != NO_IMAGE)
        s = addresses_symbols(&a->images[p->image]);
    if (s != NULL)
        image_symbols_find(s, p->offset, &p->name, NULL);
    p->named = true;
    return p->name;
}

const char *addresses_line(struct addresses *a, uint32_t item)
{
    struct address *p = &a->items[item];
    char *name = NULL;
    struct image_symbols *s = NULL;
    if (!p->has_line && p->image != NO_IMAGE)
        s = addresses_symbols(&a->images[p->image]);
    if (s != NULL) {
        image_symbols_find(s, p->offset, &name, &p->line);
        p->inlined = image_symbols_inlined(s, p->offset);
        a->images[p->image].lacks_lines |= p->line == NULL && !image_symbols_has_debug(s);
    }
    free(name);
    p->has_line = true;
    return p->line;
}

/* Returns a hash of what the item is shown as. */
static uint64_t text_of(const struct addresses *a, const struct address *p)
{
    const char *const parts[] = {p->name, p->inlined,
                                 p->line != NULL ? p->line : a->images[p->image].path};
    uint64_t hash = HASH_BEGIN;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] != NULL) /* with its end, which is where the next one begins */
            hash = hash_bytes(hash, parts[i], strlen(parts[i]) + 1);
        else
            hash = hash_bytes(hash, "", 1);
    return hash;
}

int addresses_same(struct addresses *a, uint32_t *item)
{
    struct address *p = &a->items[*item];
    if (!p->has_same) {
        p->has_same = true;
        p->same = *item;
        (void)addresses_name(a, *item);
        (void)addresses_line(a, *item);
    }
    if (p->same != *item || p->image == NO_IMAGE || (p->name == NULL && p->line == NULL)) {
        *item = p->same;
        return 0;
    }
    uint32_t count = a->texts.count, n = key_table_add(&a->texts, text_of(a, p), 0);
    uint32_t *first = array_grown(a->first_of_text, count, &a->text_room, sizeof *first);
    if (first == NULL || n == KEY_NONE)
        return -ENOMEM;
    a->first_of_text = first;
    if (n == count)
        first[n] = *item;
    *item = p->same = first[n];
    return 0;
}

const char *addresses_image_name(const struct addresses *a, uint32_t image)
{
    if (image == NO_IMAGE)
        return "(no image)";
    return a->images[image].shown;
}

/* Prints why an image gives no names. */
static void print_problem(FILE *out, const struct address_image *image)
{
    if (image->problem == 0)
        return;
    (void)fputs("No names in ", out);
    text_write_plain(out, image->path);
    if (image->problem == ADDRESS_CHANGED)
        (void)fprintf(out, ": it has changed since the run (its build id was %s).\n",
                      image->build_id);
    else if (image->problem == -ENOENT)
        (void)fprintf(out,
                      ": it is not there any more, or not on this machine (its build id was %s).\n",
                      image->build_id[0] != '\0' ? image->build_id : "not known");
    else if (image->problem == -ENOEXEC)
        (void)fputs(": no ELF file that can be read lies there now.\n", out);
    else
        (void)fprintf(out, ": it cannot be read: %s.\n", strerror(-image->problem));
}

void addresses_print_lacks(FILE *out, const struct addresses *a)
{
    if (image_symbols_lack() != NULL)
        (void)fprintf(out, "No names: %s.\n", image_symbols_lack());
    for (size_t i = 0; i < a->image_count; i++)
        print_problem(out, &a->images[i]);
}

void addresses_free(struct addresses *a)
{
    for (size_t i = 0; i < a->image_count; i++) {
        image_symbols_close(a->images[i].symbols);
        free(a->images[i].path);
        free(a->images[i].build_id);
        free(a->images[i].shown);
    }
    for (size_t i = 0; i < a->count; i++)
        free(a->items[i].name);
    for (size_t i = 0; i < a->count; i++) {
        free(a->items[i].line);
        free(a->items[i].inlined);
    }
    for (size_t i = 0; i < a->perf_map_count; i++) {
        perf_map_free(a->perf_maps[i].map);
        free(a->perf_maps[i].path);
    }
    free(a->perf_maps);
    free(a->images);
    free(a->items);
    free(a->first_of_text);
    key_table_free(&a->places);
    key_table_free(&a->texts);
    free(a->image_of_map);
    *a = (struct addresses){0};
}
