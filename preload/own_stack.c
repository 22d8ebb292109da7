/* SPDX-License-Identifier: BSD-3-Clause
 * Stacks of our own, and where the calling thread's stack is. A thread may have 16 KiB of stack, an alternate stack for signals 2 or 8,
 * most of which the kernel's frame takes: what needs more than a little room runs elsewhere.
 *
 * A stack is used with signals blocked, for a short time: a few serve all threads. Compiled to use general registers alone, so that what
 * saves the program's vector registers can first move to such a stack. */
#include "preload/own_stack.h"

#include "base/poison.h"
#include "base/sys.h"
#include "preload/valgrind.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static struct own_stack pool[OWN_STACKS];

static __thread uintptr_t stack_low, stack_high;

void own_stack_is_here(uintptr_t low, uintptr_t high)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (here < low || here >= high)
        return;
    stack_low = low;
    stack_high = high;
}

bool own_stack_ends(uintptr_t *low, uintptr_t *high)
{
    *low = stack_low;
    *high = stack_high;
    return stack_high != 0;
}

bool own_stack_has_room(uintptr_t frame, uintptr_t room)
{
    if (stack_high == 0)
        return true; /* nobody has seen the thread begin: as much as it may be */
    return frame - stack_low < stack_high - stack_low && frame - stack_low >= room;
}

bool own_stack_has(uintptr_t address)
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

/* The address sanitizer sees no system call: what it knows of our frames would stay for whoever is given these pages next. */
void own_stack_unmap(uintptr_t at)
{
    POISON_FORGET((void *)at, OWN_STACK_BYTES); /* NOLINT: the kernel's address */
    (void)sys_call6(SYS_munmap, (long)at, OWN_STACK_BYTES, 0, 0, 0, 0);
}

static struct own_stack *name_it(struct own_stack *s)
{
    s->name = valgrind_request(VALGRIND_ADD_STACK, s->at, s->at + OWN_STACK_BYTES - 1);
    return s;
}

/* Its description is at its bottom. */
static struct own_stack *take_another(void)
{
    uintptr_t at = own_stack_map();
    struct own_stack *s = (struct own_stack *)at; /* NOLINT: the kernel's address */
    if (at == 0)
        return NULL;
    atomic_store(&s->at, at);
    return name_it(s);
}

/* Each thread begins at another one: they need not wait for each other's cache line. */
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

/* Of a thread that nobody has seen begin, anything may be an alternate stack. */
uintptr_t own_stack_move(struct own_stack_move *m)
{
    uintptr_t frame = (uintptr_t)m;
    m->taken = NULL;
    if ((stack_high != 0 && own_stack_has_room(frame, OWN_STACK_ROOM)) || own_stack_has(frame))
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
