/* SPDX-License-Identifier: BSD-3-Clause
 * An executable or library as its file describes it: segments, symbols, names, function ranges.
 *
 * Addresses are those of the file (p_vaddr); add the load bias for a loaded image. Sources: ELF
 * gABI 4.1, psABI x86-64, LSB 5.0 part "Exception Frames" (.eh_frame, .eh_frame_hdr), Itanium C++
 * ABI (mangled names). Section headers are not needed: program headers and the dynamic table lead
 * to everything except the symbols of .symtab, .gnu_debugdata and debug files, which libdwfl
 * reads. */
#ifndef REGTRACE_ISA_IMAGE_IMAGE_H
#define REGTRACE_ISA_IMAGE_IMAGE_H

#include "base/toolkit/cache.h"
#include "base/error.h"

#include <elf.h>
#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_segment {
    uint64_t address, size; /* size in the file */
    const uint8_t *bytes;
    bool code, writable;
};

enum image_origin { IMAGE_SYMTAB, IMAGE_DYNSYM, IMAGE_PLT };

/* A function or data. `name` and `version` live as long as the image. */
struct image_symbol {
    uint64_t address, size;
    const char *name;    /* the linker's name, without a version */
    const char *version; /* "" if there is none */
    uint8_t type;        /* STT_FUNC, ... */
    uint8_t origin;
    bool hidden_version; /* NAME@VERSION; otherwise NAME@@VERSION */
};

/* Returns whether the symbol is a function, indirect functions included. */
static inline bool image_is_function(const struct image_symbol *s)
{
    return s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
}

/* A range of .eh_frame: a function or a part of one. */
struct image_range {
    uint64_t start, end;
    uint64_t lsda; /* language-specific data, which lists landing pads; 0: none */
};

/* R_X86_64_RELATIVE and similar relocations: the word at `place` will be bias + value. */
struct image_pointer {
    uint64_t place, value;
    /* The value is certain. Otherwise the word may hold another image's address, or the result of a
     * function. */
    bool relative;
};

/* JUMP_SLOT and GLOB_DAT: the word at `place` will hold the address of symbol `name`. */
struct image_slot {
    uint64_t place;
    const char *name;
};

struct image {
    const char *path;
    const uint8_t *file;
    size_t bytes;
    bool dynamic_type; /* ET_DYN: PIE, static PIE or library */
    /* Lowest address of a segment, rounded down to a page: the origin of image+offset. */
    uint64_t base;
    uint64_t entry;
    uint8_t build_id[32];
    unsigned build_id_bytes;     /* 0: no build id */
    char file_id[CACHE_ID_ROOM]; /* identifies a file without a build id */
    struct image_segment *segments;
    size_t segment_count;
    /* Whole pages that are read-only once the dynamic linker has set the words in them. */
    uint64_t relro, relro_end;
    /* The dynamic linker makes read-only segments writable for a while. */
    bool text_relocations;
    /* Code of a sanitizer's runtime, which clang links into programs as one block; empty: none. */
    uint64_t sanitizer, sanitizer_end;
    struct image_symbol *symbols; /* sorted by address */
    size_t symbol_count;
    struct image_range *ranges; /* sorted by start */
    size_t range_count;
    struct image_pointer *pointers; /* sorted by value */
    size_t pointer_count;
    struct image_slot *slots; /* sorted by place */
    size_t slot_count;
    uint64_t *landing_pads;
    size_t landing_pad_count;
    struct image_dynamic *dynamic;
    void *dwfl;    /* Dwfl; owns the names */
    char **copies; /* names whose version was cut off */
    size_t copy_count;
};

/* Opens the image at `path` and reads all of it. Returns NULL with errno set and the reason in *e:
 * no such file, no ELF file for this machine, or damaged. `path` must live as long as the image. */
struct image *image_open(const char *path, struct rt_error *e) RT_MUST_CHECK;
/* Opens an image, but reads only its headers and build id. image_read() reads the rest, which takes
 * its time; it returns 0 or -errno. */
struct image *image_peek(const char *path, struct rt_error *e) RT_MUST_CHECK;
int image_read(struct image *m, struct rt_error *e) RT_MUST_CHECK;
void image_close(struct image *m);

/* Returns the n bytes that the file has at `address`, or NULL if they do not lie in one segment. */
const uint8_t *image_at(const struct image *m, uint64_t address, size_t n);
const struct image_segment *image_segment_of(const struct image *m, uint64_t address);
/* Returns the range that contains `address`, or NULL. */
const struct image_range *image_range_of(const struct image *m, uint64_t address);
/* Returns whether these bytes are the file's for as long as the image is loaded. */
bool image_is_constant(const struct image *m, uint64_t address, size_t n);
/* Returns whether these words no longer change once the program's own code runs: the dynamic linker
 * sets them. */
bool image_is_set_once(const struct image *m, uint64_t address, size_t n);
/* Returns the name of the symbol whose address the dynamic linker will store at `place`, or
 * NULL. */
const char *image_slot_name(const struct image *m, uint64_t place);

/* Parts of image_read(). Each returns 0 or -ENOMEM. */
int image_read_dynamic(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_symbols(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_frames(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_plt(struct image *m) RT_MUST_CHECK;
/* Appends a copy of *s. Returns 0 or -ENOMEM. */
int image_add_symbol(struct image *m, const struct image_symbol *s) RT_MUST_CHECK;
/* Sorts records of `size` bytes by the uint64_t at offset `key` of each. Stable. */
void image_sort(void *base, size_t count, size_t size, size_t key);
/* Returns the index of the first record whose key is `number` or above, in records sorted by
 * image_sort(); `count` if there is none. */
size_t image_search(const void *base, size_t count, size_t size, size_t key, uint64_t number);
/* Makes room for one more element of `size` bytes in an array that grows by doubling. `count` is
 * the number of elements so far; every append must call this. Returns 0 or -ENOMEM. */
int image_grow(void **array, size_t count, size_t size) RT_MUST_CHECK;
void image_free_dynamic(struct image *m);
void image_free_symbols(struct image *m);

/* --- names --------------------------------------------------------------------------------- */

/* Does a symbol have a requested name? `wanted` is one of:
 * - the linker's name
 * - NAME@VERSION or NAME@@VERSION
 * - a bare C++ name, which matches every overload: f
 * - a qualified C++ name: ns::f
 * - one with template arguments: ns::f<int, 3>
 * - one with parameters: ns::f<int, 3>(int), with or without the type that the function returns
 * In the latter two spaces do not matter.
 * Clones that a compiler makes of a function (foo.constprop.0, foo.isra.0, foo.lto_priv.0) have its
 * name; parts of functions (foo.cold, foo.part.0) do not. */
bool image_name_matches(const struct image_symbol *s, const char *wanted);

/* Does a C++ name that is not mangled match, by the same rules? Changes `plain`. */
bool image_name_plain_matches(char *plain, const char *wanted);

/* Returns the demangled name, or a copy of `name` if it is no C++ name; the caller frees it.
 * Returns NULL without memory. */
char *image_name_demangle(const char *name) RT_MUST_CHECK;
/* Reduces "a::b<int>::f(int) const" to "f", or to "a::b::f" if qualified; in place. */
void image_name_strip(char *demangled, bool qualified);
/* Returns the index of the first pointer whose value is `value` or above. */
size_t image_pointers_from(const struct image *m, uint64_t value);
/* Returns the index of the first symbol whose address is `address` or above. */
size_t image_symbols_from(const struct image *m, uint64_t address);
/* Is this code of a sanitizer's runtime? It runs with all signals blocked at times. */
static inline bool image_is_sanitizer(const struct image *m, uint64_t address)
{
    return address >= m->sanitizer && address < m->sanitizer_end;
}
/* Returns whether a function symbol has this address; stubs of the PLT count. */
bool image_has_name(const struct image *m, uint64_t address);
/* Returns whether the first symbol of the range is a PLT stub. Such a range is no function: it
 * holds stubs that lead to other images, and the code that the stubs share. */
bool image_has_stubs(const struct image *m, uint64_t from, uint64_t to);
/* Returns whether the expression matches a form of the name: the full name, or the name without the
 * suffix that a compiler puts after a dot; for a C++ name also the demangled text, the qualified
 * name and the bare name. `name` has no version. Cold parts (foo.cold) are no functions and never
 * match. */
bool image_name_fits(const regex_t *regex, const char *name);

/* Returns the number of places where the compiler inlined a function of this name that has no code
 * of its own, according to DWARF; 0 without DWARF. Writes "FILE:LINE address:@+0xOFFSET, ..." for
 * the replaced calls, as many as fit into `out`; @ stands for the image, whose name may be another
 * one when the text is read from the cache. */
unsigned image_name_inlined(const struct image *m, const char *wanted, char *out, size_t room);

struct near_names;
/* Adds the names of functions to `near`, C++ names in their bare form (qualified if the wanted name
 * is), and keeps those most similar to the wanted one. labels: also symbols without a type that lie
 * in code. */
void image_name_nearest(const struct image *m, bool labels, struct near_names *near);

#endif
