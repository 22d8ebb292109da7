/* SPDX-License-Identifier: BSD-3-Clause
 * Cost of point-to-point calls to the own rank: median ns of a call over rounds of 1,000 messages,
 * on one line. usage: p2p WHAT [ROUNDS]; WHAT: exchange (MPI_Irecv, MPI_Isend and two MPI_Wait for
 * each message), sendrecv (MPI_Sendrecv), wildcard (as exchange, received from any source with any
 * tag). */
#include "t/bench/programs/median.h"

#include <mpi.h>
#include <string.h>

static void exchange(int source, int tag)
{
    MPI_Request r, s;
    MPI_Irecv(NULL, 0, MPI_BYTE, source, tag, MPI_COMM_SELF, &r);
    MPI_Isend(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_SELF, &s);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    MPI_Wait(&s, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    enum { MESSAGES = 1000, MOST = 20000 };
    static double rounds[MOST];
    const char *what = argc > 1 ? argv[1] : "";
    int calls = strcmp(what, "sendrecv") == 0 ? 1 : 4;
    MPI_Init(&argc, &argv);
    int n = bench_count(argc - 1, argv + 1, 301, MOST);
    for (int r = -20; r < n; r++) { /* the first ones warm up */
        double began = bench_now_ns();
        for (int i = 0; i < MESSAGES; i++) {
            if (calls == 1)
                MPI_Sendrecv(NULL, 0, MPI_BYTE, 0, 1, NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_SELF,
                             MPI_STATUS_IGNORE);
            else if (what[0] == 'w')
                exchange(MPI_ANY_SOURCE, MPI_ANY_TAG);
            else
                exchange(0, 1);
        }
        if (r >= 0)
            rounds[r] = (bench_now_ns() - began) / MESSAGES / calls;
    }
    printf("%.1f\n", bench_median(rounds, (size_t)n));
    MPI_Finalize();
    return 0;
}
