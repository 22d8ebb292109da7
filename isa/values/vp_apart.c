/* SPDX-License-Identifier: BSD-3-Clause
 * Runs a plug-in in a child process, so that a fault of the plug-in ends only the child and the
 * parent can report it.
 *
 * The child notes in shared memory which entry of the plug-in it is in. A timer kills the child if
 * the call takes too long, if possible by SIGKILL, which cannot be blocked. */
#include "isa/values/vp.h"
#include "base/toolkit/coverage.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_OWN = 10 /* lowest descriptor that the child keeps for us */ };

struct vp_shared {
    char phase[64];   /* running entry of the plug-in; "": none */
    int64_t deadline; /* seconds of CLOCK_MONOTONIC; 0: none */
    bool finished;    /* The child reached its end, with rc and e. */
    int rc;
    struct rt_error e;
};

/* In the child. A timer needs an entry in the user's signal queue, which may be full
 * (RLIMIT_SIGPENDING): alarm(2) is used then. */
static timer_t timer;
static bool has_timer;

static int64_t seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Arms the timer in seconds from now; 0 disarms it. */
static void set_timer(unsigned from_now)
{
    const struct itimerspec when = {.it_value.tv_sec = (time_t)from_now};
    sigset_t set;
    if (has_timer) {
        (void)timer_settime(timer, 0, &when, NULL);
        return;
    }
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGALRM);
    (void)signal(SIGALRM, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
    (void)alarm(from_now);
}

void vp_enter(const struct vp_apart *v, const char *what)
{
    (void)snprintf(v->shared->phase, sizeof v->shared->phase, "%s", what);
    v->shared->deadline = seconds() + v->limit;
    set_timer(v->limit);
}

void vp_leave(const struct vp_apart *v)
{
    set_timer(0);
    v->shared->deadline = 0;
    v->shared->phase[0] = '\0';
}

int vp_read_all(int fd, void *to, size_t bytes)
{
    char *at = to;
    for (size_t done = 0; done < bytes;) {
        ssize_t n = read(fd, at + done, bytes - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            return done == 0 ? 1 : -EPIPE;
        done += (size_t)n;
    }
    return 0;
}

/* --- the child -------------------------------------------------------------------------------- */

/* Moves v->in and v->out away from standard input and output: what the plug-in reads or prints
 * there must not mix with our data. */
static int take_descriptors(struct vp_apart *v)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (v->in >= 0)
        v->in = fcntl(v->in, F_DUPFD_CLOEXEC, FIRST_OWN);
    if (v->out >= 0)
        v->out = fcntl(v->out, F_DUPFD_CLOEXEC, FIRST_OWN);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return -errno;
    return 0;
}

static void make_timer(void)
{
    struct sigevent kill_us = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    has_timer = timer_create(CLOCK_MONOTONIC, &kill_us, &timer) == 0;
}

_Noreturn static void run_child(struct vp_apart *v, pid_t parent)
{
    const struct rlimit none = {0, 0};
    struct vp_shared *s = v->shared;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    if (getppid() != parent)
        _exit(1);
    s->rc = take_descriptors(v);
    make_timer();
    vp_confine();
    if (s->rc != 0)
        rt_error_set(&s->e, "it cannot be run apart: %s", strerror(-s->rc));
    else
        s->rc = vp_load(v, &s->e);
    if (s->rc == 0) {
        if (v->run != NULL)
            s->rc = v->run(v, &s->e);
        vp_release(v);
    }
    s->finished = true;
    (void)fflush(stderr);
    coverage_write(); /* no exit handlers: the plug-in may have registered some */
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------- */

static int judge(const struct vp_apart *v, int status, struct rt_error *e)
{
    struct vp_shared *s = v->shared;
    const char *what = s->phase[0] != '\0' ? s->phase : "it";
    s->phase[sizeof s->phase - 1] = s->e.text[sizeof s->e.text - 1] = '\0';
    if (s->finished) {
        rt_error_set(e, "%s", s->e.text);
        return s->rc;
    }
    if (WIFEXITED(status)) {
        rt_error_set(e, "%s has ended its process (exit status %d)", what, WEXITSTATUS(status));
        return -ECHILD;
    }
    if ((WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGALRM) && s->deadline != 0 &&
        seconds() >= s->deadline) {
        rt_error_set(e, "%s has not returned within %u s", what, v->limit);
        return -ETIMEDOUT;
    }
    rt_error_set(e, "%s has crashed: %s", what, strsignal(WTERMSIG(status)));
    return -EFAULT;
}

int vp_apart(struct vp_apart *v, struct rt_error *e)
{
    int status = 0;
    pid_t us = getpid(), child;
    v->shared =
        mmap(NULL, sizeof *v->shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (v->shared == MAP_FAILED) {
        rt_error_set(e, "%s: no memory", v->plugin);
        return -ENOMEM;
    }
    (void)fflush(NULL);
    child = fork();
    if (child == 0)
        run_child(v, us);
    int rc = child < 0 ? -errno : 0;
    while (rc == 0 && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            rc = -errno;
    if (rc != 0)
        rt_error_set(e, "no process for it: %s", strerror(-rc));
    else
        rc = judge(v, status, e);
    if (rc != 0)
        rt_error_prefix(e, "%s", v->plugin);
    (void)munmap(v->shared, sizeof *v->shared);
    return rc;
}
