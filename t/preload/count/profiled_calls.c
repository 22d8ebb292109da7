/* SPDX-License-Identifier: BSD-3-Clause
 * Makes known numbers of MPI calls. usage: mpi_profile CALLS [kill | FILE]
 *
 * Makes CALLS calls of MPI_Comm_size, and as many of MPI_Comm_rank by two paths. Then kill: ends by
 * SIGKILL. FILE: waits until there is no such file any more, and makes all calls again. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

__attribute__((noinline)) static void ask(void)
{
    int n;
    MPI_Comm_rank(MPI_COMM_WORLD, &n);
    __asm__ volatile("");
}

__attribute__((noinline)) static void one(void)
{
    ask();
    __asm__ volatile("");
}

__attribute__((noinline)) static void other(void)
{
    ask();
    __asm__ volatile("");
}

static void calls(int count)
{
    int n;
    for (int i = 0; i < count; i++) {
        MPI_Comm_size(MPI_COMM_WORLD, &n);
        if (i % 2 == 0)
            one();
        else
            other();
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int count = atoi(argv[1]);
    calls(count);
    if (argc > 2 && strcmp(argv[2], "kill") == 0)
        raise(SIGKILL);
    if (argc > 2) {
        while (access(argv[2], F_OK) == 0)
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        calls(count);
    }
    return MPI_Finalize();
}
