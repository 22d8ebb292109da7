/* SPDX-License-Identifier: BSD-3-Clause
 * Calls every function that waits, while the tracer's signals arrive. Prints for each: calls,
 * interrupted calls (the thread slept more than once), failed calls, calls that returned early, and
 * how late they were.
 *
 * waits calls N MS [NAME...]   calls each function until N of its calls were interrupted. MS:
 *                              timeouts. With "bare" in front: N calls, interrupted or not. With
 *                              "notified" in front: libc has made a thread of its own, which
 *                              blocks all signals.
 * waits handlers N             the program's own handler ends each call with EINTR, N times; with
 *                              SA_RESTART, calls that the kernel restarts go on */
#include "t/preload/waits/sleeps.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

static long ms;
static struct timespec ts; /* as long as `ms` */
static int ep, sems, queue, full_queue, unix_pair[2], full_pair[2], plain_pair[2], listener,
    plain_listener, ends[2], full_ends[2];
static sem_t sem;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static mqd_t messages;
static unsigned long aio;
static _Atomic int word;
static sigset_t usr2;
static char buffer[65536];
static struct epoll_event event;

static int64_t now_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static struct timespec in_ms(clockid_t clock)
{
    int64_t t = now_of(clock) + ms * 1000000;
    return (struct timespec){.tv_sec = t / 1000000000, .tv_nsec = t % 1000000000};
}

/* Returns 0 if rc is the wanted result, else errno, or -1 for another result. */
static int is(long rc, long wanted)
{
    return rc == wanted ? 0 : rc < 0 && errno != 0 ? errno : -1;
}

static int fails(long rc, int wanted)
{
    return rc == -1 && errno == wanted ? 0 : rc == -1 ? errno : -1;
}

#include "t/preload/waits/waits_timed.inc"

/* --- calls that another thread ends ----------------------------------------------------------- */

static _Atomic int waiter;     /* thread that waits; 0: none */
static _Atomic long sleeps_by; /* wake it when it has slept this often */
static _Atomic(void (*)(void)) end_it;

static void *wake(void *p)
{
    struct timespec pause = {.tv_nsec = 200000};
    for (;;) {
        void (*end)(void) = atomic_load(&end_it);
        if (end == NULL || sleeps_of(atomic_load(&waiter)) < atomic_load(&sleeps_by)) {
            nanosleep(&pause, NULL);
            continue;
        }
        atomic_store(&end_it, NULL);
        end();
    }
    return p;
}

static void on_signal(int signo)
{
    (void)signo;
}

#include "t/preload/waits/waits_woken.inc"

/* --- all calls -------------------------------------------------------------------------------- */

struct call {
    const char *name;
    int (*once)(void);
    void (*end)(void); /* ends the call; NULL: it has a timeout */
    bool restarts;     /* the kernel restarts it with SA_RESTART */
    bool ticks;        /* the kernel counts its timeout in scheduler ticks */
};
#define T(name)                                                                                    \
    {                                                                                              \
#name, timed_##name, NULL, false, false                                                    \
    }
/* A signal that wakes the call in the last tick of its timeout ends it. */
#define K(name)                                                                                    \
    {                                                                                              \
#name, timed_##name, NULL, false, true                                                     \
    }
#define W(name)                                                                                    \
    {                                                                                              \
#name "_woken", woken_##name, end_##name, false, false                                     \
    }
#define R(name)                                                                                    \
    {                                                                                              \
#name "_woken", woken_##name, end_##name, true, false                                      \
    }

static const struct call calls[] = {
    T(nanosleep),
    T(clock_nanosleep),
    T(clock_nanosleep_until),
    T(usleep),
    T(thrd_sleep),
    T(poll),
    T(ppoll),
    T(select),
    T(pselect),
    T(epoll_wait),
    T(epoll_pwait),
    T(epoll_pwait2),
    T(sem_timedwait),
    T(sem_clockwait),
    T(sigtimedwait),
    T(semtimedop),
    K(accept),
    K(accept4),
    K(recv),
    K(recvfrom),
    K(recvmsg),
    K(send),
    K(sendto),
    K(sendmsg),
    T(futex),
    T(io_getevents),
    T(cond_timedwait),
    T(mutex_timedlock),
    {"mq_timedreceive", timed_mq_timedreceive, NULL, true, false},
    T(raw_nanosleep),
    T(raw_clock_nanosleep),
    T(raw_poll),
    T(raw_epoll_wait),
    T(raw_sigtimedwait),
    T(raw_sigtimedwait_all),
    T(raw_select),
    T(const_select),
    K(raw_recvfrom),
#if defined(__x86_64__)
    T(inline_nanosleep),
    T(inline_poll),
    T(inline_ppoll),
    T(inline_epoll_wait),
    T(inline_rax),
    T(inline_pushed),
    T(inline_al),
    T(inline_before_r8),
#endif
    R(read),
    R(write),
    W(poll),
    W(ppoll),
    W(select),
    W(epoll_wait),
    W(epoll_pwait),
    R(recv),
    R(accept),
    R(sem_wait),
    W(semop),
    W(msgrcv),
    W(msgsnd),
    W(sigwaitinfo),
    W(sigwait),
    W(sigsuspend),
    W(pause),
    R(futex),
    R(flock),
    W(cond_wait),
};
enum { CALLS = sizeof calls / sizeof *calls, TRIES = 200 };

static void wake_after(long sleeps, void (*end)(void))
{
    atomic_store(&sleeps_by, own_sleeps() + sleeps);
    atomic_store(&end_it, end);
}

static int64_t tick_ns(void)
{
    struct timespec tick;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 ? tick.tv_nsec : 0;
}

/* Nothing notes when inline_epoll_wait began: after the first interruption it waits for the whole
 * timeout again. */
static void measure(const struct call *c, long wanted, bool bare)
{
    long n = 0, interrupted = 0, failed = 0, early = 0, why = 0;
    int64_t late = 0, most = 0, allowed = c->ticks ? tick_ns() : 0;
    while ((bare ? n : interrupted) < wanted && n < wanted * TRIES) {
        long sleeps = own_sleeps();
        int64_t began = now_of(CLOCK_MONOTONIC);
        if (c->end != NULL)
            wake_after(bare ? 1 : 3, c->end);
        int rc = c->once();
        int64_t over = now_of(CLOCK_MONOTONIC) - began - ms * 1000000;
        n++;
        interrupted += own_sleeps() - sleeps >= 2;
        failed += rc != 0;
        why = rc != 0 ? rc : why;
        if (c->end == NULL) {
            early += over < -allowed;
            late += over;
            most = over > most ? over : most;
        }
    }
    printf("%s: calls %ld interrupted %ld failed %ld errno %ld early %ld late %ld us, at most %ld "
           "us\n",
           c->name, n, interrupted, failed, why, early, (long)(late / n / 1000),
           (long)(most / 1000));
}

/* Measures sleep() separately, since it takes whole seconds. */
static void measure_sleep(long wanted)
{
    long n = 0, failed = 0, early = 0;
    for (; n < wanted; n++) {
        int64_t began = now_of(CLOCK_MONOTONIC);
        failed += sleep(1) != 0;
        early += now_of(CLOCK_MONOTONIC) - began < 1000000000;
    }
    printf("sleep: calls %ld interrupted %ld failed %ld errno 0 early %ld\n", n, n, failed, early);
}

/* --- the program's own handlers --------------------------------------------------------------- */

static _Atomic long handled;
static void count(int signo)
{
    (void)signo;
    atomic_fetch_add(&handled, 1);
}
static void (*end_after_signal)(void);
static void end_signal(void)
{
    void (*end)(void) = end_after_signal;
    int64_t before = atomic_load(&handled);
    to_waiter(SIGUSR1);
    if (end == NULL)
        return;
    while (atomic_load(&handled) == before)
        sched_yield();
    atomic_store(&sleeps_by, 0);
    atomic_store(&end_it, end);
}

static bool has_libc_loop(const struct call *c)
{
    static const char *const names[] = {"sigwait_woken", "cond_wait_woken", "cond_timedwait",
                                        "mutex_timedlock"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(c->name, names[i]) == 0)
            return true;
    return strstr(c->name, "pause") != NULL || strstr(c->name, "sigsuspend") != NULL ||
           c->once == timed_thrd_sleep;
}

static void handle(const struct call *c, long n, bool restart, bool bare)
{
    struct sigaction a = {.sa_handler = count, .sa_flags = restart ? SA_RESTART : 0};
    long got_eintr = 0, got_result = 0, other = 0;
    sigaction(SIGUSR1, &a, NULL);
    end_after_signal = restart && c->restarts ? c->end : NULL;
    atomic_store(&handled, 0);
    for (long i = 0; i < n; i++) {
        wake_after(bare ? 1 : 1 + i % 3, end_signal);
        int rc = c->once();
        got_eintr += rc == EINTR;
        got_result += rc == 0;
        other += rc != 0 && rc != EINTR;
    }
    printf("%s%s: eintr %ld result %ld other %ld handled %ld\n", c->name,
           restart ? " SA_RESTART" : "", got_eintr, got_result, other, atomic_load(&handled));
}

/* --- what the calls wait for ------------------------------------------------------------------ */

static void set_timeout(int fd)
{
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
}

static int listening(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) != 0 || listen(fd, 5) != 0)
        exit(9);
    return fd;
}

static void fill(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    while (write(fd, buffer, sizeof buffer) > 0 || write(fd, buffer, 1) > 0)
        ;
    fcntl(fd, F_SETFL, flags);
}

static void *hold(void *p)
{
    pthread_mutex_lock(&held);
    atomic_store(&go, 1);
    for (;;)
        pause();
    return p;
}

static void make_files(void)
{
    char path[] = "/tmp/regtrace-waits.XXXXXX", name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = 64};
    lock_fd = mkstemp(path);
    other_lock_fd = open(path, O_RDWR | O_CLOEXEC);
    unlink(path);
    snprintf(name, sizeof name, "/regtrace-waits-%d", (int)getpid());
    messages = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    mq_unlink(name);
    sems = semget(IPC_PRIVATE, 1, 0600);
    queue = msgget(IPC_PRIVATE, 0600);
    full_queue = msgget(IPC_PRIVATE, 0600);
    while (msgsnd(full_queue, &text, 8000, IPC_NOWAIT) == 0)
        ;
}

static void remove_files(void)
{
    semctl(sems, 0, IPC_RMID);
    msgctl(queue, IPC_RMID, NULL);
    msgctl(full_queue, IPC_RMID, NULL);
}

static void prepare(void)
{
    pthread_t other;
    struct sigaction a = {.sa_handler = on_signal};
    ts = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    sigemptyset(&usr2);
    sigaddset(&usr2, SIGUSR2);
    sigprocmask(SIG_BLOCK, &usr2, NULL);
    sigaction(SIGUSR2, &a, NULL);
    make_files();
    sem_init(&sem, 0, 0);
    if (pipe(ends) != 0 || pipe(full_ends) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, unix_pair) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, full_pair) != 0 ||
        socketpair(AF_UNIX, SOCK_STREAM, 0, plain_pair) != 0 || syscall(SYS_io_setup, 1, &aio) != 0)
        exit(9);
    readable = (struct pollfd){.fd = ends[0], .events = POLLIN};
    fill(full_ends[1]);
    fill(full_pair[0]);
    listener = listening();
    plain_listener = listening();
    set_timeout(unix_pair[0]);
    set_timeout(full_pair[0]);
    set_timeout(listener);
    ep = epoll_create1(0);
    struct epoll_event in = {.events = EPOLLIN};
    epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &in);
    atomic_store(&waiter, (int)syscall(SYS_gettid));
    if (pthread_create(&other, NULL, wake, NULL) != 0 ||
        pthread_create(&other, NULL, hold, NULL) != 0)
        exit(9);
    while (!atomic_load(&go))
        sched_yield();
}

static bool is_named(const char *name, char **names)
{
    while (*names != NULL && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

int main(int argc, char **argv)
{
    bool bare = argc > 1 && strcmp(argv[1], "bare") == 0;
    bool notified = argc > 1 && strcmp(argv[1], "notified") == 0;
    argv += bare || notified;
    argc -= bare || notified;
    if (argc < 3)
        return 2;
    bool handlers = strcmp(argv[1], "handlers") == 0;
    long n = atol(argv[2]);
    ms = handlers ? 20000 : atol(argv[3]);
    setvbuf(stdout, NULL, _IOLBF, 0);
    prepare();
    struct sigevent by_thread = {.sigev_notify = SIGEV_THREAD};
    timer_t timer;
    if (notified && timer_create(CLOCK_MONOTONIC, &by_thread, &timer) != 0)
        return 1;
    for (int i = 0; i < CALLS; i++) {
        if (argc > 4 && !is_named(calls[i].name, argv + 4))
            continue;
        if (!handlers) {
            measure(&calls[i], n, bare);
        } else if (!has_libc_loop(&calls[i])) {
            handle(&calls[i], n, false, bare);
            if (calls[i].end != NULL || !calls[i].restarts)
                handle(&calls[i], n, true, bare);
        }
    }
    if (!handlers && argc <= 4)
        measure_sleep(n > 10 ? 10 : 1);
    remove_files();
    return 0;
}
