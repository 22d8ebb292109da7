/* SPDX-License-Identifier: BSD-3-Clause
 * small_stack ROOM [COUNT]: raises COUNT signals whose handler runs on an alternate stack. The
 * stack has ROOM bytes besides what the kernel puts there, and nothing accessible below it. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

static volatile sig_atomic_t calls;

static void handler(int signo)
{
    (void)signo;
    calls++;
}

int main(int argc, char **argv)
{
    enum { PAGES = 1 << 18 };
    unsigned long least = getauxval(AT_MINSIGSTKSZ);
    size_t size =
        (least != 0 ? least : (unsigned long)MINSIGSTKSZ) + (argc > 1 ? (size_t)atoi(argv[1]) : 0);
    char *memory = mmap(NULL, 2 * PAGES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || mprotect(memory + PAGES, PAGES, PROT_READ | PROT_WRITE) != 0)
        return 1;
    stack_t stack = {.ss_sp = memory + PAGES, .ss_size = size};
    struct sigaction a = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &a, NULL) != 0)
        return 1;
    for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 5); i++)
        (void)raise(SIGUSR1);
    printf("calls %d\n", (int)calls);
    return 0;
}
