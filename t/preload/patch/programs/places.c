/* SPDX-License-Identifier: BSD-3-Clause
 * places PART N [masked|threads|fork]: executes the place of PART N times. Prints the address of
 * the place, and 0 if all results are right. For x86-64. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const char at_ssc[], at_itext[], at_magic[], at_magic_e[], at_cpuid[], at_int3[], at_call[],
    at_jump[], at_nop[], at_avx[];

#if defined(__clang__)
#define PART __attribute__((noinline))
#else
#define PART __attribute__((noinline, noclone))
#endif
static volatile long sink;

PART static void ssc(int i)
{
    (void)i;
    __asm__ volatile(".globl at_ssc\nat_ssc: movl $0x111, %%ebx\n\t.byte 0x64, 0x67, 0x90" ::
                         : "ebx");
    __asm__ volatile("movl $0x222, %%ebx\n\t.byte 0x64, 0x67, 0x90" ::: "ebx");
}

PART static void itext(int i)
{
    (void)i;
    __asm__ volatile(".globl at_itext\nat_itext: leaq 0x12345(%%rsp), %%rax" ::: "rax");
}

/* Has other values in the registers every other time. */
PART static void magic(int i)
{
    uint64_t a = 4, b = 7 + (uint64_t)(i & 1), c = 9;
    __asm__ volatile(".globl at_magic\nat_magic: xchgw %%bx, %%bx" : "+a"(a), "+b"(b), "+c"(c));
    uint32_t x = 3, y = 9 + (uint32_t)(i & 1);
    __asm__ volatile(".globl at_magic_e\nat_magic_e: .byte 0x87, 0xdb" : "+a"(x), "+b"(y));
}

PART static void cpuid(int i)
{
    uint32_t leaf = 0x1234711 * (uint32_t)(~i & 1), a = leaf, b, c = 0, d;
    __asm__ volatile(".globl at_cpuid\nat_cpuid: cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    /* The cpuid was executed: with leaf 0 it returns the vendor's name. */
    sink += (leaf | b | d) == 0;
}

PART static void int3(int i)
{
    (void)i;
    __asm__ volatile(".globl at_int3\nat_int3: int3");
}

PART static long callee(long i)
{
    return i + 1;
}

/* Has a call through memory, a short jump, and flags that must survive. */
PART static void address(int i)
{
    static long (*volatile indirect)(long) = callee;
    long r = i;
    __asm__ volatile("subq $128, %%rsp\n\t"
                     "movq %[i], %%rdi\n\t"
                     ".globl at_call\nat_call: callq *%[to]\n\t"
                     "addq $128, %%rsp\n\t"
                     "cmpq %[i], %%rax\n\t"
                     ".globl at_jump\nat_jump: jne 1f\n\t"
                     "movq $-1000, %%rax\n"
                     "1:\n\t.globl at_nop\nat_nop: nop"
                     : "=&a"(r)
                     : [i] "r"((long)i), [to] "m"(indirect)
                     : "rdi", "rsi", "rcx", "rdx", "r8", "r9", "r10", "r11", "memory", "cc");
    sink += r != i + 1;
}

PART static void avx(int i)
{
    (void)i;
    if (__builtin_cpu_supports("avx"))
        __asm__ volatile(".globl at_avx\nat_avx: vzeroupper" :::);
}

static const struct part {
    const char *name;
    void (*run)(int);
    const char *place;
} parts[] = {{"ssc", ssc, at_ssc},          {"itext", itext, at_itext}, {"magic", magic, at_magic},
             {"cpuid", cpuid, at_cpuid},    {"int3", int3, at_int3},    {"call", address, at_call},
             {"jump", address, at_jump},    {"nop", address, at_nop},   {"avx", avx, at_avx},
             {"magic_e", magic, at_magic_e}};

static const struct part *chosen;
static int times;

static void *work(void *argument)
{
    for (int i = 0; i < times; i++)
        chosen->run(i);
    return argument;
}

static void threads(int n)
{
    pthread_t t[8];
    for (int i = 0; i < n; i++)
        (void)pthread_create(&t[i], NULL, work, NULL);
    for (int i = 0; i < n; i++)
        (void)pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
    times = argc > 2 ? atoi(argv[2]) : 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && argc > 1; i++)
        if (strcmp(argv[1], parts[i].name) == 0)
            chosen = &parts[i];
    if (chosen == NULL)
        return 2;
    const char *how = argc > 3 ? argv[3] : "";
    sigset_t all;
    (void)sigfillset(&all);
    if (strcmp(how, "masked") == 0)
        (void)sigprocmask(SIG_SETMASK, &all, NULL);
    if (strcmp(how, "threads") == 0)
        threads(8);
    else if (strcmp(how, "fork") == 0 && fork() == 0)
        (void)work(NULL), exit(0);
    else
        (void)work(NULL);
    while (wait(NULL) > 0)
        ;
    printf("%p %ld\n", (const void *)chosen->place, sink);
    return 0;
}
