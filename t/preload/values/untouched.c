/* SPDX-License-Identifier: BSD-3-Clause
 * A program of odd parts. Each prints its result, which must be the same whether or not its
 * instructions are followed at samples. */
#include <fcntl.h>
#include <fenv.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static volatile uint64_t sum;
static volatile uint64_t *volatile nowhere = (uint64_t *)8;
static unsigned char *page;
static volatile sig_atomic_t faults;
static sigjmp_buf back;

static uint64_t mix(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    return x ^ x >> 29;
}

static void repair(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    if (info->si_addr != page + 64)
        _exit(70);
    faults++;
    (void)mprotect(page, PAGE, PROT_READ | PROT_WRITE);
}

static void leave(int signo)
{
    (void)signo;
    faults++;
    siglongjmp(back, 1);
}

static void set(int signo, void (*handler)(int), void (*action)(int, siginfo_t *, void *),
                int flags)
{
    struct sigaction a = {.sa_flags = flags};
    if (action != NULL)
        a.sa_sigaction = action;
    else
        a.sa_handler = handler;
    (void)sigaction(signo, &a, NULL);
}

/* Makes a page inaccessible again and again. A handler repairs the faults. */
static void part_repair(int times)
{
    page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    set(SIGSEGV, NULL, repair, SA_SIGINFO);
    for (int i = 0; i < 300 * times; i++) {
        (void)mprotect(page, PAGE, PROT_NONE);
        *(volatile uint64_t *)(void *)(page + 64) += (uint64_t)i;
        for (int j = 0; j < 200; j++)
            sum = mix(sum + (uint64_t)j);
    }
    printf("repair %d %llu %llu\n", faults, (unsigned long long)*(uint64_t *)(void *)(page + 64),
           (unsigned long long)sum);
}

/* Leaves the handlers of faults and of divisions by zero by siglongjmp, also from an alternate
 * stack. */
static void part_leave(int times)
{
    static char stack[65536];
    const stack_t s = {.ss_sp = stack, .ss_size = sizeof stack};
    volatile int zero = 0;
    set(SIGFPE, leave, NULL, 0);
    set(SIGSEGV, leave, NULL, SA_ONSTACK);
    (void)sigaltstack(&s, NULL);
    for (volatile int i = 0; i < 300 * times; i = i + 1) {
        if (sigsetjmp(back, 1) == 0) {
            if (i % 2 == 0)
                sum += (uint64_t)(7 / zero);
            else
                sum += *nowhere;
        }
        for (int j = 0; j < 200; j++)
            sum = mix(sum + (uint64_t)j);
    }
    printf("leave %d %llu\n", faults, (unsigned long long)sum);
}

static void *thread(void *argument)
{
    uint64_t x = (uint64_t)(uintptr_t)argument;
    for (int i = 0; i < 20000; i++)
        x = mix(x + (uint64_t)i);
    return (void *)x;
}

static void part_threads(int times)
{
    for (int i = 0; i < 10 * times; i++) {
        pthread_t t[4];
        for (uintptr_t n = 0; n < 4; n++)
            if (pthread_create(&t[n], NULL, thread, (void *)(n + (uintptr_t)i)) != 0)
                abort();
        for (int n = 0; n < 4; n++) {
            void *x;
            (void)pthread_join(t[n], &x);
            sum += (uint64_t)(uintptr_t)x;
        }
    }
    printf("threads %llu\n", (unsigned long long)sum);
}

/* Uses rounding modes, sticky exception flags, long double, and libm's functions with all of
 * these. */
static void part_numbers(int times)
{
    static const int rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    long double wide = 1;
    double x = 0.5, total = 0;
    (void)feclearexcept(FE_ALL_EXCEPT);
    for (int i = 0; i < 20000 * times; i++) {
        if (i % 512 == 0)
            (void)fesetround(rounding[i / 512 % 4]);
        x = x * 0.999 + sqrt(fabs(x)) / 3.0 + sin(x);
        wide = wide * 1.0000001L + 1.0L / (i + 1);
        total += x - floor(x);
        if (fabs(x) > 100)
            x /= 64;
    }
    (void)fesetround(FE_TONEAREST);
    printf("numbers %a %a %La %d\n", x, total, wide, fetestexcept(FE_ALL_EXCEPT));
}

static void part_strings(int times)
{
    static char from[70000], to[70000];
    for (unsigned i = 0; i < sizeof from; i++)
        from[i] = (char)mix(i);
    for (int i = 0; i < 30 * times; i++) {
        size_t n = mix((uint64_t)i) % 60000, at = mix((uint64_t)i * 3) % 9000;
        memmove(from + at, from + at / 2, n);
        memcpy(to, from, n);
        memset(from + at, i, n / 16);
        void *d = to + at;
        const void *s = from;
        size_t count = n / 8;
        __asm__ volatile("rep movsq" : "+D"(d), "+S"(s), "+c"(count) : : "memory");
        for (size_t j = 0; j < n; j += 64)
            sum = mix(sum + (unsigned char)to[j]);
    }
    printf("strings %llu\n", (unsigned long long)sum);
}

static unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Has calls, text, memory, and sorting by a callback. */
static void part_calls(int times)
{
    char text[128];
    uint32_t numbers[500];
    for (int i = 0; i < 4 * times; i++) {
        sum += fibonacci(15);
        for (unsigned j = 0; j < 500; j++)
            numbers[j] = (uint32_t)mix(j + (uint64_t)i);
        qsort(numbers, 500, sizeof *numbers, compare);
        (void)snprintf(text, sizeof text, "%.17g %u %s", sqrt(numbers[7]), numbers[100],
                       "and so on");
        char *copy = strdup(text);
        sum = mix(sum + (uint64_t)(strtod(copy, NULL) * 1000) + strlen(copy));
        free(copy);
    }
    printf("calls %llu\n", (unsigned long long)sum);
}

static _Atomic uint64_t shared;

static void tick(int signo)
{
    (void)signo;
    faults++;
}

/* Has atomic instructions, and handlers of the program while signals are blocked and unblocked. */
static void part_signals(int times)
{
    sigset_t all, none;
    (void)sigfillset(&all);
    (void)sigemptyset(&none);
    set(SIGUSR1, tick, NULL, 0);
    for (int i = 0; i < 2000 * times; i++) {
        if (i % 64 == 0)
            (void)sigprocmask(SIG_SETMASK, &all, NULL);
        if (i % 32 == 7)
            (void)raise(SIGUSR1);
        if (i % 64 == 40)
            (void)sigprocmask(SIG_SETMASK, &none, NULL);
        for (int j = 0; j < 20; j++)
            shared += (uint64_t)j;
    }
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    printf("signals %d %llu\n", faults, (unsigned long long)shared);
}

enum { MANY = 1000 };

/* Closes all descriptors that it does not know, as daemons do, and takes each number itself, again
 * and again. */
static void part_descriptors(int times)
{
    int alive = 0;
    for (int i = 0; i < times; i++) {
        for (int fd = 3; fd < MANY; fd++) {
            (void)close(fd);
            if (dup2(STDOUT_FILENO, fd) != fd)
                abort();
        }
        for (int j = 0; j < 20000; j++)
            sum = mix(sum + (uint64_t)j);
        alive = 0;
        for (int fd = 3; fd < MANY; fd++)
            alive += fcntl(fd, F_GETFD) >= 0;
    }
    printf("descriptors %d %llu\n", alive, (unsigned long long)sum);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*part)(int);
    } parts[] = {{"repair", part_repair},   {"leave", part_leave},
                 {"threads", part_threads}, {"numbers", part_numbers},
                 {"strings", part_strings}, {"calls", part_calls},
                 {"signals", part_signals}, {"descriptors", part_descriptors}};
    for (size_t i = 0; argc == 3 && i < sizeof parts / sizeof *parts; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            parts[i].part(atoi(argv[2]));
    return 0;
}
