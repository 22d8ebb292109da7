/* SPDX-License-Identifier: BSD-3-Clause
 * Runs our code on a stack with enough room: the program's, or one of ours (own_stack.h). */
#include "preload/stack/with_room.h"
#include "preload/window/interrupts.h"

#include "base/sys.h"
#include "preload/count/sampling.h"
#include "preload/memory/memory.h"
#include "preload/stack/own_stack.h"
#include "preload/valgrind.h"
#include "preload/values/values.h"

#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <ucontext.h>

/* Calls function(argument) with the stack pointer at `top`, which is a multiple of 16. Unwinders
 * can walk through this frame. */
void own_stack_call(uintptr_t top, void (*function)(void *), void *argument) RT_HIDDEN;
#if defined(__x86_64__)
__asm__("	.pushsection .text\n"
        "	.globl	own_stack_call\n"
        "	.hidden	own_stack_call\n"
        "	.type	own_stack_call, @function\n"
        "own_stack_call:\n"
        "	.cfi_startproc\n"
        "	push	%rbp\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset %rbp, -16\n"
        "	mov	%rsp, %rbp\n"
        "	.cfi_def_cfa_register %rbp\n"
        "	mov	%rdi, %rsp\n"
        "	mov	%rdx, %rdi\n"
        "	call	*%rsi\n"
        "	mov	%rbp, %rsp\n"
        "	pop	%rbp\n"
        "	.cfi_def_cfa %rsp, 8\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "	.size	own_stack_call, . - own_stack_call\n"
        "	.popsection\n");
#else
__asm__("	.pushsection .text\n"
        "	.globl	own_stack_call\n"
        "	.hidden	own_stack_call\n"
        "	.type	own_stack_call, %function\n"
        "own_stack_call:\n"
        "	.cfi_startproc\n"
        "	stp	x29, x30, [sp, #-16]!\n"
        "	.cfi_def_cfa_offset 16\n"
        "	.cfi_offset 29, -16\n"
        "	.cfi_offset 30, -8\n"
        "	mov	x29, sp\n"
        "	.cfi_def_cfa_register 29\n"
        "	mov	sp, x0\n"
        "	mov	x0, x2\n"
        "	blr	x1\n"
        "	mov	sp, x29\n"
        "	.cfi_def_cfa_register 31\n"
        "	ldp	x29, x30, [sp], #16\n"
        "	.cfi_def_cfa_offset 0\n"
        "	ret\n"
        "	.cfi_endproc\n"
        "	.size	own_stack_call, . - own_stack_call\n"
        "	.popsection\n");
#endif

struct start {
    bool (*function)(void);
    bool result;
};

static void begin_start(void *p)
{
    struct start *s = p;
    s->result = s->function();
}

/* Unmaps the stack afterwards, because this runs only once. */
bool run_on_own_stack(bool (*function)(void))
{
    struct start s = {.function = function};
    uintptr_t at = own_stack_map();
    if (at == 0)
        return function();
    uint64_t name = valgrind_request(VALGRIND_ADD_STACK, at, at + OWN_STACK_BYTES - 1);
    own_stack_call(at + OWN_STACK_BYTES, begin_start, &s);
    (void)valgrind_request(VALGRIND_REMOVE_STACK, name, 0);
    own_stack_unmap(at);
    return s.result;
}

/* Is there room below this frame, which is the current one or near it? */
static bool has_room(const ucontext_t *context, uintptr_t frame)
{
    if (context != NULL) {
        uintptr_t room = frame - (uintptr_t)context->uc_stack.ss_sp;
        if (room < context->uc_stack.ss_size)
            return room >= OWN_STACK_ROOM;
    }
    return thread_stack_has_room(frame, OWN_STACK_ROOM) || own_stack_contains(frame);
}

/* Blocks signals. While we are off the alternate stack, the kernel would start another SA_ONSTACK
 * handler at the top of it, and overwrite our caller's frame. */
RT_COLD static void run_elsewhere(void (*function)(void *), void *argument)
{
    uint64_t mask = sys_block_signals();
    struct own_stack *s = own_stack_take();
    if (s == NULL) {
        if (recorder_stream.header != NULL)
            atomic_fetch_add(&recorder_stream.header->dropped_unthreaded, 1);
    } else {
        /* Code that looks for the program's frames must begin at this frame. */
        bool known = !memory_is_traced || memory_stack_is_known();
        struct memory_position before = {0};
        if (!known)
            before = memory_position_set((uintptr_t)__builtin_frame_address(0), 0);
        own_stack_call(s->at + OWN_STACK_BYTES, function, argument);
        if (!known)
            memory_position_restore(before);
        own_stack_give(s);
    }
    sys_restore_signals(mask);
}

void run_with_room(const void *context, void (*function)(void *), void *argument)
{
    if (RT_LIKELY(has_room(context, (uintptr_t)__builtin_frame_address(0))))
        function(argument);
    else
        run_elsewhere(function, argument);
}

struct interruption {
    siginfo_t *info;
    void *place;
};

static void interrupted(void *p)
{
    const struct interruption *i = p;
    process_interrupted(i->info, i->place);
}

/* Unblocks signals of the program, which the kernel has blocked for our handler. While we wait for
 * the writer, the kernel would deliver them to other threads. */
static void let_signals_come(int signo, const ucontext_t *uc)
{
    uint64_t mask;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    sys_restore_signals(mask | sys_signal_bit(signo));
}

/* A sample of values executes instructions of the program, which may fault; code on our stacks must
 * not fault. So the sample stays on this stack and checks its room itself. */
void interrupted_with_room(siginfo_t *info, void *context, void *place, bool lets_come)
{
    struct interruption i = {info, place};
    if (values_are_captured && sampling_is_due(info)) {
        interrupted(&i);
    } else if (has_room(context, (uintptr_t)__builtin_frame_address(0))) {
        if (lets_come && !values_are_captured && info->si_signo != SIGIO)
            let_signals_come(info->si_signo, context);
        interrupted(&i);
    } else {
        run_elsewhere(interrupted, &i);
    }
}

void run_with_much_room(void (*function)(void *), void *argument)
{
    uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    if (thread_stack_has_room(frame, OWN_STACK_DEEP) || own_stack_contains(frame))
        function(argument);
    else
        run_elsewhere(function, argument);
}

/* --- bounds of stacks ------------------------------------------------------------------------- */

#define PAGE ((uintptr_t)4096)
#define MOST ((uintptr_t)1 << 30) /* assumed size of a stack without a limit */

/* The first stack ends after the file name of the program (AT_EXECFN), and may grow up to
 * RLIMIT_STACK. */
void stack_of_process(void)
{
    struct rlimit limit;
    uintptr_t name = (uintptr_t)getauxval(AT_EXECFN);
    if (name == 0 || getrlimit(RLIMIT_STACK, &limit) != 0)
        return;
    uintptr_t end = name + strlen((const char *)name) + 1; /* NOLINT: the kernel's address */
    uintptr_t high = (end + PAGE - 1) & ~(PAGE - 1);
    thread_stack_set(high - (limit.rlim_cur < MOST ? (uintptr_t)limit.rlim_cur : MOST), high);
}

void stack_of_thread(struct thread_stack s)
{
    if (s.at != 0) {
        thread_stack_set(s.at, s.at + s.bytes);
        return;
    }
#if defined(__x86_64__)
    /* libc puts less than a page of its own data at the high end of a stack that it maps. */
    uintptr_t high = ((uintptr_t)__builtin_thread_pointer() + PAGE) & ~(PAGE - 1);
    thread_stack_set(high - s.bytes, high);
#else
    pthread_attr_t a;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &a) != 0)
        return;
    if (pthread_attr_getstack(&a, &low, &size) == 0)
        thread_stack_set((uintptr_t)low, (uintptr_t)low + size);
    (void)pthread_attr_destroy(&a);
#endif
}

struct thread_stack stack_wanted(const pthread_attr_t *attributes)
{
    struct thread_stack s = {0};
    pthread_attr_t usual;
    void *low = NULL;
    if (attributes == NULL && pthread_attr_init(&usual) != 0)
        return s;
    const pthread_attr_t *a = attributes != NULL ? attributes : &usual;
    /* Without a stack address libc returns a stack that ends at 0. */
    if (pthread_attr_getstack(a, &low, &s.bytes) == 0 && (uintptr_t)low + s.bytes != 0)
        s.at = (uintptr_t)low;
    else if (pthread_attr_getstacksize(a, &s.bytes) != 0)
        s.bytes = 0;
    if (attributes == NULL)
        (void)pthread_attr_destroy(&usual);
    return s;
}
