/* SPDX-License-Identifier: BSD-3-Clause
 * exit_calls N: calls left() N times.
 * exit_calls N LIBRARY: runs exit_calls N with that library preloaded, under ptrace(2), and prints
 * how often it changes its signal mask. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((noinline)) int left(int i)
{
    __asm__ volatile("");
    return i + 1;
}

static void start(char **argv)
{
    (void)setenv("LD_PRELOAD", argv[2], 1);
    (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    (void)execl("/proc/self/exe", argv[0], argv[1], (char *)NULL);
    _exit(127);
}

int main(int argc, char **argv)
{
    int status = 0, sum = 0, changes = 0;
    if (argc < 3) {
        for (int i = 0; argc == 2 && i < atoi(argv[1]); i++)
            sum = left(sum);
        return argc != 2;
    }
    pid_t child = fork();
    if (child == 0)
        start(argv);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        return 3;
    (void)ptrace(PTRACE_SETOPTIONS, child, NULL,
                 (void *)(uintptr_t)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    for (int signo = 0; ptrace(PTRACE_SYSCALL, child, NULL, (void *)(intptr_t)signo) == 0;) {
        struct __ptrace_syscall_info info;
        if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
            break;
        signo = WSTOPSIG(status);
        if (signo != (SIGTRAP | 0x80))
            continue;
        signo = 0;
        changes += ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof info, &info) > 0 &&
                   info.op == PTRACE_SYSCALL_INFO_ENTRY && info.entry.nr == SYS_rt_sigprocmask;
    }
    (void)printf("%d\n", changes);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
