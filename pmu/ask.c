/* SPDX-License-Identifier: BSD-3-Clause
 * Running regtrace-events, and what it prints.
 *
 * Before main of the traced program, which is to see nothing of it: as the writer is started (preload/writer_start.c), by two
 * clones without an exit signal and with a session of its own, so that no SIGCHLD comes and wait(-1) finds nobody. Its end is
 * seen by the end of its output. */
#include "pmu/internal.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (64u << 10)
#define LIMIT_MS 30000 /* emulated machines take seconds for what takes 5 ms */
#define ENVIRONMENT_MAX 4096

#ifdef __SANITIZE_THREAD__
/* As in preload/writer_start.c. */
int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif

struct asked {
    const char *program;
    const char *const *arguments;
    const char **environment;
    int out_fd, null_fd;
    unsigned char *stack;
    volatile long *failed, *pid; /* in shared memory: a checker's clones copy */
};

static long raw(long n, long a, long b, long c)
{
    return sys_call6(n, a, b, c, 0, 0, 0);
}

static _Noreturn void end_clone(void)
{
    for (;;)
        (void)raw(SYS_kill, raw(SYS_getpid, 0, 0, 0), SIGKILL, 0);
}

static int become(void *arg)
{
    struct asked *a = arg;
    (void)raw(SYS_setsid, 0, 0, 0);
    long out = raw(SYS_fcntl, a->out_fd, F_DUPFD, 10),
         null = raw(SYS_fcntl, a->null_fd, F_DUPFD, 10);
    if (out >= 0 && null >= 0) {
        for (int fd = 0; fd <= 2; fd++)
            (void)raw(SYS_dup3, fd == 1 ? out : null, fd, 0);
        (void)raw(SYS_close_range, 3, ~0u, 0);
        sys_restore_signals(0);
        *a->failed = raw(SYS_execve, (long)a->program, (long)a->arguments, (long)a->environment);
    } else {
        *a->failed = -EMFILE;
    }
    end_clone();
}

static int between(void *arg)
{
    struct asked *a = arg;
    *a->pid = clone(become, a->stack + STACK_BYTES, CLONE_VM | CLONE_VFORK | SIGCHLD, a);
    end_clone();
}

static int start(struct asked *a)
{
    unsigned char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return -errno;
    a->stack = stacks + STACK_BYTES;
    a->failed = (volatile long *)(void *)stacks; /* the far end of the first stack */
    a->pid = a->failed + 1;
    uint64_t mask = sys_block_signals();
    int child = clone(between, stacks + STACK_BYTES, CLONE_VM | CLONE_VFORK, a);
    int rc = child < 0 ? -errno : 0, status;
    while (child > 0 && waitpid(child, &status, (int)__WCLONE) < 0 && errno == EINTR)
        continue;
    sys_restore_signals(mask);
    long pid = *a->pid;
    if (rc == 0)
        rc = pid < 0 ? (int)pid : *a->failed != 0 ? (int)*a->failed : (int)pid;
    (void)munmap(stacks, 2 * STACK_BYTES);
    return rc;
}

static int64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Up to its end. Whoever does not end in time is killed: as long as it has the pipe its pid is its own. */
static int read_all(int fd, int pid, char *out, size_t room)
{
    size_t n = 0;
    int64_t end = now_ms() + LIMIT_MS, left;
    while ((left = end - now_ms()) > 0) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int rc = poll(&p, 1, (int)left);
        if (rc < 0 && errno == EINTR)
            continue;
        ssize_t got = rc > 0 ? read(fd, out + n, room - 1 - n) : -1;
        if (rc > 0 && got == 0) {
            out[n] = '\0';
            return 0;
        }
        if (got > 0)
            n += (size_t)got;
        if (n == room - 1)
            break;
    }
    (void)kill(pid, SIGKILL);
    return -ETIMEDOUT;
}

static int exchange(struct asked *a, char *out, size_t room)
{
    int ends[2];
    a->null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (a->null_fd < 0)
        return -errno;
    if (pipe2(ends, O_CLOEXEC) != 0) {
        int rc = -errno;
        (void)close(a->null_fd);
        return rc;
    }
    a->out_fd = ends[1];
    int pid = start(a);
    (void)close(a->null_fd);
    (void)close(ends[1]);
    int rc = pid < 0 ? pid : read_all(ends[0], pid, out, room);
    (void)close(ends[0]);
    return rc;
}

int pmu_ask(const char *program, const char *const *arguments, char *const *environment, char *out,
            size_t room, struct rt_error *why)
{
    static const char *kept[ENVIRONMENT_MAX + 1];
    struct asked a = {.program = program, .arguments = arguments, .environment = kept};
    size_t n = 0;
    for (size_t i = 0; environment != NULL && environment[i] != NULL && n < ENVIRONMENT_MAX; i++)
        if (strncmp(environment[i], "LD_PRELOAD=", 11) != 0)
            kept[n++] = environment[i];
    kept[n] = NULL;
    out[0] = '\0';
    int rc = exchange(&a, out, room);
    size_t length = strlen(out);
    if (rc == -ETIMEDOUT)
        rt_error_set(why, "%s has not answered within %d s", program, LIMIT_MS / 1000);
    else if (rc != 0)
        rt_error_set(why, "%s cannot be started: %s", program, strerror(-rc));
    else if (length < 4 || strcmp(out + length - 4, "end\n") != 0) {
        rt_error_set(why, "%s ended early: is a library of its missing? (ldd shows it)", program);
        rc = -EPROTO;
    }
    return rc;
}
