/* SPDX-License-Identifier: BSD-3-Clause
 * Reads jump tables (jump_tables.c), also for computed_jumps.c, which looks for further targets of
 * jumps through registers. */
#ifndef REGTRACE_ISA_FLOW_JUMP_TABLES_H
#define REGTRACE_ISA_FLOW_JUMP_TABLES_H

#include "isa/decode/code_map.h"

/* A jump through a register or memory that is being examined. */
struct jump {
    const struct instruction *i;
    struct code_range *range;
    bool table_like; /* its target was computed */
    bool found;
    bool labels; /* also leads to labels whose addresses the program stores */
};

/* Returns the register that the instruction writes, 0 to 15, if it is of a kind that compilers
 * compute jump targets with; otherwise 16. Sets *computes if the value is computed, not merely
 * copied. */
unsigned tables_writes(const struct instruction *i, bool *computes);
/* Returns whether this is a load from a table at a fixed address: a 32-bit displacement, an index
 * times 8, no base. */
bool tables_loads_absolute(const struct code *c, const struct instruction *i);
/* Follow a table of the jump: the table of whole addresses that `load` names, or the table of
 * distances that begins at `table` and that `load` reads. Return false if there is none. */
bool tables_follow_load(struct code *c, struct jump *j, const struct instruction *load);
bool tables_follow_lea(struct code *c, struct jump *j, const struct instruction *load,
                       uint64_t table);
/* Follows every table of distances whose address the function computes. */
void tables_look_everywhere(struct code *c, struct jump *j);
/* Records that the jump leads to `target`. */
void tables_keep(struct code *c, const struct jump *j, uint64_t target);

#endif
