/* SPDX-License-Identifier: BSD-3-Clause
 * Loops for t/tools/values/kernels.t whose values and addresses are known beforehand.
 *   kernels SECONDS [NAME]...        runs each loop for that much processor time
 *   kernels -n ITERATIONS [NAME]...  runs that many iterations of each loop
 * Prints the names of the loops that ran.
 *
 * Each loop has twelve instructions, so that a sample that follows twelve instructions has each of
 * them once. rdx is 0, 1, 2 or 3, with equal probability and at random: the top bits of a linear
 * congruential sequence of full period, which goes on from call to call. So all iterations take the
 * same time, and they have no pattern that could meet the sampling period. Linked without -pie, so
 * that addresses are the same in every run. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const int64_t whole[4] = {7, 7, 7, 9};
const double real[4] = {7, 7, 7, 9};
/* strided reads every second cell; gather reads the first 16. */
int64_t cells[64];
const int64_t lanes[4] = {0, 4, 8, 12};
const double quads[4][4] = {{7, 1, 2, 3}, {7, 1, 2, 3}, {7, 1, 2, 3}, {9, 4, 5, 6}};
/* The stack of `stacked`, with room for signal handlers. */
char own_stack[262144];

/* Takes the number of iterations in rdi and the state of the sequence in rsi; returns the new
 * state. */
#define KERNEL(name, before, body, after)                                                          \
    uint64_t name(uint64_t n, uint64_t state);                                                     \
    __asm__(".text\n.p2align 6\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"        \
            "mov %rsi, %rax\n mov %rdi, %rcx\n"                                                    \
            "movabs $6364136223846793005, %r8\n movabs $1442695040888963407, %r9\n"                \
            "push %r13\n" before "\n1:\n"                                                          \
            "imul %r8, %rax\n add %r9, %rax\n mov %rax, %rdx\n shr $62, %rdx\n" body               \
            "\n dec %rcx\n jnz 1b\n" after "\n pop %r13\n ret\n.size " #name ", . - " #name "\n")

KERNEL(seven, "mov $whole, %esi",
       "mov (%rsi,%rdx,8), %r13\n lea 1(%r13), %r10\n lea (%r13,%r13), %r11\n nop\n nop\n nop", "");
KERNEL(
    strided, "mov $cells, %esi\n xor %edi, %edi",
    "mov (%rsi,%rdi,8), %r13\n mov %r13, 8(%rsi,%rdi,8)\n add $2, %edi\n and $63, %edi\n nop\n nop",
    "");
/* Runs on own_stack, so that its stack is at the same place in each run. */
KERNEL(stacked, "mov $whole, %esi\n mov %rsp, %rdi\n mov $own_stack + 262144, %esp",
       "push (%rsi,%rdx,8)\n pop %r13\n mov %r13, -64(%rsp,%rdx,8)\n add -64(%rsp,%rdx,8), %r13\n "
       "nop\n nop",
       "mov %rdi, %rsp");
KERNEL(x87, "mov $real, %esi",
       "fldl (%rsi,%rdx,8)\n fadd %st(0), %st\n fstp %st(0)\n nop\n nop\n nop", "");
KERNEL(sse, "mov $real, %esi",
       "movsd (%rsi,%rdx,8), %xmm0\n mulsd %xmm0, %xmm0\n nop\n nop\n nop\n nop", "");
KERNEL(avx, "mov $quads, %esi",
       "shl $5, %rdx\n vmovupd (%rsi,%rdx), %ymm0\n vaddpd %ymm0, %ymm0, %ymm1\n nop\n nop\n nop",
       "vzeroupper");
KERNEL(gather, "mov $cells, %esi\n vmovdqu lanes, %ymm3",
       "vmovq %rdx, %xmm1\n vpbroadcastq %xmm1, %ymm1\n vpaddq %ymm3, %ymm1, %ymm1\n"
       "vpcmpeqd %ymm2, %ymm2, %ymm2\n vpgatherqq %ymm2, (%rsi,%ymm1,8), %ymm0\n nop",
       "vzeroupper");
KERNEL(avx512,
       "mov $real, %esi\n mov $7, %r10d\n vcvtsi2sd %r10, %xmm2, %xmm2\n vbroadcastsd %xmm2, %zmm2",
       "vbroadcastsd (%rsi,%rdx,8), %zmm0\n vaddpd %zmm0, %zmm0, %zmm1\n"
       "vcmpeqpd %zmm2, %zmm0, %k1\n kmovb %k1, %r13d\n nop\n nop",
       "vzeroupper");

static bool always(void)
{
    return true;
}

static bool have_avx(void)
{
    return __builtin_cpu_supports("avx");
}

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2");
}

static bool have_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq");
}

static const struct {
    const char *name;
    uint64_t (*run)(uint64_t n, uint64_t state);
    bool (*here)(void);
} kernels[] = {
    {"seven", seven, always},      {"strided", strided, always},
    {"stacked", stacked, always},  {"x87", x87, always},
    {"sse", sse, always},          {"avx", avx, have_avx},
    {"gather", gather, have_avx2}, {"avx512", avx512, have_avx512},
};

static double spent(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool wanted(const char *name, char **names)
{
    bool found = *names == NULL;
    for (; *names != NULL; names++)
        found = found || strcmp(*names, name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    bool counted = argc > 2 && strcmp(argv[1], "-n") == 0;
    char **names = argv + (counted ? 3 : 2);
    uint64_t state = counted ? 1 : (uint64_t)time(NULL);
    if (argc < 2)
        return 2;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        if (!wanted(kernels[i].name, names) || !kernels[i].here())
            continue;
        for (size_t j = 0; j < 64; j++)
            cells[j] = (int64_t)j;
        if (counted)
            state = kernels[i].run(strtoull(argv[2], NULL, 10), state);
        else
            for (double end = spent() + atof(argv[1]); spent() < end;)
                state = kernels[i].run(1000000, state);
        if (printf("%s\n", kernels[i].name) < 0)
            return 1;
    }
    return 0;
}
