/* SPDX-License-Identifier: BSD-3-Clause
 * Clones of what has been entered before a window opens (base/clone.h, late ones): who may open one, and what they call as they return. */
#include "preload/probe_clones.h"

#include <string.h>

/* Of the chains' functions, and of what this library has for the program. NAMES_MAX of the former at most. */
size_t probe_clones_openers(const char **names, size_t room)
{
    static const char *const own[] = {"MPI_Pcontrol",   "mpi_pcontrol",         "mpi_pcontrol_",
                                      "mpi_pcontrol__", "MPI_PCONTROL",         "mpi_pcontrol_f08_",
                                      "regtrace_start", "regtrace_region_begin"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof own / sizeof *own && n < room; i++)
        names[n++] = own[i];
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config) && n < room; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        if (a->type == CTL_ENTER_FUNC && a->event == CTL_START)
            names[n++] = a->value;
    }
    return n;
}

#if defined(__x86_64__)

void probe_clone_returns(uintptr_t *place);

/* It may be compiled into nothing that changes other registers: those are the program's. */
__attribute__((target("general-regs-only"), used)) void probe_clone_returns(uintptr_t *place)
{
    uintptr_t clone = clone_slots[CLONE_ENTER] != 0 ? probe_clone_late(*place) : 0;
    if (clone != 0)
        *place = clone;
}

/* Called by a late clone before it returns: behind its own return address lies the function's. It keeps all that a caller may know that the
 * function keeps, and what it returns. */
__asm__("	.pushsection .text\n"
        "	.globl	probe_clone_returning\n"
        "	.hidden	probe_clone_returning\n"
        "	.type	probe_clone_returning, @function\n"
        "probe_clone_returning:\n"
        "	.cfi_startproc\n"
        "	pushfq\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	cld\n"
        "	.irp	register, rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, rbx\n"
        "	push	%\\register\n"
        "	.cfi_adjust_cfa_offset 8\n"
        "	.cfi_rel_offset %\\register, 0\n"
        "	.endr\n"
        "	lea	96(%rsp), %rdi\n"
        "	mov	%rsp, %rbx\n"
        "	.cfi_def_cfa_register %rbx\n"
        "	and	$-16, %rsp\n"
        "	call	probe_clone_returns\n"
        "	mov	%rbx, %rsp\n"
        "	.cfi_def_cfa_register %rsp\n"
        "	.irp	register, rbx, r11, r10, r9, r8, rdi, rsi, rdx, rcx, rax\n"
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
