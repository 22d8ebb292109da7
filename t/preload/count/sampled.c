/* SPDX-License-Identifier: BSD-3-Clause
 * A program that knows where its time goes: inside a window (SIGUSR1 to SIGUSR2) three parts in one
 * function to one part in another, and as much outside in a third. Prints the CPU time in ms of the
 * window, of each of the two functions, and of the third. Compiled with frame pointers and -g, see
 * Makemodule.am.
 *
 *   sampled work | threads | fork | faults PAGES | exec | many */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNIT 4000000
#ifdef __clang__
#define WORK __attribute__((noinline))
#else
#define WORK __attribute__((noinline, noclone))
#endif

static volatile double sink;

WORK static void innermost(long n)
{
    double s = 0;
    for (long i = 1; i < n; i++) {
        s += 1.0 / (double)i;
        __asm__ volatile("" : "+x"(s));
    }
    sink = s;
}

WORK static void three_parts(int n)
{
    for (int i = 0; i < n; i++)
        innermost(3 * UNIT);
    sink += 1;
}

WORK static void one_part(int n)
{
    for (int i = 0; i < n; i++)
        innermost(UNIT);
    sink += 1;
}

WORK static void unseen(int n)
{
    double s = 0;
    for (long i = 1; i < (long)n * 4 * UNIT; i++) {
        s += 2.0 / (double)i;
        __asm__ volatile("" : "+x"(s));
    }
    sink = s;
}

static double cpu_ms(clockid_t clock)
{
    struct timespec ts;
    (void)clock_gettime(clock, &ts);
    return 1e3 * (double)ts.tv_sec + 1e-6 * (double)ts.tv_nsec;
}

/* Returns the CPU time of part(n) in ms. It is measured, because the processor may be faster in one
 * part than in another. */
static double spent(void (*part)(int), int n)
{
    double from = cpu_ms(CLOCK_THREAD_CPUTIME_ID);
    part(n);
    return cpu_ms(CLOCK_THREAD_CPUTIME_ID) - from;
}

static void work(int n)
{
    double outside = spent(unseen, n);
    (void)raise(SIGUSR1);
    double three = spent(three_parts, n), one = spent(one_part, n);
    (void)raise(SIGUSR2);
    outside += spent(unseen, n);
    printf("cpu %.0f %.0f %.0f %.0f\n", three + one, three, one, outside);
    (void)fflush(stdout);
}

static volatile int joining;

static void *worker(void *arg)
{
    /* The thread computes, without signals and calls. Only the broadcast edge can reach it. */
    for (int i = 0; i < *(int *)arg || !joining; i++)
        one_part(1);
    return NULL;
}

static void threads(int n)
{
    pthread_t t[2];
    int much = 4 * n;
    for (int i = 0; i < 2; i++)
        (void)pthread_create(&t[i], NULL, worker, &much);
    three_parts(1);
    (void)raise(SIGUSR1);
    three_parts(n);
    (void)raise(SIGUSR2);
    joining = 1;
    for (int i = 0; i < 2; i++)
        (void)pthread_join(t[i], NULL);
    printf("joined\n");
}

WORK static void faults(long pages)
{
    char *p =
        mmap(NULL, (size_t)pages << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    (void)madvise(p, (size_t)pages << 12, MADV_NOHUGEPAGE);
    (void)raise(SIGUSR1);
    for (long i = 0; i < pages; i++)
        ((volatile char *)p)[i << 12] = 1;
    (void)raise(SIGUSR2);
    printf("touched %ld\n", pages);
}

static void forks(int n)
{
    (void)raise(SIGUSR1);
    one_part(1);
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        three_parts(n);
        exit(0);
    }
    int status = -1;
    (void)waitpid(child, &status, 0);
    (void)raise(SIGUSR2);
    printf("child %d\n", status);
}

/* Opens and closes windows by the thousand: a timer's last signal may come when its window is
 * closed, or when its thread is about to end. */
static void *short_lived(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20; i++) {
        (void)pthread_kill(pthread_self(), SIGUSR1);
        innermost(20000);
        (void)pthread_kill(pthread_self(), SIGUSR2);
    }
    innermost(20000);
    return NULL;
}

static void many(int n)
{
    for (int i = 0; i < n; i++) {
        pthread_t t[4];
        for (int k = 0; k < 4; k++)
            (void)pthread_create(&t[k], NULL, short_lived, NULL);
        for (int k = 0; k < 4; k++)
            (void)pthread_join(t[k], NULL);
    }
    printf("all ended\n");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 10;
    (void)signal(SIGUSR1, SIG_IGN);
    (void)signal(SIGUSR2, SIG_IGN);
    if (strcmp(what, "work") == 0)
        work(n);
    else if (strcmp(what, "threads") == 0)
        threads(n);
    else if (strcmp(what, "faults") == 0)
        faults(n);
    else if (strcmp(what, "fork") == 0)
        forks(n);
    else if (strcmp(what, "many") == 0)
        many(n);
    else if (strcmp(what, "exec") == 0)
        (void)execl(argv[0], argv[0], "work", argv[2], (char *)NULL);
    else
        return 2;
    return 0;
}
