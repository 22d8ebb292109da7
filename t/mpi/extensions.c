/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: calls the MPIX_* extensions of the library it is built for, on one rank. Prints
 * their results, one a line. Checks the data that Open MPI's persistent collective operations
 * move. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

static int wrong;

#ifdef OPEN_MPI
static int in[4], out[4], one[2] = {2}, zero[2];
static MPI_Aint places[2];
static MPI_Datatype types[2];

/* Starts the operation twice, since persistent requests are made for reuse. */
static void use(const char *name, int error, MPI_Request *r, int result_known)
{
    for (int i = 0; i < 2 && error == 0; i++) {
        memset(out, 0, sizeof out);
        in[0] = 41 + i, in[1] = 42;
        error = MPI_Start(r);
        if (error == 0)
            error = MPI_Wait(r, MPI_STATUS_IGNORE);
        wrong += result_known && (out[0] != 41 + i || out[1] != 42);
    }
    if (error == 0)
        error = MPI_Request_free(r);
    printf("%s: %d\n", name, error);
    wrong += error != 0;
}

#define USE(known, name, ...)                                                                      \
    use(#name, MPIX_##name(__VA_ARGS__, comm, MPI_INFO_NULL, &r), &r, known)

static void extensions(void)
{
    MPI_Request r;
    MPI_Comm comm;
    const MPI_Datatype t = MPI_INT;
    const MPI_Op sum = MPI_SUM;
    types[0] = types[1] = MPI_INT;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    USE(1, Allgather_init, in, 2, t, out, 2, t);
    USE(1, Allgatherv_init, in, 2, t, out, one, zero, t);
    USE(1, Allreduce_init, in, out, 2, t, sum);
    USE(1, Alltoall_init, in, 2, t, out, 2, t);
    USE(1, Alltoallv_init, in, one, zero, t, out, one, zero, t);
    USE(1, Alltoallw_init, in, one, zero, types, out, one, zero, types);
    use("Barrier_init", MPIX_Barrier_init(comm, MPI_INFO_NULL, &r), &r, 0);
    USE(0, Bcast_init, in, 2, t, 0);
    USE(0, Exscan_init, in, out, 2, t, sum);
    USE(1, Gather_init, in, 2, t, out, 2, t, 0);
    USE(1, Gatherv_init, in, 2, t, out, one, zero, t, 0);
    USE(1, Reduce_init, in, out, 2, t, sum, 0);
    USE(1, Reduce_scatter_init, in, out, one, t, sum);
    USE(1, Reduce_scatter_block_init, in, out, 2, t, sum);
    USE(1, Scan_init, in, out, 2, t, sum);
    USE(1, Scatter_init, in, 2, t, out, 2, t, 0);
    USE(1, Scatterv_init, in, one, zero, t, out, 2, t, 0);
    MPI_Comm_free(&comm);
    MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, (int[]){0}, 0,
                    &comm); /* the neighbours are MPI_PROC_NULL */
    USE(0, Neighbor_allgather_init, in, 2, t, out, 2, t);
    USE(0, Neighbor_allgatherv_init, in, 2, t, out, zero, zero, t);
    USE(0, Neighbor_alltoall_init, in, 2, t, out, 2, t);
    USE(0, Neighbor_alltoallv_init, in, zero, zero, t, out, zero, zero, t);
    USE(0, Neighbor_alltoallw_init, in, zero, places, types, out, zero, places, types);
    MPI_Comm_free(&comm);
    printf("Query_cuda_support: %d\n", MPIX_Query_cuda_support());
}
#else
static int query(void *state, MPI_Status *status)
{
    (void)state;
    MPI_Status_set_elements(status, MPI_INT, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return 0;
}
static int ends(void *state)
{
    (void)state;
    return 0;
}
static int cancels(void *state, int complete)
{
    (void)state, (void)complete;
    return 0;
}
static int poll(void *state, MPI_Status *status)
{
    (void)status;
    return MPI_Grequest_complete(*(MPI_Request *)state);
}
static int waits(int n, void **states, double timeout, MPI_Status *status)
{
    (void)timeout;
    for (int i = 0; i < n; i++)
        poll(states[i], status);
    return 0;
}

static void said(const char *name, int error, int answer)
{
    printf("%s: %d %d\n", name, error, answer);
}

static void extensions(void)
{
    MPI_Group failed;
    MPI_Comm comm;
    MPI_Request r, s;
    MPIX_Grequest_class class;
    int flag = 5, n = -1, code;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* No device of MPICH 4.0 supports these: a valid communicator makes an assertion fail. */
    said("agree", MPIX_Comm_agree(MPI_COMM_NULL, &flag) != 0, flag);
    said("ack", MPIX_Comm_failure_ack(MPI_COMM_NULL) != 0, 0);
    said("acked", MPIX_Comm_failure_get_acked(MPI_COMM_NULL, &failed) != 0, 0);
    said("shrink", MPIX_Comm_shrink(MPI_COMM_NULL, &comm) != 0, 0);
    said("revoke", MPIX_Comm_revoke(MPI_COMM_NULL) != 0, 0);
    n = 0;
    code = MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &n);
    said("gpu", code, n);
    said("devices", MPIX_Query_cuda_support() + MPIX_Query_hip_support() + MPIX_Query_ze_support(),
         0);
    said("start", MPIX_Grequest_start(query, ends, cancels, poll, waits, &r, &r), 0);
    said("wait", MPI_Wait(&r, MPI_STATUS_IGNORE), 0);
    said("class", MPIX_Grequest_class_create(query, ends, cancels, poll, waits, &class), 0);
    said("allocate", MPIX_Grequest_class_allocate(class, &s, &s), 0);
    said("wait", MPI_Wait(&s, MPI_STATUS_IGNORE), 0);
    MPI_Add_error_class(&n);
    MPI_Add_error_code(n, &code);
    MPI_Add_error_string(code, "text");
    said("string", MPIX_Delete_error_string(code), 0);
    said("code", MPIX_Delete_error_code(code), 0);
    said("class", MPIX_Delete_error_class(n), 0);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    extensions();
    MPI_Finalize();
    return wrong != 0;
}
