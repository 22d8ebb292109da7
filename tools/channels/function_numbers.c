/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers the functions of a program. Looks up an address once for each process, and again after
 * images have been loaded. */
#include "tools/channels/function_numbers.h"

#include "base/toolkit/array.h"
#include "base/toolkit/key_table.h"
#include "tools/addresses.h"
#include "tools/name_numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The function of an address of a process, looked up after so many image loads. */
struct known_function {
    uint32_t generation, number;
};

struct image_file {
    const struct rt_rank *rank;
    uint32_t generation; /* number of image loads so far */
};

struct function_numbers {
    struct addresses addresses;
    struct names names;
    uint32_t *file_of; /* by stream */
    struct image_file *files;
    uint32_t file_count, begun;       /* begun: 1 + the file that `addresses` is set to */
    struct key_table addresses_known; /* high: file, low: address */
    struct known_function *known;     /* by number of addresses_known */
    size_t known_count, known_room;
};

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

struct function_numbers *function_numbers_open(const struct streams *s)
{
    uint32_t n;
    const struct thread_stream *all = streams_all(s, &n);
    struct function_numbers *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    f->file_of = calloc(n + 1u, sizeof *f->file_of);
    f->files = calloc(n + 1u, sizeof *f->files);
    if (f->file_of == NULL || f->files == NULL) {
        function_numbers_close(f);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || all[i].rank != all[i - 1].rank)
            f->files[f->file_count++].rank = all[i].rank;
        f->file_of[i] = f->file_count - 1;
    }
    return f;
}

void function_numbers_close(struct function_numbers *f)
{
    if (f == NULL)
        return;
    addresses_free(&f->addresses);
    names_free(&f->names);
    free(f->file_of);
    free(f->files);
    key_table_free(&f->addresses_known);
    free(f->known);
    free(f);
}

/* Finds the name of an address, and the number of that name. */
static int look_up(struct function_numbers *f, uint32_t file, uint64_t address, uint64_t clock,
                   uint32_t *number, struct rt_error *e)
{
    uint32_t item;
    char text[4200];
    if (f->begun != file + 1 && addresses_begin_rank(&f->addresses, f->files[file].rank) != 0)
        return no_memory(e);
    f->begun = file + 1;
    if (addresses_find(&f->addresses, address, clock, &item) != 0)
        return no_memory(e);
    const char *name = addresses_name(&f->addresses, item);
    const struct address *a = &f->addresses.items[item];
    if (name == NULL) {
        if (a->image == NO_IMAGE)
            (void)snprintf(text, sizeof text, "0x%" PRIx64, address);
        else
            (void)snprintf(text, sizeof text, "%s+0x%" PRIx64,
                           addresses_image_name(&f->addresses, a->image), a->offset);
        name = text;
    }
    *number = names_number(&f->names, name);
    return *number != 0 ? 0 : no_memory(e);
}

int function_numbers_find(struct function_numbers *f, uint32_t stream, uint64_t address,
                          uint64_t clock, uint32_t *number, struct rt_error *e)
{
    uint32_t file = f->file_of[stream];
    uint32_t now = f->files[file].generation;
    struct known_function *known =
        array_grown(f->known, f->known_count, &f->known_room, sizeof *known);
    if (known == NULL)
        return no_memory(e);
    f->known = known;
    uint32_t at = key_table_add(&f->addresses_known, file, address);
    if (at == KEY_NONE)
        return no_memory(e);
    if (at == f->known_count)
        known[f->known_count++] = (struct known_function){now, 0};
    if (known[at].number == 0 || known[at].generation != now) {
        int rc = look_up(f, file, address, clock, number, e);
        if (rc != 0)
            return rc;
        known[at] = (struct known_function){now, *number};
    }
    *number = known[at].number;
    return 0;
}

void function_numbers_moved(struct function_numbers *f, uint32_t stream)
{
    f->files[f->file_of[stream]].generation++;
}

const char *function_numbers_name(const struct function_numbers *f, int64_t number)
{
    return names_text(&f->names, number);
}

uint32_t function_numbers_count(const struct function_numbers *f)
{
    return f->names.count;
}

void function_numbers_print_lacks(FILE *out, const struct function_numbers *f)
{
    addresses_print_lacks(out, &f->addresses);
}
