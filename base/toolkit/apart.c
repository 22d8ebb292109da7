/* SPDX-License-Identifier: BSD-3-Clause
 * Starts a process that the traced program does not see.
 *
 * Two nested clones with CLONE_VM | CLONE_VFORK make no copy of a large address space and run no
 * atfork handlers. The first has no exit signal, so the program gets no SIGCHLD, and wait(-1) in
 * the program does not see it: that needs __WCLONE. */
#include "base/toolkit/apart.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)
#define DESCRIPTORS 8u
#define HIGHEST_FD 65536 /* used on kernels before 5.9, which have no close_range */

#ifdef __SANITIZE_THREAD__
/* The sanitizer takes every clone for a fork and switches itself off in the child; with shared
 * memory that would include the parent. */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif

#ifdef __SANITIZE_ADDRESS__
/* Makes the sanitizer forget frames that killed clones left on such a stack. Otherwise it takes
 * them for frames of new clones. */
void __asan_unpoison_memory_region(const volatile void *at, size_t n);
#define FORGET_FRAMES(at, n) __asan_unpoison_memory_region(at, n)
#else
#define FORGET_FRAMES(at, n) ((void)0)
#endif

/* Results of the clones. They are in a shared mapping, because valgrind runs the clones as copies
 * with separate memory. */
struct result {
    volatile long failed; /* -errno of the exec, or of a step before it */
    volatile long pid;
};

struct apart_start {
    long (*in_child)(void *context);
    void *context;
    unsigned char *stack; /* stack of the grandchild */
    struct result *result;
};

static long raw(long n, long a, long b, long c)
{
    return sys_call6(n, a, b, c, 0, 0, 0);
}

/* Ends a clone by SIGKILL. In valgrind, exit would flush the program's stdio buffers and report its
 * leaks once more. */
static _Noreturn void end_clone(void)
{
    for (;;)
        (void)raw(SYS_kill, raw(SYS_getpid, 0, 0, 0), SIGKILL, 0);
}

static int grandchild(void *arg)
{
    struct apart_start *s = arg;
    (void)raw(SYS_setsid, 0, 0, 0);
    s->result->failed = s->in_child(s->context);
    end_clone();
}

static int between(void *arg)
{
    struct apart_start *s = arg;
    int pid = clone(grandchild, s->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, s);
    s->result->pid = pid < 0 ? -errno : pid;
    end_clone();
}

int apart_start(long (*in_child)(void *context), void *context)
{
    unsigned char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -errno;
    FORGET_FRAMES(stacks, 2 * STACK_BYTES);
    struct apart_start s = {
        .in_child = in_child, .context = context, .stack = stacks + STACK_BYTES};
    s.result = (struct result *)(void *)stacks; /* the far end of the first stack */
    uint64_t mask = sys_block_signals();
    int child = clone(between, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, &s);
    long rc = child < 0 ? -errno : 0;
    if (child > 0) {
        int status;
        while (waitpid(child, &status, (int)__WCLONE) < 0 && errno == EINTR)
            continue;
        rc = s.result->pid > 0 && s.result->failed != 0 ? s.result->failed : s.result->pid;
    }
    sys_restore_signals(mask);
    (void)munmap(stacks, 2 * STACK_BYTES);
    return rc == 0 ? -EAGAIN : (int)rc; /* 0: killed before it stored a result */
}

/* Duplicates the descriptor to a number above those that the program gets. */
static long move_away(long fd)
{
    long moved = raw(SYS_fcntl, fd, F_DUPFD, DESCRIPTORS);
    return moved == -EINVAL ? -EMFILE : moved; /* the limit on descriptors is below that */
}

long apart_exec(const int *fds, unsigned n, const char *program, char *const *arguments,
                char *const *environment)
{
    long moved[DESCRIPTORS];
    for (unsigned i = 0; i < n; i++) {
        unsigned same = 0;
        while (fds[same] != fds[i])
            same++;
        moved[i] = same < i ? moved[same] : move_away(fds[i]);
        if (moved[i] < 0)
            return moved[i];
    }
    for (unsigned i = 0; i < n; i++)
        (void)raw(SYS_dup3, moved[i], i, 0);
    if (raw(SYS_close_range, n, ~0u, 0) != 0)
        for (unsigned fd = n; fd < HIGHEST_FD; fd++)
            (void)raw(SYS_close, fd, 0, 0);
    sys_restore_signals(0);
    return raw(SYS_execve, (long)program, (long)arguments, (long)environment);
}

void apart_environment(char *const *from, char **to, size_t most)
{
    size_t n = 0;
    for (; from != NULL && *from != NULL && n < most; from++)
        if (strncmp(*from, "LD_PRELOAD=", 11) != 0)
            to[n++] = *from;
    to[n] = NULL;
}
