/* SPDX-License-Identifier: BSD-3-Clause
 * Tries overflows as attr.sigtrap and as the signal of F_SETSIG, without regtrace. Prints one line
 * a trial. sigtrap.sh compares them, and share/doc/dev/counting.md reports them.
 *
 * sigtrap signal|trap */
#include "loop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EDGES = 200, SIGNAL = 60, PERIOD = 100000 };

static bool trap;
static int counter = -1, signo;
static volatile int edges, wanted, others, ios;
static volatile uint64_t target, most, sum, early;

static int count_open(uint64_t period, bool kernel_too)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .sample_period = period,
                                   .disabled = 1,
                                   .exclude_kernel = !kernel_too,
                                   .exclude_hv = 1,
                                   .wakeup_events = period != 0};
    if (period != 0 && trap) {
        attr.sigtrap = 1;
        attr.remove_on_exec = 1;
        attr.sig_data = 4711;
    }
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        printf("perf_event_open: %s\n", strerror(errno));
        exit(1);
    }
    return fd;
}

static uint64_t read_count(int fd)
{
    uint64_t n = 0;
    return read(fd, &n, sizeof n) == sizeof n ? n : 0;
}

static int make(uint64_t period)
{
    int fd = count_open(period, false);
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
    if (!trap && (fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, signo) != 0 ||
                  fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0))
        exit(1);
    return fd;
}

/* The handler sets another distance each time, as regtrace does. */
static void overflowed(int s, siginfo_t *info, void *context)
{
    static uint32_t seed = 1;
    (void)s, (void)context;
    if (trap ? info->si_code != 6 /* TRAP_PERF */ : info->si_code <= 0) {
        others = others + 1;
        return;
    }
    uint64_t now = read_count(counter), late = now - target;
    edges = edges + 1;
    if (now < target)
        early = early + 1;
    else
        sum = sum + late;
    most = late > most && now >= target ? late : most;
    seed = seed * 1664525u + 1013904223u;
    uint64_t distance = edges < wanted ? 70000 + (seed >> 16) % 63000 : UINT64_C(1) << 62;
    target = now + distance;
    ioctl(counter, PERF_EVENT_IOC_PERIOD, &distance);
}

static void io(int s)
{
    (void)s;
    ios = ios + 1;
}

static void handle(void)
{
    struct sigaction a = {.sa_sigaction = overflowed, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(signo, &a, NULL);
}

static void block(int how)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signo);
    sigprocmask(how, &set, NULL);
}

/* Prints the instructions of user and kernel for each of EDGES overflows: a run with them, minus
 * one without. */
static void trial_cost(void)
{
    int user = count_open(0, false), all = count_open(0, true);
    uint64_t spent[2][2];
    for (int with = 0; with < 2; with++) {
        wanted = with ? EDGES : 0;
        edges = 0;
        uint64_t distance = with ? PERIOD : UINT64_C(1) << 62;
        counter = make(distance);
        target = PERIOD;
        ioctl(user, PERF_EVENT_IOC_RESET, 0), ioctl(all, PERF_EVENT_IOC_RESET, 0);
        ioctl(user, PERF_EVENT_IOC_ENABLE, 0), ioctl(all, PERF_EVENT_IOC_ENABLE, 0);
        ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
        loop_turns(20000000);
        ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
        ioctl(user, PERF_EVENT_IOC_DISABLE, 0), ioctl(all, PERF_EVENT_IOC_DISABLE, 0);
        spent[with][0] = read_count(user), spent[with][1] = read_count(all);
        close(counter);
    }
    printf("edges %d early %d skid %llu mean, %llu most; user %lld kernel %lld instructions each\n",
           edges, (int)early, (unsigned long long)(sum / EDGES), (unsigned long long)most,
           (long long)(spent[1][0] - spent[0][0]) / EDGES,
           (long long)(spent[1][1] - spent[0][1] - (spent[1][0] - spent[0][0])) / EDGES);
}

/* Runs `body` in a child and prints how the child ends. */
static void in_child(const char *name, void (*body)(void))
{
    fflush(stdout);
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        edges = others = ios = 0;
        wanted = 1;
        body();
        printf("%s: edges %d others %d io %d\n", name, edges, others, ios);
        fflush(stdout);
        _exit(0);
    }
    waitpid(pid, &status, 0);
    if (WIFSIGNALED(status))
        printf("%s: killed by %s\n", name, strsignal(WTERMSIG(status)));
}

static void overflow_once(void)
{
    counter = make(PERIOD);
    target = PERIOD;
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    loop_turns(150000);
}

static void blocked(void)
{
    block(SIG_BLOCK);
    overflow_once();
    block(SIG_UNBLOCK);
}

/* Two events of a thread, as of an icount and of a sampler, come due while the signal is
 * blocked. */
static void blocked_two(void)
{
    block(SIG_BLOCK);
    int other = make(PERIOD / 2);
    ioctl(other, PERF_EVENT_IOC_ENABLE, 0);
    wanted = 100;
    counter = make(PERIOD);
    target = PERIOD;
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    loop_turns(65000);
    ioctl(other, PERF_EVENT_IOC_DISABLE, 0);
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    block(SIG_UNBLOCK);
}

static void blocked_default(void)
{
    signal(signo, SIG_DFL);
    block(SIG_BLOCK);
    overflow_once();
}

/* The program waits for all signals, as threads that handle signals for other threads do. */
static void waited_for(void)
{
    sigset_t all;
    siginfo_t info;
    struct timespec soon = {0};
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    overflow_once();
    others = sigtimedwait(&all, &info, &soon) == signo;
    sigprocmask(SIG_UNBLOCK, &all, NULL);
}

static void breakpoints(void)
{
    overflow_once();
    raise(signo);
    __asm__ volatile("nop");
}

static void ignored(void)
{
    signal(signo, SIG_IGN);
    overflow_once();
}

static void queue_full(void)
{
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_SIGPENDING, &none);
    overflow_once();
}

static void queue_full_io(void)
{
    signal(SIGIO, io);
    queue_full();
}

/* The counter continues in a program that is executed. The signal would kill it, as it has no
 * handler. */
static void executed(void)
{
    counter = make(PERIOD);
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    execl("/bin/sh", "sh", "-c",
          "i=0; while [ $i -lt 200 ]; do i=$((i + 1)); done; echo executed: lives", NULL);
}

static void forked(void)
{
    counter = make(PERIOD);
    target = PERIOD;
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    int status = 0;
    if (fork() == 0) {
        loop_turns(500000);
        _exit(edges);
    }
    wait(&status);
    others = status;
    loop_turns(150000);
}

int main(int argc, char **argv)
{
    trap = argc > 1 && strcmp(argv[1], "trap") == 0;
    signo = trap ? SIGTRAP : SIGNAL;
    handle();
    trial_cost();
    in_child("blocked", blocked);
    in_child("blocked, two due", blocked_two);
    in_child("blocked, no handler", blocked_default);
    in_child("ignored", ignored);
    in_child("waited for", waited_for);
    in_child("another of that signal", breakpoints);
    in_child("queue full", queue_full);
    in_child("queue full, SIGIO handled", queue_full_io);
    in_child("executed", executed);
    in_child("forked", forked);
    return 0;
}
