/* SPDX-License-Identifier: BSD-3-Clause
 * Walks the loaded images, and reads what their headers and dynamic tables say in memory. Source:
 * dl_iterate_phdr(3), elf(5). */
#ifndef REGTRACE_PRELOAD_IMAGES_LOADED_IMAGES_H
#define REGTRACE_PRELOAD_IMAGES_LOADED_IMAGES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_ID_TEXT 41 /* 20 bytes in hexadecimal digits */

struct loaded_image {
    const char *path;         /* as the loader has it, the program's absolute; "" if it has none */
    uintptr_t bias, from, to; /* from, to: all its segments */
    bool is_program;
    const struct dl_phdr_info *info;
};

/* Returns true to end the walk. The image is valid until then. */
typedef bool image_visitor(const struct loaded_image *m, void *context);

/* Visits all images of this namespace, the program first, under the loader's lock. Returns true if
 * a visit ended the walk. Not for signal handlers. */
bool images_each(image_visitor *visit, void *context);

/* Is the address in one of the image's segments? */
bool image_has(const struct loaded_image *m, uintptr_t address);

/* Returns true and the bounds of the next segment that can be executed; *next is 0 at first.
 * Returns false after the last. */
bool image_code(const struct loaded_image *m, int *next, uintptr_t *from, uintptr_t *to);

/* Writes the image's build id (NT_GNU_BUILD_ID, ld(1) --build-id) as hexadecimal digits, cut at 20
 * bytes; "" if it has none. */
void image_build_id(const struct dl_phdr_info *info, char out[IMAGE_ID_TEXT]);

/* Entries of an image's dynamic table, as addresses in this process. 0 or NULL if one is absent. */
struct loaded_dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
    const ElfW(Rela) * tables[2]; /* relocation tables */
    size_t bytes[2];
};

/* Reads the dynamic table of an image. Returns false if it has none. */
bool image_read_dynamic(const struct dl_phdr_info *info, struct loaded_dynamic *out);

/* Returns an index that is larger than that of every symbol, exported ones too; 0: unknown. */
size_t image_symbols_end(const struct loaded_dynamic *d);

/* Was the image compiled with -finstrument-functions? Then its functions report their entries. */
bool image_is_instrumented(const struct dl_phdr_info *info);
/* Does the image make calls of regtrace.h? */
bool image_has_named_calls(const struct dl_phdr_info *info);

#endif
