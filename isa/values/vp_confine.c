/* SPDX-License-Identifier: BSD-3-Clause
 * Confines a plug-in's process: it cannot start processes, which nobody would end; it cannot send
 * signals to other processes; and it cannot have more than 2 GiB of memory.
 *
 * Uses a system call filter (seccomp(2)) and setrlimit(2). On a kernel without filters only the
 * memory limit holds. */
#include "isa/values/vp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define X32 0x40000000u
#define MEMORY_MOST ((rlim_t)2 << 30) /* most data (RLIMIT_DATA), which limits malloc(3) */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
#define NUMBER LOAD(offsetof(struct seccomp_data, nr))
#define ARGUMENT(n) LOAD(offsetof(struct seccomp_data, args) + 8 * (n))
/* Skips the next `skip` instructions unless the loaded value equals `value`. */
#define UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), 0, skip)
#define UNLESS_BIT(bit, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (uint32_t)(bit), 0, skip)
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define ALLOWED BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define REFUSED(call) UNLESS_EQUAL(call, 1), ANSWER(EPERM)
/* Allows a call whose first argument is a process only for the calling process. */
#define ITSELF_ALONE(call)                                                                         \
    UNLESS_EQUAL(call, 4), ARGUMENT(0), UNLESS_EQUAL(getpid(), 1), ALLOWED, ANSWER(EPERM)

void vp_confine(void)
{
    struct sock_filter rules[] = {
        LOAD(offsetof(struct seccomp_data, arch)),
        UNLESS_EQUAL(AUDIT_ARCH_X86_64, 1),
        BPF_JUMP(BPF_JMP | BPF_JA, 1, 0, 0),
        ANSWER(EPERM),
        NUMBER,
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
        ANSWER(EPERM),
        REFUSED(SYS_fork),
        REFUSED(SYS_vfork),
        REFUSED(SYS_execve),
        REFUSED(SYS_execveat),
        REFUSED(SYS_pidfd_send_signal),
        REFUSED(SYS_rt_sigqueueinfo),
        UNLESS_EQUAL(SYS_clone3, 1),
        /* A filter cannot see its flags, which are in memory. C libraries use clone then. */
        ANSWER(ENOSYS),
        UNLESS_EQUAL(SYS_clone, 4),
        ARGUMENT(0),
        UNLESS_BIT(CLONE_THREAD, 1),
        ALLOWED,
        ANSWER(EPERM),
        ITSELF_ALONE(SYS_kill),
        ITSELF_ALONE(SYS_tgkill),
        REFUSED(SYS_tkill),
        ALLOWED,
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    const struct rlimit memory = {MEMORY_MOST, MEMORY_MOST};
    (void)setrlimit(RLIMIT_DATA, &memory);
    /* If the machine runs out of memory all the same, the kernel kills this process first. */
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, "1000", 4);
        (void)close(fd);
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}
