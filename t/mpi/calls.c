/* SPDX-License-Identifier: BSD-3-Clause
 * Test program in C: makes MPI calls of many kinds and logs each of them, for comparison with a
 * tracer's recording.
 *
 * CALLS_LOG=FILE names the log: FILE.RANK. Lines:
 *   E name peer tag bytes   a call
 *   C source tag bytes      a completed receive
 *   N name                  a call made in a callback
 *
 * "-": not given; -1: any; -2: MPI_PROC_NULL. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *out;
static int rank, size;
#define NONE (-2147483647 - 1)

static const char *number(int n, char *text)
{
    if (n == NONE)
        return "-";
    (void)sprintf(text, "%d", n == MPI_PROC_NULL ? -2 : n == MPI_ANY_SOURCE ? -1 : n);
    return text;
}

static void enter(const char *name, int peer, int tag, long bytes)
{
    char a[32], b[32] = "-";
    if (tag != NONE)
        (void)sprintf(b, "%d", tag == MPI_ANY_TAG ? -1 : tag);
    (void)fprintf(out, "E %s %s %s %ld\n", name, number(peer, a), b, bytes);
}

static void completed(int source, int tag, long bytes)
{
    char a[32];
    (void)fprintf(out, "C %s %d %ld\n", number(source, a), tag, bytes);
}

static void nested(const char *name)
{
    (void)fprintf(out, "N %s\n", name);
}

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    int bytes;
    nested("MPI_Type_size");
    (void)MPI_Type_size(*type, &bytes);
    for (int i = 0; i < *n; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int forget(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int found;
    (void)keyval, (void)value, (void)extra;
    nested("MPI_Initialized");
    (void)comm;
    (void)MPI_Initialized(&found);
    return MPI_SUCCESS;
}

static void point_to_point(MPI_Comm comm)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double data[64] = {0}, room[64];
    MPI_Status status;
    if (rank % 2 == 0) {
        enter("MPI_Send", right, 5, 80);
        MPI_Send(data, 10, MPI_DOUBLE, right, 5, comm);
        enter("MPI_Recv", left, 6, 64 * 8);
        MPI_Recv(room, 64, MPI_DOUBLE, left, 6, comm, MPI_STATUS_IGNORE);
        completed(left, 6, 24);
    } else {
        enter("MPI_Recv", MPI_ANY_SOURCE, -1, 64 * 8);
        MPI_Recv(room, 64, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        completed(left, 5, 80);
        enter("MPI_Ssend", right, 6, 24);
        MPI_Ssend(data, 6, MPI_INT, right, 6, comm);
    }
    enter("MPI_Sendrecv", right, 7, 4);
    MPI_Sendrecv(data, 4, MPI_CHAR, right, 7, room, 64, MPI_DOUBLE, left, 7, comm,
                 MPI_STATUS_IGNORE);
    completed(left, 7, 4);
    enter("MPI_Sendrecv_replace", right, 8, 16);
    MPI_Sendrecv_replace(data, 2, MPI_DOUBLE, right, 8, left, 8, comm, &status);
    completed(left, 8, 16);
    enter("MPI_Send", MPI_PROC_NULL, 9, 8);
    MPI_Send(data, 1, MPI_DOUBLE, MPI_PROC_NULL, 9, comm);
}

static void nonblocking(MPI_Comm comm)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    float data[8] = {0}, room[3][8];
    MPI_Request r[4];
    for (int i = 0; i < 3; i++) {
        enter("MPI_Irecv", left, 20 + i, 32);
        MPI_Irecv(room[i], 8, MPI_FLOAT, left, 20 + i, comm, &r[i]);
    }
    enter("MPI_Barrier", NONE, NONE, 0);
    MPI_Barrier(comm);
    for (int i = 0; i < 3; i++) {
        enter("MPI_Send", right, 20 + i, 4 * (i + 1));
        MPI_Send(data, i + 1, MPI_FLOAT, right, 20 + i, comm);
    }
    enter("MPI_Waitall", NONE, NONE, 0);
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        completed(left, 20 + i, 4 * (i + 1));
    enter("MPI_Waitall", NONE, NONE, 0); /* null requests complete nothing */
    MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
    enter("MPI_Irecv", left, 30, 32);
    MPI_Irecv(room[0], 8, MPI_FLOAT, left, 30, comm, &r[0]);
    r[1] = MPI_REQUEST_NULL;
    enter("MPI_Send", right, 30, 8);
    MPI_Send(data, 2, MPI_FLOAT, right, 30, comm);
    int at;
    enter("MPI_Waitany", NONE, NONE, 0);
    MPI_Waitany(2, r, &at, MPI_STATUS_IGNORE);
    completed(left, 30, 8);
    enter("MPI_Irecv", left, 31, 32);
    MPI_Irecv(room[0], 8, MPI_FLOAT, left, 31, comm, &r[1]);
    enter("MPI_Send", right, 31, 12);
    MPI_Send(data, 3, MPI_FLOAT, right, 31, comm);
    int n, indices[2];
    enter("MPI_Waitsome", NONE, NONE, 0);
    MPI_Waitsome(2, r, &n, indices, MPI_STATUSES_IGNORE);
    completed(left, 31, 12);
    enter("MPI_Irecv", left, 32, 32);
    MPI_Irecv(room[0], 8, MPI_FLOAT, left, 32, comm, &r[0]);
    enter("MPI_Send", right, 32, 16);
    MPI_Send(data, 4, MPI_FLOAT, right, 32, comm);
    for (int flag = 0; !flag;) {
        enter("MPI_Test", NONE, NONE, 0);
        MPI_Test(&r[0], &flag, MPI_STATUS_IGNORE);
        if (flag)
            completed(left, 32, 16);
    }
}

static void persistent(MPI_Comm comm)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int data[4] = {0}, room[4];
    MPI_Request r;
    enter("MPI_Recv_init", left, 40, 16);
    MPI_Recv_init(room, 4, MPI_INT, left, 40, comm, &r);
    for (int i = 1; i <= 2; i++) {
        enter("MPI_Start", NONE, NONE, 0);
        MPI_Start(&r);
        enter("MPI_Send", right, 40, 4 * i);
        MPI_Send(data, i, MPI_INT, right, 40, comm);
        enter("MPI_Wait", NONE, NONE, 0);
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        completed(left, 40, 4 * i);
    }
    enter("MPI_Request_free", NONE, NONE, 0);
    MPI_Request_free(&r);
    MPI_Message message;
    enter("MPI_Send", right, 41, 4);
    MPI_Send(data, 1, MPI_INT, right, 41, comm);
    enter("MPI_Mprobe", left, 41, 0);
    MPI_Mprobe(left, 41, comm, &message, MPI_STATUS_IGNORE);
    enter("MPI_Mrecv", NONE, NONE, 16);
    MPI_Mrecv(room, 4, MPI_INT, &message, MPI_STATUS_IGNORE);
    completed(left, 41, 4);
}

static void derived(MPI_Comm comm)
{
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    double data[32] = {0}, room[32];
    MPI_Datatype column;
    enter("MPI_Type_vector", NONE, NONE, 0);
    MPI_Type_vector(4, 2, 8, MPI_DOUBLE, &column);
    enter("MPI_Type_commit", NONE, NONE, 0);
    MPI_Type_commit(&column);
    enter("MPI_Sendrecv", right, 50, 64);
    MPI_Sendrecv(data, 1, column, right, 50, room, 1, column, left, 50, comm, MPI_STATUS_IGNORE);
    completed(left, 50, 64);
    enter("MPI_Type_free", NONE, NONE, 0);
    MPI_Type_free(&column);
}

static void collectives(MPI_Comm comm)
{
    int *a = calloc((size_t)(8 * size), sizeof *a), *b = calloc((size_t)(8 * size), sizeof *b);
    int *counts = malloc((size_t)size * sizeof *counts), *at = malloc((size_t)size * sizeof *at);
    MPI_Datatype *types = malloc((size_t)size * sizeof *types);
    enter("MPI_Bcast", 1, NONE, 32);
    MPI_Bcast(a, 8, MPI_INT, 1, comm);
    enter("MPI_Reduce", 0, NONE, 32);
    MPI_Reduce(a, b, 8, MPI_INT, MPI_SUM, 0, comm);
    enter("MPI_Allreduce", NONE, NONE, 20);
    MPI_Allreduce(MPI_IN_PLACE, b, 5, MPI_INT, MPI_MAX, comm);
    enter("MPI_Gather", 0, NONE, 12);
    MPI_Gather(a, 3, MPI_INT, b, 3, MPI_INT, 0, comm);
    enter("MPI_Scatter", 0, NONE, 8);
    MPI_Scatter(a, 2, MPI_INT, b, 2, MPI_INT, 0, comm);
    enter("MPI_Allgather", NONE, NONE, 16);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 4, MPI_INT, comm);
    enter("MPI_Alltoall", NONE, NONE, 8L * size);
    MPI_Alltoall(a, 2, MPI_INT, b, 2, MPI_INT, comm);
    long sum = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = (rank + i) % 3; /* symmetric: rank i sends k as many as k expects */
        at[i] = 4 * i;
        sum += counts[i];
    }
    enter("MPI_Alltoallv", NONE, NONE, 4 * sum);
    MPI_Alltoallv(a, counts, at, MPI_INT, b, counts, at, MPI_INT, comm);
    for (int i = 0; i < size; i++)
        types[i] = MPI_SHORT;
    enter("MPI_Alltoallw", NONE, NONE, 2 * sum);
    MPI_Alltoallw(a, counts, at, types, b, counts, at, types, comm);
    for (int i = 0; i < size; i++)
        counts[i] = i + 1;
    enter("MPI_Allgatherv", NONE, NONE, 4L * (rank + 1));
    MPI_Allgatherv(MPI_IN_PLACE, 77, MPI_DATATYPE_NULL, b, counts, at, MPI_INT, comm);
    enter("MPI_Gatherv", 0, NONE, 4L * (rank + 1));
    MPI_Gatherv(a, rank + 1, MPI_INT, b, counts, at, MPI_INT, 0, comm);
    enter("MPI_Reduce_scatter", NONE, NONE, 2L * size * (size + 1));
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, comm);
    MPI_Request r;
    enter("MPI_Ibarrier", NONE, NONE, 0);
    MPI_Ibarrier(comm, &r);
    enter("MPI_Wait", NONE, NONE, 0);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    free(a), free(b), free(counts), free(at), free(types);
}

static void callbacks(MPI_Comm comm)
{
    int mine = rank, all, key;
    MPI_Op op;
    enter("MPI_Op_create", NONE, NONE, 0);
    MPI_Op_create(add, 1, &op);
    enter("MPI_Allreduce", NONE, NONE, 4);
    MPI_Allreduce(&mine, &all, 1, MPI_INT, op, comm);
    enter("MPI_Op_free", NONE, NONE, 0);
    MPI_Op_free(&op);
    enter("MPI_Comm_create_keyval", NONE, NONE, 0);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    MPI_Comm twin;
    enter("MPI_Comm_dup", NONE, NONE, 0);
    MPI_Comm_dup(comm, &twin);
    enter("MPI_Comm_set_attr", NONE, NONE, 0);
    MPI_Comm_set_attr(twin, key, NULL);
    enter("MPI_Comm_free", NONE, NONE, 0);
    MPI_Comm_free(&twin);
    enter("MPI_Comm_free_keyval", NONE, NONE, 0);
    MPI_Comm_free_keyval(&key);
}

static void one_sided(MPI_Comm comm)
{
    int memory[4] = {0}, data[2] = {1, 2};
    MPI_Win win;
    enter("MPI_Win_create", NONE, NONE, 0);
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, comm, &win);
    enter("MPI_Win_fence", NONE, NONE, 0);
    MPI_Win_fence(0, win);
    enter("MPI_Put", (rank + 1) % size, NONE, 8);
    MPI_Put(data, 2, MPI_INT, (rank + 1) % size, 0, 2, MPI_INT, win);
    enter("MPI_Win_fence", NONE, NONE, 0);
    MPI_Win_fence(0, win);
    enter("MPI_Win_free", NONE, NONE, 0);
    MPI_Win_free(&win);
}

int main(int argc, char **argv)
{
    char path[4096];
    MPI_Comm half;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    (void)snprintf(path, sizeof path, "%s.%d", getenv("CALLS_LOG"), rank);
    out = fopen(path, "w");
    if (out == NULL)
        MPI_Abort(MPI_COMM_WORLD, 3);
    enter("MPI_Init_thread", NONE, NONE, 0);
    enter("MPI_Comm_rank", NONE, NONE, 0);
    enter("MPI_Comm_size", NONE, NONE, 0);
    MPI_Pcontrol(1);
    MPI_Pcontrol(2, "solve");
    MPI_Pcontrol(3);
    point_to_point(MPI_COMM_WORLD);
    nonblocking(MPI_COMM_WORLD);
    persistent(MPI_COMM_WORLD);
    derived(MPI_COMM_WORLD);
    collectives(MPI_COMM_WORLD);
    callbacks(MPI_COMM_WORLD);
    one_sided(MPI_COMM_WORLD);
    enter("MPI_Comm_split", NONE, NONE, 0);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    enter("MPI_Barrier", NONE, NONE, 0);
    MPI_Barrier(half);
    enter("MPI_Comm_free", NONE, NONE, 0);
    MPI_Comm_free(&half);
    enter("MPI_Wtime", NONE, NONE, 0);
    if (MPI_Wtime() < 0)
        return 4;
    enter("MPI_Finalize", NONE, NONE, 0);
    MPI_Finalize();
    (void)fclose(out);
    (void)puts("done");
    return 0;
}
