/* SPDX-License-Identifier: BSD-3-Clause
 * Wraps the exec family. Before an exec it closes what was recorded, and gives the next program
 * what it needs to be traced. If exec fails it puts everything back. Allocates nothing, because
 * exec is called in children of vfork and in signal handlers. */
#include "preload/libc/interpose.h"

#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/environment.h"
#include "preload/libc/signals.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/thread.h"
#include "preload/window/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

extern char **environ;

enum exec_kind { EXEC_VE, EXEC_VPE, EXEC_FD, EXEC_AT };

struct exec_call {
    enum exec_kind kind;
    int fd, flags;
    const char *path;
    char *const *argv, *const *envp;
};

static int exec_really(const struct exec_call *c, char *const envp[])
{
    switch (c->kind) {
    case EXEC_VE: return NEXT(execve)(c->path, c->argv, envp);
    case EXEC_VPE: return NEXT(execvpe)(c->path, c->argv, envp);
    case EXEC_FD: return NEXT(fexecve)(c->fd, c->argv, envp);
    case EXEC_AT: return NEXT(execveat)(c->fd, c->path, c->argv, envp, c->flags);
    }
    return -1;
}

/* Holds or releases the thread's counters. Returns whether they were held before. A counter that
 * overflows in the last steps before exec leaves a signal pending, which would end the new program,
 * because that has no handler for it yet. Signals of other threads end with those threads. */
static bool hold_counters(bool held)
{
    struct preload_thread *pt = recorder_self.preload_thread;
    if (pt == NULL)
        return false;
    bool before = pt->counting.held;
    parts_hold(pt, held);
    return before;
}

static int exec_common(const struct exec_call *c)
{
    if (processes_vfork_depth == 0 && !process.traced)
        return exec_really(c, c->envp);
    size_t room = environment_room(c->envp);
    char **list = __builtin_alloca(room * sizeof *list);
    char *const *envp = environment_complete(c->envp, list, room);
    bool borrower = processes_is_borrower(), held = false;
    struct signals_inherited saved;
    unsigned own = 0;
    if (!borrower) {
        own = counting_own_begin();
        process_before_exec(c->path);
        held = hold_counters(true);
    }
    signals_before_exec(&saved);
    if (!borrower)
        signals_send_withheld(); /* the new program inherits pending signals */
    int rc = exec_really(c, envp);
    int keep = errno;
    signals_after_exec(&saved);
    if (!borrower) {
        (void)hold_counters(held);
        process_exec_failed();
        counting_own_end(own);
    }
    errno = keep;
    return rc;
}

PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
    return exec_common(
        &(struct exec_call){.kind = EXEC_VE, .path = path, .argv = argv, .envp = envp});
}

PRELOAD_EXPORT int execv(const char *path, char *const argv[])
{
    return exec_common(
        &(struct exec_call){.kind = EXEC_VE, .path = path, .argv = argv, .envp = environ});
}

PRELOAD_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return exec_common(
        &(struct exec_call){.kind = EXEC_VPE, .path = file, .argv = argv, .envp = envp});
}

PRELOAD_EXPORT int execvp(const char *file, char *const argv[])
{
    return exec_common(
        &(struct exec_call){.kind = EXEC_VPE, .path = file, .argv = argv, .envp = environ});
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
    return exec_common(
        &(struct exec_call){.kind = EXEC_FD, .fd = fd, .path = "", .argv = argv, .envp = envp});
}

PRELOAD_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[],
                            int flags)
{
    return exec_common(&(struct exec_call){
        .kind = EXEC_AT, .fd = fd, .flags = flags, .path = path, .argv = argv, .envp = envp});
}

/* Returns the number of arguments, including the first one and the NULL. */
static size_t count_arguments(va_list list)
{
    size_t n = 1;
    while (va_arg(list, char *) != NULL)
        n++;
    return n + 1;
}

/* Copies `first` and the variable arguments after it to argv[n], including the NULL. The asm
 * statement is there because the compiler assumes that `first` is never NULL. An empty argv is
 * wrong, but the system is to judge that. */
#define TAKE_ARGUMENTS(argv, first)                                                                \
    const char *argv##_0 = first;                                                                  \
    __asm__("" : "+r"(argv##_0));                                                                  \
    va_list count_list, list;                                                                      \
    va_start(list, first);                                                                         \
    va_copy(count_list, list);                                                                     \
    size_t n = argv##_0 == NULL ? 1 : count_arguments(count_list);                                 \
    va_end(count_list);                                                                            \
    char **argv = __builtin_alloca(n * sizeof *argv);                                              \
    argv[0] = (char *)(size_t)argv##_0;                                                            \
    for (size_t i = 1; i < n; i++)                                                                 \
    argv[i] = va_arg(list, char *)

PRELOAD_EXPORT int execl(const char *path, const char *argument, ...)
{
    TAKE_ARGUMENTS(argv, argument);
    va_end(list);
    return execv(path, argv);
}

PRELOAD_EXPORT int execlp(const char *file, const char *argument, ...)
{
    TAKE_ARGUMENTS(argv, argument);
    va_end(list);
    return execvp(file, argv);
}

PRELOAD_EXPORT int execle(const char *path, const char *argument, ...)
{
    TAKE_ARGUMENTS(argv, argument);
    char *const *envp = va_arg(list, char *const *);
    va_end(list);
    return execve(path, argv, envp);
}
