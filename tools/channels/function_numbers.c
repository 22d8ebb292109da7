/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers the functions of a program. Looks up an address once for each process, and again after
 * images have been loaded. */
#include "tools/channels/function_numbers.h"

#include "tools/addresses.h"
#include "tools/channels/name_numbers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A known address of a process; number 0: free. */
struct known_function {
    uint64_t address;
    uint32_t file, generation, number;
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
    uint32_t file_count, begun; /* begun: 1 + the file that `addresses` is set to */
    struct known_function *table;
    size_t table_size, known_count;
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
    free(f->table);
    free(f);
}

static struct known_function *slot_of(const struct function_numbers *f, uint32_t file,
                                      uint64_t address)
{
    uint64_t h = (address ^ (uint64_t)file << 48) * UINT64_C(0x9e3779b97f4a7c15);
    size_t mask = f->table_size - 1, at = (h >> 20) & mask;
    while (f->table[at].number != 0 &&
           (f->table[at].address != address || f->table[at].file != file))
        at = (at + 1) & mask;
    return &f->table[at];
}

static int grow(struct function_numbers *f, struct rt_error *e)
{
    size_t before = f->table_size;
    struct known_function *old = f->table,
                          *table = calloc(before != 0 ? 2 * before : 256, sizeof *table);
    if (table == NULL)
        return no_memory(e);
    f->table = table;
    f->table_size = before != 0 ? 2 * before : 256;
    for (size_t i = 0; i < before; i++)
        if (old[i].number != 0)
            *slot_of(f, old[i].file, old[i].address) = old[i];
    free(old);
    return 0;
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
    if (2 * f->known_count >= f->table_size && grow(f, e) != 0)
        return -ENOMEM;
    struct known_function *k = slot_of(f, file, address);
    if (k->number == 0 || k->generation != f->files[file].generation) {
        int rc = look_up(f, file, address, clock, number, e);
        if (rc != 0)
            return rc;
        f->known_count += k->number == 0;
        *k = (struct known_function){address, file, f->files[file].generation, *number};
    }
    *number = k->number;
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
