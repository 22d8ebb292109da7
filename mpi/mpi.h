/* SPDX-License-Identifier: BSD-3-Clause
 * What preload/ uses of mpi/: hooks at MPI's start and end, Pcontrol, cut edges of open calls. */
#ifndef REGTRACE_MPI_MPI_H
#define REGTRACE_MPI_MPI_H

#include "base/format/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Which binary interface the loaded library has. */
enum mpi_abi_kind {
    MPI_ABI_UNKNOWN = 0,
    MPI_ABI_OPEN_MPI = 1,
    MPI_ABI_MPICH = 2,
    MPI_ABI_STANDARD = 3
};

struct mpi_inside {
    uint64_t word[2];
};

/* Called by the wrappers; a NULL member is not called. Set them before the program's main. They run
 * on the calling thread, once a call also where a Fortran stub goes through the C function;
 * t->in_toolkit is 0. */
struct mpi_hooks {
    /* Before the real MPI_Init, MPI_Init_thread or MPI_Session_init. */
    void (*init_begin)(void);
    /* It failed, or was left by a jump or an exception. May be called with every signal blocked. */
    void (*init_failed)(void);
    /* After it succeeded. rank and size are those of MPI_COMM_WORLD as MPI itself says, -1 after
     * MPI_Session_init, which is local and may happen often. thread_level as provided; abi is an
     * enum mpi_abi_kind. */
    void (*init_done)(int rank, int size, int thread_level, int abi);
    void (*finalize_begin)(void);
    void (*finalize_done)(void);
    /* Before the real MPI_Abort, which does not return. */
    void (*abort_called)(int code);
    /* MPI_Pcontrol. second_arg is what the second argument's register held: a pointer, a number, or
     * left over from before the call; read it with mpi_read_string() only. 0 from Fortran, which
     * passes the level alone. caller = return address; frame: that of the function that was called. MPI_Pcontrol makes no enter and leave
     * events: the hook records what it wants. */
    void (*pcontrol)(int level, uint64_t second_arg, int is_fortran, void *caller, void *frame);
    /* On threads with t->counted: around every wrapper, and around each real function, whose instructions are the
     * program's. The end is given what the begin returned. function: its number, or MPI_OWN_UNKNOWN. */
    unsigned (*own_begin)(unsigned function);
    void (*own_end)(unsigned own);
    struct mpi_inside (*program_begin)(void);
    void (*program_end)(struct mpi_inside inside);
    /* On threads with RECORDER_COUNTED_CALLS in t->counted: behind the recorded enter of an outermost call, and before its leave. */
    void (*call_begin)(struct recorder_thread *t);
    void (*call_end)(struct recorder_thread *t);
};
extern struct mpi_hooks mpi_hooks RT_HIDDEN;

/* 0: calls are not recorded in windows (REGTRACE_RECORD_MPI=0), hooks still run. Default 1. Set
 * before main. */
extern uint32_t mpi_recorded RT_HIDDEN;

/* 1: nothing can be recorded, counted or closed; calls go straight to the library, but those that make or end
 * communicators, end requests or make persistent ones. Such calls are not known as open: a window that opens inside one has no enter of it.
 * Cleared, by any thread, before anything is recorded. Default 0. */
extern _Atomic uint32_t mpi_asleep RT_HIDDEN;

/* Copy the string at `address` of this process into `buffer` of n bytes, NUL-terminated. Returns
 * its length (cut at n - 1), or -1 where the memory cannot be read before a NUL or n - 1 bytes are
 * found. Never faults: process_vm_readv on itself; where that is forbidden (seccomp), -1.
 * Async-signal-safe, errno kept. */
long mpi_read_string(uint64_t address, char *buffer, size_t n);

/* Of an entry of recorder_thread.open_calls (base/format/recorder.h has the rest of it). */
#define MPI_OPEN_FUNCTION 0x03ffu
#define MPI_OPEN_FORTRAN 0x8000u /* called through a Fortran entry point */

/* At the opening of a window on this thread, after recorder_set_window(): an enter flagged
 * EVENT_FLAG_CUT for each open call that has none, outermost first. At its close, before
 * recorder_set_window(): the matching leaves, innermost first. The wrappers rely on both: a leave
 * is recorded only for a call that has its enter. */
void mpi_cut_enters(struct recorder_thread *t);
void mpi_cut_leaves(struct recorder_thread *t);

/* longjmp is about to restore this stack pointer (the stack grows down): calls of deeper frames are over. */
void mpi_jumped(struct recorder_thread *t, uintptr_t stack);

/* The loaded library's binary interface, found at the first call. */
enum mpi_abi_kind mpi_abi_loaded(void);

/* Instructions of ours in a call of each C function by a thread with t->counted outside windows, 0 not known. What the
 * compiler made of the wrappers differs: each is called, with a function in the place of the real one that does nothing.
 * read: the thread's count. With signals blocked, outside windows, before main. */
#define MPI_OWN_UNKNOWN 0x3ffu
#define MPI_OWN_MEASURED                                                                           \
    0x3feu /* of own_begin(): what follows is no call, and has to be measured at any price */
extern uint32_t mpi_own_cost[MPI_OWN_UNKNOWN + 1];
void mpi_measure_own(uint64_t (*read)(const void *context), const void *context);

/* In a forked child: communicators are described anew in the child's own stream. */
void mpi_after_fork(void);

/* True from the success of MPI_Init or MPI_Session_init to the last MPI_Finalize or
 * MPI_Session_finalize. At other times our code must not call the library. */
extern _Atomic bool mpi_is_up RT_HIDDEN;

/* Requests whose completion could not be recorded for lack of memory. */
extern _Atomic uint64_t mpi_completions_skipped;

#endif
