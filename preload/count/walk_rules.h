/* SPDX-License-Identifier: BSD-3-Clause
 * Call frame information: rules that say where a caller's registers are. Of preload/walk*.c. */
#ifndef REGTRACE_PRELOAD_COUNT_WALK_RULES_H
#define REGTRACE_PRELOAD_COUNT_WALK_RULES_H

#include "preload/count/walk.h"

enum walk_rule_kind {
    WALK_SAME,
    WALK_UNDEFINED,
    WALK_OFFSET, /* at n from the frame's address; of that address itself: n behind register `reg` */
    WALK_VAL_OFFSET, /* that address */
    WALK_REGISTER,   /* in register n */
    WALK_EXPRESSION, /* where it says, of the frame's address: what it says */
    WALK_VAL_EXPRESSION,
};

struct walk_rule {
    uint8_t kind, reg;
    int64_t n;
    const uint8_t *expression; /* a length, and so many bytes */
};

struct walk_rules {
    struct walk_rule cfa, r[WALK_REGISTERS];
};

/* One function's entry. */
struct walk_entry {
    uintptr_t from;
    const uint8_t *common, *common_end, *own, *own_end; /* instructions */
    uint64_t code_alignment, return_register;
    int64_t data_alignment;
    uint8_t encoding;
    bool augmented, signal;
};

/* The rules at that address. False: there is something that is not understood. */
bool walk_run(const struct walk_entry *e, uintptr_t at, struct walk_rules *out);
/* A DWARF expression's value. has_cfa: the frame's address is on its stack. */
bool walk_expression(const struct walk *w, const uint8_t *expression, uintptr_t cfa, bool has_cfa,
                     uint64_t *value);

bool walk_read(const struct walk *w, uintptr_t at, uintptr_t *out);
/* LEB128, and pointers as .eh_frame encodes them; *at goes behind. */
uint64_t walk_unsigned(const uint8_t **at);
int64_t walk_signed(const uint8_t **at);
bool walk_pointer(const uint8_t **at, uint8_t encoding, uintptr_t data, uint64_t *out);

#endif
