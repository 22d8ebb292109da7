/* SPDX-License-Identifier: BSD-3-Clause
 * What the parts of preload/ share: the process's state, its life cycle, and the doors of the triggers.
 *
 * Order of life: constructor -> process_start() -> threads begin/end -> process_finish(); fork, exec and _exit
 * pass through the hooks below. Nothing here allocates after the constructor. */
#ifndef REGTRACE_PRELOAD_PRELOAD_H
#define REGTRACE_PRELOAD_PRELOAD_H

#include "base/identity.h"
#include "base/options.h"
#include "base/format/recorder.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Interposed functions carry this; everything else in the object is hidden. */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

struct ctl_config;
struct ctl_shared;

/* One per process; written in the constructor, in forked children and by MPI's hooks. */
struct process {
    bool activated; /* the constructor is over: a thread that is seen first is on its way */
    bool traced;    /* false: every wrapper passes straight through, for good */
    bool writer_started;
    bool links_mpi;
    bool child;          /* a traced process forked or started this one */
    bool follow;         /* REGTRACE_FOLLOW */
    bool in_vfork_child; /* set around vfork in the child: write nothing at all */
    uint32_t pid; /* the pid that owns this state: a differing getpid() means an unseen fork */
    const struct pmu_backend *pmu; /* counts instructions; NULL: nothing does */
    bool steps;                    /* threads may be stepped by the trap flag: SIGTRAP is ours */
    bool probes;                   /* places of the program are patched: SIGTRAP is ours */
    bool values;         /* of instructions are captured: SIGTRAP and faults come to us first */
    bool memory;         /* functions have clones that record: SIGSEGV comes to us first */
    bool overflows;      /* counters of the kernel's interrupt threads: SIGIO may be ours */
    int internal_signal; /* with which we interrupt our own threads; 0 = none reserved */
    struct identity id;
    struct options options;
    char dir[PATH_MAX];        /* "" = no folder yet */
    char wanted_dir[PATH_MAX]; /* absolute, as seen when the program started: it may leave */
    char parent_dir[PATH_MAX]; /* REGTRACE_PARENT as of the start, or "" */
    char stream_path[PATH_MAX];
    struct ctl_config *config;
    struct ctl_shared *shared;
    _Atomic bool forced; /* a named call asked for recording although no chain does */
};
extern struct process process;

/* --- life of the process: constructor.c, writer_start.c, finish.c ----------------------------------- */

/* Start the writer if it does not run yet. Not from handlers. Idempotent. false with a log line on failure. */
bool process_start_writer(void);

/* Normal end: close windows, mark the stream, wait for the writer up to REGTRACE_EXIT_WAIT when `wait`. Idempotent; the
 * reasons are those of EV_WINDOW_CLOSE. Called by the destructor, _exit/quick_exit wrappers. */
void process_finish(unsigned reason, bool wait);

/* The calling thread ends, and with the last one its process, in a way that runs no exit handler. */
void process_thread_ends(void);

/* --- threads: threads.c calls these -------------------------------------------------------------------- */

/* In the new thread, before its start routine. helper: made by MPI, its plug-ins, PMIx, UCX, PAPI: tids from 1000.
 * start_image: path of the object that holds the routine, "" unknown. Safe in any thread; idempotent. */
void thread_begin(uintptr_t start_routine, const char *start_image, bool helper);
/* The thread's end, also by pthread_exit and cancellation: close its windows and its chunk. Idempotent. */
void thread_finish(void);
/* The calling thread's end is to be noticed (thread_finish), however it was made. Async-signal-safe. */
void threads_watch_end(void);
/* The thread gave itself a name (pthread_setname_np, prctl). */
void thread_named(const char *name);

/* --- fork, exec: processes.c calls these ------------------------------------------------------------- */

/* In the parent before and after fork (holds our locks over it), and in the child. */
void process_before_fork(void);
void process_after_fork_parent(pid_t child);
void process_after_fork_child(void);
/* In a child that came out of a system call that no wrapper has seen (recorder_was_forked()): the same, belatedly. */
void process_fork_unseen(void);
/* In such a child: a thread that is not there may have held the lock of the dispositions. signals.c */
void signals_forked(void);
/* Before exec* in the process that will be replaced (not in vfork children): windows closed, stream EXECED.
 * After a failed exec: back to life. */
void process_before_exec(const char *path);
void process_exec_failed(void);
/* Variables that a followed program must get beside the caller's envp: NULL-terminated "NAME=value" texts, e.g.
 * REGTRACE_PARENT=<folder>|<pid>, and LD_PRELOAD completed by us. Valid until the next call. */
const char *const *process_child_environment(void);

/* --- triggers: triggers.c. Async-signal-safe, may be called from any thread at any time ------------- */

/* ip: where it happened, 0 unknown. */
void trigger_signal(int signal_number, uintptr_t ip);
void trigger_image_loaded(const char *path, uintptr_t base, const char *build_id);
void trigger_pcontrol(int level, uint64_t second, bool fortran, uintptr_t ip);
void trigger_function(uintptr_t function, uintptr_t call_site, bool enter);
/* In index order. due: the count of that one has come to zero by it already, and those before it have been counted; -1: none has. */
void trigger_probe(const uint16_t *alarms, unsigned n, uintptr_t ip, int due);
void trigger_requests(void);         /* serve what `regtrace ctl` asked for */
void trigger_timers(int timer_code); /* a timeout is over: code = chain */

/* Does any chain name this signal? Then its disposition must pass through us even where the program has no handler. */
bool trigger_wants_signal(int signal_number);
bool trigger_wants_images(void);

/* --- windows: windows.c ------------------------------------------------------------------------------- */

/* Lazily follow broadcast edges: installed as recorder_sync. */
uint32_t windows_sync(struct recorder_thread *t);
void windows_thread_start(struct recorder_thread *t);
void windows_close_thread(struct recorder_thread *t, unsigned reason, uint64_t icount);

/* Start or stop by our own header or by a preset: like a fired alarm without a chain. */
void windows_edge(struct recorder_thread *t, bool open, bool bcast, uintptr_t ip);
/* The same for any event of the control language; event is an enum ctl_event. */
void windows_fire(struct recorder_thread *t, unsigned event, bool bcast, uintptr_t ip);

/* Calls function(argument). Moves to one of our stacks if the stack of the thread, or the alternate
 * stack of the signal, is too small for our code. context: of the calling handler; NULL outside
 * handlers. The function must not wait or fault. with_room.c */
void run_with_room(const void *context, void (*function)(void *), void *argument);
/* The same for code that reads image files. Not from handlers. */
void run_with_much_room(void (*function)(void *), void *argument);

/* --- signals: signals.c -------------------------------------------------------------------------------- */

/* Reserve and install the internal signal; the real sigaction, past our own wrapper. */
int signals_install(void);
int signals_real_sigaction(int signo, const struct sigaction *act, struct sigaction *old);
/* The handler of the internal signal calls this: si_code/si_value tell timers, requests and edges apart. */
void process_interrupted(siginfo_t *info, void *context);
/* Calls process_interrupted(info, place) on a stack with enough room. context: of our handler.
 * place: the context of the interrupted program code (waits_place()). with_room.c */
void interrupted_with_room(siginfo_t *info, void *context, void *place);

/* The next definition of a symbol after ours (dlsym RTLD_NEXT), found once; NULL if there is none. */
void *preload_next(const char *name);

#endif
