/* SPDX-License-Identifier: BSD-3-Clause
 * Test program whose memory accesses are traced. It logs to MEMORY_LOG a line "THREAD ADDRESS COUNT
 * STRIDE" for each call of work() in a window. Its output says whether it has computed the right
 * values. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { THREADS = 8, ARRAY = 4096, DEPTH = 12 };

static FILE *log_file;
static uint64_t arrays[THREADS + 1][ARRAY];
static volatile sig_atomic_t ticks;
static volatile uint64_t ticked[64];
static uint64_t sum;
static sigjmp_buf back;

/* Entering these functions opens and closes windows. */
APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

APART void work(volatile uint64_t *a, int count, int stride)
{
    for (int i = 0; i < count; i++)
        a[i * stride] += (uint64_t)i;
}

static void log_work(int thread, const void *a, int count, int stride)
{
    if (log_file == NULL)
        return;
    flockfile(log_file);
    fprintf(log_file, "%d %lx %d %d\n", thread, (unsigned long)(uintptr_t)a, count, stride);
    funlockfile(log_file);
}

APART uint64_t total(const uint64_t *a)
{
    uint64_t s = 0;
    for (int i = 0; i < ARRAY; i++)
        s = s * 31 + a[i];
    return s;
}

struct job {
    int thread, windows;
};

static void *run_windows(void *p)
{
    const struct job *j = p;
    uint64_t *a = arrays[j->thread];
    for (int w = 0; w < j->windows; w++) {
        int count = 1 + w % 100, stride = 1 + w % 7;
        open_window();
        work(a + w % 50, count, stride);
        close_window();
        log_work(j->thread, a + w % 50, count, stride);
        work(a, 10, 1); /* outside windows */
    }
    return NULL;
}

static void part_windows(int windows)
{
    pthread_t t[THREADS];
    struct job jobs[THREADS];
    for (int i = 0; i < THREADS; i++) {
        jobs[i] = (struct job){i + 1, windows};
        if (pthread_create(&t[i], NULL, run_windows, &jobs[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(t[i], NULL);
        printf("%d %lx\n", i, (unsigned long)total(arrays[i + 1]));
    }
}

/* A window closes in a deeper call than it opened in, and the next one opens in a shallower call
 * than that. */
APART void descend(int depth)
{
    arrays[0][depth] += (uint64_t)depth;
    if (depth == DEPTH)
        close_window();
    else
        descend(depth + 1);
    arrays[0][depth] *= 3;
}

static void part_nested(int times)
{
    for (int i = 0; i < times; i++) {
        open_window();
        descend(0);
        open_window();
        work(arrays[0] + 100, 20, 2);
        close_window();
        log_work(0, arrays[0] + 100, 20, 2);
    }
    printf("%lx\n", (unsigned long)total(arrays[0]));
}

APART void count_tick(int n)
{
    for (int i = 0; i < 8; i++)
        ticked[n & 63] += (uint64_t)i;
}

static void tick(int signo)
{
    (void)signo;
    ticks++;
    count_tick(ticks);
}

static void set_timer(int microseconds)
{
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART};
    struct itimerval every = {.it_interval.tv_usec = microseconds,
                              .it_value.tv_usec = microseconds};
    (void)sigaction(SIGALRM, &a, NULL);
    (void)setitimer(ITIMER_REAL, &every, NULL);
}

/* Signal handlers run traced functions in the middle of others. */
static void part_signals(int times)
{
    set_timer(100);
    for (int i = 0; i < times || ticks < 50; i++) {
        open_window();
        for (int k = 0; k < 50; k++)
            work(arrays[0], ARRAY / 2, 2);
        close_window();
        for (int k = 0; k < 50; k++)
            log_work(0, arrays[0], ARRAY / 2, 2);
        if (i < times)
            sum = sum * 31 + total(arrays[0]);
        memset(arrays[0], 0, sizeof arrays[0]);
    }
    set_timer(0);
    printf("%lx\n", (unsigned long)sum);
}

APART void jump_away(int depth)
{
    arrays[0][depth]++;
    if (depth == 5)
        siglongjmp(back, 1);
    jump_away(depth + 1);
    arrays[0][depth]++;
}

APART void plain_come_back(void)
{
    if (sigsetjmp(back, 1) == 0)
        jump_away(0);
    arrays[0][20]++;
}

static void part_jumps(int times)
{
    for (int i = 0; i < times; i++) {
        open_window();
        work(arrays[0] + 50, 10, 1);
        log_work(0, arrays[0] + 50, 10, 1);
        plain_come_back();
        work(arrays[0] + 70, 10, 1);
        close_window();
        log_work(0, arrays[0] + 70, 10, 1);
        open_window();
        work(arrays[0], 30, 3);
        close_window();
        log_work(0, arrays[0], 30, 3);
    }
    printf("%lx\n", (unsigned long)total(arrays[0]));
}

APART int fork_within(int depth)
{
    if (depth > 0)
        return fork_within(depth - 1) + 1;
    pid_t pid = fork();
    work(arrays[0], 100, 1);
    if (pid == 0) {
        work(arrays[0], 100, 1);
        printf("child %lx\n", (unsigned long)total(arrays[0]));
        (void)fflush(stdout);
        _exit(0);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return status;
}

static void part_forks(int times)
{
    (void)fflush(stdout);
    for (int i = 0; i < times; i++) {
        open_window();
        sum += (uint64_t)fork_within(4);
        close_window();
    }
    printf("%lx %lx\n", (unsigned long)sum, (unsigned long)total(arrays[0]));
}

/* For part_blocked(): all signals, SIGSEGV included, are blocked while much is recorded; then the
 * program itself faults. */
static void caught(int signo)
{
    (void)signo;
    ticks++;
    siglongjmp(back, 1);
}

APART uint64_t chase(uint64_t *from, long steps)
{
    uint64_t *p = from;
    while (steps-- > 0)
        p = (uint64_t *)(uintptr_t)*p;
    return (uint64_t)(p - from);
}

/* Kills the process in the middle of a window and of a function. */
APART void end_here(volatile uint64_t *a, int n)
{
    for (int i = 0; i < n; i++)
        if (a[i] == 7)
            (void)raise(SIGKILL);
}

static void part_killed(int times)
{
    for (int i = 0; i < ARRAY; i++)
        arrays[1][i] = (uint64_t)(uintptr_t)&arrays[1][(i * 61 + 17) % ARRAY];
    open_window();
    work(arrays[0], ARRAY, 1);
    log_work(0, arrays[0], ARRAY, 1);
    sum += chase(arrays[1], 400000L * times);
    work(arrays[0], 50, 2);
    log_work(0, arrays[0], 50, 2);
    if (log_file != NULL)
        (void)fflush(log_file);
    arrays[0][3000] = 7;
    end_here(arrays[0], ARRAY);
}

APART void fault(volatile uint64_t *where)
{
    *where = 1;
}

static void part_blocked(int times)
{
    sigset_t all, before;
    struct sigaction a = {.sa_handler = caught};
    for (int i = 0; i < ARRAY; i++)
        arrays[0][i] = (uint64_t)(uintptr_t)&arrays[0][(i * 61 + 17) % ARRAY];
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, &before);
    open_window();
    sum += chase(arrays[0], 400000L * times);
    close_window();
    (void)sigprocmask(SIG_SETMASK, NULL, &all);
    printf("%d\n", sigismember(&all, SIGSEGV));
    (void)raise(SIGSEGV);
    (void)sigaction(SIGSEGV, &a, NULL);
    if (sigsetjmp(back, 1) == 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    printf("%d\n", (int)ticks);
    for (int i = 0; i < times; i++) {
        open_window();
        if (sigsetjmp(back, 1) == 0)
            fault((uint64_t *)8);
        close_window();
    }
    printf("%d %lx\n", (int)ticks, (unsigned long)sum);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*part)(int);
    } parts[] = {{"windows", part_windows}, {"nested", part_nested}, {"signals", part_signals},
                 {"jumps", part_jumps},     {"forks", part_forks},   {"blocked", part_blocked},
                 {"killed", part_killed}};
    const char *path = getenv("MEMORY_LOG");
    log_file = path != NULL ? fopen(path, "w") : NULL;
    for (size_t i = 0; argc == 3 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            parts[i].part(atoi(argv[2]));
    if (log_file != NULL)
        (void)fclose(log_file);
    return 0;
}
