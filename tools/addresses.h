/* SPDX-License-Identifier: BSD-3-Clause
 * Recorded addresses as places in images, equal ones of all ranks one, and the names of their functions. */
#ifndef REGTRACE_TOOLS_ADDRESSES_H
#define REGTRACE_TOOLS_ADDRESSES_H

#include "tools/tools.h"
#include "writer/writer.h"

#define NO_IMAGE UINT32_MAX
#define ADDRESS_CHANGED 1 /* what lies at that path now is another */

/* A file as it was loaded. */
struct address_image {
    char *path, *build_id; /* build_id: in hexadecimal digits, "" unknown */
    char *shown; /* the path's last part for a terminal, as text_write_plain() writes it */
    int problem; /* why it has no names, known once it was opened: 0 nothing, ADDRESS_CHANGED or -errno */
    bool opened;
    struct hot_symbols *symbols; /* NULL: not opened, or nothing to read */
};

struct address {
    uint32_t image;  /* index into images, NO_IMAGE */
    uint64_t offset; /* from the load base: an address of the image's own symbol table */
    char *name;      /* addresses_name() */
    bool named;
};

/* All zero at first; free with addresses_free(). */
struct addresses {
    struct address_image *images;
    size_t image_count;
    struct address *items;
    size_t count;
    uint32_t *table; /* hash: item + 1 */
    size_t table_size;
    const struct rt_rank_tables *tables; /* of the rank that is being read */
    uint32_t *image_of_map;              /* and its maps */
};

/* What follows is of this rank, until the next. 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_begin_rank(struct addresses *a, const struct rt_rank *rank);
/* The item of an address at that time. 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_find(struct addresses *a, uint64_t address, uint64_t clock,
                                 uint32_t *item);
/* The item of a place in that image; path NULL: in none, `offset` is the address. 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_place(struct addresses *a, const char *path, const char *build_id,
                                  uint64_t offset, uint32_t *item);
/* The function that an item lies in, from the image as it is now on this machine; NULL where nobody knows. */
const char *addresses_name(struct addresses *a, uint32_t item);
/* Opens an image's file, if not done yet. NULL: nothing to read. */
struct hot_symbols *addresses_symbols(struct address_image *image);
/* Without its folders and without control characters; "(no image)". */
const char *addresses_image_name(const struct addresses *a, uint32_t image);
/* One line for each reason why names are missing: no libdw, images that have changed since the run or cannot be read (of those opened). */
void addresses_print_lacks(FILE *out, const struct addresses *a);
void addresses_free(struct addresses *a);

/* --- hot_symbols.c: names of one image's places; without libdw (elfutils) nothing has a name ------------------- */

struct hot_symbols;
/* NULL where there is nothing to read: no file at all ("[vdso]"), or a *problem: ADDRESS_CHANGED where the file has another
 * build id than that, "" being any, or why it cannot be read, -ENOEXEC where it is none of ELF. */
struct hot_symbols *hot_symbols_open(const char *path, const char *build_id, int *problem);
/* function: C++ names in readable form; malloc'ed or NULL; line (may be NULL): "FILE:LINE", malloc'ed or NULL. */
void hot_symbols_find(struct hot_symbols *s, uint64_t address, char **function, char **line);
/* Has the function made no frame by then, so that its return address is in its first place? By the unwind table. */
bool hot_symbols_frameless(struct hot_symbols *s, uint64_t address);
void hot_symbols_close(struct hot_symbols *s);
/* Why names may be missing, NULL where they need not be. */
const char *hot_symbols_lack(void);

#endif
