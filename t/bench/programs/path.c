/* SPDX-License-Identifier: BSD-3-Clause
 * Makes one call CALLS times between two int3. The program `steps` counts the instructions between
 * them.
 *
 * path nothing|mark|barrier CALLS: mark: regtrace_mark_set; barrier: MPI_Barrier on MPI_COMM_SELF
 */
#include "share/include/regtrace.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void call(int what, int i)
{
    if (what == 1)
        regtrace_mark_set(1, i);
    else if (what == 2)
        MPI_Barrier(MPI_COMM_SELF);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    if (argc < 3)
        return 2;
    int what = strcmp(argv[1], "mark") == 0 ? 1 : strcmp(argv[1], "barrier") == 0 ? 2 : 0;
    int calls = atoi(argv[2]);
    for (int i = 0; i < 10; i++) /* binds symbols, acquires chunks */
        call(what, i);
    __asm__ volatile("int3" ::: "memory");
    for (int i = 0; i < calls; i++)
        call(what, i);
    __asm__ volatile("int3" ::: "memory");
    MPI_Finalize();
    return 0;
}
