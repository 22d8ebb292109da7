/* SPDX-License-Identifier: BSD-3-Clause
 * A small MPI program. Rank 0 prints its resident and its proportional memory in KiB before
 * MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static long field(const char *file, const char *name)
{
    char line[256];
    long value = -1;
    FILE *f = fopen(file, "r");
    while (f != NULL && value < 0 && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, name, strlen(name)) == 0)
            (void)sscanf(line + strlen(name), "%ld", &value);
    if (f != NULL)
        fclose(f);
    return value;
}

int main(int argc, char **argv)
{
    int rank;
    double x = 1, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 1000; i++)
        MPI_Allreduce(&x, &y, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("rss %ld\npss %ld\n", field("/proc/self/status", "VmRSS:"),
               field("/proc/self/smaps_rollup", "Pss:"));
    MPI_Finalize();
    return 0;
}
