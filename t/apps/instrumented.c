/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application compiled with -finstrument-functions: foo and bar, which calls itself, with
 * known numbers of calls.
 *
 * instrumented [ROUNDS [DEPTH [jump]]]: each round calls foo once. foo calls bar(DEPTH), which
 * calls itself DEPTH times. So foo is entered ROUNDS times and bar ROUNDS * (DEPTH + 1) times, with
 * ROUNDS outermost instances. With "jump" every bar(0) returns to foo by longjmp. The program
 * prints its own counts. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long instrumented_foo_count, instrumented_bar_count;
void instrumented_set_jump(int jump);
long foo(int depth);

int main(int argc, char **argv)
{
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 5, depth = argc > 2 ? atoi(argv[2]) : 3;
    long sum = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    instrumented_set_jump(argc > 3 && strcmp(argv[3], "jump") == 0);
    for (int i = 0; i < rounds; i++)
        sum += foo(depth);
    MPI_Reduce(&sum, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("foo %ld, bar %ld, sum %ld\n", instrumented_foo_count, instrumented_bar_count, all);
    MPI_Finalize();
    return 0;
}
