/* SPDX-License-Identifier: BSD-3-Clause
 * Finds where the value of a register at an instruction comes from, on all paths that lead there
 * within a function. */
#ifndef REGTRACE_ISA_FLOW_REACHING_DEFINITIONS_H
#define REGTRACE_ISA_FLOW_REACHING_DEFINITIONS_H

#include "isa/decode/code_map.h"

/* The control-flow edges of a function, but for those from an instruction to the next. */
struct reaching {
    const struct code *code;
    ZydisDecoder decoder; /* the decoder of the forms gives no operands */
    /* How many entries of the code's jump_targets and crossings are sorted. */
    size_t targets, crossings;
    struct code_range *range;
    /* Sorted by target: branches, and jumps through tables. */
    struct jump_target *edges;
    size_t edge_count;
};

/* Collects the edges of the function as known so far: its branches and tables, and the branches
 * from its parts elsewhere. The caller sets code, decoder, targets and crossings before. Returns
 * false without memory. */
bool reaching_open(struct reaching *w, struct code_range *range) RT_MUST_CHECK;
void reaching_close(struct reaching *w);
/* Adds to `sources` the instructions that have set `reg` before `at`; looks through moves and
 * conditional moves between registers. Returns false if there may be other sources, such as a
 * callee or the function's caller. */
bool reaching_sources(const struct reaching *w, uint64_t at, unsigned reg,
                      struct address_list *sources);

#endif
