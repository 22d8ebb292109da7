/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the wrappers of preload/: the functions that they call, their view of signals, and
 * whether this process is a child that borrows its parent's memory. */
#ifndef REGTRACE_PRELOAD_LIBC_INTERPOSE_H
#define REGTRACE_PRELOAD_LIBC_INTERPOSE_H

#include "base/error.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum interpose_name {
#define X(name) INTERPOSE_##name,
#include "preload/libc/interpose.def"
#undef X
    INTERPOSE_COUNT
};

extern void *_Atomic interpose_next[INTERPOSE_COUNT];

/* interpose_resolve() looks up one function (dlsym). interpose_resolve_all() looks up all of them,
 * so that later uses in handlers and in children of vfork look up nothing. */
void *interpose_resolve(enum interpose_name i);
void interpose_resolve_all(void);

static inline void *interpose_get(enum interpose_name i)
{
    void *p = atomic_load_explicit(&interpose_next[i], memory_order_relaxed);
    return RT_LIKELY(p != NULL) ? p : interpose_resolve(i);
}

/* The next definition of a function, with its type. NULL only if libc has none. */
#define NEXT(name) ((__typeof__(&name))interpose_get(INTERPOSE_##name))

/* > 0 between vfork and the exec or exit of the child: the child is using this thread's memory. */
extern __thread uint32_t processes_vfork_depth
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Does this process borrow its parent's memory, or did a raw clone make it? Then it must change
 * nothing of ours. Makes one system call at most. */
bool processes_is_borrower(void);

void threads_prepare(void);
void processes_prepare(void);
void images_prepare(void);

/* Looks up the next definition of a symbol after ours (dlsym RTLD_NEXT). Returns NULL if there is
 * none. */
void *preload_next(const char *name);

/* Hides our MPI functions that the program's MPI library does not have, from the program's weak
 * symbols and from dlsym(). For programs that are linked with MPI. Call it once, in the
 * constructor. */
void absent_functions_hide(void);

void longjmp_resolve(void);
void saved_masks_resolve(void);
/* Ends the calls and functions whose frames lie between `here` and `stack`. A jump to another stack
 * (a coroutine's) says nothing about this one. */
void jump_leaves_frames(uintptr_t here, uintptr_t stack);

#endif
