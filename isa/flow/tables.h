/* SPDX-License-Identifier: BSD-3-Clause
 * Jump tables as tables.c reads them, for joins.c, which asks what else a jump through a register may be given. */
#ifndef REGTRACE_ISA_FLOW_TABLES_H
#define REGTRACE_ISA_FLOW_TABLES_H

#include "isa/decode/decode.h"

/* A jump through a register or memory that is being looked at. */
struct jump {
    const struct instruction *i;
    struct code_range *range;
    bool table_like; /* what is jumped to was computed */
    bool found;
    bool labels; /* among others to what the program keeps addresses of */
};

/* The register that an instruction writes, of those that end up in a jump; 16: another. */
unsigned tables_writes(const struct instruction *i, bool *computes);
/* A load of a table at a fixed address: a 32-bit displacement, an index times 8, no base. */
bool tables_loads_absolute(const struct code *c, const struct instruction *i);
/* Follow the table that this instruction, which leads to the jump, loads from; the table that begins there, which it loads from as well.
 * False: none. */
bool tables_follow_load(struct code *c, struct jump *j, const struct instruction *load);
bool tables_follow_lea(struct code *c, struct jump *j, const struct instruction *load,
                       uint64_t table);
/* All tables of distances that the function computes the address of. */
void tables_look_everywhere(struct code *c, struct jump *j);
/* This jump leads there. */
void tables_keep(struct code *c, const struct jump *j, uint64_t target);

#endif
