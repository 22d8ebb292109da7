/* SPDX-License-Identifier: BSD-3-Clause
 * A function's skeleton while it is written as C: source_file.c writes what surrounds the blocks,
 * source.c the blocks, source_text.c the expressions. */
#ifndef REGTRACE_ISA_MEMORY_SOURCE_SOURCE_TEXT_H
#define REGTRACE_ISA_MEMORY_SOURCE_SOURCE_TEXT_H

#include "isa/memory/source/source.h"

struct writer {
    FILE *out;
    struct function *f;
    bool *variable;                    /* by value: it is a C variable */
    bool *counter;                     /* by loop: its counter is used */
    bool *emitted;                     /* by value: written for the current instruction */
    struct members of_block, accesses; /* values and accesses, by block */
    uint8_t *outs; /* by instruction of the current block: number of its OUT() */
    uint32_t block, at;
};

/* Writes a block and its label. */
void source_put_block(struct writer *w, uint32_t block);
/* Marks the values that are C variables and the counters that are used. */
void source_find_variables(struct writer *w);
void source_put_name(struct writer *w, uint32_t v);
/* Writes a value where it is used, as an expression of variables and counters. */
void source_put_expression(struct writer *w, uint32_t v);
/* Writes the right side of a variable that is computed. */
void source_put_operation(struct writer *w, const struct value *x);
void source_put_condition(struct writer *w, uint32_t v);
/* Writes tables of the function's loops and accesses. `number`: the function's number in the
 * skeleton. */
void source_put_shape(const struct writer *w);

#endif
