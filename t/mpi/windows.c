/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: windows that open and close inside an MPI call (MPI_Pcontrol in a user operation),
 * many requests waited for at once, and errors that the program must see. With dumpshim, level 77
 * closes the window and 78 opens one. */
#include <mpi.h>
#include <stdio.h>

static int level;

static void edge(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int size;
    (void)in, (void)inout, (void)n;
    MPI_Pcontrol(level);
    MPI_Type_size(*type, &size);
}

static int many(int n)
{
    static MPI_Request r[1000];
    static int room[1000];
    for (int i = 0; i < n; i++)
        MPI_Irecv(&room[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]);
    for (int i = 0; i < n; i++)
        MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Waitall(n, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < n; i++)
        if (room[i] != i || r[i] != MPI_REQUEST_NULL)
            return 1;
    return 0;
}

/* Sends a message that is too long for its receive. The error must not depend on whether statuses
 * are ignored. Rank 0 sends, rank 1 returns the error's class. */
static int truncated(void)
{
    int rank, size, room[2], two[2] = {0}, class = 0;
    MPI_Request r[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size < 2)
        return -1;
    if (rank == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(two, 1, MPI_INT, 1, 6, MPI_COMM_WORLD);
        (void)MPI_Send(two, 2, MPI_INT, 1, 5, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Irecv(&room[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &r[0]);
        MPI_Irecv(&room[1], 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &r[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        int error = MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        MPI_Error_class(error, &class);
    }
    return class;
}

/* Makes requests outside the window in which they complete: a plain one (tag 1901) and a persistent
 * one (1902). */
static void straddle(void)
{
    MPI_Request r[2];
    int room[2], x = 0;
    MPI_Pcontrol(77);
    MPI_Irecv(&room[0], 1, MPI_INT, 0, 1901, MPI_COMM_SELF, &r[0]);
    MPI_Recv_init(&room[1], 1, MPI_INT, 0, 1902, MPI_COMM_SELF, &r[1]);
    MPI_Pcontrol(78);
    MPI_Start(&r[1]);
    MPI_Send(&x, 1, MPI_INT, 0, 1901, MPI_COMM_SELF);
    MPI_Send(&x, 1, MPI_INT, 0, 1902, MPI_COMM_SELF);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE); /* inactive: nothing completes */
    MPI_Request_free(&r[1]);
}

int main(int argc, char **argv)
{
    int a = 1, b;
    MPI_Op op;
    MPI_Init(&argc, &argv);
    MPI_Op_create(edge, 1, &op);
    for (int i = 77; i <= 78; i++) {
        level = i;
        MPI_Reduce_local(&a, &b, 1, MPI_INT, op);
    }
    MPI_Op_free(&op);
    int bad = many(1000);
    straddle();
    (void)printf("many %d error class %d\n", bad, truncated());
    MPI_Finalize();
    return bad;
}
