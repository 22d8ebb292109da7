/* SPDX-License-Identifier: BSD-3-Clause
 * Handlers skip the instruction that faulted, at a function's first instruction, after some others
 * and in a function that is shorter than a jump. Prints how often they ran, where the instruction
 * was, what ran after it, and how many registers that it would have set were changed. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>

static volatile int faults;
volatile int after;
static uintptr_t places[64];

static void skip(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)signo;
    places[faults % 64] = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
    faults += signo != SIGILL || (uintptr_t)info->si_addr == places[faults % 64] ? 1 : 1000;
    uc->uc_mcontext.gregs[REG_RIP] += 2; /* ud2, and mov (%rax), %eax */
}

/* The instructions that fault have 2 bytes. */
#define FUNCTION(name, code)                                                                       \
    __asm__(".text\n.type " #name ", @function\n" #name ":\n" code "\nret\n.size " #name           \
            ", .-" #name)
FUNCTION(at_entry, "ud2; incl after(%rip)");
FUNCTION(shorter, "ud2");
FUNCTION(padded, "ud2; nop; nop; nop; nop; nop; nop; nop; nop");
FUNCTION(inside, "xorl %eax, %eax; movl (%rax), %eax; incl after(%rip)");
FUNCTION(further, "xorl %eax, %eax; nop; nop; movl (%rax), %eax; incl after(%rip)");
FUNCTION(sets_rax, "movl $-1, %eax; movl (%rdi), %eax");
FUNCTION(sets_rcx, "movl $-1, %ecx; movl (%rdi), %ecx; movl %ecx, %eax");
FUNCTION(sets_rdx, "movl $-1, %edx; movl (%rdi), %edx; movl %edx, %eax");
FUNCTION(sets_rsi, "movl $-1, %esi; movl (%rdi), %esi; movl %esi, %eax");
int sets_rax(const int *from), sets_rcx(const int *from), sets_rdx(const int *from),
    sets_rsi(const int *from);
void at_entry(void), shorter(void), padded(void), inside(void), further(void);

int main(void)
{
    static void (*const functions[])(void) = {at_entry, shorter, padded, inside, further};
    static const int offsets[] = {0, 0, 0, 2, 4};
    struct sigaction a = {.sa_sigaction = skip, .sa_flags = SA_SIGINFO};
    static int (*const setters[])(const int *) = {sets_rax, sets_rcx, sets_rdx, sets_rsi};
    int elsewhere = 0, changed = 0;
    sigaction(SIGILL, &a, NULL);
    sigaction(SIGSEGV, &a, NULL);
    for (int i = 0; i < 40; i++) {
        int before = faults;
        functions[i % 5]();
        elsewhere += places[before % 64] != (uintptr_t)functions[i % 5] + (uintptr_t)offsets[i % 5];
    }
    for (int i = 0; i < 40; i++) {
        const int seven = 7;
        changed += setters[i % 4](i % 3 == 0 ? &seven : NULL) != (i % 3 == 0 ? 7 : -1);
    }
    printf("%d faults, %d elsewhere, %d after them, %d changed\n", faults, elsewhere, after,
           changed);
    return 0;
}
