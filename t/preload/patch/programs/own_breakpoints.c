/* SPDX-License-Identifier: BSD-3-Clause
 * The program's own breakpoints at places that have probes: own PART [dies|blocked|ignored]. Prints
 * how often its handler was called, and how often for the instruction that PART names. dies:
 * without a handler; blocked: SIGTRAP is blocked; ignored: it is ignored. The kernel ends the
 * program with each of them. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

#define ROUNDS 3

void after_call(void), after_pointer(void), at_entry(void), at_place(void), at_two_bytes(void);
void callee(void);
extern const char behind_call[], behind_pointer[], behind_entry[], behind_place[],
    behind_two_bytes[];
void *pointer = (void *)callee;

__asm__(".text\n"
        ".globl callee\n.type callee, @function\n"
        "callee: nop\n	nopl 0(%rax)\n	ret\n.size callee, . - callee\n"
        ".globl after_call\n.type after_call, @function\n"
        "after_call: push %rbx\n	call callee\n	int3\n"
        ".globl behind_call\nbehind_call: nopl 0(%rax)\n	pop %rbx\n	ret\n"
        ".size after_call, . - after_call\n"
        ".globl after_pointer\n.type after_pointer, @function\n"
        "after_pointer: push %rbx\n	mov pointer(%rip), %rax\n	call *%rax\n	int3\n"
        ".globl behind_pointer\nbehind_pointer: nopl 0(%rax)\n	pop %rbx\n	ret\n"
        ".size after_pointer, . - after_pointer\n"
        ".globl at_entry\n.type at_entry, @function\n"
        "at_entry: int3\n"
        ".globl behind_entry\nbehind_entry: nopl 0(%rax)\n	ret\n"
        ".size at_entry, . - at_entry\n"
        ".globl at_place\n.type at_place, @function\n"
        "at_place: nopl 0(%rax)\n"
        ".globl place\nplace: int3\n"
        ".globl behind_place\nbehind_place: nopl 0(%rax)\n	ret\n"
        ".size at_place, . - at_place\n"
        ".globl at_two_bytes\n.type at_two_bytes, @function\n"
        "at_two_bytes: push %rbx\n	call callee\n"
        ".globl two_bytes\ntwo_bytes: .byte 0xcd, 3\n"
        ".globl behind_two_bytes\nbehind_two_bytes: nopl 0(%rax)\n	pop %rbx\n	ret\n"
        ".size at_two_bytes, . - at_two_bytes\n");

static volatile int handled, there;
static const char *volatile expected;

static void handle(int signo, siginfo_t *info, void *context)
{
    const ucontext_t *uc = context;
    (void)signo;
    handled++;
    there += info->si_code == SI_KERNEL &&
             (const char *)uc->uc_mcontext.gregs[REG_RIP] == expected; /* NOLINT: an address */
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        const char *behind;
    } parts[] = {{"after_call", after_call, behind_call},
                 {"after_pointer", after_pointer, behind_pointer},
                 {"at_entry", at_entry, behind_entry},
                 {"at_place", at_place, behind_place},
                 {"at_two_bytes", at_two_bytes, behind_two_bytes}};
    struct sigaction a = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO};
    sigset_t trap;
    (void)sigemptyset(&trap);
    (void)sigaddset(&trap, SIGTRAP);
    if (argc < 3 || strcmp(argv[2], "dies") != 0)
        (void)sigaction(SIGTRAP, &a, NULL);
    if (argc > 2 && strcmp(argv[2], "ignored") == 0)
        (void)signal(SIGTRAP, SIG_IGN);
    if (argc > 2 && strcmp(argv[2], "blocked") == 0)
        (void)sigprocmask(SIG_BLOCK, &trap, NULL);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && argc > 1; i++) {
        if (strcmp(argv[1], parts[i].name) != 0)
            continue;
        expected = parts[i].behind;
        for (int n = 0; n < ROUNDS; n++)
            parts[i].run();
        return printf("%d %d\n", handled, there) < 0;
    }
    return 2;
}
