/* SPDX-License-Identifier: BSD-3-Clause
 * Test program that touches the elements of one array in order, round and round, from nested
 * functions, loops, recursion, function pointers, a function that libc calls back, and a library
 * (this file with -DLIBRARY). Wherever a window opens or closes, its trace has consecutive elements
 * only. Prints the array's address to standard error, and its results. Arguments: HOW ROUNDS. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define APART __attribute__((noinline))

enum { SIZE = 4096 };

#ifdef LIBRARY

uint64_t library(uint64_t *elements, uint64_t n, uint64_t (*back)(uint64_t));
APART uint64_t library(uint64_t *elements, uint64_t n, uint64_t (*back)(uint64_t))
{
    for (int i = 0; i < 3; i++) {
        elements[n % SIZE] += n;
        n++;
        if (n % 3 == 0)
            n = back(n);
    }
    return n;
}

#else

uint64_t shared_array[SIZE];
#define array shared_array

/* Touches element n; returns the number of the next. */
static inline __attribute__((always_inline)) uint64_t touch(uint64_t n)
{
    array[n % SIZE] += n;
    return n + 1;
}

APART uint64_t leaf(uint64_t n)
{
    return touch(n);
}

APART uint64_t loops(uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        n = touch(n);
        for (unsigned k = 0; k < n % 5; k++)
            n = touch(n);
        if (n % 7 == 0)
            n = leaf(n);
    }
    return n;
}

APART uint64_t recurse(uint64_t n, int depth)
{
    n = touch(n);
    if (depth > 0) {
        n = recurse(n, depth - 1);
        n = touch(n);
        if (depth % 2 == 0)
            n = recurse(n, depth / 2 - 1);
    }
    return touch(n);
}

APART uint64_t choose(uint64_t n)
{
    static uint64_t (*volatile const how[])(uint64_t) = {leaf, loops};
    switch (n % 11) {
    case 0: n = touch(n); break;
    case 1: n = touch(touch(n)); break;
    case 2: n = leaf(n); break;
    case 3: n = how[1](n); break;
    case 4: n = touch(n); break;
    case 5: n = recurse(n, 2); break;
    case 6: n = how[0](n); break;
    case 7: n = how[0](touch(n)); break;
    default: n = loops(n);
    }
    return touch(n);
}

/* Keeps doubles across calls. Functions need not preserve vector registers, so the doubles lie on
 * the stack. */
APART uint64_t mixed(uint64_t n)
{
    double x = (double)n, y = x * 0.5;
    for (int i = 0; i < 4; i++) {
        n = choose(n);
        x = x * 0.75 + y;
        n = touch(n);
    }
    return x < 0 ? 0 : n;
}

/* Touches elements, and calls the program back. */
uint64_t library(uint64_t *elements, uint64_t n, uint64_t (*back)(uint64_t));

static uint64_t sorted_n;
static volatile int sorted_count = 16;

static int compare(const void *a, const void *b)
{
    sorted_n = touch(sorted_n);
    sorted_n = leaf(sorted_n);
    return *(const int *)a - *(const int *)b;
}

APART uint64_t back(uint64_t n)
{
    int list[16];
    for (int i = 0; i < 16; i++)
        list[i] = (int)((n * 7 + (unsigned)i * 5) % 16);
    sorted_n = touch(n);
    qsort(list, (size_t)sorted_count, sizeof *list, compare);
    return touch(sorted_n);
}

static jmp_buf out;
static uint64_t jumped_n;

APART void jump(uint64_t n, int depth)
{
    n = touch(n);
    jumped_n = n;
    if (depth == 0)
        longjmp(out, 1);
    jump(n, depth - 1);
}

APART uint64_t jumps(uint64_t n)
{
    volatile uint64_t at = touch(n);
    if (setjmp(out) == 0)
        jump(at, 3);
    n = touch(jumped_n);
    return leaf(n);
}

/* Threaded code: the caller chooses where its jumps lead. */
static void *const *labels;

APART uint64_t threaded(void *const *program, uint64_t n)
{
    static void *const list[] = {&&one, &&two, &&call, &&over};
    if (program == NULL) {
        labels = list;
        return n;
    }
    goto **program++; /* NOLINT: GNU C */
one:
    n = touch(n);
    goto **program++;
two:
    n = touch(touch(n));
    goto **program++;
call:
    n = loops(n);
    goto **program++;
over:
    return touch(n);
}

APART uint64_t thread(uint64_t n)
{
    static const char text[] = "0120211002";
    void *program[sizeof text];
    for (size_t i = 0; i + 1 < sizeof text; i++)
        program[i] = labels[text[(i + n) % (sizeof text - 1)] - '0'];
    program[sizeof text - 1] = labels[3];
    return threaded(program, touch(n));
}

/* Begins with a call, and ends with a jump to another function. */
uint64_t begins(uint64_t n);
__asm__(".text\n.globl begins\n.type begins, @function\n"
        "begins: call leaf\n	mov %rax, %rdi\n	jmp leaf\n.size begins, . - begins\n");

/* Has a branch past a prefix, so that instructions overlap; a call that only reads its own address;
 * and a branch to another function. */
uint64_t odd(uint64_t n);
__asm__(".text\n.globl odd\n.type odd, @function\n"
        "odd: mov %rdi, %rax\n	and $4095, %eax\n	lea shared_array(%rip), %rdx\n"
        "	test $1, %dil\n	jz 1f + 1\n"
        "1:	lock addq %rdi, (%rdx,%rax,8)\n	add $1, %rdi\n"
        "	call 2f\n2:	pop %rdx\n	test $2, %dil\n	jz leaf\n	jmp loops\n.size "
        "odd, . - odd\n");

/* Entering these functions may open and close windows for all threads. */
APART void begin_all(void)
{
    __asm__ volatile("");
}

APART void end_all(void)
{
    __asm__ volatile("");
}

#ifndef MEMORY_EVERY

static _Atomic long rounds_done;

static uint64_t run(const char *how, long rounds)
{
    uint64_t n = 0;
    (void)threaded(NULL, 0);
    for (long r = 0; r < rounds; r++) {
        atomic_store_explicit(&rounds_done, r, memory_order_relaxed);
        n = touch(n);
        n = mixed(n);
        n = touch(n);
        n = library(array, n, loops);
        if (strcmp(how, "back") == 0)
            n = back(n);
        if (strcmp(how, "jumps") == 0)
            n = jumps(n);
        if (strcmp(how, "odd") == 0)
            n = thread(odd(begins(n)));
    }
    return n;
}

static _Atomic int running;

static void *run_thread(void *rounds)
{
    uint64_t n = run("", *(long *)rounds);
    running = 0;
    return (void *)(uintptr_t)n; /* NOLINT: a number */
}

/* One thread works while another opens and closes windows for all threads. */
static uint64_t with_thread(long rounds)
{
    pthread_t t;
    void *n = NULL;
    running = 1;
    if (pthread_create(&t, NULL, run_thread, &rounds) != 0)
        abort();
    while (running) {
        (void)usleep(10000);
        begin_all();
        long from = atomic_load(&rounds_done);
        while (running && atomic_load(&rounds_done) < from + 3000)
            /* However long the other thread takes for these rounds. */
            (void)usleep(1000);
        end_all();
    }
    (void)pthread_join(t, &n);
    return (uintptr_t)n;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    long rounds = argc > 2 ? atol(argv[2]) : 1000;
    uint64_t n, sum = 0;
    (void)signal(SIGUSR1, SIG_IGN); /* these signals may open and close windows */
    (void)signal(SIGUSR2, SIG_IGN);
    fprintf(stderr, "%lx\n", (unsigned long)(uintptr_t)array);
    n = strcmp(how, "thread") == 0 ? with_thread(rounds) : run(how, rounds);
    for (int i = 0; i < SIZE; i++)
        sum = sum * 31 + array[i];
    printf("%lu %lx\n", (unsigned long)n, (unsigned long)sum);
    return 0;
}

#endif
#endif
