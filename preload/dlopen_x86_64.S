/* SPDX-License-Identifier: BSD-3-Clause
 * dlopen for x86-64. The C library looks up RUNPATH and $ORIGIN by dlopen's return address: the real function
 * is therefore called with the address of a `ret` instruction inside the caller's image as its return address; below it
 * on the stack stands our continuation. Where dlopen_prepare() finds no such byte, or nothing is to be
 * noticed, the real function is jumped to and returns to the caller by itself. */
    .text
    .globl dlopen
    .type dlopen, @function
    .p2align 4
dlopen:
    .cfi_startproc
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    subq $8, %rsp /* the real function's address, filled in below */
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdi
    movq %rsp, %rsi
    call dlopen_prepare
    movq %rax, %r10
    popq %r11
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    testq %r10, %r10
    jz 2f
    leaq 1f(%rip), %rax
    pushq %rax
    .cfi_adjust_cfa_offset 8
    pushq %r10
    .cfi_adjust_cfa_offset 8
    jmp *%r11
    .cfi_adjust_cfa_offset -16
    nop /* unwinders look at the byte before a return address */
1:  pushq %rax
    .cfi_adjust_cfa_offset 8
    movq %rax, %rdi
    call dlopen_done
    popq %rax
    .cfi_adjust_cfa_offset -8
    ret
2:  jmp *%r11
    .cfi_endproc
    .size dlopen, .-dlopen
    .hidden dlopen_prepare
    .hidden dlopen_done
    .section .note.GNU-stack, "", @progbits
