/* SPDX-License-Identifier: BSD-3-Clause
 * Executes copies of the program's instructions on the program's registers, and accesses memory
 * that may be unmapped. After a fault in them, execution continues at a label (values_faulted() in
 * preload/values/values_trap.c). Offsets are those of struct values_registers
 * (preload/values/values_follow.h). */
#define OWN_STACK 144
    .text

/* int values_run(struct values_registers *r, const void *copy): returns 0, or 1 after a fault. When
 * the copy begins, (%rsp) holds the program's stack pointer; when the copy ends, it holds the new
 * one. */
    .globl values_run
    .hidden values_run
    .type values_run, @function
values_run:
    .cfi_startproc
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    pushq %r12
    .cfi_adjust_cfa_offset 8
    pushq %r13
    .cfi_adjust_cfa_offset 8
    pushq %r14
    .cfi_adjust_cfa_offset 8
    pushq %r15
    .cfi_adjust_cfa_offset 8
    movq %rsp, OWN_STACK(%rdi)
    pushq %rsi
    pushq %rdi
    pushq 32(%rdi)
    pushq 128(%rdi)
    popfq
    movq 0(%rdi), %rax
    movq 8(%rdi), %rcx
    movq 16(%rdi), %rdx
    movq 24(%rdi), %rbx
    movq 40(%rdi), %rbp
    movq 48(%rdi), %rsi
    movq 64(%rdi), %r8
    movq 72(%rdi), %r9
    movq 80(%rdi), %r10
    movq 88(%rdi), %r11
    movq 96(%rdi), %r12
    movq 104(%rdi), %r13
    movq 112(%rdi), %r14
    movq 120(%rdi), %r15
    movq 56(%rdi), %rdi
    jmpq *16(%rsp)

/* Every copy ends with a jump to here. */
    .globl values_run_back
    .hidden values_run_back
values_run_back:
    movq %rdi, -8(%rsp)
    movq 8(%rsp), %rdi
    movq %rax, 0(%rdi)
    movq %rcx, 8(%rdi)
    movq %rdx, 16(%rdi)
    movq %rbx, 24(%rdi)
    movq %rbp, 40(%rdi)
    movq %rsi, 48(%rdi)
    movq %r8, 64(%rdi)
    movq %r9, 72(%rdi)
    movq %r10, 80(%rdi)
    movq %r11, 88(%rdi)
    movq %r12, 96(%rdi)
    movq %r13, 104(%rdi)
    movq %r14, 112(%rdi)
    movq %r15, 120(%rdi)
    movq -8(%rsp), %rax
    movq %rax, 56(%rdi)
    pushfq
    popq 128(%rdi)
    cld
    movq (%rsp), %rax
    movq %rax, 32(%rdi)
    movq OWN_STACK(%rdi), %rsp
    xorl %eax, %eax
values_run_out:
    popq %r15
    .cfi_adjust_cfa_offset -8
    popq %r14
    .cfi_adjust_cfa_offset -8
    popq %r13
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    popq %rbp
    .cfi_adjust_cfa_offset -8
    popq %rbx
    .cfi_adjust_cfa_offset -8
    ret

/* Comes here with rsp from OWN_STACK. */
    .globl values_run_failed
    .hidden values_run_failed
values_run_failed:
    cld
    movl $1, %eax
    jmp values_run_out
    .cfi_endproc
    .size values_run, .-values_run

/* Code that may fault lies between these two labels. It leaves the stack as at entry, and returns 0
 * after a fault. */
    .balign 16
    .globl values_guarded, values_guarded_end, values_guarded_failed
    .hidden values_guarded, values_guarded_end, values_guarded_failed
values_guarded:

/* int values_peek16(uintptr_t from, uint64_t to[2]): copies 16 bytes; returns 1, or 0 after a
 * fault. */
    .globl values_peek16
    .hidden values_peek16
    .type values_peek16, @function
values_peek16:
    movq (%rdi), %rax
    movq 8(%rdi), %rdx
    movq %rax, (%rsi)
    movq %rdx, 8(%rsi)
    movl $1, %eax
    ret
    .size values_peek16, .-values_peek16

/* int values_move(void *to, const void *from, size_t n): copies n bytes; either range may be
 * unmapped. Returns 1, or 0 after a fault. */
    .globl values_move
    .hidden values_move
    .type values_move, @function
values_move:
    movq %rdx, %rcx
    cmpq $8, %rcx
    jne 1f
    movq (%rsi), %rax
    movq %rax, (%rdi)
    movl $1, %eax
    ret
1:  rep movsb
    movl $1, %eax
    ret
    .size values_move, .-values_move
values_guarded_end:
values_guarded_failed:
    xorl %eax, %eax
    ret
    .section .note.GNU-stack, "", @progbits
