/* SPDX-License-Identifier: BSD-3-Clause
 * Signal handlers that windows of memory traces meet. argv[1]:
 * - gone: siglongjmp leaves a handler on an alternate stack, the stack is unmapped, and another
 *   signal comes
 * - small: handlers run on an alternate stack little larger than the kernel's minimum, while the
 *   program is in the C library's sigaction; prints how many bytes below the stack have changed
 * - vfork: a child of vfork ends in a handler; then a loop runs, whose array's address is printed
 * - ticks: handlers of some milliseconds interrupt functions that are entered all the time
 * - fill: a function that a patched jump displaces entirely fills 64 MiB by one instruction
 * The last two run beside another thread, which enters begin_other. */
#define _GNU_SOURCE 1
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "another.inc"

#define APART __attribute__((noinline, noipa))

enum { STACK = 1 << 16, SMALL = 1 << 16, FILL = 64 << 20 };

static sigjmp_buf out;
static volatile long ticks;

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void handle(int signo, void (*handler)(int), int flags)
{
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = flags;
    if (sigaction(signo, &a, NULL) != 0)
        abort();
}

static void every(long us)
{
    struct itimerval i = {{0, us}, {0, us}};
    (void)setitimer(ITIMER_REAL, &i, NULL);
}

static char *map(size_t bytes)
{
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        abort();
    return p;
}

static void leave(int signo)
{
    (void)signo;
    siglongjmp(out, 1);
}

static void tick(int signo)
{
    (void)signo;
    ticks++;
}

static int gone(void)
{
    stack_t s = {.ss_sp = map(STACK), .ss_size = STACK}, off = {.ss_flags = SS_DISABLE};
    if (sigaltstack(&s, NULL) != 0)
        return 1;
    handle(SIGUSR1, leave, SA_ONSTACK);
    handle(SIGUSR2, tick, 0);
    if (sigsetjmp(out, 1) == 0)
        (void)raise(SIGUSR1);
    if (sigaltstack(&off, NULL) != 0 || munmap(s.ss_sp, STACK) != 0)
        return 1;
    (void)raise(SIGUSR2);
    printf("%ld\n", ticks);
    return 0;
}

static int small(void)
{
    enum { MORE = 1024, PATTERN = 0x55 };
    size_t size = getauxval(AT_MINSIGSTKSZ) + MORE;
    char *p = map(SMALL + size);
    long changed = 0;
    struct sigaction old;
    stack_t s = {.ss_sp = p + SMALL, .ss_size = size};
    memset(p, PATTERN, SMALL);
    if (sigaltstack(&s, NULL) != 0)
        return 1;
    handle(SIGALRM, tick, SA_ONSTACK | SA_RESTART);
    every(200);
    while (ticks < 1000)
        (void)sigaction(SIGUSR1, NULL, &old);
    every(0);
    for (long k = 0; k < SMALL; k++)
        changed += p[k] != PATTERN;
    printf("%ld\n", changed);
    return 0;
}

static volatile long array[64] __attribute__((aligned(4096)));

APART void called(long k)
{
    __asm__ volatile("" : : "r"(k));
}

/* Processor time: on a busy machine a second may pass before the thread runs at all. */
static double worked(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

APART static void loop(double until)
{
    while (worked() < until)
        for (long k = 0; k < 100000; k++) {
            array[k & 63] = k;
            called(k);
        }
}

static void end(int signo)
{
    (void)signo;
    _exit(0);
}

APART static void deep(void)
{
    volatile char room[1 << 15];
    room[0] = 1;
    (void)kill(getpid(), SIGUSR1);
    room[1] = room[0];
}

static int vforked(void)
{
    int status;
    handle(SIGUSR1, end, 0);
    pid_t child = vfork(); /* NOLINT: this tests vfork */
    if (child == 0) {
        deep();
        _exit(1);
    }
    if (waitpid(child, &status, 0) != child)
        return 1;
    printf("%lx\n", (unsigned long)(uintptr_t)array);
    loop(worked() + 1);
    return 0;
}

static void long_tick(int signo)
{
    double until = now() + 0.004;
    (void)signo;
    do
        for (long k = 0; k < 1000; k++)
            called(k);
    while (now() < until);
    ticks++;
}

static void ticking(void)
{
    double until = now() + 8;
    handle(SIGALRM, long_tick, 0);
    while (now() < until) {
        struct itimerval i = {{0, 0}, {0, 300 + rand() % 900}};
        long before = ticks;
        (void)setitimer(ITIMER_REAL, &i, NULL);
        do
            for (long k = 0; k < 200; k++)
                called(k);
        while (ticks == before && now() < until);
    }
    puts("well");
}

/* Has five bytes, which a patched jump displaces entirely, and a return. */
void fill(void *p, size_t n);
__asm__(".text\n.globl fill\n.type fill, @function\nfill: .cfi_startproc\n	mov %rsi, %rcx\n"
        "	rep stosb\n	ret\n.cfi_endproc\n.size fill, . - fill\n");

static void filling(void)
{
    char *p = map(FILL);
    double until = now() + 4;
    while (now() < until)
        fill(p, FILL);
    puts("well");
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(how, "gone") == 0)
        return gone();
    if (strcmp(how, "small") == 0)
        return small();
    if (strcmp(how, "vfork") == 0)
        return vforked();
    if (!another_begins())
        return 1;
    if (strcmp(how, "ticks") == 0)
        ticking();
    else
        filling();
    return !another_ends();
}
