/* SPDX-License-Identifier: BSD-3-Clause
 * A loop of a known number of instructions, for tests that count them. */
#ifndef REGTRACE_T_LAB_PROGRAMS_LOOP_H
#define REGTRACE_T_LAB_PROGRAMS_LOOP_H

#include <stdint.h>

#if !defined(__aarch64__)
#error "what runs inside the PMU lab is aarch64 code"
#endif

/* LOOP_BYTES: the machine code of loop_turns(), at most. */
enum { LOOP_BLOCK = 64, LOOP_BYTES = 4 * (2 * LOOP_BLOCK + 32) };

/* Executes two instructions a turn: 2 * turns retire here, and at most eight more. LOOP_BLOCK turns
 * make one block of instructions without a branch, because QEMU pays for each block that it
 * executes, and little for an instruction in it. */
__attribute__((noinline, unused)) static void loop_turns(uint64_t turns)
{
    uint64_t blocks = turns / LOOP_BLOCK, rest = turns % LOOP_BLOCK;
    __asm__ volatile("cbz %0, 2f\n"
                     "1:\n\t.rept %c2\n\tnop\n\t.endr\n\tsubs %0, %0, #1\n\tb.ne 1b\n"
                     "2:\n\tcbz %1, 4f\n"
                     "3:\n\tsubs %1, %1, #1\n\tb.ne 3b\n"
                     "4:\n"
                     : "+r"(blocks), "+r"(rest)
                     : "i"(2 * LOOP_BLOCK - 2)
                     : "cc");
}

#endif
