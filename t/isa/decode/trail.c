/* SPDX-License-Identifier: BSD-3-Clause
 * Single-steps a program by ptrace and prints each instruction that was executed once: its file and
 * its offset there. It knows nothing of machine code and follows no threads or children. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

enum { SLOTS = 1 << 22 };
static uint64_t *seen;
static size_t count;

static void note(uint64_t ip)
{
    size_t i = (size_t)((ip * UINT64_C(0x9e3779b97f4a7c15)) >> 42);
    while (seen[i % SLOTS] != 0 && seen[i % SLOTS] != ip)
        i++;
    count += seen[i % SLOTS] == 0;
    seen[i % SLOTS] = ip;
    if (count > SLOTS / 2)
        exit(3);
}

/* Prints all at the program's exit, while /proc still has the program's maps. */
static void print_all(pid_t pid)
{
    char name[64], line[4400], path[4200];
    uint64_t from, to, offset;
    snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
    FILE *f = fopen(name, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*4s %" SCNx64 " %*s %*s %4199[^\n]", &from, &to,
                   &offset, path) != 4 ||
            path[0] != '/')
            continue;
        for (size_t i = 0; i < SLOTS; i++)
            if (seen[i] >= from && seen[i] < to)
                printf("%s %" PRIx64 "\n", path, seen[i] - from + offset);
    }
    if (f != NULL)
        fclose(f);
}

int main(int argc, char **argv)
{
    int status, give = 0;
    struct user_regs_struct r;
    seen = calloc(SLOTS, sizeof *seen);
    pid_t pid = argc > 1 && seen != NULL ? fork() : -1;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return 2;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL));
    while (WIFSTOPPED(status)) {
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8))
            print_all(pid);
        else if (ptrace(PTRACE_GETREGS, pid, NULL, &r) == 0)
            note(r.rip);
        give = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
        if (ptrace(PTRACE_SINGLESTEP, pid, NULL, (void *)(intptr_t)give) != 0 ||
            waitpid(pid, &status, 0) != pid)
            break;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 4;
}
