/* SPDX-License-Identifier: BSD-3-Clause
 * Wraps fork, _Fork, clone, vfork, posix_spawn, system, popen and _exit. Gives a child its own
 * state, and lets the parent go on.
 *
 * Our atfork handlers follow ordinary forks. They are registered before all others, so they run
 * innermost: the program's own handlers may call MPI or us, and forks inside libc (daemon(),
 * forkpty()) are seen as well. A child of clone() with CLONE_VM borrows our memory and is left
 * alone. A child of a raw system call is noticed when it first records (recorder_was_forked()). */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/environment.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/memory/memory.h"
#include "preload/process.h"
#include "preload/thread.h"

#include <errno.h>
#include <sched.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;
extern void *__dso_handle __attribute__((visibility("hidden")));
int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso);

__thread uint32_t processes_vfork_depth;

bool processes_is_borrower(void)
{
    return processes_vfork_depth != 0 ||
           (process.pid != 0 && (uint32_t)sys_getpid() != process.pid);
}

/* --- fork ------------------------------------------------------------------------------------- */

static void before_fork(void)
{
    signals_makes_child();
    process_before_fork();
    signals_before_fork();
}

static void after_fork_parent(void)
{
    signals_after_fork();
    process_after_fork_parent(0);
}

static void after_fork_child(void)
{
    signals_after_fork();
    signals_main_forked();
    signals_forget_withheld();
    process_after_fork_child();
}

static void register_ours(void)
{
    static _Atomic uint32_t registered;
    if (atomic_exchange(&registered, 1) == 0)
        (void)NEXT(__register_atfork)(before_fork, after_fork_parent, after_fork_child,
                                      &__dso_handle);
}

/* The first caller registers our handlers, whichever constructor that is. The thread sanitizer
 * calls this before any code that it has instrumented can run; in its builds our constructor
 * registers them. */
#ifndef __SANITIZE_THREAD__
PRELOAD_EXPORT int __register_atfork(void (*prepare)(void), void (*parent)(void),
                                     void (*child)(void), void *dso)
{
    register_ours();
    if (prepare == NULL && parent == NULL && child == NULL)
        return 0;
    return NEXT(__register_atfork)(prepare, parent, child, dso);
}
#endif

static void child_made(pid_t child)
{
    struct recorder_thread *t = &recorder_self;
    if (child > 0 && process.traced && processes_vfork_depth == 0 && recorder_is_on() &&
        recorder_active(t))
        (void)recorder_emit(t, EV_FORK, (uint64_t)child, 0);
}

/* If memory is traced and a window was open at the fork, opens it again now, so that no access
 * before the child's first event is missed. */
static void child_goes_on(void)
{
    const struct preload_thread *pt = recorder_self.preload_thread;
    if (memory_is_traced && process.traced && processes_vfork_depth == 0 && pt != NULL &&
        pt->was_recording)
        (void)recorder_active(&recorder_self);
}

PRELOAD_EXPORT pid_t fork(void)
{
    unsigned own = counting_own_begin();
    pid_t child = NEXT(fork)();
    int keep = errno;
    if (child == 0)
        child_goes_on();
    child_made(child);
    counting_own_end(own);
    errno = keep;
    return child;
}

/* _Fork() runs no atfork handlers. Signal handlers may call it; what we do around it is
 * async-signal-safe as well. */
PRELOAD_EXPORT pid_t _Fork(void)
{
    unsigned own = counting_own_begin();
    before_fork();
    pid_t child = NEXT(_Fork)();
    int keep = errno;
    if (child == 0) {
        after_fork_child();
        child_goes_on();
    } else {
        after_fork_parent();
        child_made(child);
    }
    counting_own_end(own);
    errno = keep;
    return child;
}

/* --- clone ------------------------------------------------------------------------------------ */

struct clone_start {
    int (*function)(void *);
    void *argument;
};

/* In the child, on its copy of our memory. The child ends when its function returns, without a call
 * of any wrapper. */
static int start_clone(void *p)
{
    struct clone_start s = *(const struct clone_start *)p;
    after_fork_child();
    child_goes_on();
    struct pmu_inside inside = counting_program_begin();
    int result = s.function(s.argument);
    counting_program_end(inside);
    if (processes_vfork_depth == 0)
        process_thread_ends();
    return result;
}

static pid_t clone_copy(int (*function)(void *), void *stack, int flags, void *argument,
                        pid_t *parent_tid, void *tls, pid_t *child_tid)
{
    struct clone_start s = {.function = function, .argument = argument};
    unsigned own = counting_own_begin();
    before_fork();
    pid_t child = NEXT(clone)(start_clone, stack, flags, &s, parent_tid, tls, child_tid);
    int keep = errno;
    after_fork_parent();
    child_made(child);
    counting_own_end(own);
    errno = keep;
    return child;
}

/* Reads all three optional arguments, as libc does, although the caller may have passed fewer. A
 * child with its own thread-local storage (CLONE_SETTLS) does not know what this thread knows, so
 * it is noticed later, as the children of raw system calls are. */
PRELOAD_EXPORT int clone(int (*function)(void *), void *stack, int flags, void *argument, ...)
{
    va_list list;
    va_start(list, argument);
    pid_t *parent_tid = va_arg(list, pid_t *);
    void *tls = va_arg(list, void *);
    pid_t *child_tid = va_arg(list, pid_t *);
    va_end(list);
    bool other = (flags & (CLONE_VM | CLONE_SETTLS)) != 0 || function == NULL || stack == NULL ||
                 !process.traced || processes_vfork_depth != 0 || recorder_self.in_toolkit;
    if (other)
        return NEXT(clone)(function, stack, flags, argument, parent_tid, tls, child_tid);
    return clone_copy(function, stack, flags, argument, parent_tid, tls, child_tid);
}

/* --- vfork: the stub calls these -------------------------------------------------------------- */

/* The child runs on this thread's memory. vfork_prepare() switches everything of ours off for the
 * child; the parent restores this state. */
struct vfork_state {
    uint8_t attachment; /* enum recorder_attachment */
    uint8_t blocked;    /* the internal signal, which we have blocked, or 0 */
    uint32_t recording;
    uint64_t hidden;
};
static __thread struct vfork_state before_vfork;

__attribute__((visibility("hidden"))) void vfork_prepare(void);
__attribute__((visibility("hidden"))) long vfork_returns(long result);

/* The kernel delivers a signal that has come meanwhile as it resumes the parent, where everything
 * of ours is still off: the edge of a window would be lost. So the internal signal waits. Returns
 * the signal, or 0 if it was blocked before. */
static uint8_t block_internal(void)
{
    uint64_t before = 0, set;
    int signo = signals_reserved;
    if (signo == 0)
        return 0;
    set = sys_signal_bit(signo);
    (void)sys_call6(SYS_rt_sigprocmask, SIG_BLOCK, (long)&set, (long)&before, sizeof set, 0, 0);
    return (before & set) != 0 ? 0 : (uint8_t)signo;
}

/* The child unblocks it as well: a program that it executes must not inherit our mask. */
static void unblock_internal(void)
{
    uint64_t set = before_vfork.blocked != 0 ? sys_signal_bit(before_vfork.blocked) : 0;
    if (set != 0)
        (void)sys_call6(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&set, 0, sizeof set, 0, 0);
}

void vfork_prepare(void)
{
    struct recorder_thread *t = &recorder_self;
    if (processes_vfork_depth != 0) {
        processes_vfork_depth++;
        return;
    }
    uint8_t blocked = block_internal();
    signals_makes_child();
    processes_vfork_depth = 1;
    before_vfork = (struct vfork_state){.attachment = (uint8_t)t->attachment,
                                        .blocked = blocked,
                                        .recording = t->recording,
                                        .hidden = signals_hidden};
    t->attachment = RECORDER_DETACHED;
    t->recording = 0;
    t->in_toolkit++;
    memory_vfork(true);
}

/* Called in the child, with 0, and then in the parent. Returns what vfork returns; sets errno. */
long vfork_returns(long result)
{
    struct recorder_thread *t = &recorder_self;
    if (result == 0) {
        if (processes_vfork_depth == 1)
            unblock_internal();
        return 0;
    }
    if (--processes_vfork_depth == 0) {
        t->in_toolkit--;
        t->attachment = (enum recorder_attachment)before_vfork.attachment;
        t->recording = before_vfork.recording;
        signals_hidden = before_vfork.hidden;
        memory_vfork(false);
        child_made((pid_t)result);
        unblock_internal();
    }
    if (result < 0) {
        errno = (int)-result;
        return -1;
    }
    return result;
}

/* --- posix_spawn, system, popen --------------------------------------------------------------- */

typedef int spawn_function(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                           const posix_spawnattr_t *attributes, char *const argv[],
                           char *const envp[]);

static int spawn(spawn_function *real, pid_t *pid, const char *path,
                 const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attributes,
                 char *const argv[], char *const envp[])
{
    size_t room = environment_room(envp);
    char **list = __builtin_alloca(room * sizeof *list);
    pid_t child = -1;
    struct signals_inherited saved;
    unsigned own = counting_own_begin();
    signals_makes_child();
    signals_before_exec(&saved);
    int rc = real(&child, path, actions, attributes, argv, environment_complete(envp, list, room));
    signals_after_exec(&saved);
    if (rc == 0 && pid != NULL)
        *pid = child;
    if (rc == 0)
        child_made(child);
    counting_own_end(own);
    return rc;
}

PRELOAD_EXPORT int posix_spawn(pid_t *restrict pid, const char *restrict path,
                               const posix_spawn_file_actions_t *restrict actions,
                               const posix_spawnattr_t *restrict attributes,
                               char *const argv[restrict], char *const envp[restrict])
{
    return spawn(NEXT(posix_spawn), pid, path, actions, attributes, argv, envp);
}

PRELOAD_EXPORT int posix_spawnp(pid_t *pid, const char *file,
                                const posix_spawn_file_actions_t *actions,
                                const posix_spawnattr_t *attributes, char *const argv[],
                                char *const envp[])
{
    return spawn(NEXT(posix_spawnp), pid, file, actions, attributes, argv, envp);
}

PRELOAD_EXPORT int system(const char *command)
{
    struct signals_inherited saved;
    unsigned own = counting_own_begin();
    signals_makes_child();
    signals_before_exec(&saved);
    int rc = NEXT(system)(command);
    signals_after_exec(&saved);
    counting_own_end(own);
    return rc;
}

PRELOAD_EXPORT FILE *popen(const char *command, const char *mode)
{
    struct signals_inherited saved;
    unsigned own = counting_own_begin();
    signals_makes_child();
    signals_before_exec(&saved);
    FILE *f = NEXT(popen)(command, mode);
    signals_after_exec(&saved);
    counting_own_end(own);
    return f;
}

/* --- ends without destructors ----------------------------------------------------------------- */

static void end_now(void)
{
    /* Makes no system call if nothing was recorded: the program may have forbidden itself all but
     * this exit. */
    if (processes_vfork_depth == 0 && atomic_load(&process_start_state) != START_UNTRIED)
        process_finish(RT_WINDOW_PROGRAM_END, true); /* checks the pid itself */
}

PRELOAD_EXPORT void _exit(int status)
{
    end_now();
    NEXT(_exit)(status);
    for (;;)
        (void)sys_call6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

PRELOAD_EXPORT void _Exit(int status)
{
    end_now();
    NEXT(_Exit)(status);
    for (;;)
        (void)sys_call6(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

/* REGTRACE_FOLLOW=0: no program that this one starts, in whatever way, is to load this library.
 * Shortens the LD_PRELOAD entry in place; other preloaded objects stay. */
static void forget_preload(void)
{
    for (char **e = environ; e != NULL && *e != NULL; e++)
        if (environment_is(*e, "LD_PRELOAD")) {
            environment_cut_library(*e);
            return;
        }
}

void processes_prepare(void)
{
    register_ours();
    (void)at_quick_exit(end_now); /* last in, first out: runs after the program's */
    if (!process.follow)
        forget_preload();
}
