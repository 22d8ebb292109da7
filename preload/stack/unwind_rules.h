/* SPDX-License-Identifier: BSD-3-Clause
 * Call frame information: rules that say where a caller's registers are. Used by unwind*.c and
 * call_walk.c only. */
#ifndef REGTRACE_PRELOAD_STACK_UNWIND_RULES_H
#define REGTRACE_PRELOAD_STACK_UNWIND_RULES_H

#include "preload/stack/unwind.h"

enum unwind_rule_kind {
    UNWIND_SAME,
    UNWIND_UNDEFINED,
    /* at n bytes from the frame's address (CFA); for the CFA itself: register `reg` plus n */
    UNWIND_OFFSET,
    UNWIND_VAL_OFFSET, /* that address, not the word there */
    UNWIND_REGISTER,   /* in register n */
    /* at the address that the expression yields; for the CFA: its value */
    UNWIND_EXPRESSION,
    UNWIND_VAL_EXPRESSION,
};

struct unwind_rule {
    uint8_t kind, reg;
    int64_t n;
    const uint8_t *expression; /* its length, then its bytes */
};

struct unwind_rules {
    struct unwind_rule cfa, r[UNWIND_REGISTERS];
};

/* The entry of one function. */
struct unwind_entry {
    uintptr_t from;
    /* instructions of the CIE, and of the entry */
    const uint8_t *common, *common_end, *own, *own_end;
    uint64_t code_alignment, return_register;
    int64_t data_alignment;
    uint8_t encoding;
    bool augmented, signal;
};

/* Finds the entry that contains this address, and computes its rules there. Returns false if there
 * is none, or anything unknown in the tables. unwind.c */
bool unwind_rules_at(uintptr_t at, struct unwind_entry *e, struct unwind_rules *rules);
/* Computes the rules at this address. Returns false if there is anything unknown in the tables. */
bool unwind_run(const struct unwind_entry *e, uintptr_t at, struct unwind_rules *out);
/* Computes a DWARF expression. has_cfa: the CFA is on its stack at the start. Returns false if that
 * is impossible. */
bool unwind_expression(const struct unwind *w, const uint8_t *expression, uintptr_t cfa,
                       bool has_cfa, uint64_t *value);

/* Reads a word of memory. Returns false if it cannot be read. */
bool unwind_read(const struct unwind *w, uintptr_t at, uintptr_t *out);
/* Read LEB128 numbers, and pointers as .eh_frame encodes them, and advance *at past them. */
uint64_t unwind_unsigned(const uint8_t **at);
int64_t unwind_signed(const uint8_t **at);
bool unwind_pointer(const uint8_t **at, uint8_t encoding, uintptr_t data, uint64_t *out);

#endif
