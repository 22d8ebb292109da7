/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a program for which system calls are missing (ENOSYS), as on an older kernel.
 *
 * without NUMBER[,NUMBER...] PROGRAM [ARGUMENT]... */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 16 };

int main(int argc, char **argv)
{
    struct sock_filter code[2 + 2 * MOST] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short n = 1;
    if (argc < 3)
        return 2;
    for (char *at = argv[1]; *at != '\0' && n < 2 * MOST; at += *at == ',') {
        unsigned number = (unsigned)strtoul(at, &at, 10);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = n, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("seccomp");
        return 125;
    }
    (void)execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 126;
}
