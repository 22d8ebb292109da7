/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that call each other directly, and calls that only seem to be direct: odd begins, ends
 * and entries, and alarms on the called function. Argument: PART. Between open_window() and
 * close_window() each part accesses `cells` and its stack. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static volatile long cells[64];
static volatile int traps;

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

/* --- part begins: an instrumented copy cannot have the first instruction ---------------------- */

long stopped(long n);
__asm__(".text\n.type stopped,@function\nstopped: int3\n lea 1(%rdi),%rax\n ret\n.size "
        "stopped,.-stopped\n");
void *opens(const char *path, int flags);
__asm__(".type opens,@function\nopens: jmp dlopen@PLT\n.size opens,.-opens\n");

static void on_trap(int signo)
{
    (void)signo;
    traps++;
}

APART long begins(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += stopped(cells[i]);
    cells[n] += opens("libm.so.6", RTLD_NOW) != NULL;
    return sum;
}

/* --- part ends: jumps out of functions, falling into others, calls into the middle ------------ */

APART long last(volatile long *a, long n)
{
    a[0] += n;
    return a[0] + a[1];
}

long twice(volatile long *a, long n), falls(volatile long *a, long n),
    middle(volatile long *a, long n), within(volatile long *a, long n);
__asm__(
    ".type twice,@function\ntwice: cmp $3,%rsi\n je last\n add $8,%rdi\n cmp $5,%rsi\n je last\n "
    "mov (%rdi),%rax\n ret\n.size twice,.-twice\n"
    ".type falls,@function\nfalls: addq $1,(%rdi)\n.size falls,.-falls\n"
    ".type middle,@function\nmiddle: addq $2,8(%rdi)\n mov 8(%rdi),%rax\n ret\n.size "
    "middle,.-middle\n"
    ".type other,@function\nother: ud2\ninto: mov 8(%rdi),%rax\n ret\n.size other,.-other\n"
    ".type within,@function\nwithin: sub $8,%rsp\n call into\n add $8,%rsp\n ret\n.size "
    "within,.-within\n");

long ping(volatile long *a, long n);
APART long pong(volatile long *a, long n)
{
    a[n & 7]++;
    return n <= 0 ? a[1] : ping(a, n - 1);
}

APART long ping(volatile long *a, long n)
{
    a[8 + (n & 3)] += 2;
    return n <= 0 ? a[2] : pong(a, n - 1);
}

APART int for_library(const char *text)
{
    cells[20]++;
    return atoi(text);
}

/* Leaves its callers' frames by longjmp(). */
static jmp_buf out;
APART void leaves(int n)
{
    cells[21]++;
    if (n == 0)
        longjmp(out, 1);
    leaves(n - 1);
    cells[22]++;
}

APART long ends(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        sum += twice(cells, i) + falls(cells + 4, i) + middle(cells + 6, i) + within(cells + 8, i);
        sum += ping(cells, i) + for_library("12");
    }
    return sum;
}

APART long jumps(int n)
{
    if (setjmp(out) == 0)
        leaves(n);
    return cells[21] + last(cells, n);
}

/* --- part alarms: an alarm on leaf or chosen, by any name, counts each call ------------------- */

APART long leaf(volatile long *a)
{
    return ++a[0];
}
extern __typeof__(leaf) other_name __attribute__((alias("leaf")));

APART long chosen_one(volatile long *a)
{
    return ++a[1];
}
static long (*choose(void))(volatile long *)
{
    return chosen_one;
}
long chosen(volatile long *a) __attribute__((ifunc("choose")));

APART long alarms(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += leaf(cells) + chosen_one(cells) + other_name(cells);
    return sum + chosen(cells);
}

/* --- part hands: computed, constant, loaded, narrow and unknown arguments --------------------- */

APART long takes(volatile long *a, long i, unsigned j)
{
    a[i & 15] += j;
    return a[j & 15];
}

APART long takes_many(long i, long j, long k, long l, long m, volatile long *a, long n)
{
    a[(i + j + k + l + m + n) & 31]++;
    return takes(a + 1, i - j, (unsigned)n);
}

APART long jumps_on(volatile long *a, long i)
{
    a[i & 3]++;
    return takes(a + 2, a[i & 7], (unsigned)i * 7);
}

APART long climbs(volatile long *a, long from, long to)
{
    if (to - from < 2)
        return takes(a, from, (unsigned)a[from & 15]);
    long middle = from + (to - from) / 2;
    return climbs(a, from, middle) + climbs(a + 1, middle, to);
}

static long (*volatile pointed)(volatile long *, long, unsigned) = takes;

APART long hands(int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++) {
        sum += takes(cells + i, 3, 7) + jumps_on(cells + (i & 1), i) + pointed(cells, i, 9);
        sum += takes_many(i, 1, i * 2, cells[i & 7], 5, cells, -1) + climbs(cells, 0, i);
        if (cells[i & 15] % 3 == 0)
            sum += takes(cells, cells[2], (unsigned)cells[3]);
    }
    return sum;
}

/* --- part nothing: a long run of calls that record nothing ------------------------------------ */

APART void n_0(void)
{
    cells[0]++;
}
#define TWICE(n, less)                                                                             \
    APART void n(void)                                                                             \
    {                                                                                              \
        less();                                                                                    \
        less();                                                                                    \
        __asm__ volatile("");                                                                      \
    }                                                                                              \
    struct ends_##n
TWICE(n_1, n_0);
TWICE(n_2, n_1);
TWICE(n_3, n_2);
TWICE(n_4, n_3);
TWICE(n_5, n_4);
TWICE(n_6, n_5);
TWICE(n_7, n_6);
TWICE(n_8, n_7);
TWICE(n_9, n_8);
TWICE(n_10, n_9);
TWICE(n_11, n_10);
TWICE(n_12, n_11);
TWICE(n_13, n_12);
TWICE(n_14, n_13);
TWICE(n_15, n_14);
TWICE(n_16, n_15);
TWICE(n_17, n_16);
TWICE(n_18, n_17);
TWICE(n_19, n_18);
TWICE(n_20, n_19);
TWICE(n_21, n_20);
TWICE(n_22, n_21);
TWICE(n_23, n_22);
TWICE(n_24, n_23);

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    long sum = 0;
    signal(SIGTRAP, on_trap);
    open_window();
    if (strcmp(part, "begins") == 0)
        sum = begins(10);
    else if (strcmp(part, "ends") == 0)
        sum = ends(10);
    else if (strcmp(part, "jumps") == 0)
        sum = jumps(10);
    else if (strcmp(part, "alarms") == 0)
        sum = alarms(100);
    else if (strcmp(part, "hands") == 0)
        sum = hands(12);
    else if (strcmp(part, "nothing") == 0)
        n_24();
    close_window();
    printf("%ld %d %ld\n", sum, traps, cells[0]);
    return 0;
}
