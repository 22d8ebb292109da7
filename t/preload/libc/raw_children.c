/* SPDX-License-Identifier: BSD-3-Clause
 * raw_children PART [late]: children with their own memory that fork() does not make. PART is
 * clone, returns, raw_clone, raw_fork, raw_exec, fork, program, blind or sandbox. Each child
 * records while its parent does. The output must be the same with and without the preload.
 * - late: the parent records nothing
 * - program: has no children
 * - blind: has no children, and in the end may open no more descriptors
 * - sandbox: has no children, and may only write and exit */
#include "share/include/regtrace.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STACK = 1 << 18, CHILDREN = 3, REGIONS = 1500 };

static const char *part;
static char *self;

static void record(const char *name, int n)
{
    for (int i = 0; i < n; i++) {
        regtrace_region_begin(name);
        regtrace_region_end(name);
    }
}

static int child(void *number)
{
    char *const arguments[] = {self, "program", NULL};
    if (strcmp(part, "raw_exec") == 0)
        (void)execv("/proc/self/exe", arguments);
    record("child", REGIONS);
    if (strcmp(part, "returns") == 0)
        return *(int *)number;
    _exit(*(int *)number);
}

/* Starts child `number` in the way that `part` names. Returns its pid, or -1. SYS_clone gets the
 * flags of fork; its other arguments are 0, so their order, which depends on the machine, does not
 * matter. */
static pid_t start(int number)
{
    pid_t made = -1, told = -1;
    char *stack;
    if (strcmp(part, "clone") == 0 || strcmp(part, "returns") == 0) {
        stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (stack == MAP_FAILED)
            return -1;
        made = clone(child, stack + STACK, CLONE_PARENT_SETTID | SIGCHLD, &number, &told);
        (void)munmap(stack, STACK);
        return made == told ? made : -1;
    }
    if (strcmp(part, "fork") == 0)
        made = fork();
#ifdef SYS_fork
    else if (strcmp(part, "raw_fork") == 0)
        made = (pid_t)syscall(SYS_fork);
#endif
    else
        made = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (made == 0)
        (void)child(&number);
    return made;
}

/* Restricts the process to write and exit_group, and records. Any other system call kills it. */
static int sandbox(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return 1;
    record("sandbox", 10);
    (void)!write(1, "in the sandbox\n", 15);
    _exit(3);
}

int main(int argc, char **argv)
{
    part = argc > 1 ? argv[1] : "";
    self = argv[0];
    if (strcmp(part, "sandbox") == 0)
        return sandbox();
    if (strcmp(part, "program") == 0 || strcmp(part, "blind") == 0) {
        record("program", REGIONS);
        if (strcmp(part, "blind") == 0 && setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}) != 0)
            return 1;
        return 0;
    }
    if (argc < 3)
        record("parent", 5);
    for (int i = 0; i < CHILDREN; i++) {
        int status = -1;
        /* Cleared whole by memset(): the kernel knows 64 bits of them, and libc clears no more. */
        sigset_t before, after;
        memset(&before, 0, sizeof before);
        memset(&after, 0, sizeof after);
        (void)sigprocmask(SIG_SETMASK, NULL, &before);
        pid_t made = start(i + 1);
        (void)sigprocmask(SIG_SETMASK, NULL, &after);
        if (argc < 3)
            record("parent", REGIONS);
        if (made < 0 || waitpid(made, &status, 0) != made)
            return 1;
        printf("child ended with %d, mask %s\n", WEXITSTATUS(status),
               memcmp(&before, &after, sizeof before) == 0 ? "kept" : "changed");
    }
    if (argc < 3)
        record("parent", 5);
    return 0;
}
