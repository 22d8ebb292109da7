/* SPDX-License-Identifier: BSD-3-Clause
 * Works in many kinds of frames for call_paths.t, which stops it at random moments: recursion,
 * callbacks of libc, aligned and variable frames, tail calls, handlers on the stack and on an
 * alternate one, a second thread. usage: moments [SECONDS] */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

static volatile unsigned long sum;

#define APART __attribute__((noinline))

APART static unsigned long leaf(unsigned long n)
{
    unsigned long s = n;
    for (int i = 0; i < 20; i++)
        s = s * 6364136223846793005u + 1442695040888963407u;
    return s;
}

APART static unsigned long recurse(unsigned n)
{
    return n == 0 ? leaf(sum) : recurse(n - 1) + leaf(n);
}

/* Realigns its stack: its caller's frame is found through memory. */
APART static double aligned(unsigned n)
{
    _Alignas(64) double x[8];
    for (int i = 0; i < 8; i++)
        x[i] = (double)leaf(n + (unsigned)i);
    double s = 0;
    for (int i = 0; i < 8; i++)
        s += x[i];
    return s + (double)recurse(n & 3);
}

APART static double variable(unsigned n)
{
    double *x = alloca((n % 100 + 1) * sizeof *x);
    for (unsigned i = 0; i <= n % 100; i++)
        x[i] = (double)leaf(i);
    return x[n % 7 <= n % 100 ? n % 7 : 0] + aligned(n);
}

static int compare(const void *a, const void *b)
{
    unsigned long x = leaf(*(const unsigned *)a), y = leaf(*(const unsigned *)b);
    return x < y ? -1 : x > y;
}

APART static unsigned long sorts(unsigned n)
{
    unsigned x[40];
    for (unsigned i = 0; i < 40; i++)
        x[i] = i * n;
    qsort(x, 40, sizeof *x, compare);
    return x[0];
}

APART static unsigned long tail(unsigned n)
{
    return n % 2 == 0 ? sorts(n) : recurse(n % 9);
}

static void handler(int number)
{
    sum += leaf((unsigned long)number) + tail((unsigned)number);
}

APART static void prints(unsigned n)
{
    char text[64];
    snprintf(text, sizeof text, "%f %u", variable(n), n);
    sum += strlen(text);
}

static void *work(void *seconds)
{
    time_t end = time(NULL) + *(int *)seconds;
    for (unsigned n = 0; time(NULL) < end; n++) {
        prints(n);
        sum += tail(n);
        raise(n % 2 == 0 ? SIGUSR1 : SIGUSR2);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int seconds = argc > 1 ? atoi(argv[1]) : 1;
    stack_t other = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    struct sigaction on_stack = {.sa_handler = handler},
                     aside = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    pthread_t thread;
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &on_stack, NULL);
    sigaction(SIGUSR2, &aside, NULL);
    pthread_create(&thread, NULL, work, &seconds);
    work(&seconds);
    pthread_join(thread, NULL);
    printf("%lu\n", sum);
    return 0;
}
