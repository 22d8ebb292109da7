/* SPDX-License-Identifier: BSD-3-Clause
 * Test program for the feigned library of the standard binary interface (standard_abi.c). */
#include <stdint.h>
#include <stdio.h>

#define WORLD ((uintptr_t)0x101)
#define INT ((uintptr_t)0x209)
enum { ANY_SOURCE = -1, PROC_NULL = -2, ANY_TAG = -31 };

int MPI_Init(int *, char ***);
int MPI_Finalize(void);
int MPI_Send(const void *, int, uintptr_t, int, int, uintptr_t);
int MPI_Recv(void *, int, uintptr_t, int, int, uintptr_t, void *);
int MPI_Irecv(void *, int, uintptr_t, int, int, uintptr_t, uintptr_t *);
int MPI_Wait(uintptr_t *, void *);

int main(void)
{
    int room[8] = {0}, status[8] = {0};
    uintptr_t request;
    MPI_Init(NULL, NULL);
    MPI_Send(room, 5, INT, PROC_NULL, 4, WORLD);
    MPI_Recv(room, 8, INT, ANY_SOURCE, ANY_TAG, WORLD, NULL);
    MPI_Irecv(room, 8, INT, 0, 17, WORLD, &request);
    MPI_Wait(&request, status);
    MPI_Wait(&request, NULL);
    MPI_Finalize();
    (void)printf("%d %d\n", status[0], status[1]);
    return 0;
}
