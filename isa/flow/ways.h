/* SPDX-License-Identifier: BSD-3-Clause
 * Where the value that a register has at an instruction comes from, by all ways that lead there within a function. */
#ifndef REGTRACE_ISA_FLOW_WAYS_H
#define REGTRACE_ISA_FLOW_WAYS_H

#include "isa/decode/decode.h"

/* Who comes to which instruction of a function other than from the one before it. */
struct ways {
    const struct code *code;
    ZydisDecoder decoder;      /* that of the forms tells no operands */
    size_t targets, crossings; /* so many of the code's, which are sorted */
    struct code_range *range;
    struct jump_target *edges; /* by target: branches and jumps through tables */
    size_t edge_count;
};

/* Of the function, as far as it is known by now: its branches and tables, and who comes from parts of it that lie elsewhere. False: no memory. */
bool ways_open(struct ways *w, struct code_range *range) RT_MUST_CHECK;
void ways_close(struct ways *w);
/* Adds to `sources` the instructions that have set it, beyond moves and conditional moves between registers. False: there may be others, what
 * is called or the function's caller among them. */
bool ways_sources(const struct ways *w, uint64_t at, unsigned reg, struct addresses *sources);

#endif
