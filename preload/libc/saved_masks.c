/* SPDX-License-Identifier: BSD-3-Clause
 * Masks that the program saves in a sigjmp_buf or a ucontext_t, and sets again by a jump. libc
 * saves the kernel's mask, which lacks the hidden signals (signals_hidden). They are noted beside
 * it, in the end of the sigset_t: it has 1024 bits, of which the kernel uses 64. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/process.h"

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
    uint64_t noted = read_note(mask, &n) ? n.hidden : signals_is_nearly_full(mask) ? kept : 0;
    return (noted | bits) & kept;
}

bool saved_mask_restores(const sigset_t *mask, uint64_t *clean)
{
    uint64_t bits;
    memcpy(&bits, mask, sizeof bits);
    *clean = bits & ~signals_kept_bits();
    signals_hide(hidden_in(mask, bits));
    return *clean != bits;
}

#if defined(__x86_64__) && defined(__GLIBC__)
static_assert(offsetof(struct __jmp_buf_tag, __saved_mask) + NOTE_AT == 184, "ENV_WORDS");
static_assert(offsetof(ucontext_t, uc_sigmask) + NOTE_AT == 408, "CONTEXT_WORDS");

/* For saved_masks_x86_64.S. */
#define HIDDEN __attribute__((visibility("hidden")))
HIDDEN void *saved_masks_sigsetjmp, *saved_masks_getcontext;
HIDDEN uintptr_t saved_masks_libc_end; /* where libc lets the function of a coroutine return to */
HIDDEN void saved_masks_end(void);
HIDDEN void saved_masks_link(const ucontext_t *link);

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
    c.uc_stack.ss_sp = stack;
    c.uc_stack.ss_size = sizeof stack;
    makecontext(&c, saved_masks_resolve, 0);
    saved_masks_libc_end = *coroutine_stack(&c);
}

/* The program may have set signals in the mask itself, or the context may be a handler's, which
 * shows the hidden ones. The kernel must not block them. */
static void restores(const ucontext_t *to)
{
    uint64_t clean;
    struct note n;
    sigset_t *mask = (sigset_t *)(uintptr_t)&to->uc_sigmask; /* NOLINT: the program's own context */
    if (!process.traced || !saved_mask_restores(mask, &clean))
        return;
    if (read_note(mask, &n)) {
        n.hidden = signals_hidden;
        memcpy((char *)mask + NOTE_AT, &n, sizeof n);
    }
    memcpy(mask, &clean, sizeof clean);
}

void saved_masks_link(const ucontext_t *link)
{
    restores(link);
}

/* libc sets the context of uc_link without a call that we see. */
static void hook_end(const ucontext_t *to)
{
    uintptr_t *back = coroutine_stack(to);
    if (back != NULL && *back == saved_masks_libc_end)
        *back = (uintptr_t)saved_masks_end;
}

PRELOAD_EXPORT int setcontext(const ucontext_t *to)
{
    restores(to);
    hook_end(to);
    return NEXT(setcontext)(to);
}

PRELOAD_EXPORT int swapcontext(ucontext_t *restrict save, const ucontext_t *restrict to)
{
    const struct note n = {MAGIC, signals_hidden};
    memcpy((char *)&save->uc_sigmask + NOTE_AT, &n, sizeof n);
    restores(to);
    hook_end(to);
    return NEXT(swapcontext)(save, to);
}
#else
void saved_masks_resolve(void)
{
}
#endif
