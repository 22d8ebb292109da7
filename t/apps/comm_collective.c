/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: all collectives, blocking and nonblocking, with equal counts, counts by
 * rank and types by rank. It calls them on the world, a duplicate, a half and an intercommunicator,
 * and defines operators that call MPI. */
#include "comm.h"

#include <stdlib.h>

#define RANKS_MAX 1024

static int counts[RANKS_MAX], at[RANKS_MAX], bytes_at[RANKS_MAX], ones[RANKS_MAX];
static int in[2 * RANKS_MAX], out[2 * RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];

/* An operator that calls MPI, as operators of libraries do. */
static void add(void *a, void *b, int *n, MPI_Datatype *type)
{
    int bytes;
    LOG_NESTED(MPI_Type_size)(*type, &bytes);
    for (int i = 0; i < *n; i++)
        ((int *)b)[i] += ((int *)a)[i];
}

static void fill(struct comm_app *app)
{
    for (int i = 0; i < 2 * app->size; i++) {
        in[i] = app->rank + 2 * i;
        out[i] = 0;
    }
}

static void fold(struct comm_app *app, int n)
{
    for (int i = 0; i < n; i++)
        app->check = (app->check * 31 + out[i]) % 1000003;
}

/* Makes each collective call once on app->comm. BOTH() takes the arguments without communicator and
 * request and adds these. */
static void each(struct comm_app *app, int nonblocking)
{
    int n = app->size, root = n - 1, mine = app->rank == root;
    long total = 4L * n;
    MPI_Request r;
#define WAIT LOG_CALL(MPI_Wait)(&r, MPI_STATUS_IGNORE)
#define BOTH(blocking, immediate, peer, bytes, ...)                                                \
    fill(app);                                                                                     \
    if (nonblocking) {                                                                             \
        LOG(immediate, peer, NONE, bytes)(__VA_ARGS__, app->comm, &r);                             \
        WAIT;                                                                                      \
    } else                                                                                         \
        LOG(blocking, peer, NONE, bytes)(__VA_ARGS__, app->comm)
    if (nonblocking) {
        LOG_CALL(MPI_Ibarrier)(app->comm, &r);
        WAIT;
    } else
        LOG_CALL(MPI_Barrier)(app->comm);
    BOTH(MPI_Bcast, MPI_Ibcast, root, 8, mine ? in : out, 2, MPI_INT, root);
    fold(app, mine ? 0 : 2);
    BOTH(MPI_Gather, MPI_Igather, root, 4, in, 1, MPI_INT, out, 1, MPI_INT, root);
    fold(app, mine ? n : 0);
    BOTH(MPI_Gatherv, MPI_Igatherv, root, 4, in, 1, MPI_INT, out, ones, at, MPI_INT, root);
    fold(app, mine ? n : 0);
    BOTH(MPI_Scatter, MPI_Iscatter, root, 4, in, 1, MPI_INT, out, 1, MPI_INT, root);
    fold(app, 1);
    BOTH(MPI_Scatterv, MPI_Iscatterv, root, 4, in, ones, at, MPI_INT, out, 1, MPI_INT, root);
    fold(app, 1);
    BOTH(MPI_Allgather, MPI_Iallgather, NONE, 4, in, 1, MPI_INT, out, 1, MPI_INT);
    fold(app, n);
    BOTH(MPI_Allgatherv, MPI_Iallgatherv, NONE, 4, in, 1, MPI_INT, out, ones, at, MPI_INT);
    fold(app, n);
    BOTH(MPI_Alltoall, MPI_Ialltoall, NONE, total, in, 1, MPI_INT, out, 1, MPI_INT);
    fold(app, n);
    BOTH(MPI_Alltoallv, MPI_Ialltoallv, NONE, total, in, ones, at, MPI_INT, out, ones, at, MPI_INT);
    fold(app, n);
    BOTH(MPI_Alltoallw, MPI_Ialltoallw, NONE, total, in, ones, bytes_at, types, out, ones, bytes_at,
         types);
    fold(app, n);
    BOTH(MPI_Reduce, MPI_Ireduce, root, 8, in, out, 2, MPI_INT, MPI_SUM, root);
    fold(app, mine ? 2 : 0);
    BOTH(MPI_Allreduce, MPI_Iallreduce, NONE, 8, in, out, 2, MPI_INT, MPI_MAX);
    fold(app, 2);
    BOTH(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, NONE, total, in, out, 1, MPI_INT,
         MPI_SUM);
    fold(app, 1);
    BOTH(MPI_Reduce_scatter, MPI_Ireduce_scatter, NONE, total, in, out, ones, MPI_INT, MPI_SUM);
    fold(app, 1);
    BOTH(MPI_Scan, MPI_Iscan, NONE, 4, in, out, 1, MPI_INT, MPI_SUM);
    fold(app, 1);
    BOTH(MPI_Exscan, MPI_Iexscan, NONE, 4, in, out, 1, MPI_INT, MPI_SUM);
    fold(app, app->rank > 0 ? 1 : 0);
#undef BOTH
}

static void in_place(struct comm_app *app)
{
    int n = app->size;
    fill(app);
    LOG_BYTES(MPI_Allreduce, 4)(MPI_IN_PLACE, in, 1, MPI_INT, MPI_SUM, app->comm);
    app->check += in[0];
    fill(app);
    LOG_BYTES(MPI_Allgather, 4)
    (MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, app->comm);
    app->check += in[n - 1];
    fill(app);
    LOG_BYTES(MPI_Alltoall, 4L * n)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 1, MPI_INT, app->comm);
    app->check += in[n - 1];
}

static void user_operator(struct comm_app *app)
{
    MPI_Op op;
    int commutes;
    LOG_CALL(MPI_Op_create)(add, 1, &op);
    LOG_CALL(MPI_Op_commutative)(op, &commutes);
    fill(app);
    /* This call sends no messages, so the number of calls of the operator is known. */
    LOG_BYTES(MPI_Reduce_local, 8)(in, out, 2, MPI_INT, op);
    fold(app, 2);
    LOG_CALL(MPI_Op_free)(&op);
}

static void on_other_communicators(struct comm_app *app)
{
    MPI_Comm duplicate, half, inter, merged, world = app->comm;
    struct comm_app part = *app;
    LOG_CALL(MPI_Comm_dup)(world, &duplicate);
    part.comm = duplicate;
    part.check = 0;
    each(&part, 0);
    app->check += part.check;
    LOG_CALL(MPI_Comm_free)(&duplicate);

    LOG_CALL(MPI_Comm_split)(world, app->rank % 2, app->rank, &half);
    part.comm = half;
    part.check = 0;
    LOG_CALL(MPI_Comm_rank)(half, &part.rank);
    LOG_CALL(MPI_Comm_size)(half, &part.size);
    each(&part, 1);
    app->check += part.check;
    if (app->size > 1) {
        int value = app->rank, sum = 0, remote;
        LOG(MPI_Intercomm_create, 0, 5, 0)(half, 0, world, 1 - app->rank % 2, 5, &inter);
        LOG_CALL(MPI_Comm_remote_size)(inter, &remote);
        LOG_BYTES(MPI_Allreduce, 4)(&value, &sum, 1, MPI_INT, MPI_SUM, inter);
        app->check += sum + remote;
        LOG_CALL(MPI_Intercomm_merge)(inter, app->rank % 2, &merged);
        LOG_CALL(MPI_Barrier)(merged);
        LOG_CALL(MPI_Comm_free)(&merged);
        LOG_CALL(MPI_Comm_free)(&inter);
    }
    LOG_CALL(MPI_Comm_free)(&half);
}

void collectives(struct comm_app *app)
{
    for (int i = 0; i < RANKS_MAX; i++) {
        ones[i] = 1;
        at[i] = i;
        bytes_at[i] = 4 * i;
        counts[i] = 1;
        types[i] = MPI_INT;
    }
    if (app->size > RANKS_MAX)
        MPI_Abort(app->comm, 3);
    each(app, 0);
    each(app, 1);
    in_place(app);
    user_operator(app);
    on_other_communicators(app);
}
