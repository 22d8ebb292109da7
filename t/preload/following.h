/* SPDX-License-Identifier: BSD-3-Clause
 * Machine code executed from a state on, natively or with its instructions followed in a handler, and the state behind it: what
 * t/preload/followed.c and followed_fuzz.c have in common. */
#ifndef REGTRACE_T_PRELOAD_FOLLOWING_H
#define REGTRACE_T_PRELOAD_FOLLOWING_H

#include "base/format/values.h"

#include <stdbool.h>
#include <stdint.h>

#define ARENA 8192
#define AREA 4096 /* of xsave without AMX, at most */
#define STEPS 512

struct state {
    uint64_t r[17], zero[7];
    uint8_t vectors[AREA] __attribute__((aligned(64)));
    uint8_t arena[ARENA];
    uint64_t counter;
    uint64_t ended; /* where */
    unsigned faults;
};
struct piece {
    const char *name;
    const uint8_t *from, *to; /* its int3s */
    uint64_t needs;           /* 1: AVX2, 2: AVX-512, 4: single steps change what it sees */
};
struct step {
    uint64_t rip, r[17];
    uint8_t vectors[AREA];
};

/* A component of the xsave area in standard format, as the processor says (CPUID leaf 0xd): some
 * have a gap where others had MPX. bytes 0: the processor does not have it. */
struct xsave_part {
    unsigned at, bytes;
};
enum { PART_SSE = 1, PART_YMM, PART_MASKS = 5, PART_ZMM, PART_HIGH_ZMM, PART_KEYS = 9, PARTS };
extern struct xsave_part xsave_parts[PARTS];
/* Offset in the area of 8 bytes of a vector register, 0 to 31; lane 0 to 7. */
unsigned vector_at(unsigned number, unsigned lane);

extern const struct piece pieces[]; /* followed_code.S */

/* What execute() goes by and leaves. */
extern struct state before;
extern const struct piece *piece;
extern uint32_t follow;       /* instructions; 0: natively */
extern unsigned skip_first;   /* this many are stepped natively before the sample */
extern bool faults_end;       /* a fault ends the piece; otherwise its instruction is passed over */
extern uint8_t *arena;        /* ARENA bytes, nothing is behind them */
extern uint64_t sample_ticks; /* what the sample took */
extern struct step steps[STEPS];
extern unsigned step_count;
extern struct values_captured captured[STEPS];
extern unsigned captured_count;
extern int context_wanted; /* enum values_context or a register */

/* False: signals are not the processor's here. */
bool following_is_possible(void);
#define NOT_POSSIBLE "instructions followed in handlers", "signals are not the processor's here"
/* Handlers, the arena (at this address, 0: anywhere) and what values_follow.c needs; false: it is not possible. */
bool following_prepare(uintptr_t at);
/* Runs `piece` from `before` on: *out is what it comes to. */
void execute(struct state *out);
void random_seed(uint64_t seed);
uint64_t random_word(void);
/* Vector registers hold doubles of ordinary size, general ones anything; r15 is amid the arena, r14 is r15 + 512, rcx is 5. */
void make_state(void);
/* Says what differs. */
bool same_state(const struct state *a, const struct state *b);

#endif
