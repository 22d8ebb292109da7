/* SPDX-License-Identifier: BSD-3-Clause
 * reads COMMAND...: runs the command and prints, on a separate line after its output, how often its
 * first thread read a counter of regtrace by read(2). Those counters have descriptors from 500 on.
 */
#include <elf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int status = 0, enters = 0;
    long reads = 0, how = 0;
    pid_t pid = argc > 1 ? fork() : -1;
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid ||
        ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
        return 2;
    while (ptrace(PTRACE_SYSCALL, pid, 0, how) == 0 && waitpid(pid, &status, 0) == pid &&
           WIFSTOPPED(status)) {
        struct user_regs_struct regs;
        struct iovec all = {.iov_base = &regs, .iov_len = sizeof regs};
        how = 0;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            /* SIGTRAP is of exec; other signals are the program's. */
            how = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
            continue;
        }
        enters = !enters;
        if (enters && ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &all) == 0)
            reads += regs.regs[8] == SYS_read && regs.regs[0] >= 500;
    }
    (void)printf("%ld\n", reads);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
