/* SPDX-License-Identifier: BSD-3-Clause
 * 0-byte ping-pong between two ranks: median ns of a round trip over rounds of 500, on one line. */
#include "t/bench/programs/median.h"

#include <mpi.h>

static void exchange(int rank)
{
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    enum { TRIPS = 500, MOST = 1000 };
    static double rounds[MOST];
    int rank, n;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    n = bench_count(argc, argv, 101, MOST);
    for (int r = -2; r < n; r++) {
        double began = bench_now_ns();
        for (int i = 0; i < TRIPS && rank < 2; i++)
            exchange(rank);
        if (r >= 0)
            rounds[r] = (bench_now_ns() - began) / TRIPS;
    }
    if (rank == 0)
        printf("%.1f\n", bench_median(rounds, (size_t)n));
    MPI_Finalize();
    return 0;
}
