/* SPDX-License-Identifier: BSD-3-Clause
 * What late clones call as they return: whoever called has been entered before the window too, and is to be recorded from there on. */
#include "preload/clone_images.h"
#include "preload/memory_frames.h"

#if defined(__x86_64__)

bool probe_clone_returns(uintptr_t *place);

/* It may be compiled into nothing that changes other registers: those are the program's. True: it must be asked for, or who has called
 * the caller be looked for. */
__attribute__((target("general-regs-only"), used)) bool probe_clone_returns(uintptr_t *place)
{
    bool ask = false;
    uintptr_t clone =
        clone_slots[CLONE_ENTER] != 0 ? probe_clone_known(*place, CLONE_ASK_BEHIND, &ask) : 0;
    if (clone != 0)
        *place = clone;
    return clone_slots[CLONE_ENTER] != 0 && clone == 0 && probe_may_jump &&
           probe_stack_is_own((uintptr_t)place);
}

/* Called by a late clone before it returns: behind its own return address lies the function's. It keeps all that a caller may know that the
 * function keeps, and what it returns. */
__asm__(
    "	.pushsection .text\n"
    "	.globl	probe_clone_returning\n"
    "	.hidden	probe_clone_returning\n"
    "	.type	probe_clone_returning, @function\n"
    "probe_clone_returning:\n"
    "	.cfi_startproc\n"
    "	pushfq\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	cld\n"
    "	.irp	register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r15, r14, r13, r12, rbp, rbx\n"
    "	push	%\\register\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	.cfi_rel_offset %\\register, 0\n"
    "	.endr\n"
    "	lea	136(%rsp), %rdi\n"
    "	mov	%rsp, %rbx\n"
    "	.cfi_def_cfa_register %rbx\n"
    "	and	$-64, %rsp\n"
    "	call	probe_clone_returns\n"
    "	test	%al, %al\n"
    "	jz	1f\n"
    "	sub	$2752, %rsp\n" /* as in probe_stubs.c */
    "	xor	%eax, %eax\n"
    "	.irp	at, 512, 520, 528, 536, 544, 552, 560, 568\n"
    "	mov	%rax, \\at(%rsp)\n"
    "	.endr\n"
    "	mov	$0xe7, %eax\n"
    "	xor	%edx, %edx\n"
    "	xsave64	(%rsp)\n"
    "	lea	136(%rbx), %rdi\n"
    "	mov	%rbx, %rsi\n"
    "	call	memory_enter_returning\n"
    "	mov	$0xe7, %eax\n"
    "	xor	%edx, %edx\n"
    "	xrstor64 (%rsp)\n"
    "1:	mov	%rbx, %rsp\n"
    "	.cfi_def_cfa_register %rsp\n"
    "	.irp	register, rbx, rbp, r12, r13, r14, r15, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax\n"
    "	pop	%\\register\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	.cfi_restore %\\register\n"
    "	.endr\n"
    "	popfq\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	ret\n"
    "	.cfi_endproc\n"
    "	.size	probe_clone_returning, . - probe_clone_returning\n"
    "	.popsection\n");

#endif
