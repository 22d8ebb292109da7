/* SPDX-License-Identifier: BSD-3-Clause
 * Makes argv[2] calls of a stub MPI library (argv[1]: mpi; kinds: some of each kind of wrapper), or
 * named calls of regtrace (regions). What tracing executes for them must not be counted. */
#include <stdint.h>
#include <stdlib.h>

#include "share/include/regtrace.h"

int MPI_Init(int *argc, char ***argv);
int MPI_Send(const void *buffer, int count, uintptr_t type, int to, int tag, uintptr_t comm);
int MPI_Recv(void *buffer, int count, uintptr_t type, int from, int tag, uintptr_t comm,
             void *status);
int MPI_Irecv(void *buffer, int count, uintptr_t type, int from, int tag, uintptr_t comm,
              uintptr_t *request);
int MPI_Wait(uintptr_t *request, void *status);
int MPI_Comm_rank(uintptr_t comm, int *rank);
int MPI_Pcontrol(int level, ...);
int MPI_Finalize(void);

/* Makes plain calls, completions, a call whose wrapper is written by hand, and a mark. */
static void call_kinds(int *word)
{
    uintptr_t request;
    char status[64];
    int rank;
    (void)MPI_Comm_rank(0x101, &rank);
    (void)MPI_Recv(word, 1, 0x209, -2, 1, 0x101, status);
    (void)MPI_Irecv(word, 1, 0x209, -2, 1, 0x101, &request);
    (void)MPI_Wait(&request, status);
    (void)MPI_Pcontrol(5, "");
    regtrace_mark_set(3, 4);
}

int main(int argc, char **argv)
{
    int word = 1;
    if (argc < 3 || MPI_Init(&argc, &argv) != 0)
        return 2;
    long n = atol(argv[2]);
    regtrace_region_begin("first");
    /* Not strcmp(), whose path depends on where argv lies. */
    if (argv[1][0] == 'm')
        for (long i = 0; i < n; i++)
            (void)MPI_Send(&word, 1, 0x209, -2, 1, 0x101);
    else if (argv[1][0] == 'k')
        for (long i = 0; i < n; i++)
            call_kinds(&word);
    else
        for (long i = 0; i < n; i++) {
            regtrace_region_begin("part");
            regtrace_region_end("part");
        }
    regtrace_region_begin("last");
    return MPI_Finalize();
}
