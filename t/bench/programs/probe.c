/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the nanoseconds of one call of a small function.
 *
 * probe CALLS [small]: by default the function begins with an instruction of 6 bytes, so that a
 * jump fits there and at its return address. With `small` it is too small for a jump. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLAIN __attribute__((noinline, noclone))

static volatile int kept;

PLAIN static int large(int x)
{
    kept = x;
    return x + kept;
}

PLAIN static int never(int x)
{
    kept = x;
    return x - kept;
}

/* Three bytes and a return; the next function follows. */
int tiny(int x);
__asm__(".text\n.globl tiny\n.type tiny, @function\n"
        "tiny: lea 1(%rdi), %eax\n	ret\n.size tiny, . - tiny\n"
        ".globl next\n.type next, @function\nnext: ret\n.size next, . - next\n");

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    long n = argc > 1 ? atol(argv[1]) : 0;
    volatile int sink = argc > 3 ? never(1) : 0;
    double begin = now();
    if (argc > 2)
        for (long i = 0; i < n; i++)
            sink = tiny(sink);
    else
        for (long i = 0; i < n; i++)
            sink = large(sink);
    return printf("%.3f\n", (now() - begin) / (double)n) < 0;
}
