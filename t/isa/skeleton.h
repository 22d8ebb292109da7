/* SPDX-License-Identifier: BSD-3-Clause
 * What t/isa/skeleton keeps of a function that is under way, and what it computes from it (computed.c). */
#ifndef REGTRACE_T_ISA_SKELETON_H
#define REGTRACE_T_ISA_SKELETON_H

#include "isa/memory/direct.h"

struct line {
    uint64_t pc, r[16];
};

struct known {
    uint64_t value;
    bool is;
};

struct activation {
    struct function *f; /* NULL: not analysed; until the stack pointer is above `stack` */
    uint32_t block, at;
    uint64_t stack;
    struct known *values;
    uint64_t *counters;
    struct activation *below;
};

/* An access of the processor's. */
struct real {
    uint64_t address;
    unsigned bytes;
    char kind; /* enum access_kind */
    bool segment;
};

extern uint64_t bias; /* where the image is loaded */
extern struct code *code;
extern ZydisDecoder decoder;
extern struct line now, next; /* before the instruction, and behind it */

/* --- accessed.c: of the instruction at `now` */

unsigned real_addresses(struct real out[8]);
/* The stepper shows each time. */
bool repeats(uint64_t pc);

/* --- computed.c */

/* From the values of its arguments as they are now; false: one is not known, or it is not computed. */
bool compute(const struct activation *a, uint32_t v, uint64_t *out);
/* What was set when it was executed, or, in this instruction, what it computes. */
bool value_of(const struct activation *a, uint32_t v, uint64_t *out);
bool linear_value_of(const struct activation *a, const struct linear *e, uint64_t *out);

/* --- stream.c: what a recording would have. Nothing is written unless it is open. */

/* Functions' addresses, in ascending order, with registers that callers know behind, as bits, where they are called directly; the stream; the trace: paths. */
bool stream_open(char **paths);
bool stream_close(void);
const struct directs *stream_directs(void);
bool stream_has_function(uint64_t address);
void stream_enter(uint64_t address);
void stream_number(uint64_t n, unsigned bytes);
void stream_value(const struct function *f, uint32_t value, uint64_t n);
/* To the trace; to the stream if it is by a function without a skeleton. */
void stream_access(uint64_t pc, const struct real *a, bool unknown);

#endif
