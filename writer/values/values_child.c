/* SPDX-License-Identifier: BSD-3-Clause
 * Runs the plug-in in a separate process, regtrace-vprofiler: an error of the plug-in ends that
 * process, not the recording. */
#include "writer/values/value_traces.h"

#include "base/toolkit/beside.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS UINT64_C(10000000000) /* for one answer */
#define LOOK_MS 100                       /* how often the program sees that we live */
#define END_MS 2000
#define MOST_DESCRIPTORS 4096

/* Runs between fork and exec, so it calls only async-signal-safe functions: this process has a
 * second thread. */
static _Noreturn void exec_program(int fd, const char *program, const char *plugin)
{
    static const int given[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                SIGUSR1, SIGUSR2, SIGXFSZ, SIGTSTP};
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        (void)signal(given[i], SIG_DFL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    int null = open("/dev/null", O_RDWR);
    if (dup2(fd, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
#ifdef SYS_close_range
    long rc = syscall(SYS_close_range, 3, ~0u, 0);
#else
    long rc = -1;
#endif
    for (int i = 3; rc != 0 && i < MOST_DESCRIPTORS; i++)
        (void)close(i);
    (void)execl(program, program, "--process", plugin, (char *)NULL);
    _exit(127);
}

/* Waits for the child's end, and kills it if it does not end soon. Returns its wait status if it
 * ended by itself, else -1. */
static int stop(struct values_child *c)
{
    int status = 0;
    pid_t ended = 0;
    /* The child's socket closes a moment before the child ends. */
    for (int i = 0; c->pid > 0 && i < 50 && ended == 0; i++) {
        ended = waitpid(c->pid, &status, WNOHANG);
        if (ended == 0)
            (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    if (c->pid > 0 && ended == 0) {
        (void)kill(c->pid, SIGKILL);
        while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    if (c->fd >= 0)
        (void)close(c->fd);
    c->pid = c->fd = -1;
    return ended > 0 ? status : -1;
}

static bool fail(struct values_child *c, const char *why)
{
    if (c->pid > 0)
        (void)kill(c->pid, SIGKILL);
    (void)stop(c);
    rt_error_set(&c->why, "%s", why);
    return false;
}

/* Handles a child that has closed its socket: sets the reason, returns false. */
static bool has_ended(struct values_child *c)
{
    int status = stop(c);
    if (status >= 0 && WIFSIGNALED(status))
        rt_error_set(&c->why, "regtrace-vprofiler was ended by signal %d", WTERMSIG(status));
    else if (status >= 0 && WEXITSTATUS(status) == 127)
        rt_error_set(&c->why, "regtrace-vprofiler cannot be run");
    else if (status >= 0)
        rt_error_set(&c->why, "regtrace-vprofiler ended with exit code %d", WEXITSTATUS(status));
    else
        rt_error_set(&c->why, "regtrace-vprofiler talks no more");
    return false;
}

static bool start(struct values_child *c, const char *plugin)
{
    char own[PATH_MAX], program[PATH_MAX];
    int pair[2];
    c->fd = -1;
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    own[n > 0 ? n : 0] = '\0';
    if (!beside_library(own, "regtrace-vprofiler", program))
        return fail(c, "regtrace-vprofiler is not beside regtrace-writer (it is built where the "
                       "disassembler Zydis is there)");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return fail(c, strerror(errno));
    c->pid = fork();
    if (c->pid == 0)
        exec_program(pair[1], program, plugin);
    (void)close(pair[1]);
    c->fd = pair[0];
    return c->pid > 0 || fail(c, "no process could be started for regtrace-vprofiler");
}

/* Waits until the socket is readable or writable. Returns false after `until`. */
static bool wait_for(struct values_child *c, short events, uint64_t until,
                     _Atomic uint64_t *progress)
{
    for (;;) {
        struct pollfd p = {.fd = c->fd, .events = events};
        int n = poll(&p, 1, LOOK_MS);
        if (n > 0)
            return true;
        if ((n < 0 && errno != EINTR) || clock_monotonic_ns() >= until)
            return false;
        if (progress != NULL)
            atomic_fetch_add(progress, 1);
    }
}

static bool move(struct values_child *c, void *data, size_t bytes, bool out, uint64_t until,
                 _Atomic uint64_t *progress)
{
    char *at = data;
    while (bytes > 0) {
        if (!wait_for(c, out ? POLLOUT : POLLIN, until, progress))
            return fail(c, "regtrace-vprofiler gives no answer: the plug-in hangs");
        ssize_t n = out ? send(c->fd, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                        : recv(c->fd, at, bytes, MSG_DONTWAIT);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        if (n <= 0)
            return has_ended(c);
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

static bool take_answer(struct values_child *c, uint64_t until, _Atomic uint64_t *progress,
                        size_t *count)
{
    struct values_frame answer;
    if (!move(c, &answer, sizeof answer, false, until, progress))
        return false;
    bool tuples = answer.kind == VALUES_TUPLES && answer.bytes % sizeof(struct values_tuple) == 0;
    if ((!tuples && answer.kind != VALUES_FAILED) || answer.bytes > VALUES_TUPLES_MOST)
        return fail(c, "regtrace-vprofiler answers what is not understood");
    if (answer.bytes >= c->answer_room) {
        char *grown = realloc(c->answer, answer.bytes + 1u);
        if (grown == NULL)
            return fail(c, "no memory for what regtrace-vprofiler answers");
        c->answer = grown;
        c->answer_room = answer.bytes + 1u;
    }
    if (!move(c, c->answer, answer.bytes, false, until, progress))
        return false;
    c->answer[answer.bytes] = '\0';
    if (!tuples)
        return fail(c, c->answer);
    *count = answer.bytes / sizeof(struct values_tuple);
    return true;
}

bool values_child_process(struct values_child *c, const char *plugin, _Atomic uint64_t *progress,
                          const struct values_frame *frame, const char *trace,
                          const struct values_tuple **tuples, size_t *count)
{
    uint64_t until = clock_monotonic_ns() + PATIENCE_NS;
    struct values_frame head = *frame;
    *count = 0;
    if (c->pid < 0 || (c->pid == 0 && !start(c, plugin)))
        return false;
    if (!move(c, &head, sizeof head, true, until, progress) ||
        !move(c, (void *)(uintptr_t)trace, head.bytes, true, until, progress) ||
        !take_answer(c, until, progress, count))
        return false;
    *tuples = (const struct values_tuple *)(const void *)c->answer;
    return true;
}

void values_child_end(struct values_child *c)
{
    if (c->pid > 0) {
        (void)shutdown(c->fd, SHUT_RDWR);
        (void)close(c->fd);
        pid_t ended = 0;
        for (int ms = 0; ms < END_MS && ended == 0; ms += 2) {
            ended = waitpid(c->pid, NULL, WNOHANG);
            if (ended == 0)
                (void)nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        }
        if (ended == 0) {
            (void)kill(c->pid, SIGKILL);
            while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        }
    }
    free(c->answer);
    *c = (struct values_child){.pid = -1, .fd = -1};
}
