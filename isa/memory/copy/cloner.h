/* SPDX-License-Identifier: BSD-3-Clause
 * An instrumented copy while it is written: clone.c writes blocks and what they record,
 * clone_access.c addresses, clone_ends.c the ends of blocks. */
#ifndef REGTRACE_ISA_MEMORY_COPY_CLONER_H
#define REGTRACE_ISA_MEMORY_COPY_CLONER_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/ir/lift.h"
#include "isa/memory/ir/live.h"

enum { GROUP = 8 };

/* A number or a register that is recorded. */
struct item {
    bool is_number,
        is_function; /* a function's number, which is valid within its image alone (CLONE_NUMBER) */
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

struct cloner {
    struct function *f;
    struct emit *e;
    ZydisDecoder decoder; /* decodes operands, which struct code does not */
    struct live live;
    struct members values, accesses;
    size_t *labels; /* by block: 1 + offset */
    size_t direct;  /* offset at which direct calls enter; 0: they do not */
    struct link *links;
    uint32_t link_count;
    struct stub *stubs;
    uint32_t stub_count;
    const char *reason;
    struct item items[GROUP];
    unsigned item_count;
};

/* Appends the copy of `f` to *e and fills in *out. Returns NULL, or why there can be no copy; *e is
 * unchanged then. */
const char *clone_function(struct function *f, struct emit *e, uint32_t number,
                           struct clone_function *out);
void cloner_refuse(struct cloner *c, const char *reason);
bool cloner_decode(struct cloner *c, const struct instruction *i, struct one *x);
/* Emits an indirect jump, whose target the hook may change. */
void cloner_put_jump(struct cloner *c, const struct instruction *i, enum clone_fixup_kind hook);
/* Returns a register that may be changed where the registers in `live` are live. If there is none,
 * sets *spill and returns another one, which must be spilled; never one in `busy`. */
unsigned cloner_take_register(const struct cloner *c, uint16_t live, uint16_t busy, bool *spill);
/* cloner_record_address() records the address of an access before its instruction;
 * cloner_record_left() records after the instruction what a repeated comparison has left in rcx. */
void cloner_record_address(struct cloner *c, const struct access *a, uint32_t block);
void cloner_record_left(struct cloner *c, uint32_t block, uint32_t at, uint16_t live);
/* Add an item to be recorded. cloner_flush() emits code that records all items so far. `live`: the
 * registers that are live here. */
void cloner_add(struct cloner *c, struct item item, uint16_t live);
void cloner_add_number(struct cloner *c, uint32_t n, unsigned bytes, uint16_t live);
void cloner_flush(struct cloner *c, uint16_t live);

/* For a mid-function entry, before it leaves the function for good: its caller, too, was entered
 * before the window. */
void cloner_put_returns(struct cloner *c);
/* Goes on at `target` in the image: in another function, which returns to the caller, or in the
 * copied one. */
void cloner_leave(struct cloner *c, uint64_t target);

/* Emits the end of a block, after its last instruction. `next` is the block that is written
 * next. */
void cloner_end(struct cloner *c, uint32_t block, uint32_t next);
/* Emits the stubs and sets all distances, after the last block. */
void cloner_finish(struct cloner *c);

#endif
