// SPDX-License-Identifier: BSD-3-Clause
// Marks of the kind KIND in the middle of functions: program TURNS THREADS. In a window that they
// open and close the first store to `mark` is 1 and the last is 2.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline, noipa))
#define STRING(x) #x
#if KIND == 1 /* SSC */
#define MARK(n) __asm__ volatile("movl $0x" STRING(n) ", %%ebx\n\t.byte 0x64, 0x67, 0x90" ::: "ebx")
#elif KIND == 2 /* magic */
#define MARK(n)                                                                                    \
    __asm__ volatile("movl $" STRING(n) ", %%eax\n\tmovl $7, %%ebx\n\txchgl %%ebx, %%ebx" ::       \
                         : "eax", "ebx")
#elif KIND == 3 /* int3 */
#define MARK(n) __asm__ volatile("int3")
#elif KIND == 4 /* cpuid */
#define MARK(n)                                                                                    \
    __asm__ volatile("movl $0x" STRING(n) "4711, %%eax\n\tcpuid" ::: "eax", "ebx", "ecx", "edx")
#elif KIND == 5 /* bytes */
#define MARK(n) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00\n\t.long 0x" STRING(n))
#else /* labels: these instructions access memory themselves */
#define MARK(n)                                                                                    \
    __asm__ volatile(".globl mark_" STRING(n) "\nmark_" STRING(n) ":\n\tincl %0" : "+m"(labelled))
#endif

static volatile int data[64];
static __thread volatile int labelled;
volatile __thread int mark;

KEEP static int sum(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += data[i];
    return s;
}

KEEP static int fall(int n)
{
    return n <= 0 ? data[0] : fall(n - 1) + data[n & 63];
}

KEEP static void begins(int n)
{
    int before = sum(n);
    MARK(11);
    mark = 1;
    data[n & 7] = before;
}

/* Each window opens in begins(), in the middle of an iteration, and closes further down, after the
 * end of the inner loop. */
KEEP static int turns(int n)
{
    int r = 0;
    for (int i = 0; i < n; i++) {
        r += sum(i & 15);
        begins(i & 31);
        r ^= fall(i & 7);
        for (int k = 0; k < (i & 3); k++)
            data[k] = r + k;
        mark = 2;
        MARK(22);
        r += data[i & 7];
    }
    return r;
}

/* Its first instruction is the head of its loop, so an alarm at its entry fires each time. */
#define AGAIN_COUNT "64"
int again(void);
__asm__(".text\n.globl again\n.type again, @function\nagain:\n\tincl again_turns(%rip)\n\tcmpl "
        "$" AGAIN_COUNT ", again_turns(%rip)\n\tjb again\n\tmovl again_turns(%rip), %eax\n\tret\n"
        ".size again, . - again\n.local again_turns\n.comm again_turns, 4, 4\n");

/* Has code that no instrumented copy may have. What follows its alarm is missing in the trace; its
 * caller is not. */
KEEP static int backwards(int n)
{
    data[8] = n;
    __asm__ volatile(".globl mark_std\nmark_std:\n\tstd\n\tcld");
    data[9] = n;
    return sum(2);
}

KEEP static int around(int n)
{
    int s = backwards(n);
    data[10] = s;
    return s;
}

static int count;

KEEP static void *all(void *unused)
{
    (void)unused;
    int r = turns(count);
    return (void *)(long)r;
}

int main(int argc, char **argv)
{
    pthread_t threads[16];
    int n = argc > 2 ? atoi(argv[2]) : 0;
    count = argc > 1 ? atoi(argv[1]) : 5;
    printf("%ld %d %d\n", (long)all(NULL), again(), around(3));
    for (int i = 0; i < n; i++)
        pthread_create(&threads[i], NULL, all, NULL);
    for (int i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
