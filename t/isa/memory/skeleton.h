/* SPDX-License-Identifier: BSD-3-Clause
 * State that t/isa/memory/skeleton keeps of an active function, and what it computes from it
 * (computed.c).
 */
#ifndef REGTRACE_T_ISA_MEMORY_SKELETON_H
#define REGTRACE_T_ISA_MEMORY_SKELETON_H

#include "isa/memory/direct_calls.h"

struct line {
    uint64_t pc, r[16];
};

struct known {
    uint64_t value;
    bool is;
};

struct activation {
    /* NULL: code that is not analysed, until the stack pointer is above `stack` */
    struct function *f;
    uint32_t block, at;
    uint64_t stack;
    struct known *values;
    uint64_t *counters;
    struct activation *below;
};

/* An access of the processor */
struct real {
    uint64_t address;
    unsigned bytes;
    char kind; /* enum access_kind */
    bool segment;
};

extern uint64_t bias; /* address at which the image is loaded, less its own */
extern struct code *code;
extern ZydisDecoder decoder;
/* Registers before the instruction, and after it. */
extern struct line now, next;

/* --- accessed.c: the instruction at `now` --- */

unsigned real_addresses(struct real out[8]);
/* Returns true for a repeated instruction, of which the stepper shows each time. */
bool repeats(uint64_t pc);

/* --- computed.c */

/* Computes value `v` from the current values of its arguments. Returns false if one is not known,
 * or if the value is not computed. */
bool compute(const struct activation *a, uint32_t v, uint64_t *out);
/* Gives the value that was set when it was executed or, within its own instruction, computes it. */
bool value_of(const struct activation *a, uint32_t v, uint64_t *out);
bool linear_value_of(const struct activation *a, const struct linear *e, uint64_t *out);

/* --- stream.c: the recording of this execution; nothing is written unless it is open --- */

/* Opens three paths:
 * - the list of functions' addresses, in ascending order; after those that are called directly, as
 *   bits, the registers that callers know
 * - the stream
 * - the trace */
bool stream_open(char **paths);
bool stream_close(void);
const struct directs *stream_directs(void);
bool stream_has_function(uint64_t address);
void stream_enter(uint64_t address);
void stream_number(uint64_t n, unsigned bytes);
void stream_value(const struct function *f, uint32_t value, uint64_t n);
/* Writes an access to the trace, and to the stream too if a function without a skeleton made it
 * (`unknown`). */
void stream_access(uint64_t pc, const struct real *a, bool unknown);

#endif
