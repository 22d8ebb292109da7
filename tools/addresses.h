/* SPDX-License-Identifier: BSD-3-Clause
 * Maps recorded addresses to places in images, merged over all ranks, and to names of functions. */
#ifndef REGTRACE_TOOLS_ADDRESSES_H
#define REGTRACE_TOOLS_ADDRESSES_H

#include "base/toolkit/key_table.h"
#include "tools/tools.h"
#include "writer/writer.h"

#define NO_IMAGE UINT32_MAX
#define ADDRESS_CHANGED 1 /* the file at the image's path is no longer the one that ran */

/* An executable or shared library that a rank had loaded. */
struct address_image {
    char *path, *build_id; /* build_id: hexadecimal; "": unknown */
    /* base name of the path as text_write_plain() prints it */
    char *shown;
    /* Why the image has no names, set when it is opened: 0 no problem, ADDRESS_CHANGED or
     * -errno. */
    int problem;
    bool opened;
    bool lacks_lines;              /* a line was looked up, and it has no debug information */
    struct image_symbols *symbols; /* NULL: not opened, or nothing to read */
};

struct address {
    uint32_t image; /* index into images, or NO_IMAGE */
    /* from the load base: an address of the image's own symbol table; if is_generated, a hash of
     * the name */
    uint64_t offset;
    char *name;    /* set by addresses_name() */
    char *line;    /* FILE:LINE, set by addresses_line(); */
    char *inlined; /* and the function that is inlined there; NULL: none */
    uint32_t same; /* set by addresses_same() */
    bool named, has_line, has_same;
    bool is_generated; /* code that a process has compiled at run time, named by its perf map */
};

/* The perf map of a process. */
struct address_map {
    char *path;
    struct perf_map *map; /* NULL: the process has none */
};

/* Zero-initialize before use; free with addresses_free(). */
struct addresses {
    struct address_image *images;
    size_t image_count;
    struct address *items; /* by number of `places` */
    size_t count, room;
    struct key_table places; /* high: image, low: offset */
    struct key_table texts;  /* what items are shown as, by a hash */
    uint32_t *first_of_text; /* by number of `texts`: the first item */
    size_t text_room;
    const struct rt_rank_tables *tables; /* of the current rank */
    uint32_t *image_of_map;              /* by index of tables->maps */
    struct address_map *perf_maps;
    size_t perf_map_count, perf_map_current; /* perf_map_current: of the current rank */
};

/* Makes `rank` the current rank of addresses_find(). Returns 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_begin_rank(struct addresses *a, const struct rt_rank *rank);
/* Finds or creates the item of an address of the current rank at the time `clock`. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int addresses_find(struct addresses *a, uint64_t address, uint64_t clock,
                                 uint32_t *item);
/* Finds or creates the item of an offset in an image. path NULL: in no image, `offset` is the
 * address. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_place(struct addresses *a, const char *path, const char *build_id,
                                  uint64_t offset, uint32_t *item);
/* Finds or creates the item of an address that is in no image. In any rank's compiled code, all
 * addresses of one function are one item. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_outside(struct addresses *a, const struct rt_rank *rank,
                                    uint64_t address, uint32_t *item);
/* Finds or creates the item that stands for the callers of a path that was cut: "[cut]". Returns 0
 * or -ENOMEM. */
RT_MUST_CHECK int addresses_cut(struct addresses *a, uint32_t *item);
/* Is this that item? */
bool addresses_is_cut(const struct addresses *a, uint32_t item);
/* Sets *item to the first one that is shown with the same function and line; without a line, with
 * the same function and image. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int addresses_same(struct addresses *a, uint32_t *item);
/* Returns the function that contains an item, looked up in the image as it is now on this machine;
 * NULL if unknown. */
const char *addresses_name(struct addresses *a, uint32_t item);
/* Returns FILE:LINE of an item's source; NULL if unknown. Sets its `inlined`. */
const char *addresses_line(struct addresses *a, uint32_t item);
/* Opens the image's file, unless that was done before. Returns NULL if there is nothing to read. */
struct image_symbols *addresses_symbols(struct address_image *image);
/* Returns the base name without control characters, or "(no image)". */
const char *addresses_image_name(const struct addresses *a, uint32_t image);
/* Prints a line for each reason why names are missing: no libdw, or opened images that have changed
 * since the run or cannot be read. */
void addresses_print_lacks(FILE *out, const struct addresses *a);
void addresses_free(struct addresses *a);

/* --- names in one image: image_symbols.c; none without libdw (elfutils) ----------------------- */

struct image_symbols;
/* Opens the symbols of an image. Returns NULL if there is nothing to read. *problem is then 0 for a
 * path that is no file ("[vdso]"), ADDRESS_CHANGED if the file's build id differs from `build_id`
 * ("" matches any), or -errno (-ENOEXEC: no ELF file). */
struct image_symbols *image_symbols_open(const char *path, const char *build_id, int *problem);
/* Looks up the function (C++ names demangled) and "FILE:LINE" of an address. Sets *function and
 * *line to malloc'ed texts, and leaves them unchanged if unknown. line may be NULL. */
void image_symbols_find(struct image_symbols *s, uint64_t address, char **function, char **line);
/* Returns true if debug information of the image is there: in it, or in a file of its own. */
bool image_symbols_has_debug(struct image_symbols *s);
/* Returns the name, malloc'ed, of the innermost function that is inlined at this address, by its
 * debug information; NULL if none is. */
char *image_symbols_inlined(struct image_symbols *s, uint64_t address);
/* Returns true if, by the unwind table, the function has made no frame at this address, so that the
 * return address is still where the call put it. */
bool image_symbols_frameless(struct image_symbols *s, uint64_t address);
void image_symbols_close(struct image_symbols *s);
/* Returns why names may be missing, or NULL if nothing prevents them. */
const char *image_symbols_lack(void);

#endif
