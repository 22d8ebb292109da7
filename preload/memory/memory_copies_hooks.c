/* SPDX-License-Identifier: BSD-3-Clause
 * Hooks that copies call (base/format/copy.h). Mid-function entries call them before they return
 * or leave for the function itself: their callers, too, were entered before the window, and are to
 * be recorded from there on. Copies also call hooks before jumps whose targets are unknown. */
#include "preload/memory/copy_images.h"
#include "preload/memory/memory_frames.h"
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/code/probe_code.h"

#if defined(__x86_64__)

bool memory_copy_returns(uintptr_t *place);

/* The tests of the hooks run while only general registers are saved, so they must compile to code
 * that changes no others. memory_copy_returns() returns true if its hook must do all of its work:
 * ask the helper for the entry, or find a caller further up. If a window opens or closes during a
 * test, memory_decide_again() makes the hook begin it again. */
__attribute__((target("general-regs-only"), used)) bool memory_copy_returns(uintptr_t *place)
{
    bool ask = false;
    uintptr_t copy =
        copy_slots[COPY_ENTER] != 0 ? memory_copy_known(*place, COPY_ASK_BEHIND, &ask) : 0;
    if (copy != 0)
        *place = copy;
    return copy_slots[COPY_ENTER] != 0 && copy == 0 && probe_may_jump &&
           probe_is_on_thread_stack((uintptr_t)place);
}

/* Returns true if the target must be asked for, or has no copy; then the callers are searched. */
__attribute__((target("general-regs-only"), used)) bool memory_copy_jumps(const uintptr_t *stack);
__attribute__((target("general-regs-only"), used)) bool memory_copy_jumps(const uintptr_t *stack)
{
    bool ask;
    uintptr_t copy;
    if (copy_slots[COPY_ENTER] == 0)
        return false;
    copy = memory_copy_known(copy_slots[COPY_TARGET], COPY_ASK_AT, &ask);
    if (copy != 0)
        copy_slots[COPY_TARGET] = copy;
    return copy == 0 && probe_may_jump && probe_is_on_thread_stack((uintptr_t)stack);
}

__attribute__((target("general-regs-only"), used)) bool memory_copy_leaves(const uintptr_t *stack);
__attribute__((target("general-regs-only"), used)) bool memory_copy_leaves(const uintptr_t *stack)
{
    return copy_slots[COPY_ENTER] != 0 && probe_may_jump &&
           probe_is_on_thread_stack((uintptr_t)stack);
}

/* A hook calls the test `first`. If that returns true, the hook saves all registers and calls
 * `then`. Both get the address `after` bytes above the end of the hook's return address; `then`
 * also gets the registers that functions preserve: rbx, rbp, r12 to r15. Hooks preserve all
 * registers. */
#define HOOK(name, first, then, after)                                                             \
    __asm__("	.pushsection .text\n"                                                                \
            "	.globl	" #name "\n"                                                               \
            "	.hidden	" #name "\n"                                                               \
            "	.type	" #name ", @function\n" #name ":\n"                                        \
            "	.cfi_startproc\n"                                                                    \
            "	pushfq\n"                                                                            \
            "	.cfi_adjust_cfa_offset 8\n"                                                          \
            "	cld\n"                                                                               \
            "	.irp	register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, r15, r14, r13, r12, "      \
            "rbp, rbx\n"                                                                           \
            "	push	%\\register\n"                                                                  \
            "	.cfi_adjust_cfa_offset 8\n"                                                          \
            "	.cfi_rel_offset %\\register, 0\n"                                                    \
            "	.endr\n"                                                                             \
            "	mov	%rsp, %rbx\n"                                                                    \
            "	.cfi_def_cfa_register %rbx\n"                                                        \
            "	and	$-64, %rsp\n"                                                                    \
            "	.globl	" #name "_again\n"                                                         \
            "	.hidden	" #name "_again\n" #name "_again:\n"                                       \
            "	lea	" #after "+136(%rbx), %rdi\n"                                              \
            "	call	" #first "\n"                                                              \
            "	test	%al, %al\n"                                                                     \
            "	jz	1f\n"                                                                             \
            "	.globl	" #name "_decided\n"                                                       \
            "	.hidden	" #name "_decided\n" #name "_decided:\n"                                   \
            "	lea	-32(%rbx), %rdi\n" /* as in probe_stubs.c */                               \
            "	mov	%rdi, %rsp\n"                                                                    \
            "	and	$-64, %rsp\n"                                                                    \
            "	call	own_stack_move\n"                                                               \
            "	test	%rax, %rax\n"                                                                   \
            "	jz	1f\n"                                                                             \
            "	lea	-2752(%rax), %rsp\n"                                                             \
            "	and	$-64, %rsp\n"                                                                    \
            "	xor	%eax, %eax\n"                                                                    \
            "	.irp	at, 512, 520, 528, 536, 544, 552, 560, 568\n"                                   \
            "	mov	%rax, \\at(%rsp)\n"                                                              \
            "	.endr\n"                                                                             \
            "	mov	$0xe7, %eax\n"                                                                   \
            "	xor	%edx, %edx\n"                                                                    \
            "	xsave64	(%rsp)\n"                                                                    \
            "	lea	" #after "+136(%rbx), %rdi\n"                                              \
            "	mov	%rbx, %rsi\n"                                                                    \
            "	call	" #then "\n"                                                               \
            "	mov	$0xe7, %eax\n"                                                                   \
            "	xor	%edx, %edx\n"                                                                    \
            "	xrstor64 (%rsp)\n"                                                                   \
            "	lea	-32(%rbx), %rdi\n"                                                               \
            "	mov	%rdi, %rsp\n"                                                                    \
            "	and	$-64, %rsp\n"                                                                    \
            "	call	own_stack_back\n"                                                               \
            "1:	mov	%rbx, %rsp\n"                                                                  \
            "	.cfi_def_cfa_register %rsp\n"                                                        \
            "	.irp	register, rbx, rbp, r12, r13, r14, r15, r11, r10, r9, r8, rdi, rsi, rdx, "      \
            "rcx, rax\n"                                                                           \
            "	pop	%\\register\n"                                                                   \
            "	.cfi_adjust_cfa_offset -8\n"                                                         \
            "	.cfi_restore %\\register\n"                                                          \
            "	.endr\n"                                                                             \
            "	popfq\n"                                                                             \
            "	.cfi_adjust_cfa_offset -8\n"                                                         \
            "	ret\n"                                                                               \
            "	.cfi_endproc\n"                                                                      \
            "	.size	" #name ", . - " #name "\n"                                                \
            "	.globl	" #name "_end\n"                                                           \
            "	.hidden	" #name "_end\n" #name "_end:\n"                                           \
            "	.popsection\n")

/* The first hook's return address is followed by that of the function. The others are called from
 * below the 128 bytes of stack that functions which call nothing may use (red zone). */
HOOK(memory_copy_returning, memory_copy_returns, memory_enter_returning, 0);
HOOK(memory_copy_jumping, memory_copy_jumps, memory_enter_jump, 128);
HOOK(memory_copy_leaving, memory_copy_leaves, memory_enter_leaving, 128);
HOOK(memory_copy_losing, memory_copy_leaves, memory_lost, 128);

enum memory_copy_hook memory_copy_hook(uintptr_t at)
{
    if (at >= (uintptr_t)memory_copy_returning && at < (uintptr_t)memory_copy_returning_end)
        return MEMORY_COPY_RETURNS;
    bool jumps = at >= (uintptr_t)memory_copy_jumping && at < (uintptr_t)memory_copy_jumping_end;
    bool leaves = at >= (uintptr_t)memory_copy_leaving && at < (uintptr_t)memory_copy_leaving_end;
    bool loses = at >= (uintptr_t)memory_copy_losing && at < (uintptr_t)memory_copy_losing_end;
    return jumps || leaves || loses ? MEMORY_COPY_JUMPS : MEMORY_COPY_NO_HOOK;
}

uintptr_t memory_copy_hook_again(uintptr_t at)
{
    uintptr_t returns = (uintptr_t)memory_copy_returning_again;
    uintptr_t jumps = (uintptr_t)memory_copy_jumping_again;
    if (at >= returns && at < (uintptr_t)memory_copy_returning_decided)
        return returns;
    return at >= jumps && at < (uintptr_t)memory_copy_jumping_decided ? jumps : 0;
}

#endif
