/* SPDX-License-Identifier: BSD-3-Clause
 * Counts the instructions that a program's main thread executes between its first two int3, by
 * single-stepping.
 *
 * steps FILE PROGRAM [ARGUMENT]...: writes the number to FILE; the program then runs on to its end.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

/* Resumes the program until its next stop by SIGTRAP and passes on other signals. Returns 0 if the
 * program has ended. */
static int to_trap(pid_t child, enum __ptrace_request how, siginfo_t *info)
{
    int status, hand_on = 0;
    for (;;) {
        if (ptrace(how, child, NULL, (void *)(long)hand_on) != 0 || waitpid(child, &status, 0) < 0)
            return 0;
        if (!WIFSTOPPED(status))
            return 0;
        hand_on = WSTOPSIG(status);
        if (hand_on == SIGTRAP && ptrace(PTRACE_GETSIGINFO, child, NULL, info) == 0)
            return 1;
    }
}

int main(int argc, char **argv)
{
    siginfo_t info;
    long count = 0;
    int status;
    if (argc < 3)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0)
            execv(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFSTOPPED(status))
        return 3;
    while (to_trap(child, PTRACE_CONT, &info))
        if (info.si_code == SI_KERNEL) /* int3, not an exec's stop */
            break;
    while (to_trap(child, PTRACE_SINGLESTEP, &info) && info.si_code != SI_KERNEL)
        count++;
    FILE *f = fopen(argv[1], "w");
    if (f == NULL || fprintf(f, "%ld\n", count) < 0 || fclose(f) != 0)
        return 4;
    (void)ptrace(PTRACE_DETACH, child, NULL, NULL);
    (void)waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 5;
}
