/* SPDX-License-Identifier: BSD-3-Clause
 * A function's skeleton while it is written as C: source_file.c what is around it, source.c its blocks, source_text.c its expressions. */
#ifndef REGTRACE_ISA_MEMORY_SOURCE_SOURCE_TEXT_H
#define REGTRACE_ISA_MEMORY_SOURCE_SOURCE_TEXT_H

#include "isa/memory/source/source.h"

struct writer {
    FILE *out;
    struct function *f;
    bool *variable;                    /* values that are C variables */
    bool *counter;                     /* loops whose counters are used */
    bool *emitted;                     /* values of the instruction under way */
    struct members of_block, accesses; /* values, accesses by block */
    uint8_t *outs; /* by instruction of the block under way: how many OUT() it has */
    uint32_t block, at;
};

/* With its label. */
void source_put_block(struct writer *w, uint32_t block);
/* Marks the values that are C variables and the counters that are used. */
void source_find_variables(struct writer *w);
void source_put_name(struct writer *w, uint32_t v);
/* A value where it is used: what it is computed from, down to variables and counters. */
void source_put_expression(struct writer *w, uint32_t v);
/* The right side of a variable that is computed. */
void source_put_operation(struct writer *w, const struct value *x);
void source_put_condition(struct writer *w, uint32_t v);
/* Tables of the function's loops and accesses; in the skeleton it has that number. */
void source_put_shape(const struct writer *w, uint32_t number);

#endif
