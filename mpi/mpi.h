/* SPDX-License-Identifier: BSD-3-Clause
 * Interface of mpi/ for preload/: hooks at MPI's start and end, Pcontrol, cut edges of open
 * calls. */
#ifndef REGTRACE_MPI_MPI_H
#define REGTRACE_MPI_MPI_H

#include "base/format/recorder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Binary interface of the loaded MPI library. */
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
 * on the calling thread with t->in_toolkit 0, and once a call, also if a Fortran stub calls the C
 * function. */
struct mpi_hooks {
    /* Before the real MPI_Init, MPI_Init_thread or MPI_Session_init. */
    void (*init_begin)(void);
    /* The call failed, or a jump or an exception left it. May be called with every signal
     * blocked. */
    void (*init_failed)(void);
    /* After the call succeeded. rank and size are MPI's own for MPI_COMM_WORLD; -1 after
     * MPI_Session_init, which is local and may happen often, unless MPI_Init has succeeded too.
     * thread_level as MPI_Init provided it; abi is an enum mpi_abi_kind. */
    void (*init_done)(int rank, int size, int thread_level, int abi);
    void (*finalize_begin)(void);
    void (*finalize_done)(void);
    /* Before the real MPI_Abort, which does not return. */
    void (*abort_called)(int code);
    /* MPI_Pcontrol. second_arg is what the second argument's register held: a pointer, a number, or
     * left over from before the call; read it with mpi_read_string() only. 0 from Fortran, which
     * passes the level alone. caller: return address; frame: that of the called function.
     * MPI_Pcontrol makes no enter and leave events: the hook records what it wants. */
    void (*pcontrol)(int level, uint64_t second_arg, int is_fortran, void *frame);
    /* On threads with t->counted: own_* enclose every wrapper; program_* enclose each real
     * function, whose instructions are the program's. Each end gets what its begin returned.
     * function: its number, MPI_OWN_UNKNOWN or MPI_OWN_MEASURED. */
    unsigned (*own_begin)(unsigned function);
    void (*own_end)(unsigned own);
    struct mpi_inside (*program_begin)(void);
    void (*program_end)(struct mpi_inside inside);
    /* On threads with RECORDER_COUNTED_CALLS in t->counted: after the recorded enter of an
     * outermost call, and before its leave. */
    void (*call_begin)(struct recorder_thread *t);
    void (*call_end)(struct recorder_thread *t);
    /* Enters a call path: code at `address` that was called from the path `parent` (0: unknown).
     * Returns its number, 0 if that is impossible. Also called in signal handlers. */
    uint32_t (*path_enter)(uint32_t parent, uintptr_t address);
    /* Returns the call path of the code whose return address lies at that address of the calling
     * thread's stack, with at most `most` callers. */
    uint32_t (*path_of_stack)(uintptr_t return_at, unsigned most);
};
extern struct mpi_hooks mpi_hooks RT_HIDDEN;

/* 0: windows do not record calls (REGTRACE_MPI=0); hooks still run. Default 1. Set before
 * main. */
extern uint32_t mpi_recorded RT_HIDDEN;

/* How many callers the call path of a recorded call has (REGTRACE_CALLPATH): 0 none, 1 its call
 * site. Default 0. Set before main. */
extern uint32_t mpi_path_depth RT_HIDDEN;

/* The profile (mpi/profile.h). mpi_profile_forget(): what threads have found is not valid any more:
 * the stream has changed, images have been unloaded, or a communicator has begun or ended.
 * mpi_profile_measure(): from its begin to its end, calls belong to no profile, but take the same
 * instructions. */
extern const size_t mpi_profile_bytes RT_HIDDEN; /* at t->profile, zeroed */
void mpi_profile_forget(void);
void mpi_profile_measure(bool begins);

/* 1: nothing can be recorded, counted or closed, so calls go straight to the library. Exceptions
 * are calls that make or end communicators, end requests or make persistent ones. Calls that go
 * straight to the library are not noted as open: a window that opens inside such a call has no
 * enter event of it. Any thread clears it before anything is recorded. Default 0. */
extern _Atomic uint32_t mpi_asleep RT_HIDDEN;

/* 0: a window can never open, so messages need no numbers. Default 1. Set before main. */
extern uint32_t mpi_windows_possible RT_HIDDEN;

/* 1: messages and collective calls are numbered (mpi/numbers.h). Set as MPI_Init succeeds, if
 * windows may open later. */
extern uint32_t mpi_numbering RT_HIDDEN;

/* Copies the string at `address` of this process into `buffer` of n bytes, NUL-terminated. Returns
 * its length (cut at n - 1), or -1 if the memory becomes unreadable before a NUL or n - 1 bytes.
 * Never faults: it uses process_vm_readv on itself; if that is forbidden (seccomp), returns -1.
 * Async-signal-safe; preserves errno. */
long mpi_read_string(uint64_t address, char *buffer, size_t n);

/* Bits of an entry of recorder_thread.open_calls; base/format/recorder.h defines the others. */
#define MPI_OPEN_FUNCTION 0x03ffu
#define MPI_OPEN_FORTRAN 0x8000u /* called through a Fortran entry point */

/* mpi_cut_enters(): call it when a window opens on this thread, after recorder_set_window(). Writes
 * an enter flagged EVENT_FLAG_CUT for each open call that has none, outermost first.
 * mpi_cut_leaves(): call it when the window closes, before recorder_set_window(). Writes the
 * matching leaves, innermost first. The wrappers rely on both: they record a leave only for a call
 * that has its enter. */
void mpi_cut_enters(struct recorder_thread *t);
void mpi_cut_leaves(struct recorder_thread *t);

/* longjmp is about to restore this stack pointer: ends the calls of deeper frames. (The stack grows
 * down.) */
void mpi_jumped(struct recorder_thread *t, uintptr_t stack);

/* Returns the loaded library's binary interface, found at the first call. */
enum mpi_abi_kind mpi_abi_loaded(void);

/* Instructions of regtrace in a call of each C function, for a thread with t->counted outside
 * windows; 0: not known. mpi_measure_own() fills the table. Compilers build wrappers differently,
 * so it calls each one, with a real function that does nothing. `read` returns the thread's count.
 * Call it before main, outside windows, with signals blocked. */
#define MPI_OWN_UNKNOWN 0x3ffu
#define MPI_OWN_MEASURED                                                                           \
    0x3feu /* for own_begin(): what follows is no call with a known cost, so measure in any case */
extern uint32_t mpi_own_cost[MPI_OWN_UNKNOWN + 1];
void mpi_measure_own(uint64_t (*read)(const void *context), const void *context);

/* In a forked child: forgets the numbers of communicators, so that the child's own stream describes
 * them anew. */
void mpi_after_fork(void);

/* True from the success of MPI_Init or MPI_Session_init to the last MPI_Finalize or
 * MPI_Session_finalize. At other times our code must not call the library. */
extern _Atomic bool mpi_is_up RT_HIDDEN;

/* Number of requests whose completion could not be recorded for lack of memory. */
extern _Atomic uint64_t mpi_completions_skipped;

/* How often a message had no number, or the numbering of a key had to end: a table had no room, a
 * receive was freed while it was open, or one was cancelled that was not the last of its key. */
extern _Atomic uint64_t mpi_messages_unnumbered RT_HIDDEN;

#endif
