/* SPDX-License-Identifier: BSD-3-Clause
 * Memory traces on machines other than x86-64: none. */
#include "preload/memory/memory.h"
#include "preload/thread.h"

#if !defined(__x86_64__)

bool memory_is_traced;

void memory_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    (void)pt;
}

struct memory_position memory_position_set(uintptr_t stack, uintptr_t at)
{
    (void)stack;
    (void)at;
    return (struct memory_position){0};
}

struct memory_position memory_position_at_entry(uintptr_t stack, uintptr_t at)
{
    return memory_position_set(stack, at);
}

struct memory_position memory_position_of_call(void *frame)
{
    (void)frame;
    return (struct memory_position){0};
}

struct memory_position memory_position_of_handler(void *context)
{
    (void)context;
    return (struct memory_position){0};
}

bool memory_stack_is_known(void)
{
    return true;
}

void memory_position_restore(struct memory_position before)
{
    (void)before;
}

bool memory_is_fault(int signo)
{
    (void)signo;
    return false;
}

struct memory_handler *memory_handler_begins(uintptr_t frame, siginfo_t *info, void *context)
{
    (void)frame;
    (void)info;
    (void)context;
    return NULL;
}

void memory_handler_ends(struct memory_handler *h, void *context)
{
    (void)h;
    (void)context;
}

bool memory_delays(int signo, int flags, siginfo_t *info, void *context)
{
    (void)signo;
    (void)flags;
    (void)info;
    (void)context;
    return false;
}

void memory_exception_begins(const void *exception)
{
    (void)exception;
}

void memory_exception_ends(void)
{
}

bool memory_postpones(const siginfo_t *info)
{
    (void)info;
    return false;
}

void memory_images_came(void)
{
}

void memory_vfork(bool begins)
{
    (void)begins;
}

void memory_frames_left(uintptr_t from, uintptr_t to)
{
    (void)from;
    (void)to;
}

void memory_caught(uintptr_t back, uintptr_t from, uintptr_t to)
{
    (void)back;
    (void)from;
    (void)to;
}

uintptr_t memory_throw(uintptr_t pad)
{
    return pad;
}

bool memory_longjmp_begins(uintptr_t at, const uintptr_t kept[6], uintptr_t stack)
{
    (void)at;
    (void)kept;
    (void)stack;
    return false;
}

uintptr_t memory_longjmp_target(void)
{
    return 0;
}

void memory_unwound(uintptr_t at)
{
    (void)at;
}

#endif
