/* SPDX-License-Identifier: BSD-3-Clause
 * Executes machine code from a given state, natively or with its instructions followed in a
 * handler, and takes the resulting state. Shared by t/preload/values/followed.c and
 * followed_fuzz.c. */
#ifndef REGTRACE_T_PRELOAD_VALUES_FOLLOWING_H
#define REGTRACE_T_PRELOAD_VALUES_FOLLOWING_H

#include "base/format/value_protocol.h"

#include <stdbool.h>
#include <stdint.h>

#define ARENA 8192
#define AREA 4096 /* most bytes of the xsave area without AMX */
#define STEPS 512

struct state {
    uint64_t r[17], zero[7];
    uint8_t vectors[AREA] __attribute__((aligned(64)));
    uint8_t arena[ARENA];
    uint64_t counter;
    uint64_t ended; /* address at which the piece ended */
    unsigned faults;
};
struct piece {
    const char *name;
    const uint8_t *from, *to; /* addresses of its two int3s */
    uint64_t needs;           /* bits: 1 AVX2, 2 AVX-512, 4 single steps change its results */
};
struct step {
    uint64_t rip, r[17];
    uint8_t vectors[AREA];
};

/* A component of the xsave area in standard format, as CPUID leaf 0xd reports it: some processors
 * have a gap where others had MPX. `bytes` is 0 if the processor does not have it. */
struct xsave_part {
    unsigned at, bytes;
};
enum { PART_SSE = 1, PART_YMM, PART_MASKS = 5, PART_ZMM, PART_HIGH_ZMM, PART_KEYS = 9, PARTS };
extern struct xsave_part xsave_parts[PARTS];
/* Returns the offset, in the xsave area, of 8 bytes of a vector register: `number` is 0 to 31,
 * `lane` 0 to 7. */
unsigned vector_at(unsigned number, unsigned lane);

extern const struct piece pieces[]; /* in followed_code.S; the last one has no name */

/* Arguments and results of execute(). */
extern struct state before;
extern const struct piece *piece;
extern uint32_t follow;       /* instructions to follow; 0: execute natively */
extern unsigned skip_first;   /* instructions to step natively before the sample */
extern bool faults_end;       /* a fault ends the piece; false: the handler skips the instruction */
extern uint8_t *arena;        /* ARENA bytes; the memory after them is not accessible */
extern uint64_t sample_ticks; /* duration of the last sample */
extern struct step steps[STEPS];
extern unsigned step_count;
extern struct values_captured captured[STEPS];
extern unsigned captured_count;
extern int context_wanted; /* enum values_context, or the number of a register */

/* Returns false if the processor's signals do not reach the handlers of this program unchanged:
 * under valgrind or the thread sanitizer. */
bool following_is_possible(void);
#define NOT_POSSIBLE "instructions followed in handlers", "signals are not the processor's here"
/* Installs the handlers, maps the arena at `at` (0: anywhere) and prepares what values_follow.c
 * needs. Returns false if following is not possible here. Exits with 99 if there is no memory. */
bool following_prepare(uintptr_t at);
/* Executes `piece` from the state `before` on, and stores the resulting state in *out. */
void execute(struct state *out);
void random_seed(uint64_t seed);
uint64_t random_word(void);
/* Fills `before` at random: doubles of ordinary size in vector registers, anything in general
 * registers. r15 points to the middle of the arena, r14 is r15 + 512, and rcx is 5. */
void make_state(void);
/* Prints the differences of two states as diagnostics. Returns true if there are none. */
bool same_state(const struct state *a, const struct state *b);

#endif
