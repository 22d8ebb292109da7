/* SPDX-License-Identifier: BSD-3-Clause
 * An instrumented copy while it is written: copy.c writes blocks and what they record,
 * copy_access.c addresses, copy_ends.c the ends of blocks. */
#ifndef REGTRACE_ISA_MEMORY_COPY_COPIER_H
#define REGTRACE_ISA_MEMORY_COPY_COPIER_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/ir/lift.h"
#include "isa/memory/ir/live.h"

enum { GROUP = 8 };

/* A number or a register that is recorded. */
struct copy_item {
    bool is_number,
        is_function; /* a function's number, which is valid within its image alone (COPY_NUMBER) */
    uint8_t bytes, reg;
    uint32_t number;
};

/* The 32-bit distance at `at` leads to a block. A stub stands between if an outcome is recorded. */
struct link {
    size_t at;
    uint32_t to;
};

struct stub {
    size_t at; /* offset of the distance that leads to the stub; 0: none */
    /* If `entries` is not NULL, entries of a table that begins at code byte `first` lead here too:
     * those that hold 1 + this stub's number. */
    size_t first;
    const size_t *entries;
    size_t first_entry, end_entry; /* range that contains these entries */
    uint32_t to, outcome;
    /* jump by which the stub leaves the copy; NULL: it goes to `to` */
    const struct instruction *instead;
    uint8_t outcome_bytes;     /* 0: no outcome is recorded */
    int8_t spilled, spilled_2; /* registers to load again first; -1: none */
};

struct copier {
    struct function *f;
    struct emit *e;
    struct live live;
    struct members values, accesses;
    size_t *labels; /* by block: 1 + offset */
    size_t direct;  /* offset at which direct calls enter; 0: they do not */
    struct link *links;
    uint32_t link_count;
    struct stub *stubs;
    uint32_t stub_count;
    const char *reason;
    struct copy_item items[GROUP];
    unsigned item_count;
};

/* Appends the copy of `f` to *e and fills in *out. Returns NULL, or why there can be no copy; *e is
 * unchanged then. */
const char *copy_function(struct function *f, struct emit *e, uint32_t number,
                          struct copy_function *out);
void copier_refuse(struct copier *c, const char *reason);
bool copier_decode(struct copier *c, const struct instruction *i, struct one *x);
/* Emits an indirect jump, whose target the hook may change. */
void copier_put_jump(struct copier *c, const struct instruction *i, enum copy_fixup_kind hook);
/* Returns a register that may be changed where the registers in `live` are live. If there is none,
 * sets *spill and returns another one, which must be spilled; never one in `busy`. */
unsigned copier_take_register(const struct copier *c, uint16_t live, uint16_t busy, bool *spill);
/* copier_record_address() records the address of an access before its instruction;
 * copier_record_left() records after the instruction what a repeated comparison has left in rcx. */
void copier_record_address(struct copier *c, const struct access *a, uint32_t block);
void copier_record_left(struct copier *c, uint32_t block, uint32_t at, uint16_t live);
/* Add an item to be recorded. copier_flush() emits code that records all items so far. `live`: the
 * registers that are live here. */
void copier_add(struct copier *c, struct copy_item item, uint16_t live);
void copier_add_number(struct copier *c, uint32_t n, unsigned bytes, uint16_t live);
void copier_flush(struct copier *c, uint16_t live);

/* For a mid-function entry, before it leaves the function for good: its caller, too, was entered
 * before the window. */
void copier_put_returns(struct copier *c);
/* Goes on at `target` in the image: in another function, which returns to the caller, or in the
 * copied one. */
void copier_leave(struct copier *c, uint64_t target);

/* Emits the end of a block, after its last instruction. `next` is the block that is written
 * next. */
void copier_end(struct copier *c, uint32_t block, uint32_t next);
/* Emits the stubs and sets all distances, after the last block. */
void copier_finish(struct copier *c);

#endif
