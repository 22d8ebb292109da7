/* SPDX-License-Identifier: BSD-3-Clause
 * Calls an MPI_Init of the stub MPI library that fails (argv[1]: fails), that a jump leaves
 * (jumps), or that ends the program (exits). Then executes some 20,000 instructions, and ends with
 * exit code 3. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

extern void (*stub_in_init)(void);
int MPI_Init(int *argc, char ***argv);

static jmp_buf back;

static void nothing(void)
{
}

static void jump(void)
{
    longjmp(back, 1);
}

static void end(void)
{
    exit(4);
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    stub_in_init = strcmp(how, "jumps") == 0 ? jump : strcmp(how, "exits") == 0 ? end : nothing;
    if (setjmp(back) == 0 && MPI_Init(&argc, &argv) == 0)
        return 2;
    for (volatile int i = 0; i < 5000; i = i + 1)
        continue;
    return 3;
}
