/* SPDX-License-Identifier: BSD-3-Clause
 * A loop of a known number of instructions, for tests that count them. */
#ifndef REGTRACE_T_LAB_INSIDE_LOOP_H
#define REGTRACE_T_LAB_INSIDE_LOOP_H

#include <stdint.h>

#if !defined(__aarch64__)
#error "what runs inside the PMU lab is aarch64 code"
#endif

/* Two instructions a turn: 2 * turns retire here, and at most two more for the register and the
 * branch to it. */
__attribute__((noinline, unused)) static void loop_turns(uint64_t turns)
{
    __asm__ volatile("1:\n\tsubs %0, %0, #1\n\tb.ne 1b\n" : "+r"(turns) : : "cc");
}

#endif
