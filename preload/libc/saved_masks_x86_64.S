/* SPDX-License-Identifier: BSD-3-Clause
 * sigsetjmp, setjmp and getcontext for x86-64. They return again later, when the frame of a wrapper
 * would be gone. So each notes the hidden signals beside the mask that libc saves (saved_masks.c),
 * and jumps to libc's function. */
    .set SAVED_MASK_MAGIC, 0x5ac0de7247ace5ed /* as in saved_masks.c */
    .set ENV_WORDS, 184     /* of a sigjmp_buf: the end of __saved_mask */
    .set CONTEXT_WORDS, 408 /* of a ucontext_t: the end of uc_sigmask */

    .macro note words
    movabsq $SAVED_MASK_MAGIC, %rax
    movq %rax, \words(%rdi)
    movq signals_hidden@gottpoff(%rip), %rax
    movq %fs:(%rax), %rax
    movq %rax, \words + 8(%rdi)
    .endm

    /* Jumps to libc's function. A constructor that runs before ours may get here first. */
    .macro go_to function
    cmpq $0, \function(%rip)
    jne 2f
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call saved_masks_resolve
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
2:  jmp *\function(%rip)
    .endm

    .text
    .globl setjmp
    .type setjmp, @function
    .globl __sigsetjmp
    .type __sigsetjmp, @function
    .p2align 4
setjmp:
    .cfi_startproc
    movl $1, %esi
__sigsetjmp:
    testl %esi, %esi
    jz 1f
    note ENV_WORDS
1:  go_to saved_masks_sigsetjmp
    .cfi_endproc
    .size setjmp, .-setjmp
    .size __sigsetjmp, .-__sigsetjmp

    .globl getcontext
    .type getcontext, @function
    .p2align 4
getcontext:
    .cfi_startproc
    note CONTEXT_WORDS
    go_to saved_masks_getcontext
    .cfi_endproc
    .size getcontext, .-getcontext

    /* Where the function of a coroutine returns to, in place of libc's __start_context: it sets the
     * context in uc_link, to which %rbx points. */
    .globl saved_masks_end
    .type saved_masks_end, @function
    .p2align 4
saved_masks_end:
    .cfi_startproc
    .cfi_undefined rip
    movq %rbx, %rsp
    movq (%rsp), %rdi
    testq %rdi, %rdi
    jz 3f
    call saved_masks_link
3:  jmp *saved_masks_libc_end(%rip)
    .cfi_endproc
    .size saved_masks_end, .-saved_masks_end

    .hidden signals_hidden
    .hidden saved_masks_end
    .hidden saved_masks_link
    .hidden saved_masks_libc_end
    .hidden saved_masks_resolve
    .hidden saved_masks_sigsetjmp
    .hidden saved_masks_getcontext
    .section .note.GNU-stack, "", @progbits
