/* SPDX-License-Identifier: BSD-3-Clause
 * vfork for x86-64. It returns twice on one stack, so it keeps the return address in a register
 * over the system call, as the C library does. */
    .text
    .globl vfork
    .type vfork, @function
    .globl __vfork
    .type __vfork, @function
    .p2align 4
vfork:
__vfork:
    .cfi_startproc
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    call vfork_prepare
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    .cfi_register rip, rdi
    movl $58, %eax /* SYS_vfork */
    syscall
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset rip, 0
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    movq %rax, %rdi
    call vfork_returns
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    ret
    .cfi_endproc
    .size vfork, .-vfork
    .size __vfork, .-__vfork
    .hidden vfork_prepare
    .hidden vfork_returns
    .section .note.GNU-stack, "", @progbits
