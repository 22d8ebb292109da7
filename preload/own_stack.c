/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the start of recording on a stack of our own: it needs some 20 KiB, and the first event of a process may
 * come from a handler on an alternate stack of 2. */
#include "preload/internal.h"

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
    (void)sys_call6(SYS_munmap, stack, STACK_BYTES, 0, 0, 0, 0);
    return result;
}
