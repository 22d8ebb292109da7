/* SPDX-License-Identifier: BSD-3-Clause
 * The program whose windows memory_every_tracer.c opens and closes at every instruction:
 * memory_anywhere's functions (MEMORY_EVERY), each of which touches the same elements each time.
 * With the argument "another" it has another thread, which waits. */
#include "memory_every.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MEMORY_EVERY
#include "memory_anywhere.c"

#include "another.inc"

static void nothing(int signo)
{
    (void)signo;
}

/* Stops for the tracer, which reads n. Returns the tracer's answer. Does nothing else, because an
 * instrumented copy leaves for the function itself at an int3. */
APART static uint64_t mark(uint64_t n)
{
    uint64_t said = MARK;
    __asm__ volatile("int3" : "+a"(said) : "D"(n) : "memory");
    return said;
}

static uint64_t recursion(uint64_t n)
{
    return recurse(n, 2);
}

static uint64_t called(uint64_t n)
{
    return library(array, n, leaf);
}

/* Calls functions through stubs of the PLT. */
static uint64_t stubs(uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        n = leaf(n) + ((unsigned)getpagesize() & 1);
        n = touch(n) + ((unsigned)getppid() & 0);
    }
    return n;
}

static int is_traced(void)
{
    char line[256];
    int tracer = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "TracerPid: %d", &tracer);
    if (f != NULL)
        (void)fclose(f);
    return tracer != 0;
}

int main(int argc, char **argv)
{
    bool beside = argc > 1 && strcmp(argv[1], "another") == 0;
    static uint64_t (*const parts[])(uint64_t) = {leaf,  loops,  recursion, choose, called, back,
                                                  jumps, thread, odd,       begins, stubs};
    (void)signal(SIGUSR1, SIG_IGN); /* these signals may open and close windows */
    (void)signal(SIGUSR2, SIG_IGN);
    (void)signal(OTHER, nothing);
    (void)threaded(NULL, 0);
    if (beside && !another_begins())
        return 1;
    sorted_count = 3;
    printf("%d %lx\n", (int)getpid(), (unsigned long)(uintptr_t)array);
    (void)fflush(stdout);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (int n = 0; !is_traced(); n++) {
        if (n == 3000)
            return 1;
        (void)usleep(10000);
    }
    for (unsigned p = 0; p < sizeof parts / sizeof *parts; p++) {
        uint64_t first = 100 * p + 7, end = parts[p](first), now, again;
        do {
            begin_all();
            (void)mark(first);
            now = parts[p](first);
            again = mark(now);
            end_all();
            if (now != end)
                abort();
        } while (again == AGAIN);
    }
    if (beside && !another_ends())
        return 1;
    return 0;
}
