/* SPDX-License-Identifier: BSD-3-Clause
 * Measures the cost of samples to a program: those of an empty handler, and those of regtrace.
 *
 * value_samples ITERATIONS [PERIOD]: does a fixed amount of work. With PERIOD, an event of the
 * kernel (task-clock) sends a signal every PERIOD nanoseconds of CPU time, and the handler counts
 * it. Prints the nanoseconds of CPU time and the signals.
 *
 * value_samples gaps PERIOD ROUNDS: prints medians of the interruptions in ns, in turn for 10 ms
 * with an empty handler, 10 ms in a window in which regtrace captures, and 10 ms with the empty
 * handler again. */
#include "t/bench/programs/median.h"

#include "share/include/regtrace.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SIGNAL 40
#define PHASE 10e6
#define MOST 1000000 /* interruptions of each kind */
#define RESTORER 0x04000000

static volatile sig_atomic_t signals;

static void count(int signo)
{
    (void)signo;
    signals++;
}

void back(void);
__asm__(".text\n"
        "back: mov $15, %eax\n" /* rt_sigreturn */
        "      syscall\n");

/* The kernel's sigaction structure. The program makes the system call itself, so that no preloaded
 * library sees it. */
struct kernel_action {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* Opens an event that is switched off. */
static int begin(uint64_t period)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = period,
                                   .wakeup_events = 1,
                                   .disabled = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    struct kernel_action action = {count, SA_RESTART | RESTORER, back, 0};
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    if (fd < 0 || syscall(SYS_rt_sigaction, SIGNAL, &action, NULL, sizeof action.mask) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC) != 0 || fcntl(fd, F_SETSIG, SIGNAL) != 0 ||
        fcntl(fd, F_SETOWN_EX, &owner) != 0) {
        perror("perf_event_open");
        exit(1);
    }
    return fd;
}

static double spent(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct gaps {
    size_t n;
    double ticks[MOST];
};

/* Notes interruptions longer than about 1 us. The kernel's own tick is among them in all phases. */
static void watch(struct gaps *g)
{
    double end = bench_now_ns() + PHASE;
    uint64_t x = 1;
    while (bench_now_ns() < end)
        for (int times = 0; times < 20; times++) {
            uint64_t before = __builtin_ia32_rdtsc();
            for (int i = 0; i < 64; i++) {
                x = x * 6364136223846793005u + 1442695040888963407u;
                __asm__ volatile("" : "+r"(x));
            }
            uint64_t ticks = __builtin_ia32_rdtsc() - before;
            if (ticks > 3000 && g->n < MOST)
                g->ticks[g->n++] = (double)ticks;
        }
}

static int gaps(uint64_t period, int rounds)
{
    static const char *const names[] = {"empty", "captured", "again"};
    static struct gaps found[3];
    int fd = begin(period);
    double start = bench_now_ns();
    uint64_t from = __builtin_ia32_rdtsc();
    for (int i = 0; i < 3 * rounds; i++) {
        int kind = i % 3;
        if (kind == 1 && regtrace_start == NULL)
            continue;
        if (kind == 1)
            regtrace_start(0);
        else
            (void)ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
        watch(&found[kind]);
        if (kind == 1)
            regtrace_stop(0);
        else
            (void)ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
    }
    double ns = (bench_now_ns() - start) / (double)(__builtin_ia32_rdtsc() - from);
    for (int i = 0; i < 3; i++)
        if (found[i].n > 0)
            (void)printf("%s %.0f\n%s_count %zu\n", names[i],
                         bench_median(found[i].ticks, found[i].n) * ns, names[i], found[i].n);
    return printf("signals %d\n", (int)signals) < 0;
}

int main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "gaps") == 0)
        return gaps(strtoull(argv[2], NULL, 10), atoi(argv[3]));
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, x = 1;
    if (argc > 2)
        (void)ioctl(begin(strtoull(argv[2], NULL, 10)), PERF_EVENT_IOC_ENABLE, 0);
    double start = spent();
    for (uint64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    double end = spent();
    return printf("time %.0f\nsignals %d\n", end - start, (int)signals) < 0;
}
