/* SPDX-License-Identifier: BSD-3-Clause
 * Walks up a stack by the tables for unwinders (.eh_frame), in handlers too. It allocates nothing,
 * takes no lock of libc, and reads with care what may not be there. x86-64, if libc has
 * _dl_find_object(3) (glibc 2.35). */
#ifndef REGTRACE_PRELOAD_STACK_UNWIND_H
#define REGTRACE_PRELOAD_STACK_UNWIND_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of registers: psABI x86-64, 3.6.2. */
enum {
    UNWIND_RBX = 3,
    UNWIND_RBP = 6,
    UNWIND_RSP = 7,
    UNWIND_R12 = 12,
    /* the frame's instruction, or where it goes on when its callee returns */
    UNWIND_RETURN = 16,
    UNWIND_REGISTERS,
};

/* A frame of the stack. */
struct unwind {
    uintptr_t r[UNWIND_REGISTERS];
    uint32_t known;   /* bits: registers whose contents are known */
    bool interrupted; /* it stands at that instruction; otherwise after a call */
    /* the word on the stack that holds r[UNWIND_RETURN]; NULL: none does */
    uintptr_t *back;
    /* bounds of a stack that can be read without asking the kernel; 0: unknown */
    uintptr_t low, high;
};

/* Begins where the context of a handler (a ucontext_t) says. */
void unwind_begin_context(struct unwind *w, const void *context);
/* Begins in the calling function. */
void unwind_begin_here(struct unwind *w);
/* Begins at a return address that lies at `place`, whose function has just returned or is about to.
 * kept: rbx, rbp, r12 to r15. */
void unwind_begin_return(struct unwind *w, uintptr_t *place, const uintptr_t kept[6]);
/* Moves to the caller. Returns false if there is none, or if it cannot be found. */
bool unwind_up(struct unwind *w);

/* Does the table say that this frame has no caller? */
bool unwind_is_outermost(const struct unwind *w);

/* The same as unwind_up() for a frame of code without tables (untabled.h). */
bool unwind_up_untabled(struct unwind *w);

/* Returns the table (.eh_frame_hdr) for this address, or NULL if there is none. probe_unwind.c */
const uint8_t *unwind_table(uintptr_t at);
/* Does this address lie in code that this library has made? */
bool unwind_is_made(uintptr_t at);

#endif
