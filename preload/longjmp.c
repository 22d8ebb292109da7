/* SPDX-License-Identifier: BSD-3-Clause
 * longjmp and exceptions out of instrumented functions and MPI calls: their ends happen then, not when a later call shows
 * that they are gone. */
#include "preload/internal.h"
#include "preload/memory.h"
#include "preload/probes.h"

#include "mpi/mpi.h"

#include <dlfcn.h>
#include <setjmp.h>

typedef void jump_function(jmp_buf, int);

enum { JUMPS = 4 };
static const char *const names[JUMPS] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
static jump_function *real[JUMPS];

/* In the constructor: a jump may leave a signal handler, where nothing can be looked up. */
void longjmp_resolve(void)
{
    for (int i = 0; i < JUMPS; i++) {
        void *symbol = preload_next(names[i]);
        __builtin_memcpy(&real[i], &symbol, sizeof symbol);
    }
}

/* The stack pointer that the jump restores. glibc stores it mangled (sysdeps/x86_64/jmpbuf-offsets.h, PTR_DEMANGLE);
 * 0 where we do not know the layout: then later calls show what is gone. */
static uintptr_t target_stack(const jmp_buf env)
{
#if defined(__x86_64__) && defined(__GLIBC__)
    uintptr_t value;
    __builtin_memcpy(&value, (const char *)env + 6 * sizeof value, sizeof value);
    __asm__("ror $0x11, %0\n\txor %%fs:0x30, %0" : "+r"(value) : : "cc");
    return value;
#else
    (void)env;
    return 0;
#endif
}

/* A jump to another stack (a coroutine's) says nothing of this one. */
static void leave_frames(uintptr_t stack)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    struct recorder_thread *t = &recorder_self;
    if (!t->in_toolkit)
        memory_jumped(here, stack);
    if (stack <= here || stack - here >= (64u << 20) || t->in_toolkit)
        return;
    mpi_jumped(t, stack);
    functions_jumped(stack);
    probe_functions_jumped(here, stack);
    probe_exits_jumped(here, stack);
}

static void __attribute__((noreturn)) jump(int which, jmp_buf env, int value)
{
    if (process.traced)
        leave_frames(target_stack(env));
    jump_function *go = real[which];
    if (go == NULL) { /* before our constructor */
        longjmp_resolve();
        go = real[which];
    }
    go(env, value);
    __builtin_unreachable();
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#undef longjmp
#undef _longjmp
#undef siglongjmp
PRELOAD_EXPORT void __attribute__((noreturn)) longjmp(jmp_buf env, int value)
{
    jump(0, env, value);
}
PRELOAD_EXPORT void __attribute__((noreturn)) _longjmp(jmp_buf env, int value)
{
    jump(1, env, value);
}
PRELOAD_EXPORT void __attribute__((noreturn)) siglongjmp(sigjmp_buf env, int value)
{
    jump(2, env, value);
}
PRELOAD_EXPORT void __attribute__((noreturn)) __longjmp_chk(jmp_buf env, int value);
PRELOAD_EXPORT void __attribute__((noreturn)) __longjmp_chk(jmp_buf env, int value)
{
    jump(3, env, value);
}

/* --- exceptions of C++ ---------------------------------------------------------------------------------------- */

typedef void *catch_function(void *);

/* The caller's own, where libstdc++ came with a module that was opened RTLD_LOCAL. */
static catch_function *catch_of(const void *caller)
{
    void *symbol = preload_next("__cxa_begin_catch");
    Dl_info module;
    if (symbol == NULL && dladdr(caller, &module) != 0 && module.dli_fname != NULL) {
        void *handle = dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            symbol = dlsym(handle, "__cxa_begin_catch");
            (void)dlclose(handle);
        }
    }
    catch_function *function;
    __builtin_memcpy(&function, &symbol, sizeof function);
    return function;
}

PRELOAD_EXPORT void *__cxa_begin_catch(void *exception);
PRELOAD_EXPORT void *__cxa_begin_catch(void *exception)
{
    catch_function *go = catch_of(__builtin_return_address(0));
    if (process.traced)
        leave_frames((uintptr_t)__builtin_dwarf_cfa());
    memory_caught();
    return go(exception);
}
