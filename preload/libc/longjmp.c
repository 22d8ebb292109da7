/* SPDX-License-Identifier: BSD-3-Clause
 * Wraps longjmp, which leaves instrumented functions and MPI calls. Ends these functions and calls
 * at the jump, not when a later call shows that they are gone. */
#include "preload/libc/interpose.h"
#include "preload/libc/signals.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/stack/with_room.h"
#include "preload/window/triggers.h"

#include "mpi/mpi.h"

#include <setjmp.h>

typedef void jump_function(jmp_buf, int);

enum { JUMPS = 4 };
static const char *const names[JUMPS] = {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"};
static jump_function *real[JUMPS];

/* Called in the constructor, because a jump may leave a signal handler, where nothing can be looked
 * up. */
void longjmp_resolve(void)
{
    for (int i = 0; i < JUMPS; i++) {
        void *symbol = preload_next(names[i]);
        __builtin_memcpy(&real[i], &symbol, sizeof symbol);
    }
}

/* glibc's jmp_buf: rbx, rbp, r12 to r15, the stack pointer, the target address. rbp and the last
 * two are mangled (sysdeps/x86_64/jmpbuf-offsets.h, PTR_MANGLE). If we do not know the layout all
 * words are 0; then later calls show which functions are gone. */
enum { KEPT = 6, WORDS = 8 };
#if defined(__x86_64__) && defined(__GLIBC__)
static uintptr_t demangle(uintptr_t value)
{
    __asm__("ror $0x11, %0\n\txor %%fs:0x30, %0" : "+r"(value) : : "cc");
    return value;
}

static uintptr_t mangle(uintptr_t value)
{
    __asm__("xor %%fs:0x30, %0\n\trol $0x11, %0" : "+r"(value) : : "cc");
    return value;
}

static void read_target(const jmp_buf env, uintptr_t words[WORDS])
{
    __builtin_memcpy(words, env, WORDS * sizeof *words);
    words[1] = demangle(words[1]);
    words[KEPT] = demangle(words[KEPT]);
    words[KEPT + 1] = demangle(words[KEPT + 1]);
}

static void write_target(jmp_buf env, uintptr_t at)
{
    at = mangle(at);
    __builtin_memcpy((char *)env + (KEPT + 1) * sizeof at, &at, sizeof at);
}
#else
static void read_target(const jmp_buf env, uintptr_t words[WORDS])
{
    (void)env;
    __builtin_memset(words, 0, WORDS * sizeof *words);
}

static void write_target(jmp_buf env, uintptr_t at)
{
    (void)env;
    (void)at;
}
#endif

void jump_leaves_frames(uintptr_t here, uintptr_t stack)
{
    struct recorder_thread *t = &recorder_self;
    if (stack <= here || stack - here >= (64u << 20) || t->in_toolkit)
        return;
    mpi_jumped(t, stack);
    functions_jumped(stack);
    probe_functions_jumped(here, stack);
    probe_exits_jumped(here, stack);
}

struct jumping {
    uintptr_t here, stack;
    uintptr_t target; /* where we redirect the jump; 0: nowhere */
    bool recorded;
};

static void leave_for(void *p)
{
    struct jumping *j = p;
    if (!recorder_self.in_toolkit)
        memory_frames_left(j->here, j->stack);
    jump_leaves_frames(j->here, j->stack);
    if (j->recorded)
        j->target = memory_longjmp_target();
}

static void __attribute__((noreturn)) jump(int which, jmp_buf env, int value)
{
    uintptr_t words[WORDS];
    uint64_t clean;
    sigjmp_buf copy; /* the program may use its jmp_buf again */
    struct jumping j = {.here = (uintptr_t)__builtin_frame_address(0)};
    if (process.traced) {
        read_target(env, words);
        j.recorded = memory_is_traced && words[KEPT] != 0 && !recorder_self.in_toolkit &&
                     memory_longjmp_begins(words[KEPT + 1], words, words[KEPT]);
        j.stack = words[KEPT];
        run_with_room(NULL, leave_for, &j);
    }
    bool masked = process.traced && env->__mask_was_saved != 0 &&
                  saved_mask_restores(&env->__saved_mask, &clean);
    if (j.target != 0 || masked) {
        __builtin_memcpy(copy, env, sizeof(jmp_buf));
        if (j.target != 0)
            write_target(copy, j.target);
        if (masked)
            __builtin_memcpy(&copy->__saved_mask, &clean, sizeof clean);
        env = copy;
    }
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
