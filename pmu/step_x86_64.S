/* SPDX-License-Identifier: BSD-3-Clause
 * Slots in which a stepped thread executes some instructions instead of at their own addresses. The
 * trap flag is off there, and a breakpoint follows each instruction. String instructions with a
 * repeat prefix would trap at every iteration; syscall and int $0x80 make one trap together with
 * the instruction that follows. Each slot has eight bytes; pmu/step.c numbers them. */
    .text
    .balign 8
    .globl pmu_step_slots
    .hidden pmu_step_slots
    .type pmu_step_slots, @function
    .macro slot bytes:vararg
    .balign 8, 0xcc
    .byte \bytes
    int3
    .endm
    .macro sizes prefix, even, odd
    slot \prefix, \even
    slot 0x66, \prefix, \odd
    slot \prefix, \odd
    slot \prefix, 0x48, \odd
    .endm
    .macro strings prefix
    sizes \prefix, 0xa4, 0xa5
    sizes \prefix, 0xa6, 0xa7
    sizes \prefix, 0xaa, 0xab
    sizes \prefix, 0xac, 0xad
    sizes \prefix, 0xae, 0xaf
    .endm
pmu_step_slots:
    strings 0xf3
    strings 0xf2
    slot 0x0f, 0x05
    slot 0xcd, 0x80
    .balign 8, 0xcc
    .globl pmu_step_slots_end
    .hidden pmu_step_slots_end
pmu_step_slots_end:
    .size pmu_step_slots, .-pmu_step_slots
    .section .note.GNU-stack, "", @progbits
