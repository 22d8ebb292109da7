/* SPDX-License-Identifier: BSD-3-Clause
 * System calls that our handler continues (waits.c), the entry of our handler, and our syscall().
 * Offsets into contexts are those of ucontext_t. */
#define WAIT_AGAIN (-516)
#define SYS_RT_SIGPROCMASK 14
    .text

/* The handler that the kernel calls. Jumps to signals_arrived(signo, info, context, signals_seen).
 * If a handler of the program runs on top of it before it has read the counts, the interrupted
 * instruction pointer is between signals_handler and signals_handler_counted, and %rdx points to
 * our context. */
    .globl signals_handler
    .hidden signals_handler
    .type signals_handler, @function
    .globl signals_handler_counted
    .hidden signals_handler_counted
    .hidden signals_seen
    .hidden signals_arrived
    .p2align 4
signals_handler:
    .cfi_startproc
    movq signals_seen@gottpoff(%rip), %rcx
    movq %fs:(%rcx), %rcx
signals_handler_counted:
    jmp signals_arrived
    .cfi_endproc
    .size signals_handler, .-signals_handler

/* long waits_call(const uint64_t *mask, long number, const long arguments[6], void *context): sets
 * the signal mask and makes the call. Returns the kernel's result, or WAIT_AGAIN after one of our
 * signals (waits_resume). A handler that interrupts it finds `context` in %rbx. */
    .globl waits_call
    .hidden waits_call
    .type waits_call, @function
    .globl waits_call_begins
    .hidden waits_call_begins
    .globl waits_call_ends
    .hidden waits_call_ends
    .p2align 4
waits_call:
    .cfi_startproc
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rbx, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r12, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset r13, 0
    movq %rcx, %rbx
    movq %rsi, %r12
    movq %rdx, %r13
    movq %rdi, %rsi
    movl $2, %edi /* SIG_SETMASK */
    xorl %edx, %edx
    movl $8, %r10d
    movl $SYS_RT_SIGPROCMASK, %eax
waits_call_begins:
    syscall
    movq (%r13), %rdi
    movq 8(%r13), %rsi
    movq 16(%r13), %rdx
    movq 24(%r13), %r10
    movq 32(%r13), %r8
    movq 40(%r13), %r9
    movq %r12, %rax
    syscall
waits_call_ends:
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore r13
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore r12
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore rbx
    ret
    .cfi_endproc
    .size waits_call, .-waits_call

/* void waits_resume(const ucontext_t *): leaves the handler that interrupted waits_call() in this
 * context. Does not return through the kernel. */
    .globl waits_resume
    .hidden waits_resume
    .type waits_resume, @function
waits_resume:
    .cfi_startproc
    movq 72(%rdi), %r12
    movq 80(%rdi), %r13
    movq 88(%rdi), %r14
    movq 96(%rdi), %r15
    movq 120(%rdi), %rbp
    movq 128(%rdi), %rbx
    movq 160(%rdi), %rsp
    movq $WAIT_AGAIN, %rax
    jmp waits_call_ends
    .cfi_endproc
    .size waits_resume, .-waits_resume

/* void waits_elsewhere(uintptr_t below, uintptr_t end, function, argument): copies this stack, from
 * the stack pointer up to `end`, to the memory below `below`. Then calls function(argument, from,
 * to, bytes) on the copy. `argument` lies on this stack; the function gets its address in the copy.
 * The function copies the stack back before it returns. Until then unwinders follow the copy,
 * because the original may be overwritten. */
    .globl waits_elsewhere
    .hidden waits_elsewhere
    .type waits_elsewhere, @function
    .p2align 4
waits_elsewhere:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register rbp
    pushq %rbx
    .cfi_offset rbx, -24
    movq %rdx, %r11
    movq %rcx, %r8
    movq %rsi, %r10
    subq %rsp, %r10 /* bytes */
    subq %r10, %rdi
    andq $-64, %rdi
    movq %rdi, %r9
    movq %rsp, %rsi
    movq %r10, %rcx
    movq %rdi, %rbx
    subq %rsp, %rbx
    movq %rsp, %rdx
    movq %r9, %rsp
    rep movsb
    addq %rbx, %rbp
    leaq (%r8, %rbx), %rdi
    movq %rdx, %rsi
    movq %r9, %rdx
    movq %r10, %rcx
    call *%r11
    subq %rbx, %rbp
    leaq -8(%rbp), %rsp
    popq %rbx
    popq %rbp
    .cfi_def_cfa rsp, 8
    ret
    .cfi_endproc
    .size waits_elsewhere, .-waits_elsewhere

/* long syscall(long number, ...): libc's function keeps the number in no register, so this notes
 * it. Then it jumps to libc's function with the stack unchanged, because a child of vfork or clone
 * returns through libc's function. */
    .globl syscall
    .type syscall, @function
    .hidden waits_syscall_comes
    .p2align 4
syscall:
    .cfi_startproc
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    pushq %r8
    .cfi_adjust_cfa_offset 8
    pushq %r9
    .cfi_adjust_cfa_offset 8
    leaq 48(%rsp), %rdx
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call waits_syscall_comes
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r9
    .cfi_adjust_cfa_offset -8
    popq %r8
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size syscall, .-syscall
    .section .note.GNU-stack, "", @progbits
