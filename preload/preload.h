/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by all parts of preload/: the state of the process, its life cycle, and the entry points
 * of the triggers.
 *
 * Order of a life: the constructor, process_ensure_started(), threads begin and end,
 * process_finish(). fork, exec and _exit pass through the functions below. Nothing here allocates
 * memory after the constructor. */
#ifndef REGTRACE_PRELOAD_PRELOAD_H
#define REGTRACE_PRELOAD_PRELOAD_H

#include "base/identity.h"
#include "base/options.h"
#include "base/format/recorder.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Marks interposed functions. Everything else in the object is hidden. */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

struct ctl_config;
struct ctl_shared;

/* The state of the process. The constructor, forked children and MPI's hooks write it. */
struct process {
    /* The constructor is over: a thread that is first seen now has already executed code of the
     * program. */
    bool activated;
    bool traced; /* false: every wrapper passes straight through, for good */
    bool writer_started;
    bool links_mpi;
    bool child;          /* a traced process forked or started this one */
    bool follow;         /* REGTRACE_FOLLOW */
    bool in_vfork_child; /* the process is a child of vfork: write nothing at all */
    uint32_t pid;        /* pid that owns this state; a different getpid() means an unseen fork */
    const struct pmu_backend *pmu; /* instruction counter; NULL: none */
    int internal_signal;           /* interrupts our own threads; 0: none is reserved */
    struct identity id;
    struct options options;
    char dir[PATH_MAX]; /* "": no folder yet */
    /* Absolute, from the start of the program, which may change its working directory later. */
    char wanted_dir[PATH_MAX];
    char parent_dir[PATH_MAX]; /* REGTRACE_PARENT at the start, or "" */
    char stream_path[PATH_MAX];
    struct ctl_config *config;
    struct ctl_shared *shared;
    _Atomic bool forced; /* a named call asked for recording although no chain does */
};
extern struct process process;

/* --- life of the process: constructor.c, writer_start.c, start.c, finish.c -------------------- */

/* Starts the writer unless it runs already. Not for signal handlers. Idempotent. Returns false,
 * with a line in the log, if it cannot. */
bool process_start_writer(void);

/* Ends the recording normally: closes the windows, marks the stream and, with `wait`, waits for the
 * writer up to REGTRACE_EXIT_WAIT. reason: of EV_WINDOW_CLOSE. Idempotent. Called by the destructor
 * and at _exit() and quick_exit(). */
void process_finish(unsigned reason, bool wait);

/* Call it if the calling thread ends, and with the last thread its process, in a way that runs no
 * exit handler. */
void process_thread_ends(void);

/* --- threads: attach.c; threads.c calls these ------------------------------------------------- */

/* Call it in a new thread before its start routine. start_image: path of the object that contains
 * the routine; "": unknown. helper: MPI, its plug-ins, PMIx, UCX or PAPI made the thread; such
 * threads have numbers from 1000 on. Safe in any thread; idempotent. */
void thread_begin(uintptr_t start_routine, const char *start_image, bool helper);
/* Call it at the thread's end, also after pthread_exit() and cancellation: closes its windows and
 * its chunk. Idempotent. */
void thread_finish(void);
/* Makes sure that thread_finish() is called when the calling thread ends, however that thread was
 * made. Async-signal-safe. */
void threads_watch_end(void);
/* Notes the name that the thread gave itself (pthread_setname_np, prctl). */
void thread_named(const char *name);

/* --- fork, exec: fork.c, new_program.c; processes.c calls these ------------------------------- */

/* Call these in the parent before and after fork, and in the child. Signals are blocked in
 * between. */
void process_before_fork(void);
void process_after_fork_parent(pid_t child);
void process_after_fork_child(void);
/* Does the same, belatedly, in a child of a system call that no wrapper has seen
 * (recorder_was_forked()). */
void process_fork_unseen(void);
/* In such a child: releases the lock of the dispositions, which a thread that does not exist here
 * may have held. signals.c */
void signals_forked(void);
/* Call it before exec in the process that will be replaced (not in children of vfork): closes the
 * windows and marks the stream STREAM_EXECED. After a failed exec process_exec_failed() reverts
 * that. */
void process_before_exec(const char *path);
void process_exec_failed(void);
/* Returns the variables that a traced child program must get in addition to the caller's envp, as a
 * NULL-terminated list of "NAME=value" texts (REGTRACE_PARENT=<folder>). The list is empty while
 * this process has no folder. Valid until the next call. */
const char *const *process_child_environment(void);

/* --- triggers: preload/window/. Async-signal-safe, may be called from any thread at any time -- */

/* ip: address where it happened; 0: unknown. */
void trigger_signal(int signal_number, uintptr_t ip);
void trigger_image_loaded(const char *path, uintptr_t base, const char *build_id);
void trigger_pcontrol(int level, uint64_t second, bool fortran, uintptr_t ip);
void trigger_function(uintptr_t function, uintptr_t call_site, bool enter);
/* A probe of these alarms, in index order, was hit. due: the index in `alarms` of the one whose
 * count the probe's code has brought to zero, after it has counted those before it; or
 * PROBE_COUNTED_NOTHING. */
enum { PROBE_COUNTED_NOTHING = -1 };
void trigger_probe(const uint16_t *alarms, unsigned n, uintptr_t ip, int due);
void trigger_requests(void);         /* serves what `regtrace ctl` asked for */
void trigger_timers(int timer_code); /* a timeout is over; the code is its chain */

/* Does any chain name this signal? Then it must come to us even if the program has no handler. */
bool trigger_wants_signal(int signal_number);
bool trigger_wants_images(void);

/* --- windows: windows.c, control_events.c ----------------------------------------------------- */

/* Follows the broadcast edges of other threads; installed as recorder_sync, so that a thread
 * follows them when it next records. Returns nonzero if the thread is in a window then. */
uint32_t windows_sync(struct recorder_thread *t);
void windows_close_thread(struct recorder_thread *t, unsigned reason, uint64_t icount);

/* Starts or stops a window for a call of our header or of a preset, as a fired alarm without a
 * chain would. */
void control_edge(struct recorder_thread *t, bool open, bool bcast, uintptr_t ip);
/* Does the same for any event of the control language; event is an enum ctl_event. */
void control_event(struct recorder_thread *t, unsigned event, bool bcast, uintptr_t ip);

/* Calls function(argument). Moves to one of our stacks if the stack of the thread, or the alternate
 * stack of the signal, is too small for our code. context: of the calling handler; NULL outside
 * handlers. The function must not wait or fault. with_room.c */
void run_with_room(const void *context, void (*function)(void *), void *argument);
/* The same for code that reads image files. Not from handlers. */
void run_with_much_room(void (*function)(void *), void *argument);

/* --- signals: preload/libc/ ------------------------------------------------------------------- */

/* signals_install() reserves the internal signal and installs its handler. Returns 0, or -errno if
 * no signal is free. signals_real_sigaction() is libc's sigaction(), without our wrapper. */
int signals_install(void);
int signals_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old);
/* Called by the handler of the internal signal. si_code and si_value tell timers, requests and
 * edges apart. */
void process_interrupted(siginfo_t *info, void *context);
/* Calls process_interrupted(info, place) on a stack with enough room. context: of our handler.
 * place: the context of the interrupted program code (waits_place()). with_room.c */
void interrupted_with_room(siginfo_t *info, void *context, void *place);

/* Looks up the next definition of a symbol after ours (dlsym RTLD_NEXT). Returns NULL if there is
 * none. */
void *preload_next(const char *name);

#endif
