/* SPDX-License-Identifier: BSD-3-Clause
 * A fixed amount of work beside samples that do nothing: value_samples ITERATIONS [PERIOD]. With PERIOD, nanoseconds of CPU time, an event
 * of the kernel (task-clock) sends a signal that often, whose handler counts. Prints the nanoseconds of CPU time and the signals. */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t signals;

static void count(int signo)
{
    (void)signo;
    signals++;
}

static int begin(uint64_t period)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = period,
                                   .wakeup_events = 1,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1};
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_RESTART};
    struct f_owner_ex owner = {F_OWNER_TID, (pid_t)syscall(SYS_gettid)};
    int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
    return fd < 0 || sigaction(SIGRTMIN + 5, &action, NULL) != 0 ||
                   fcntl(fd, F_SETFL, O_ASYNC) != 0 || fcntl(fd, F_SETSIG, SIGRTMIN + 5) != 0 ||
                   fcntl(fd, F_SETOWN_EX, &owner) != 0
               ? -1
               : 0;
}

static double spent(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0, x = 1;
    if (argc > 2 && begin(strtoull(argv[2], NULL, 10)) != 0) {
        perror("perf_event_open");
        return 1;
    }
    double start = spent();
    for (uint64_t i = 0; i < n; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        __asm__ volatile("" : "+r"(x));
    }
    double end = spent();
    return printf("time %.0f\nsignals %d\n", end - start, (int)signals) < 0;
}
