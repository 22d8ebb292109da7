/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the traced command as a child: passes signals on, and ends this process exactly as the child
 * ended. */
#include "tools/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child_pid;

/* Passes a signal on to the child if another process sent it to us. The terminal sends its signals
 * to the whole process group, including the child; if we passed those on, the child would get them
 * twice (mpirun takes a second SIGINT as "now"). */
static void pass_on(int signo, siginfo_t *info, void *context)
{
    (void)context;
    int saved = errno;
    if (info->si_code <= 0 && child_pid > 0)
        (void)kill(child_pid, signo);
    errno = saved;
}

static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
#define PASSED_COUNT (sizeof passed / sizeof *passed)

static void catch_signals(struct sigaction old[PASSED_COUNT + 1])
{
    struct sigaction act = {.sa_sigaction = pass_on, .sa_flags = SA_SIGINFO | SA_RESTART};
    (void)sigfillset(&act.sa_mask);
    for (size_t i = 0; i < PASSED_COUNT; i++)
        (void)sigaction(passed[i], &act, &old[i]);
    /* An inherited SIG_IGN would discard the child's status. */
    act = (struct sigaction){.sa_handler = SIG_DFL};
    (void)sigaction(SIGCHLD, &act, &old[PASSED_COUNT]);
}

/* In the child: restores the signal dispositions that we were started with, then executes the
 * program. If that fails, writes the reason to the pipe, which a successful exec closes. */
static _Noreturn void exec_program(const char *path, char *const *command,
                                   const struct sigaction *old, const sigset_t *mask, int report)
{
    for (size_t i = 0; i < PASSED_COUNT; i++)
        (void)sigaction(passed[i], &old[i], NULL);
    (void)sigaction(SIGCHLD, &old[PASSED_COUNT], NULL);
    (void)sigprocmask(SIG_SETMASK, mask, NULL);
    (void)execv(path, command);
    int reason = errno;
    if (write(report, &reason, sizeof reason) < 0)
        reason = ENOEXEC;
    _exit(127);
}

int child_run(const char *path, char *const *command)
{
    int ends[2], status = 0, reason = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return -errno;
    sigset_t all, mask;
    struct sigaction old[PASSED_COUNT + 1]; /* the last: SIGCHLD */
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &mask);
    (void)fflush(NULL);
    catch_signals(old);
    pid_t pid = fork();
    if (pid == 0)
        exec_program(path, command, old, &mask, ends[1]);
    child_pid = pid;
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return -EAGAIN;
    }
    bool failed = read(ends[0], &reason, sizeof reason) == (ssize_t)sizeof reason;
    (void)close(ends[0]);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    child_pid = 0;
    return failed ? -reason : status;
}

_Noreturn void child_end_as(int status)
{
    (void)fflush(NULL);
    if (!WIFSIGNALED(status))
        exit(WEXITSTATUS(status));
    int signo = WTERMSIG(status);
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0}); /* the program wrote its own core file */
    (void)signal(signo, SIG_DFL);
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, signo);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)raise(signo);
    exit(128 + signo);
}
