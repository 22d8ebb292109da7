/* SPDX-License-Identifier: BSD-3-Clause
 * sigsetjmp, setjmp, getcontext and swapcontext for x86-64 (saved_masks.c). They return again
 * later, when the frame of a wrapper would be gone. So the first two jump to libc's function, and
 * the others replace the address and the stack pointer that libc's function has saved. */
    .set SAVED_MASK_MAGIC, 0x5ac0de7247ace5ed /* as in saved_masks.c */
    .set ENV_WORDS, 184 /* of a sigjmp_buf: the end of __saved_mask */
    .set GREGS, 40      /* of a ucontext_t: uc_mcontext.gregs, from r8 on */
    .set FPREGS, 224
    .set MXCSR, 448
    .set RSP, GREGS + 8 * 15
    .set RIP, GREGS + 8 * 16
    .set FEATURES, 0x48 /* of the thread's control block; bit 1: it has a shadow stack */

    .macro push_quad register
    pushq \register
    .cfi_adjust_cfa_offset 8
    .endm
    .macro pop_quad register
    popq \register
    .cfi_adjust_cfa_offset -8
    .endm

    /* Finds libc's functions if a constructor that runs before ours gets here first. */
    .macro resolve function
    cmpq $0, \function(%rip)
    jne 2f
    push_quad %rdi
    push_quad %rsi
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call saved_masks_resolve
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop_quad %rsi
    pop_quad %rdi
2:
    .endm

    /* Leaves %rdi's context as if libc's getcontext() had been called in our place, with the mask
     * that the program believes to have. Keeps %rdi and %rsi. Jumps to `failed` with %eax set. */
    .macro save_context failed
    push_quad %rdi
    push_quad %rsi
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call *saved_masks_getcontext(%rip)
    movq 16(%rsp), %rdi
    testl %eax, %eax
    jnz 3f
    movq 24(%rsp), %rdx
    movq %rdx, RIP(%rdi)
    leaq 32(%rsp), %rdx
    movq %rdx, RSP(%rdi)
    call saved_masks_show
    xorl %eax, %eax
3:  addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop_quad %rsi
    pop_quad %rdi
    testl %eax, %eax
    jnz \failed
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
    movabsq $SAVED_MASK_MAGIC, %rax
    movq %rax, ENV_WORDS(%rdi)
    movq signals_hidden@gottpoff(%rip), %rax
    movq %fs:(%rax), %rax
    movq %rax, ENV_WORDS + 8(%rdi)
1:  resolve saved_masks_sigsetjmp
    jmp *saved_masks_sigsetjmp(%rip)
    .cfi_endproc
    .size setjmp, .-setjmp
    .size __sigsetjmp, .-__sigsetjmp

    .globl getcontext
    .type getcontext, @function
    .p2align 4
getcontext:
    .cfi_startproc
    resolve saved_masks_getcontext
    testl $2, %fs:FEATURES
    jnz 5f
    save_context 4f
4:  ret
5:  jmp *saved_masks_getcontext(%rip)
    .cfi_endproc
    .size getcontext, .-getcontext

    .globl swapcontext
    .type swapcontext, @function
    .p2align 4
swapcontext:
    .cfi_startproc
    resolve saved_masks_swapcontext
    testl $2, %fs:FEATURES
    jnz 5f
    save_context 4f
    movq %rsi, %rdi
    jmp saved_masks_setcontext
4:  ret
5:  jmp *saved_masks_swapcontext(%rip)
    .cfi_endproc
    .size swapcontext, .-swapcontext

    /* saved_masks_set(to, mask). As libc's setcontext(), %rax, %r10 and %r11 are not set. */
    .globl saved_masks_set
    .type saved_masks_set, @function
    .p2align 4
saved_masks_set:
    .cfi_startproc
    push_quad %rdi
    push_quad %rsi
    movl $14, %eax /* rt_sigprocmask(SIG_SETMASK, &mask, NULL, 8) */
    movl $2, %edi
    movq %rsp, %rsi
    xorl %edx, %edx
    movl $8, %r10d
    syscall
    pop_quad %rsi
    pop_quad %rdx
    .cfi_endproc
    .cfi_startproc
    .cfi_def_cfa %rdx, 0 /* all registers are those of the context */
    .cfi_offset %rip, RIP
    .cfi_offset %rsp, RSP
    movq FPREGS(%rdx), %rcx
    fldenv (%rcx)
    ldmxcsr MXCSR(%rdx)
    movq RSP(%rdx), %rsp
    movq GREGS + 8 * 11(%rdx), %rbx
    movq GREGS + 8 * 10(%rdx), %rbp
    movq GREGS + 8 * 4(%rdx), %r12
    movq GREGS + 8 * 5(%rdx), %r13
    movq GREGS + 8 * 6(%rdx), %r14
    movq GREGS + 8 * 7(%rdx), %r15
    pushq RIP(%rdx)
    movq GREGS + 8 * 9(%rdx), %rsi
    movq GREGS + 8 * 8(%rdx), %rdi
    movq GREGS + 8 * 14(%rdx), %rcx
    movq GREGS(%rdx), %r8
    movq GREGS + 8 * 1(%rdx), %r9
    movq GREGS + 8 * 12(%rdx), %rdx
    xorl %eax, %eax
    ret
    .cfi_endproc
    .size saved_masks_set, .-saved_masks_set

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
    call saved_masks_setcontext
3:  jmp *saved_masks_libc_end(%rip)
    .cfi_endproc
    .size saved_masks_end, .-saved_masks_end

    .hidden signals_hidden
    .hidden saved_masks_end
    .hidden saved_masks_libc_end
    .hidden saved_masks_resolve
    .hidden saved_masks_set
    .hidden saved_masks_setcontext
    .hidden saved_masks_show
    .hidden saved_masks_sigsetjmp
    .hidden saved_masks_getcontext
    .hidden saved_masks_swapcontext
    .section .note.GNU-stack, "", @progbits
