/* SPDX-License-Identifier: BSD-3-Clause
 * Who has called: up a stack by the tables for unwinders (.eh_frame), from handlers too. It allocates nothing, takes no lock of libc's, and
 * reads what may not be there with care. x86-64, where libc has _dl_find_object(3) (glibc 2.35). */
#ifndef REGTRACE_PRELOAD_COUNT_WALK_H
#define REGTRACE_PRELOAD_COUNT_WALK_H

#include <stdbool.h>
#include <stdint.h>

/* Numbers of registers: psABI x86-64, 3.6.2. */
enum {
    WALK_RBX = 3,
    WALK_RBP = 6,
    WALK_RSP = 7,
    WALK_R12 = 12,
    WALK_RETURN = 16, /* where it is, or goes on when what it has called returns */
    WALK_REGISTERS,
};

/* One frame. */
struct walk {
    uintptr_t r[WALK_REGISTERS];
    uint32_t known;      /* bits: registers whose contents are known */
    bool interrupted;    /* it stands at that instruction: else behind a call */
    uintptr_t *back;     /* the word on the stack that has r[WALK_RETURN]; NULL: none has */
    uintptr_t low, high; /* a stack that can be read without asking; 0: not known */
};

/* Where a handler's context says (a ucontext_t). */
void walk_begin_context(struct walk *w, const void *context);
/* The caller of whoever calls this. */
void walk_begin_here(struct walk *w);
/* At a return address that lies at `place`, whose function has just returned or is about to: rbx, rbp, r12 to r15. */
void walk_begin_return(struct walk *w, uintptr_t *place, const uintptr_t kept[6]);
/* To the caller. False: there is none, or it cannot be told. */
bool walk_up(struct walk *w);

/* Where the table (.eh_frame_hdr) for that address is: probe_unwind.c. NULL: there is none. */
const uint8_t *walk_table(uintptr_t at);
/* Is it in code that this library has made? */
bool walk_is_made(uintptr_t at);

#endif
