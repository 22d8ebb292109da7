/* SPDX-License-Identifier: BSD-3-Clause
 * A clone while it is written: clone.c blocks and what they record, clone_access.c addresses, clone_ends.c where blocks go. */
#ifndef REGTRACE_ISA_MEMORY_COPY_CLONER_H
#define REGTRACE_ISA_MEMORY_COPY_CLONER_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/ir/lift.h"
#include "isa/memory/ir/live.h"

enum { GROUP = 8 };

/* One thing that is recorded. */
struct item {
    bool is_number,
        is_function; /* the number of a function, which is what it is in its image alone */
    uint8_t bytes, reg;
    uint32_t number;
};

/* The 32-bit distance at `at` leads to a block; or to a stub that records an outcome before. */
struct link {
    size_t at;
    uint32_t to;
};

struct stub {
    size_t at; /* whose distance leads there; 0: none */
    /* ... and, if entries != NULL, a table's entries from code byte `first` on: those that have this stub's number + 1 */
    size_t first;
    const size_t *entries;
    size_t first_entry, end_entry; /* it has some of these */
    uint32_t to, outcome;
    const struct instruction *instead; /* it leaves the clone by this one */
    uint8_t outcome_bytes;             /* 0: none is recorded */
    int8_t spilled, spilled_2;         /* registers to be loaded again first; -1 */
};

struct cloner {
    struct function *f;
    struct emit *e;
    ZydisDecoder decoder; /* those of code know no operands */
    struct live live;
    struct members values, accesses;
    size_t *labels; /* by block, 1 + offset */
    size_t direct;  /* offset of where direct calls come to; 0: they do not */
    struct link *links;
    uint32_t link_count;
    struct stub *stubs;
    uint32_t stub_count;
    const char *reason;
    struct item items[GROUP];
    unsigned item_count;
};

/* Behind what there is. NULL, or why it can have none; then there is nothing more than before. */
const char *clone_function(struct function *f, struct emit *e, uint32_t number,
                           struct clone_function *out);
void cloner_refuse(struct cloner *c, const char *reason);
bool cloner_decode(struct cloner *c, const struct instruction *i, struct one *x);
/* The jump goes where the hook says. */
void cloner_put_jump(struct cloner *c, const struct instruction *i, enum clone_fixup_kind hook);
/* A register that may be changed where `live` matter, or one of the others that is none of `busy`, which is spilled. */
unsigned cloner_take_register(const struct cloner *c, uint16_t live, uint16_t busy, bool *spill);
/* The address of an access, before its instruction; and behind that, what repeated comparisons have left. */
void cloner_record_address(struct cloner *c, const struct access *a, uint32_t block);
void cloner_record_left(struct cloner *c, uint32_t block, uint32_t at, uint16_t live);
/* One more thing to be recorded; and all of them so far are, where those registers matter. */
void cloner_add(struct cloner *c, struct item item, uint16_t live);
void cloner_add_number(struct cloner *c, uint32_t n, unsigned bytes, uint16_t live);
void cloner_flush(struct cloner *c, uint16_t live);

/* Before it leaves for good: whoever called has been entered before the window too, if it has. */
void cloner_put_returns(struct cloner *c);
/* It goes on in the image: in another function, which returns to who called, or in its own. */
void cloner_leave(struct cloner *c, uint64_t target);

/* Behind a block's last instruction; `next` is the block that is written next. */
void cloner_end(struct cloner *c, uint32_t block, uint32_t next);
/* Behind the last block: stubs, distances. */
void cloner_finish(struct cloner *c);

#endif
