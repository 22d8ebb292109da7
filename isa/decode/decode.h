/* SPDX-License-Identifier: BSD-3-Clause
 * Where instructions begin in an image: what may be patched, and what may be data and is left alone.
 *
 * An instruction is sure when control flow reaches it from a place that is known to be code: entry point, start of a range of
 * .eh_frame, function symbol, landing pad, stub of the PLT, jump table whose bounds are seen. What only a guess leads to
 * (an address that lies about in data, the place behind a call that takes its address, an endbr64 where nothing is known) is
 * followed on trial: one contradiction with what is known, one byte that is no instruction, and all that it led to is unsure. Bytes
 * that nothing reaches are unsure. Whatever is unsure is never offered as a site, but where it branches to counts. */
#ifndef REGTRACE_ISA_DECODE_DECODE_H
#define REGTRACE_ISA_DECODE_DECODE_H

#include "isa/decode/form.h"
#include "isa/image/image.h"

/* Of each byte of the executable segments. */
enum {
    CODE_START = 1,      /* an instruction begins here */
    CODE_BODY = 2,       /* inside of one */
    CODE_TARGET = 4,     /* something may jump here, as far as anything is known */
    CODE_ENTRY = 8,      /* a function begins here */
    CODE_UNSURE = 16,    /* may be data */
    CODE_DATA = 32,      /* is data: of a jump table in the text */
    CODE_PADDING = 64,   /* nothing reaches it, and it does nothing */
    CODE_NORETURN = 128, /* the function that begins here does not return */
};

enum { CODE_SLACK = 8 };

/* Flags of 8 bytes at once. */
#define CODE_EACH(flags) ((uint64_t)(flags)*UINT64_C(0x0101010101010101))

struct code_range {
    uint64_t start, end;
    uint64_t
        in_vain; /* instructions that guesses from within it have led to, and a contradiction took back */
    bool wild;   /* something in it may jump to places that were not found */
    bool wanted; /* to be decoded, where not all is */
};

struct code_segment {
    uint64_t address, size;
    const uint8_t *bytes;
    uint8_t *flags; /* CODE_SLACK more than bytes, which stay 0 */
};

struct addresses {
    uint64_t *at;
    size_t count;
};

/* What calls name: where a function begins, or a stub that leads to it; where its address will stand. */
struct callees {
    struct addresses functions, slots;
};

/* The same, that grows and shrinks all the time. */
struct address_stack {
    uint64_t *at;
    size_t count, room;
};

/* lea: an instruction that computes an address relative to its own. */
struct lea {
    uint64_t at, value;
};

struct lea_list {
    struct lea *at;
    size_t count;
};

/* An address that an instruction names: it computes it, or reads or writes there. */
struct named {
    uint64_t value;
    bool computed;
};

struct code_counts {
    uint64_t bytes, sure, padding, data, unsure; /* bytes of all executable segments */
    uint64_t tables, unresolved; /* jump tables followed; jumps whose targets are not known */
};

/* Where a jump through a register or memory may go. */
struct jump_target {
    uint64_t at, target;
};

/* A jump through a register, or to what an index chooses in memory; how its targets were found. */
struct computed {
    uint64_t at;
    bool table_like; /* what it jumps to was computed, as far as was seen straight above it */
    bool found;      /* there stands a table as well */
    bool labels;     /* it may lead to all labels of its function whose addresses are kept */
    bool doubtful;   /* when last looked at, not all that it leads to was known */
    bool lost;       /* so it stays */
};

struct code {
    const struct image *image;
    struct forms *forms;
    struct code_segment *segments;
    size_t segment_count;
    struct code_range *ranges; /* by start: frames, and functions with a size that have none */
    size_t range_count;
    struct addresses indirect;  /* jumps through registers and memory, not looked at yet */
    struct addresses data_refs; /* addresses that instructions compute or read, of data */
    struct addresses code_refs; /* and of code */
    struct lea *lea_list;
    size_t lea_count, lea_sorted;    /* the first so many are sorted by place */
    struct addresses words;          /* of data, that are addresses inside of ranges */
    struct addresses maybe;          /* behind calls that may not return there */
    struct address_stack todo, done; /* of what is being followed */
    struct addresses
        behind_calls; /* where only a part is decoded: places behind what may be a call that was asked for */
    struct computed *computed;
    size_t computed_count;
    struct addresses lost;      /* of those that are */
    uint64_t runs, runs_joined; /* stretches of code followed; by when joins were looked at last */
    unsigned rounds;            /* how often they were */
    bool joined;                /* they were */
    struct jump_target *crossings; /* branches from one range into the midst of another */
    size_t crossing_count;
    struct jump_target *jump_targets; /* once sorted: by `at`, then by target, each once */
    size_t jump_target_count;
    struct code_counts counts;
    bool partial; /* only wanted ranges are decoded */
    bool no_memory;
};

/* What has become of all bytes. */
void code_count(struct code *c);

/* NULL: no memory. */
struct code *code_open(const struct image *m) RT_MUST_CHECK;
/* Enough of it for the sites at these places (which are sorted): their functions. All of it, where one is in no known function. And for
 * those behind direct calls of the callees, where the caller is a known function. */
struct code *code_open_part(const struct image *m, struct addresses *places,
                            struct callees *callees) RT_MUST_CHECK;
/* Of the jump at that place, how many. */
size_t code_targets_of(const struct code *c, uint64_t at, const struct jump_target **first);
void code_close(struct code *c);

/* NULL: that address is in no executable segment. */
const struct code_segment *code_segment_of(const struct code *c, uint64_t address);
/* The flags of a byte; NULL outside of executable segments. */
uint8_t *code_at(const struct code *c, uint64_t address);
/* A sure instruction begins here. */
bool code_is_sure(const struct code *c, uint64_t address);
struct code_range *code_range_of(const struct code *c, uint64_t address);
/* The first byte of a segment from n on that has one of these flags; its size: none. */
uint64_t code_next_flagged(const struct code_segment *s, uint64_t n, uint8_t flags);

/* The instruction at that address, sure or not; false: none can be. */
bool code_decode(const struct code *c, uint64_t at, struct instruction *i);
/* The instruction before that one, as it lies in memory, not before `floor`; 0: none. */
uint64_t code_before(const struct code *c, uint64_t at, uint64_t floor);

/* main of a program, by its entry code, whether it is known to be code or not. 0: not found. */
uint64_t code_find_main(const struct code *c);

enum {
    CODE_PATCHED = 4 + 8, /* an endbr64, and what a jump may displace where it matters who comes */
    CODE_SHORT = 130      /* as far a jump of two bytes goes */
};

/* --- parts ---------------------------------------------------------------------------------------------------------------- */

/* What is known without decoding; NULL: no memory. */
struct code *code_begin(const struct image *m) RT_MUST_CHECK;
/* Fills c->behind_calls. */
void code_find_calls(struct code *c, struct callees *callees);
/* The sweep, the last of all; NULL, and it is closed: no memory. */
struct code *code_finish(struct code *c) RT_MUST_CHECK;
/* It is to be decoded. */
bool code_is_wanted(const struct code *c, uint64_t address);
/* Follow what is known to be code. */
void code_follow(struct code *c, uint64_t root);
/* Follow a guess; false, and nothing is sure that was not before, where it leads to a contradiction. */
bool code_try(struct code *c, uint64_t root);
/* The addresses in an instruction that are no targets, and how many there are. */
unsigned code_named(const struct code *c, const struct instruction *i, struct named named[2]);
/* Targets of the jumps in c->indirect; true where something new was followed. */
bool code_follow_tables(struct code *c);
void code_sort_jumps(struct code *c);
void code_add_crossing(struct code *c, uint64_t from, uint64_t to);
/* What else these jumps lead to where several ways lead to them, and whether that is all; true where anything new was found. */
bool code_follow_joins(struct code *c);
/* Both, until there is nothing new. */
void code_follow_computed(struct code *c);
/* Who comes into the first bytes of these places, behind the first: jumps of code that is not decoded are marked. In `uses` are
 * put the operands of such code that name where a table may begin that leads there. */
void code_find_jumps(struct code *c, const struct addresses *places, struct lea_list *uses);
/* For those that are in no instruction now: what the words of the table lead to, as long as that is code. */
void code_mark_entries(struct code *c, const struct addresses *places, const struct lea_list *uses);
/* What is left: guesses, padding, ranges in which jumps may land anywhere. */
void code_sweep(struct code *c);
void code_add(struct code *c, struct addresses *list, uint64_t address);
bool code_append(struct addresses *list, uint64_t address) RT_MUST_CHECK; /* false: no memory */
void code_sort(struct addresses *list); /* and drops what is there twice */
/* Of a sorted list the first above that address; its count: none. */
size_t code_above(const struct addresses *list, uint64_t address);
/* Is it in a sorted list? */
bool code_has(const struct addresses *list, uint64_t address);

#endif
