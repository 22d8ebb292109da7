/* SPDX-License-Identifier: BSD-3-Clause
 * Masks that the program saves in a sigjmp_buf or a ucontext_t, and sets again by a jump. libc
 * saves the kernel's mask, which lacks the hidden signals (signals_hidden).
 *
 * - A ucontext_t gets the mask that the program believes to have, since it may read and change it.
 * - Nobody reads the mask in a sigjmp_buf. So the hidden signals are noted beside it, in the end of
 *   the sigset_t: it has 1024 bits, of which the kernel uses 64. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"

#include "base/sys.h"

#include <assert.h>
#include <setjmp.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

/* The magic number tells a note from what memory happens to hold. */
struct note {
    uint64_t magic, hidden;
};
#define MAGIC UINT64_C(0x5ac0de7247ace5ed)
#define NOTE_AT (sizeof(sigset_t) - sizeof(struct note))

static bool read_note(const sigset_t *mask, struct note *n)
{
    memcpy(n, (const char *)mask + NOTE_AT, sizeof *n);
    return n->magic == MAGIC;
}

/* Without a note, a mask that blocks nearly everything is taken to block the hidden signals too. */
static uint64_t hidden_in(const sigset_t *mask, uint64_t bits)
{
    struct note n;
    uint64_t kept = signals_kept_bits();
    if (read_note(mask, &n))
        return n.hidden & kept;
    return signals_is_nearly_full(mask) ? kept : bits & kept;
}

/* Hides these signals. No signal comes until the jump sets its mask, so that no handler sees the
 * new hidden signals with the old mask. */
static void hide(uint64_t hidden)
{
    if (hidden == signals_hidden)
        return;
    (void)sys_block_signals();
    signals_hide(hidden);
}

bool saved_mask_restores(const sigset_t *mask, uint64_t *clean)
{
    uint64_t bits;
    memcpy(&bits, mask, sizeof bits);
    *clean = bits & ~signals_kept_bits();
    hide(hidden_in(mask, bits));
    return *clean != bits;
}

#if defined(__x86_64__) && defined(__GLIBC__)
static_assert(offsetof(struct __jmp_buf_tag, __saved_mask) + NOTE_AT == 184, "ENV_WORDS");
static_assert(offsetof(ucontext_t, uc_mcontext.gregs) == 40, "GREGS");
static_assert(offsetof(ucontext_t, uc_mcontext.fpregs) == 224, "FPREGS");
static_assert(offsetof(ucontext_t, __fpregs_mem.mxcsr) == 448, "MXCSR");

/* For saved_masks_x86_64.S. */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void *saved_masks_sigsetjmp, *saved_masks_getcontext, *saved_masks_swapcontext;
HIDDEN uintptr_t saved_masks_libc_end; /* where libc lets the function of a coroutine return to */
HIDDEN void saved_masks_end(void);
HIDDEN void saved_masks_show(ucontext_t *c);
HIDDEN int saved_masks_setcontext(const ucontext_t *to);
/* As setcontext(), but sets this mask in place of the one in the context. */
HIDDEN int saved_masks_set(const ucontext_t *to, uint64_t mask);

static uintptr_t *coroutine_stack(const ucontext_t *c)
{
    return (uintptr_t *)c->uc_mcontext.gregs[REG_RSP]; /* NOLINT: the stack of the context */
}

void saved_masks_resolve(void)
{
    static ucontext_t c;
    static char stack[512];
    saved_masks_sigsetjmp = preload_next("__sigsetjmp");
    saved_masks_getcontext = preload_next("getcontext");
    saved_masks_swapcontext = preload_next("swapcontext");
    c.uc_stack.ss_sp = stack;
    c.uc_stack.ss_size = sizeof stack;
    makecontext(&c, saved_masks_resolve, 0);
    saved_masks_libc_end = *coroutine_stack(&c);
}

void saved_masks_show(ucontext_t *c)
{
    uint64_t mask;
    memcpy(&mask, &c->uc_sigmask, sizeof mask);
    mask = signals_shown_mask(mask, signals_hidden);
    memcpy(&c->uc_sigmask, &mask, sizeof mask);
}

/* libc sets the context of uc_link without a call that we see. */
static void hook_end(const ucontext_t *to)
{
    uintptr_t *back = coroutine_stack(to);
    if (back != NULL && *back == saved_masks_libc_end)
        *back = (uintptr_t)saved_masks_end;
}

/* The context stays as it is: it may be read-only, and set again. */
int saved_masks_setcontext(const ucontext_t *to)
{
    uint64_t mask, kept = signals_kept_bits();
    memcpy(&mask, &to->uc_sigmask, sizeof mask);
    hook_end(to);
    hide(mask & kept);
    return (mask & kept) != 0 ? saved_masks_set(to, mask & ~kept) : NEXT(setcontext)(to);
}

PRELOAD_EXPORT int setcontext(const ucontext_t *to)
{
    return saved_masks_setcontext(to);
}
#else
void saved_masks_resolve(void)
{
}
#endif
