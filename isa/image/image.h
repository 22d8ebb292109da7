/* SPDX-License-Identifier: BSD-3-Clause
 * An executable or library as its file has it: segments, symbols, names, function ranges.
 *
 * Addresses are those of the file (p_vaddr); a loaded image adds its load bias. Sources: ELF gABI 4.1, psABI x86-64, LSB 5.0
 * part "Exception Frames" (.eh_frame, .eh_frame_hdr), Itanium C++ ABI (mangled names). Section headers are not needed: what is
 * found is found by program headers and the dynamic table, symbols of .symtab, .gnu_debugdata and debug files by libdwfl. */
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
    uint64_t address, size; /* of what is in the file */
    const uint8_t *bytes;
    bool code, writable;
};

enum image_origin { IMAGE_SYMTAB, IMAGE_DYNSYM, IMAGE_PLT };

/* Of functions and data; name and version live as long as the image. */
struct image_symbol {
    uint64_t address, size;
    const char *name;    /* as the linker has it, without a version */
    const char *version; /* "" where there is none */
    uint8_t type;        /* STT_ */
    uint8_t origin;
    bool hidden_version; /* NAME@VERSION; else NAME@@VERSION */
};

/* Indirect ones too. */
static inline bool image_is_function(const struct image_symbol *s)
{
    return s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
}

/* From .eh_frame: one function or a part of one. */
struct image_range {
    uint64_t start, end;
    uint64_t lsda; /* language-specific data, where landing pads are; 0: none */
};

/* R_X86_64_RELATIVE and its like: the word at `place` will be bias + value. */
struct image_pointer {
    uint64_t place, value;
    bool
        relative; /* it will, for sure; others may be another image's, or what a function returns */
};

/* JUMP_SLOT and GLOB_DAT: the word at `place` will be the address of that symbol. */
struct image_slot {
    uint64_t place;
    const char *name;
};

struct image {
    const char *path;
    const uint8_t *file;
    size_t bytes;
    bool dynamic_type; /* ET_DYN: PIE, static PIE or library */
    uint64_t
        base; /* lowest address of a segment, rounded down to a page: what "image+offset" adds to */
    uint64_t entry;
    uint8_t build_id[32];
    unsigned build_id_bytes;     /* 0: none */
    char file_id[CACHE_ID_ROOM]; /* identifies a file without a build id */
    struct image_segment *segments;
    size_t segment_count;
    uint64_t relro,
        relro_end;         /* whole pages that nobody writes to once the words in them are set */
    bool text_relocations; /* segments that are not writable are, for a while */
    struct image_symbol *symbols; /* by address */
    size_t symbol_count;
    struct image_range *ranges; /* by start */
    size_t range_count;
    struct image_pointer *pointers; /* by value */
    size_t pointer_count;
    struct image_slot *slots; /* by place */
    size_t slot_count;
    uint64_t *landing_pads;
    size_t landing_pad_count;
    struct image_dynamic *dynamic;
    void *dwfl;    /* keeps the names */
    char **copies; /* of names that had a version in them */
    size_t copy_count;
};

/* NULL with the reason: no file, no ELF of this machine, damaged. */
struct image *image_open(const char *path, struct rt_error *e) RT_MUST_CHECK;
/* Headers and build id alone; image_read() does the rest, which takes its time. */
struct image *image_peek(const char *path, struct rt_error *e) RT_MUST_CHECK;
int image_read(struct image *m, struct rt_error *e) RT_MUST_CHECK;
void image_close(struct image *m);

/* What the file has at that address; NULL where fewer than n bytes of a segment are there. */
const uint8_t *image_at(const struct image *m, uint64_t address, size_t n);
const struct image_segment *image_segment_of(const struct image *m, uint64_t address);
/* The range that holds it, or NULL. */
const struct image_range *image_range_of(const struct image *m, uint64_t address);
/* The bytes there are what the file has, for as long as the image is loaded. */
bool image_is_constant(const struct image *m, uint64_t address, size_t n);
/* Words there are as the dynamic linker has set them, as soon as the program's own code runs. */
bool image_is_set_once(const struct image *m, uint64_t address, size_t n);
/* The name that the dynamic linker will put there, or NULL. */
const char *image_slot_name(const struct image *m, uint64_t place);

/* Parts of image_open, each 0 or -errno with the text. */
int image_read_dynamic(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_symbols(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_frames(struct image *m, struct rt_error *e) RT_MUST_CHECK;
int image_read_plt(struct image *m) RT_MUST_CHECK;
/* Appends; grows by doubling. 0 or -ENOMEM. */
int image_add_symbol(struct image *m, const struct image_symbol *s) RT_MUST_CHECK;
/* By the uint64_t that lies `key` behind the begin of each; those that have the same keep their order. */
void image_sort(void *base, size_t count, size_t size, size_t key);
/* Of those sorted so: the first that has that number, or more. */
size_t image_search(const void *base, size_t count, size_t size, size_t key, uint64_t number);
/* For arrays that grow: room for one more of `size` bytes. */
int image_grow(void **array, size_t count, size_t size) RT_MUST_CHECK;
void image_free_dynamic(struct image *m);
void image_free_symbols(struct image *m);

/* --- names ------------------------------------------------------------------------------------------------------------ */

/* In what way a wanted name is a symbol's. */
enum name_match { NAME_NO, NAME_RAW, NAME_BARE, NAME_QUALIFIED, NAME_FULL };

/* wanted: a linker's name, NAME@VERSION or NAME@@VERSION, a bare C++ name (every overload), a qualified one, or the whole
 * demangled text. Clones that a compiler made of a function (foo.constprop.0, foo.isra.0, foo.lto_priv.0) have its name; parts of
 * functions (foo.cold, foo.part.0) do not. */
enum name_match image_name_match(const struct image_symbol *s, const char *wanted);

/* Demangled, to be freed; the name itself where it is none of C++. NULL: no memory. */
char *image_name_demangle(const char *name) RT_MUST_CHECK;
/* "a::b<int>::f(int) const" becomes "f", or with qualified "a::b::f"; in place. */
void image_name_strip(char *demangled, bool qualified);
/* The first pointer with that value, or above. */
size_t image_pointers_from(const struct image *m, uint64_t value);
/* The first symbol of that address, or above. */
size_t image_symbols_from(const struct image *m, uint64_t address);
/* A function of that address has a name, its own and no stub's. */
bool image_has_name(const struct image *m, uint64_t address);
/* Stubs that lead to other images are no functions, nor what they have in common: is code of that range such? */
bool image_has_stubs(const struct image *m, uint64_t from, uint64_t to);
/* By one of its names: as it is, or without what a compiler has put behind a dot; without a version; of C++ whole, without arguments, bare. What is
 * split off for being cold is no function. */
bool image_name_fits(const regex_t *regex, const char *name);

/* Returns the number of places where the compiler inlined a function of this name that has no code
 * of its own, according to DWARF; 0 without DWARF. Writes "FILE:LINE address:IMAGE+0xOFFSET, ..."
 * for the replaced calls, as many as fit into `out`. */
unsigned image_name_inlined(const struct image *m, const char *wanted, char *out, size_t room);

struct near_names;
/* Functions whose bare names are most like the wanted one; labels: names without a type as well, that stand in code. */
void image_name_nearest(const struct image *m, bool labels, struct near_names *near);

#endif
