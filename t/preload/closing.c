/* SPDX-License-Identifier: BSD-3-Clause
 * closing GO PROGRAM: runs the program under ptrace(2) and stops it when it checks by kill(pid, 0)
 * whether its writer is alive. Then creates the file GO, for which the writer waits, and lets the
 * program go on once the writer has ended. So the writer closes its file between two checks of one
 * wait. Prints whether that happened. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A zombie counts as dead: it may stay one if init does not wait for its children. */
static int lives(pid_t pid)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *p = strrchr(text, ')');
    return p != NULL && p[1] == ' ' && p[2] != 'Z' && p[2] != 'X';
}

static void let_writer_end(const char *go, pid_t writer)
{
    int fd = open(go, O_WRONLY | O_CREAT, 0666);
    if (fd >= 0)
        (void)close(fd);
    while (lives(writer))
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Returns the pid that a stopped thread is about to pass to kill(pid, 0); 0: it is not at such a
 * call. */
static pid_t asked_for(pid_t tracee)
{
    struct __ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, tracee, (void *)sizeof info, &info) <= 0 ||
        info.op != PTRACE_SYSCALL_INFO_ENTRY || info.entry.nr != SYS_kill ||
        info.entry.args[1] != 0)
        return 0;
    return (pid_t)info.entry.args[0];
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        (void)setenv("LD_PRELOAD", getenv("LIBREGTRACE"), 1);
        (void)execv(argv[2], argv + 2);
        _exit(127);
    }
    int status = 0, asked = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 3;
    (void)ptrace(PTRACE_SETOPTIONS, child, NULL,
                 (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (int signo = 0; ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)signo) == 0;) {
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            break;
        signo = WSTOPSIG(status);
        if (signo == SIGTRAP)
            signo = 0; /* the stop at exec */
        if (signo != (SIGTRAP | 0x80))
            continue;
        signo = 0;
        pid_t writer = asked_for(child);
        if (writer > 0) {
            let_writer_end(argv[1], writer);
            asked++;
        }
    }
    (void)printf("asked %s, status %d\n", asked > 0 ? "yes" : "no",
                 WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    return 0;
}
