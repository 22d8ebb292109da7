/* SPDX-License-Identifier: BSD-3-Clause
 * Finds where instructions begin in an image: which may be patched, and which may be data and are
 * left alone.
 *
 * An instruction is sure when control flow reaches it from a place that is known to be code: an
 * entry point, the start of an .eh_frame range, a function symbol, a landing pad, a stub of the
 * PLT, a jump table whose bounds are known. A place that only a guess leads to is followed on
 * trial: an address found in data, the place after a call that takes its own address, an endbr64
 * where nothing is known. If a trial contradicts what is known, or meets a byte that is no
 * instruction, all that it led to is unsure. Bytes that nothing reaches are unsure. Nothing unsure
 * is ever a site, but the targets of its branches count. */
#ifndef REGTRACE_ISA_DECODE_CODE_MAP_H
#define REGTRACE_ISA_DECODE_CODE_MAP_H

#include "isa/decode/form.h"
#include "isa/image/image.h"

/* Flags of each byte of the executable segments. */
enum {
    CODE_START = 1,      /* an instruction begins here */
    CODE_BODY = 2,       /* inside an instruction */
    CODE_TARGET = 4,     /* a jump may lead here */
    CODE_ENTRY = 8,      /* a function begins here */
    CODE_UNSURE = 16,    /* may be data */
    CODE_DATA = 32,      /* is data: a jump table in the text */
    CODE_PADDING = 64,   /* nothing reaches it, and it does nothing */
    CODE_NORETURN = 128, /* the function that begins here does not return */
};

enum { CODE_SLACK = 8 };

/* Flags for 8 bytes at once. */
#define CODE_EACH(flags) ((uint64_t)(flags)*UINT64_C(0x0101010101010101))

struct code_range {
    uint64_t start, end;
    /* Instructions that trials from this range decoded and took back. */
    uint64_t in_vain;
    bool wild;   /* may jump to places that were not found */
    bool wanted; /* to be decoded in a partial map */
};

struct code_segment {
    uint64_t address, size;
    const uint8_t *bytes;
    uint8_t *flags; /* one for each byte, then CODE_SLACK zeros */
};

struct address_list {
    uint64_t *at;
    size_t count;
};

/* Operands of calls to requested functions: addresses of the functions and of stubs that lead to
 * them; slots that will hold these addresses. */
struct callees {
    struct address_list functions, slots;
};

/* A list for frequent pushes and pops. */
struct address_stack {
    uint64_t *at;
    size_t count, room;
};

/* A lea at address `at` that computes `value` relative to its own address. */
struct lea {
    uint64_t at, value;
};

struct lea_list {
    struct lea *at;
    size_t count;
};

/* An address that an instruction names: it computes the address, or reads or writes there. */
struct named {
    uint64_t value;
    bool computed;
};

struct code_counts {
    uint64_t bytes, sure, padding, data, unsure; /* bytes of all executable segments */
    uint64_t tables, unresolved; /* jump tables followed; jumps with unknown targets */
};

/* A jump or branch, and one address to which it may lead. */
struct jump_target {
    uint64_t at, target;
};

/* A jump through a register, or to an address that an index selects in memory; and how its targets
 * were found. */
struct computed {
    uint64_t at;
    /* The instructions straight above the jump, where they were understood, compute its target. */
    bool table_like;
    bool found; /* a jump table was found too */
    /* It may also lead to all labels of its function whose addresses the program stores. */
    bool labels;
    bool doubtful; /* some targets were unknown at the last check */
    bool lost;     /* some targets stay unknown */
};

struct code {
    const struct image *image;
    struct forms *forms;
    struct code_segment *segments;
    size_t segment_count;
    /* Sorted by start: .eh_frame ranges, and functions with a size outside of them. */
    struct code_range *ranges;
    size_t range_count;
    struct address_list indirect;  /* jumps through registers and memory, not examined yet */
    struct address_list data_refs; /* data addresses that instructions compute or access */
    struct address_list code_refs; /* code addresses that instructions compute */
    struct lea *lea_list;
    size_t lea_count, lea_sorted;    /* the first lea_sorted ones are sorted by address */
    struct address_list words;       /* words of data that are addresses inside ranges */
    struct address_list maybe;       /* places after calls that may not return there */
    struct address_stack todo, done; /* work lists of the current walk */
    /* In a partial map: places after bytes that may be a requested call. */
    struct address_list behind_calls;
    struct computed *computed;
    size_t computed_count;
    struct address_list lost; /* addresses of the computed jumps that are lost */
    /* Straight runs of code followed so far, and when code_follow_joins() last finished. */
    uint64_t runs, runs_joined;
    unsigned rounds;               /* passes of code_follow_joins() over all computed jumps */
    bool joined;                   /* code_follow_joins() has finished once */
    struct jump_target *crossings; /* jumps and branches that leave their range */
    size_t crossing_count;
    /* When sorted: by `at`, then by target, without duplicates. */
    struct jump_target *jump_targets;
    size_t jump_target_count;
    struct code_counts counts;
    bool partial; /* only wanted ranges are decoded */
    bool no_memory;
};

/* Counts the bytes of all executable segments by kind, into c->counts. */
void code_count(struct code *c);

/* Decodes all code of the image, which must outlive the result. Returns NULL without memory;
 * code_close() frees the result. */
struct code *code_open(const struct image *m) RT_MUST_CHECK;
/* Decodes only what sites at `places` need: their functions, and the known functions that call
 * `callees` directly. Decodes everything if a place is in no known function. Sorts `places`, and
 * adds the places after the calls. Returns NULL without memory. */
struct code *code_open_part(const struct image *m, struct address_list *places,
                            struct callees *callees) RT_MUST_CHECK;
/* Sets *first to the first target of the jump at `at`. Returns the number of its targets. */
size_t code_targets_of(const struct code *c, uint64_t at, const struct jump_target **first);
void code_close(struct code *c);

/* Returns the executable segment that contains `address`, or NULL. */
const struct code_segment *code_segment_of(const struct code *c, uint64_t address);
/* Returns the flags of a byte; NULL outside of executable segments. */
uint8_t *code_at(const struct code *c, uint64_t address);
/* Returns whether a sure instruction begins at `address`. */
bool code_is_sure(const struct code *c, uint64_t address);
struct code_range *code_range_of(const struct code *c, uint64_t address);
/* Returns the offset of the first byte of the segment, from n on, that has one of these flags; the
 * segment's size if there is none. */
uint64_t code_next_flagged(const struct code_segment *s, uint64_t n, uint8_t flags);

/* Decodes the instruction at `at`, sure or not. Returns false if no instruction can begin there. */
bool code_decode(const struct code *c, uint64_t at, struct instruction *i);
/* Returns the address of the instruction that precedes `at` in memory, at `floor` or above; 0 if
 * there is none. */
uint64_t code_before(const struct code *c, uint64_t at, uint64_t floor);

/* Returns the address of a program's main, which its entry code gives, even if main is not known to
 * be code. Returns 0 if it is not found. */
uint64_t code_find_main(const struct code *c);

enum {
    /* Bytes of a site where it matters whether other code jumps to them: an endbr64, and
     * instructions that a jump may displace. */
    CODE_PATCHED = 4 + 8,
    CODE_SHORT = 130 /* reach of a two-byte jump */
};

/* --- parts -------------------------------------------------------------------------------- */

/* Creates a map with all that is known without decoding. Returns NULL without memory. */
struct code *code_begin(const struct image *m) RT_MUST_CHECK;
/* Fills c->behind_calls. Sorts the lists of `callees`. */
void code_find_calls(struct code *c, struct callees *callees);
/* Runs the final sweep. Closes c and returns NULL if memory ran out. */
struct code *code_finish(struct code *c) RT_MUST_CHECK;
/* Returns whether the code at `address` is to be decoded. */
bool code_is_wanted(const struct code *c, uint64_t address);
/* Follows control flow from `root`, which is known to be code. */
void code_follow(struct code *c, uint64_t root);
/* Follows a guess. Returns false if it leads to a contradiction; then it makes nothing sure. */
bool code_try(struct code *c, uint64_t root);
/* Writes the addresses that an instruction names, other than branch targets, to `named`. Returns
 * how many there are. */
unsigned code_named(const struct code *c, const struct instruction *i, struct named named[2]);
/* Finds the targets of the jumps in c->indirect. Returns true if it followed anything new. */
bool code_follow_tables(struct code *c);
void code_sort_jumps(struct code *c);
void code_add_crossing(struct code *c, uint64_t from, uint64_t to);
/* Finds the remaining targets of jumps that several paths lead to, and whether all targets are
 * known. Returns true if it found anything new. */
bool code_follow_joins(struct code *c);
/* Runs code_follow_tables() and code_follow_joins() until neither finds anything new. */
void code_follow_computed(struct code *c);
/* Of the first CODE_PATCHED bytes of each place, without its first byte: marks those to which a
 * jump in undecoded code may lead. Adds to `uses` each operand in undecoded code that may name the
 * start of a jump table with an entry for such a byte. */
void code_find_jumps(struct code *c, const struct address_list *places, struct lea_list *uses);
/* For uses that no sure instruction contains: marks what the words of the table lead to, up to the
 * first word that does not lead to code. */
void code_mark_entries(struct code *c, const struct address_list *places,
                       const struct lea_list *uses);
/* Decides the remaining bytes: tries guesses, marks padding, and marks ranges in which jumps may
 * land anywhere. */
void code_sweep(struct code *c);
void code_add(struct code *c, struct address_list *list, uint64_t address);
bool code_append(struct address_list *list, uint64_t address) RT_MUST_CHECK; /* false: no memory */
void code_sort(struct address_list *list); /* also drops duplicates */
/* Returns the index of the first address above `address` in a sorted list; its count if there is
 * none. */
size_t code_above(const struct address_list *list, uint64_t address);
/* Returns whether a sorted list contains `address`. */
bool code_has(const struct address_list *list, uint64_t address);

#endif
