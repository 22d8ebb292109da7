/* SPDX-License-Identifier: BSD-3-Clause
 * Runs our code on stacks of our own: the start of recording needs some 20 KiB, an event of a signal up to some KiB, and the
 * program's alternate stack for signals may have 2, most of them taken by the kernel. */
#include "preload/internal.h"

#include "base/poison.h"
#include "base/sys.h"
#include "preload/valgrind.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define STACK_BYTES (256u << 10)

/* One start at a time (process_start_state): these are never shared. */
static ucontext_t caller, callee;
static bool (*function_to_run)(void);
static bool result;

/* The address sanitizer sees no system call: what it knows of our frames would stay for whoever is given these pages next. */
static void unmap(long stack, size_t bytes)
{
    POISON_FORGET((void *)stack, bytes); /* NOLINT: the kernel's address */
    (void)sys_call6(SYS_munmap, stack, (long)bytes, 0, 0, 0, 0);
}

static void trampoline(void)
{
    result = function_to_run();
}

bool run_on_own_stack(bool (*function)(void))
{
    long stack = sys_call6(SYS_mmap, 0, STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack < 0 && stack > -4096)
        return function();
    function_to_run = function;
    (void)getcontext(&callee);
    callee.uc_stack.ss_sp = (void *)stack; /* NOLINT: the kernel's address */
    callee.uc_stack.ss_size = STACK_BYTES;
    callee.uc_link = &caller;
    makecontext(&callee, trampoline, 0);
    uint64_t name =
        valgrind_request(VALGRIND_ADD_STACK, (uint64_t)stack, (uint64_t)stack + STACK_BYTES - 1);
    (void)swapcontext(&caller, &callee);
    (void)valgrind_request(VALGRIND_REMOVE_STACK, name, 0);
    unmap(stack, STACK_BYTES);
    return result;
}

/* A signal's alternate stack with less room than this is left to the program. */
#define ROOM_BYTES 6144
#define SMALL_STACK_BYTES (64u << 10)

/* The frame is the current one, or one near it. */
static bool has_room(const ucontext_t *context, uintptr_t frame)
{
    uintptr_t room = frame - (uintptr_t)context->uc_stack.ss_sp;
    return room >= context->uc_stack.ss_size /* not on it */ || room >= ROOM_BYTES;
}

/* function(argument) with the stack pointer at `top`, which is a multiple of 16. */
static void call_on_stack(uintptr_t top, void (*function)(void *), void *argument)
{
#if defined(__x86_64__)
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %[top], %%rsp\n\t"
                     "callq *%[function]\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(argument), [top] "+r"(top), [function] "+r"(function)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                       "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory", "cc");
#else
    register void *x0 __asm__("x0") = argument;
    __asm__ volatile("mov x19, sp\n\t"
                     "mov sp, %[top]\n\t"
                     "blr %[function]\n\t"
                     "mov sp, x19"
                     : "+r"(x0), [top] "+r"(top), [function] "+r"(function)
                     :
                     : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12",
                       "x13", "x14", "x15", "x16", "x17", "x19", "x30", "v0", "v1", "v2", "v3",
                       "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19", "v20", "v21", "v22",
                       "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "memory",
                       "cc");
#endif
}

/* With signals blocked: one more with SA_ONSTACK would begin at the top of the alternate stack again, over our caller. */
RT_COLD static void run_elsewhere(void (*function)(void *), void *argument)
{
    uint64_t mask = sys_block_signals();
    long stack = sys_call6(SYS_mmap, 0, SMALL_STACK_BYTES, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack < 0 && stack > -4096) {
        if (recorder_stream.header != NULL)
            atomic_fetch_add(&recorder_stream.header->dropped_unthreaded, 1);
    } else {
        uint64_t name = valgrind_request(VALGRIND_ADD_STACK, (uint64_t)stack,
                                         (uint64_t)stack + SMALL_STACK_BYTES - 1);
        call_on_stack((uintptr_t)stack + SMALL_STACK_BYTES, function, argument);
        (void)valgrind_request(VALGRIND_REMOVE_STACK, name, 0);
        unmap(stack, SMALL_STACK_BYTES);
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
