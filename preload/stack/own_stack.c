/* SPDX-License-Identifier: BSD-3-Clause
 * A pool of our own stacks, and the bounds of the calling thread's stack. The stack of a thread may
 * have only 16 KiB. An alternate signal stack may have 2 or 8 KiB, most of which the kernel's
 * signal frame takes. So code that needs more than a little room moves to one of our stacks.
 *
 * A thread uses such a stack for a short time, with signals blocked, so a few stacks serve all
 * threads. This file is compiled for general registers only: the code that saves the program's
 * vector registers can call it first. */
#include "preload/stack/own_stack.h"

#include "base/poison.h"
#include "base/sys.h"
#include "preload/libc/interpose.h"
#include "preload/valgrind.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static struct own_stack pool[OWN_STACKS];

static __thread uintptr_t stack_low, stack_high;

void thread_stack_set(uintptr_t low, uintptr_t high)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < low || here >= high)
        return;
    stack_low = low;
    stack_high = high;
}

bool thread_stack_bounds(uintptr_t *low, uintptr_t *high)
{
    *low = stack_low;
    *high = stack_high;
    return stack_high != 0;
}

bool thread_stack_has_room(uintptr_t frame, uintptr_t room)
{
    if (stack_high == 0)
        return true; /* bounds unknown: we did not see the thread begin */
    return frame - stack_low < stack_high - stack_low && frame - stack_low >= room;
}

bool own_stack_contains(uintptr_t address)
{
    for (unsigned i = 0; i < OWN_STACKS; i++) {
        uintptr_t at = atomic_load_explicit(&pool[i].at, memory_order_relaxed);
        if (at != 0 && address - at < OWN_STACK_BYTES)
            return true;
    }
    return false;
}

uintptr_t own_stack_map(void)
{
    long at = sys_call6(SYS_mmap, 0, OWN_STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    return at < 0 && at > -4096 ? 0 : (uintptr_t)at;
}

/* The address sanitizer does not see the system call. Without POISON_FORGET() its records of our
 * frames would apply to the next user of these pages. */
void own_stack_unmap(uintptr_t at)
{
    if (at == 0)
        return;
    POISON_FORGET((void *)at, OWN_STACK_BYTES); /* NOLINT: the kernel's address */
    (void)sys_call6(SYS_munmap, (long)at, OWN_STACK_BYTES, 0, 0, 0, 0);
}

static struct own_stack *name_it(struct own_stack *s)
{
    s->name = valgrind_request(VALGRIND_ADD_STACK, s->at, s->at + OWN_STACK_BYTES - 1);
    return s;
}

/* Maps a stack outside the pool. Its struct own_stack lies at its lowest address. */
static struct own_stack *take_another(void)
{
    uintptr_t at = own_stack_map();
    struct own_stack *s = (struct own_stack *)at; /* NOLINT: the kernel's address */
    if (at == 0)
        return NULL;
    atomic_store(&s->at, at);
    return name_it(s);
}

/* Each thread begins its search at a different stack of the pool, so that threads do not contend
 * for one cache line. */
struct own_stack *own_stack_take(void)
{
    unsigned first = (unsigned)((uintptr_t)__builtin_thread_pointer() >> 12);
    for (unsigned i = 0; i < OWN_STACKS; i++) {
        struct own_stack *s = &pool[(first + i) % OWN_STACKS];
        uint32_t unused = 0;
        if (!atomic_compare_exchange_strong(&s->taken, &unused, 1))
            continue;
        if (atomic_load_explicit(&s->at, memory_order_relaxed) == 0)
            atomic_store(&s->at, own_stack_map());
        if (atomic_load_explicit(&s->at, memory_order_relaxed) != 0) {
            return name_it(s);
        }
        atomic_store(&s->taken, 0);
        return NULL;
    }
    return take_another();
}

void own_stack_give(struct own_stack *s)
{
    (void)valgrind_request(VALGRIND_REMOVE_STACK, s->name, 0);
    if (s < pool || s >= pool + OWN_STACKS) {
        own_stack_unmap(s->at);
        return;
    }
    POISON_FORGET((void *)s->at, OWN_STACK_BYTES); /* NOLINT: the kernel's address */
    atomic_store_explicit(&s->taken, 0, memory_order_release);
}

void own_stack_forked(void)
{
    for (unsigned i = 0; i < OWN_STACKS; i++)
        atomic_store(&pool[i].taken, 0);
}

/* A thread whose begin we did not see may be on a small alternate stack at any time, so it always
 * moves. */
uintptr_t own_stack_move(struct own_stack_move *m)
{
    uintptr_t frame = (uintptr_t)m;
    m->taken = NULL;
    if ((stack_high != 0 && thread_stack_has_room(frame, OWN_STACK_ROOM)) ||
        own_stack_contains(frame))
        return frame & ~(uintptr_t)63;
    m->mask = sys_block_signals();
    m->taken = own_stack_take();
    if (m->taken != NULL)
        return m->taken->at + OWN_STACK_BYTES;
    sys_restore_signals(m->mask);
    return 0;
}

void own_stack_back(const struct own_stack_move *m)
{
    if (m->taken == NULL)
        return;
    own_stack_give(m->taken);
    sys_restore_signals(m->mask);
}
