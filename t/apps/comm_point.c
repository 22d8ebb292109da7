/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: point-to-point calls. Each goes around the ring, so that one rank
 * suffices. */
#include "comm.h"

#include <stdlib.h>

#define TAG 10

/* receive_post() posts a receive from the left neighbour into `*room`; receive_wait() waits for it,
 * logs its completion and folds the value into app->check. */
static void receive_post(struct comm_app *app, int *room, int tag, MPI_Request *request)
{
    *room = -1;
    LOG(MPI_Irecv, app->left, tag, 4)(room, 1, MPI_INT, app->left, tag, app->comm, request);
}

static void receive_wait(struct comm_app *app, int *room, int tag, MPI_Request *request)
{
    LOG_CALL(MPI_Wait)(request, MPI_STATUS_IGNORE);
    log_completed(app->left, tag, 4);
    app->check = app->check * 3 % 100003 + *room;
}

static void blocking_sends(struct comm_app *app)
{
    static char space[4096];
    void *detached;
    int room, bytes, value = app->rank + 1;
    MPI_Request request;
#define SEND_AROUND(function, tag)                                                                 \
    receive_post(app, &room, tag, &request);                                                       \
    LOG_CALL(MPI_Barrier)(app->comm); /* a ready send needs a posted receive */                    \
    LOG(function, app->right, tag, 4)(&value, 1, MPI_INT, app->right, tag, app->comm);             \
    receive_wait(app, &room, tag, &request)
    SEND_AROUND(MPI_Send, TAG);
    SEND_AROUND(MPI_Ssend, TAG + 1);
    SEND_AROUND(MPI_Rsend, TAG + 2);
    LOG_CALL(MPI_Buffer_attach)(space, sizeof space);
    SEND_AROUND(MPI_Bsend, TAG + 3);
    LOG_CALL(MPI_Buffer_detach)(&detached, &bytes);
#undef SEND_AROUND
    LOG(MPI_Send, MPI_PROC_NULL, TAG, 4)(&value, 1, MPI_INT, MPI_PROC_NULL, TAG, app->comm);
    LOG(MPI_Sendrecv, app->right, 20, 4)
    (&value, 1, MPI_INT, app->right, 20, &room, 1, MPI_INT, app->left, 20, app->comm,
     MPI_STATUS_IGNORE);
    log_completed(app->left, 20, 4);
    LOG(MPI_Sendrecv_replace, app->right, 21, 4)
    (&value, 1, MPI_INT, app->right, 21, app->left, 21, app->comm, MPI_STATUS_IGNORE);
    log_completed(app->left, 21, 4);
    app->check += room + value;
}

static void nonblocking_sends(struct comm_app *app)
{
    static char space[4096];
    void *detached;
    int room, bytes, value = 2 * app->rank + 1;
    MPI_Request r[2];
#define ISEND_AROUND(function, tag)                                                                \
    receive_post(app, &room, tag, &r[0]);                                                          \
    LOG_CALL(MPI_Barrier)(app->comm);                                                              \
    LOG(function, app->right, tag, 4)(&value, 1, MPI_INT, app->right, tag, app->comm, &r[1]);      \
    receive_wait(app, &room, tag, &r[0]);                                                          \
    LOG_CALL(MPI_Wait)(&r[1], MPI_STATUS_IGNORE)
    ISEND_AROUND(MPI_Isend, 30);
    ISEND_AROUND(MPI_Issend, 31);
    ISEND_AROUND(MPI_Irsend, 32);
    LOG_CALL(MPI_Buffer_attach)(space, sizeof space);
    ISEND_AROUND(MPI_Ibsend, 33);
    LOG_CALL(MPI_Buffer_detach)(&detached, &bytes);
#undef ISEND_AROUND
}

/* Makes blocking receives with wildcards, probes and matched probes. */
static void receives(struct comm_app *app)
{
    double data[6] = {app->rank, 1, 2, 3, 4, 5}, room[8] = {0};
    int n = 0, flag = 0, right = app->right, left = app->left;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    LOG(MPI_Isend, right, 40, 8)(data, 1, MPI_DOUBLE, right, 40, app->comm, &request);
    LOG(MPI_Recv, MPI_ANY_SOURCE, -1, 64)
    (room, 8, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, app->comm, &status);
    log_completed(left, 40, 8);
    app->check += status.MPI_SOURCE + status.MPI_TAG;
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG_CALL(MPI_Barrier)(app->comm);

    LOG(MPI_Isend, right, 41, 48)(data, 6, MPI_DOUBLE, right, 41, app->comm, &request);
    LOG(MPI_Probe, left, -1, 0)(left, MPI_ANY_TAG, app->comm, &status);
    LOG_CALL(MPI_Get_count)(&status, MPI_DOUBLE, &n);
    LOG(MPI_Recv, left, 41, 8L * n)(room, n, MPI_DOUBLE, left, 41, app->comm, MPI_STATUS_IGNORE);
    log_completed(left, 41, 48);
    app->check += n + (long)room[0];
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);

    LOG(MPI_Isend, right, 42, 16)(data, 2, MPI_DOUBLE, right, 42, app->comm, &request);
    while (!flag)
        LOG(MPI_Iprobe, left, 42, 0)(left, 42, app->comm, &flag, &status);
    LOG(MPI_Mprobe, left, 42, 0)(left, 42, app->comm, &message, &status);
    LOG_BYTES(MPI_Mrecv, 64)(room, 8, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    log_completed(left, 42, 16);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);

    LOG(MPI_Isend, right, 43, 24)(data, 3, MPI_DOUBLE, right, 43, app->comm, &request);
    for (flag = 0; !flag;)
        LOG(MPI_Improbe, left, 43, 0)(left, 43, app->comm, &flag, &message, &status);
    MPI_Request matched;
    LOG_BYTES(MPI_Imrecv, 64)(room, 8, MPI_DOUBLE, &message, &matched);
    LOG_CALL(MPI_Wait)(&matched, &status);
    log_completed(left, 43, 24);
    LOG_CALL(MPI_Get_elements)(&status, MPI_DOUBLE, &n);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    app->check += n + (long)room[2];
}

/* Completes COUNT receives, with one send each, by every kind of wait and test. */
static void completions(struct comm_app *app)
{
    enum { COUNT = 3 };
    int value[COUNT], room[COUNT], at, done, flag = 0, indices[COUNT], n = 0;
    MPI_Request r[2 * COUNT];
    MPI_Status statuses[2 * COUNT];
    for (int way = 0; way < 6; way++) {
        for (int i = 0; i < COUNT; i++)
            receive_post(app, &room[i], 50 + i, &r[i]);
        for (int i = 0; i < COUNT; i++) {
            value[i] = 100 * way + 10 * i + app->rank;
            LOG(MPI_Send, app->right, 50 + i, 4)
            (&value[i], 1, MPI_INT, app->right, 50 + i, app->comm);
        }
        switch (way) {
        case 0: LOG_CALL(MPI_Waitall)(COUNT, r, statuses); break;
        case 1:
            for (int i = 0; i < COUNT; i++)
                LOG_CALL(MPI_Waitany)
            (COUNT, r, &at, MPI_STATUS_IGNORE), log_completed(app->left, 50 + at, 4);
            break;
        case 2:
            for (n = 0; n < COUNT; n += done) {
                LOG_CALL(MPI_Waitsome)(COUNT, r, &done, indices, statuses);
                for (int i = 0; i < done; i++)
                    log_completed(app->left, 50 + indices[i], 4);
            }
            break;
        case 3:
            for (flag = 0; !flag;)
                LOG_CALL(MPI_Testall)(COUNT, r, &flag, MPI_STATUSES_IGNORE);
            break;
        case 4:
            for (n = 0; n < COUNT; n += flag) {
                LOG_CALL(MPI_Testany)(COUNT, r, &at, &flag, statuses);
                if (flag)
                    log_completed(app->left, 50 + at, 4);
            }
            break;
        default:
            for (n = 0; n < COUNT; n += done) {
                LOG_CALL(MPI_Testsome)(COUNT, r, &done, indices, MPI_STATUSES_IGNORE);
                for (int i = 0; i < done; i++)
                    log_completed(app->left, 50 + indices[i], 4);
            }
        }
        if (way == 0 || way == 3)
            for (int i = 0; i < COUNT; i++)
                log_completed(app->left, 50 + i, 4);
        for (int i = 0; i < COUNT; i++)
            app->check += room[i];
    }
    receive_post(app, &room[0], 60, &r[0]);
    LOG(MPI_Send, app->right, 60, 4)(&value[0], 1, MPI_INT, app->right, 60, app->comm);
    for (flag = 0; !flag;)
        LOG_CALL(MPI_Request_get_status)(r[0], &flag, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        LOG_CALL(MPI_Test)(&r[0], &flag, statuses);
    log_completed(app->left, 60, 4);
}

static void persistent(struct comm_app *app)
{
    static char space[4096];
    void *detached;
    int value = app->rank, room = 0, bytes;
    MPI_Request r[5];
    LOG(MPI_Recv_init, app->left, 70, 4)(&room, 1, MPI_INT, app->left, 70, app->comm, &r[0]);
    LOG(MPI_Send_init, app->right, 70, 4)(&value, 1, MPI_INT, app->right, 70, app->comm, &r[1]);
    LOG(MPI_Ssend_init, app->right, 70, 4)(&value, 1, MPI_INT, app->right, 70, app->comm, &r[2]);
    LOG(MPI_Bsend_init, app->right, 70, 4)(&value, 1, MPI_INT, app->right, 70, app->comm, &r[3]);
    LOG(MPI_Rsend_init, app->right, 70, 4)(&value, 1, MPI_INT, app->right, 70, app->comm, &r[4]);
    LOG_CALL(MPI_Buffer_attach)(space, sizeof space);
    for (int i = 1; i < 5; i++) {
        MPI_Request pair[2] = {r[0], r[i]};
        value = app->rank + i;
        if (i == 4) {
            LOG_CALL(MPI_Start)(&pair[0]);
            LOG_CALL(MPI_Barrier)(app->comm);
            LOG_CALL(MPI_Start)(&pair[1]);
        } else {
            LOG_CALL(MPI_Startall)(2, pair);
        }
        LOG_CALL(MPI_Waitall)(2, pair, MPI_STATUSES_IGNORE);
        log_completed(app->left, 70, 4);
        app->check += room;
    }
    for (int i = 0; i < 5; i++)
        LOG_CALL(MPI_Request_free)(&r[i]);
    LOG_CALL(MPI_Buffer_detach)(&detached, &bytes);
}

/* Cancels a receive that no rank sends to; receives from MPI_PROC_NULL. */
static void cancelled(struct comm_app *app)
{
    int room = 7, flag = 0;
    MPI_Request request;
    MPI_Status status;
    LOG(MPI_Irecv, app->left, 99, 4)(&room, 1, MPI_INT, app->left, 99, app->comm, &request);
    LOG_CALL(MPI_Cancel)(&request);
    LOG_CALL(MPI_Wait)(&request, &status);
    LOG_CALL(MPI_Test_cancelled)(&status, &flag);
    app->check += flag;
    LOG(MPI_Recv, MPI_PROC_NULL, 98, 4)
    (&room, 1, MPI_INT, MPI_PROC_NULL, 98, app->comm, MPI_STATUS_IGNORE);
    log_completed(MPI_PROC_NULL, -1, 0);
    app->check += room;
}

void point_to_point(struct comm_app *app)
{
    blocking_sends(app);
    nonblocking_sends(app);
    receives(app);
    completions(app);
    persistent(app);
    cancelled(app);
}
