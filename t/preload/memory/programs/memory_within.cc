/* SPDX-License-Identifier: BSD-3-Clause
 * memory_within HOW [stack]: signal handlers that leave their own functions and go on. HOW: thrown,
 * by an exception that they catch; jumped, by longjmp; both. With "stack" they run on their own
 * stack. The functions that they interrupt call each other, and go on as well. Prints "ADDRESS
 * TIMES" for each cell: how often it was written to in the window. */
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define APART __attribute__((noinline, noclone))

enum { TURNS = 5, CELLS = 16 };

static volatile unsigned long cells[CELLS];
static bool thrown, jumped;
static jmp_buf back;

extern "C" {
APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}
}

APART static void leaves(int how)
{
    cells[0] = cells[0] + 1;
    if (how == 1)
        throw how;
    if (how == 2)
        longjmp(back, 1);
    cells[15] = cells[15] + 1;
}

APART static void between(int how)
{
    cells[1] = cells[1] + 1;
    leaves(how);
    cells[14] = cells[14] + 1;
}

APART static void after(void)
{
    cells[2] = cells[2] + 1;
}

static void handler(int)
{
    cells[3] = cells[3] + 1;
    if (thrown) {
        try {
            between(1);
        } catch (int) {
            cells[4] = cells[4] + 1;
        }
        after();
    }
    if (jumped) {
        if (setjmp(back) == 0)
            between(2);
        cells[5] = cells[5] + 1;
        after();
    }
    cells[6] = cells[6] + 1;
}

APART static void inner(void)
{
    cells[7] = cells[7] + 1;
    (void)raise(SIGUSR1);
    cells[8] = cells[8] + 1;
}

APART static void outer(void)
{
    cells[9] = cells[9] + 1;
    inner();
    cells[10] = cells[10] + 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "both";
    struct sigaction a = {};
    stack_t own = {};
    thrown = std::strcmp(how, "jumped") != 0;
    jumped = std::strcmp(how, "thrown") != 0;
    a.sa_handler = handler;
    if (argc > 2) {
        own.ss_sp = std::malloc(own.ss_size = 1 << 18);
        (void)sigaltstack(&own, nullptr);
        a.sa_flags = SA_ONSTACK;
    }
    (void)sigaction(SIGUSR1, &a, nullptr);
    open_window();
    for (int n = 0; n < TURNS; n++) {
        outer();
        cells[11] = cells[11] + 1;
    }
    close_window();
    for (int k = 0; k < CELLS; k++)
        std::printf("%lx %lu\n", reinterpret_cast<unsigned long>(&cells[k]), cells[k]);
    return 0;
}
