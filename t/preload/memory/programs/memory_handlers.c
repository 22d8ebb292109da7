/* SPDX-License-Identifier: BSD-3-Clause
 * memory_handlers HOW ROUNDS: signal handlers in windows. Each handler has a number, and writes
 * WRITES times to the element of `ticked` or `nested` with this number. HOW:
 * - plain
 * - nested: every third handler is interrupted by another
 * - jump: every fifth handler is left by siglongjmp
 * - stack: handlers have their own stack
 * - window: the handler of each window's fifth tick closes the window
 * Logs to $MEMORY_LOG "ticked|nested ADDRESS", and for each window "window FIRST LAST": the numbers
 * of the handlers that are certainly over within it. */
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define WRITES 5
#define ELEMENTS 4096

static volatile uint64_t ticked[ELEMENTS], nested[ELEMENTS];
static volatile unsigned long ticks, number, opened_at;
static volatile bool nests, jumps, closes, is_open, may_jump;
static sigjmp_buf back;
static uint64_t data[512];

APART void open_window(void)
{
    __asm__ volatile("" ::: "memory");
}

APART void close_window(void)
{
    __asm__ volatile("" ::: "memory");
}

APART static void write_it(volatile uint64_t *where)
{
    for (int i = 0; i < WRITES; i++)
        *where = (uint64_t)i;
}

static void inner(int signo)
{
    (void)signo;
    write_it(&nested[number % ELEMENTS]);
}

static void tick(int signo)
{
    (void)signo;
    number = ticks;
    write_it(&ticked[number % ELEMENTS]);
    if (nests && number % 3 == 0)
        (void)raise(SIGUSR1);
    if (closes && is_open && number - opened_at == 5) {
        is_open = false;
        close_window();
    }
    ticks = number + 1;
    if (jumps && may_jump && number % 5 == 0)
        siglongjmp(back, 1);
}

APART static uint64_t work(uint64_t *a, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        a[i] += (uint64_t)i;
        sum += a[i] * 3;
    }
    return sum;
}

APART static void work_on(unsigned long until)
{
    volatile uint64_t sum = 0;
    while (ticks < until) {
        sum += work(data, (int)(sizeof data / sizeof *data));
        (void)usleep(1); /* otherwise there would be billions of accesses */
    }
}

static void set_timer(int microseconds)
{
    struct sigaction a = {.sa_handler = tick, .sa_flags = SA_RESTART | SA_ONSTACK},
                     b = {.sa_handler = inner, .sa_flags = SA_RESTART};
    struct itimerval every = {.it_interval.tv_usec = microseconds,
                              .it_value.tv_usec = microseconds};
    (void)sigaction(SIGALRM, &a, NULL);
    (void)sigaction(SIGUSR1, &b, NULL);
    (void)setitimer(ITIMER_REAL, &every, NULL);
}

static void one_window(FILE *log)
{
    volatile unsigned long first, last;
    is_open = true;
    opened_at = ticks;
    open_window();
    first = ticks + closes; /* opened_at may be too early by one */
    if (sigsetjmp(back, 1) == 0)
        may_jump = true;
    work_on(first + 8);
    may_jump = false;
    last = closes ? opened_at + 4 : ticks - 1;
    if (is_open)
        close_window();
    is_open = false;
    if (log != NULL)
        (void)fprintf(log, "window %lu %lu\n", (unsigned long)first, (unsigned long)last);
    work_on(ticks + 3);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "plain", *path = getenv("MEMORY_LOG");
    FILE *log = path != NULL ? fopen(path, "w") : NULL;
    stack_t own = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    if (strcmp(how, "stack") == 0)
        (void)sigaltstack(&own, NULL);
    nests = strcmp(how, "nested") == 0;
    jumps = strcmp(how, "jump") == 0;
    closes = strcmp(how, "window") == 0;
    if (log != NULL)
        (void)fprintf(log, "ticked %lx\nnested %lx\n", (unsigned long)(uintptr_t)ticked,
                      (unsigned long)(uintptr_t)nested);
    set_timer(400);
    for (int n = argc > 2 ? atoi(argv[2]) : 20; n > 0; n--)
        one_window(log);
    set_timer(0);
    printf("done\n");
    if (log != NULL)
        (void)fclose(log);
    return 0;
}
