/* SPDX-License-Identifier: BSD-3-Clause
 * argv[2] calls of a feigned MPI library, or named calls of ours (argv[1]: mpi, regions): what tracing them executes must
 * not be counted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "share/include/regtrace.h"

int MPI_Init(int *argc, char ***argv);
int MPI_Send(const void *buffer, int count, uintptr_t type, int to, int tag, uintptr_t comm);
int MPI_Finalize(void);

int main(int argc, char **argv)
{
    int word = 1;
    if (argc < 3 || MPI_Init(&argc, &argv) != 0)
        return 2;
    long n = atol(argv[2]);
    regtrace_region_begin("first");
    if (strcmp(argv[1], "mpi") == 0)
        for (long i = 0; i < n; i++)
            (void)MPI_Send(&word, 1, 0x209, -2, 1, 0x101);
    else
        for (long i = 0; i < n; i++) {
            regtrace_region_begin("part");
            regtrace_region_end("part");
        }
    regtrace_region_begin("last");
    return MPI_Finalize();
}
