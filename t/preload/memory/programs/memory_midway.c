/* SPDX-License-Identifier: BSD-3-Clause
 * Test program whose windows open within functions that were entered before. All work is in the
 * function that opens the window, or in its callers. It logs to MEMORY_LOG what it does in windows,
 * as t/preload/memory/programs/memory_basic.c does. Arguments: WAY TURNS. */
#include "share/include/regtrace.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline))
#define WORK(from, count, stride)                                                                  \
    do {                                                                                           \
        for (int k_ = 0; k_ < (count); k_++)                                                       \
            array[(from) + k_ * (stride)] += (uint64_t)k_;                                         \
    } while (0)

int MPI_Pcontrol(int level, ...) __attribute__((weak));

static FILE *log_file;
static volatile uint64_t array[4096];

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

static void log_work(int from, int count, int stride)
{
    if (log_file != NULL)
        fprintf(log_file, "0 %lx %d %d\n", (unsigned long)(uintptr_t)&array[from], count, stride);
}

/* Opens the window two calls further in; both callers do some work after that. Every third time a
 * tail call, which is a jump, opens it. */
APART void begin_inner(int n)
{
    if (n % 3 == 0)
        return open_window();
    open_window();
    WORK(1000, n % 5, 1);
}

APART int begin(int n)
{
    WORK(2000, 3, 2); /* outside windows */
    begin_inner(n);
    WORK(2000, n % 7, 3);
    return n % 7;
}

static void by_calls(int turns)
{
    for (int n = 0; n < turns; n++) {
        WORK(0, 5, 1);
        int further = begin(n);
        WORK(100, n % 50, 2);
        close_window();
        WORK(0, 9, 4);
        if (n % 3 != 0)
            log_work(1000, n % 5, 1);
        log_work(2000, further, 3);
        log_work(100, n % 50, 2);
    }
}

/* Is nothing but a loop in main after inlining. */
static void by_name(int turns)
{
    for (int n = 0; n < turns; n++) {
        WORK(0, 5, 1);
        open_window();
        WORK(200, n % 60, 3);
        WORK(300, 17, 1);
        close_window();
        WORK(0, 5, 1);
        log_work(200, n % 60, 3);
        log_work(300, 17, 1);
    }
}

static void by_pcontrol(int turns)
{
    for (int n = 0; n < turns; n++) {
        double scale = n * 1.5;   /* stays in a register or on the stack throughout */
        if (MPI_Pcontrol != NULL) /* not defined without the preload */
            MPI_Pcontrol(1);
        WORK(400, n % 60, 3);
        array[401] += (uint64_t)(scale * 2);
        if (MPI_Pcontrol != NULL)
            MPI_Pcontrol(0);
        WORK(0, 5, 1);
        log_work(400, n % 60, 3);
        log_work(401, 1, 1);
    }
}

static void by_start(int turns)
{
    for (int n = 0; n < turns; n++) {
        regtrace_start(0);
        WORK(500, n % 60, 3);
        regtrace_stop(0);
        WORK(0, 5, 1);
        log_work(500, n % 60, 3);
    }
}

/* Its entry opens the window: all of it is recorded, and then the rest of its caller. */
APART void phase(int n)
{
    WORK(600, n % 9, 5);
}

static void by_function(int turns)
{
    for (int n = 0; n < turns; n++) {
        phase(n);
        WORK(700, n % 13, 2);
        close_window();
        WORK(0, 5, 1);
        log_work(600, n % 9, 5);
        log_work(700, n % 13, 2);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(int);
    } ways[] = {{"calls", by_calls},
                {"name", by_name},
                {"pcontrol", by_pcontrol},
                {"start", by_start},
                {"function", by_function}};
    const char *way = argc > 1 ? argv[1] : "", *path = getenv("MEMORY_LOG");
    int turns = argc > 2 ? atoi(argv[2]) : 10;
    uint64_t sum = 0;
    log_file = path != NULL ? fopen(path, "w") : NULL;
    if (log_file != NULL)
        fprintf(log_file, "array %lx\n", (unsigned long)(uintptr_t)array);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(way, ways[i].name) == 0)
            ways[i].run(turns);
    for (int i = 0; i < 4096; i++)
        sum = sum * 31 + array[i];
    printf("%s %lx\n", way, (unsigned long)sum);
    return log_file != NULL && fclose(log_file) != 0;
}
