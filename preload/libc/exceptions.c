/* SPDX-License-Identifier: BSD-3-Clause
 * Wraps what throws and catches exceptions of C++, which leave instrumented functions and MPI
 * calls. Ends these functions and calls at the catch, and leads a memory trace to the landing
 * pad. */
#include "preload/libc/interpose.h"
#include "preload/memory/memory.h"
#include "preload/process.h"

#include <dlfcn.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

typedef void *catch_function(void *);

/* Returns the next definition of a symbol. If there is none, because libstdc++ came with a module
 * that was opened RTLD_LOCAL, returns the one that the caller's module sees. */
static void *next_of(const char *name, const void *caller)
{
    void *symbol = preload_next(name);
    Dl_info module;
    if (symbol == NULL && dladdr(caller, &module) != 0 && module.dli_fname != NULL) {
        void *handle = dlopen(module.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        if (handle != NULL) {
            symbol = dlsym(handle, name);
            (void)dlclose(handle);
        }
    }
    return symbol;
}

static catch_function *catch_of(const void *caller)
{
    void *symbol = next_of("__cxa_begin_catch", caller);
    catch_function *function;
    __builtin_memcpy(&function, &symbol, sizeof function);
    return function;
}

PRELOAD_EXPORT void *__cxa_begin_catch(void *exception);
PRELOAD_EXPORT void *__cxa_begin_catch(void *exception)
{
    catch_function *go = catch_of(__builtin_return_address(0));
    uintptr_t here = (uintptr_t)__builtin_frame_address(0),
              stack = (uintptr_t)__builtin_dwarf_cfa();
    if (process.traced)
        jump_leaves_frames(here, stack);
    if (memory_is_traced && !recorder_self.in_toolkit)
        memory_caught((uintptr_t)__builtin_return_address(0), here, stack);
    memory_exception_ends();
    return go(exception);
}

/* The first field of every exception names the language. */
struct exception {
    uint64_t language;
};
typedef int raise_function(struct exception *);

static bool is_of_cxx(const struct exception *e)
{
    enum { KIND = 0xff }; /* it is 1 in a dependent exception */
    static const uint64_t gnu = 0x474e5543432b2b00, clang = 0x434c4e47432b2b00;
    return (e->language & ~(uint64_t)KIND) == gnu || (e->language & ~(uint64_t)KIND) == clang;
}

static raise_function *raise_begins(const char *name, const struct exception *e, const void *caller)
{
    void *symbol = next_of(name, caller);
    raise_function *go;
    __builtin_memcpy(&go, &symbol, sizeof go);
    if (process.traced && is_of_cxx(e))
        memory_exception_begins(e);
    return go;
}

/* Both end in a jump to the real function, so that the unwinder meets no frame of ours. They return
 * if nobody catches the exception; the C++ library calls __cxa_begin_catch() then, before it ends
 * the program. */

PRELOAD_EXPORT int _Unwind_RaiseException(struct exception *e);
PRELOAD_EXPORT int _Unwind_RaiseException(struct exception *e)
{
    return raise_begins("_Unwind_RaiseException", e, __builtin_return_address(0))(e);
}

PRELOAD_EXPORT int _Unwind_Resume_or_Rethrow(struct exception *e);
PRELOAD_EXPORT int _Unwind_Resume_or_Rethrow(struct exception *e)
{
    return raise_begins("_Unwind_Resume_or_Rethrow", e, __builtin_return_address(0))(e);
}

/* Personality routines call this last: the unwinder continues at a landing pad, of a catch or a
 * destructor. */
struct _Unwind_Context;
typedef void go_on_function(struct _Unwind_Context *, uintptr_t);

PRELOAD_EXPORT void _Unwind_SetIP(struct _Unwind_Context *context, uintptr_t at);
PRELOAD_EXPORT void _Unwind_SetIP(struct _Unwind_Context *context, uintptr_t at)
{
    void *symbol = next_of("_Unwind_SetIP", __builtin_return_address(0));
    go_on_function *go;
    __builtin_memcpy(&go, &symbol, sizeof go);
    if (process.traced && memory_is_traced && !recorder_self.in_toolkit)
        at = memory_throw(at);
    go(context, at);
}
