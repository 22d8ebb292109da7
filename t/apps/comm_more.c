/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: all ways to make communicators, neighbourhood collectives, requests of
 * windows, external packing, and the many calls for files. */
#include "comm.h"

#include <stdio.h>
#include <string.h>

static void barrier_and_end(MPI_Comm *comm)
{
    LOG_CALL(MPI_Barrier)(*comm);
    LOG_CALL(MPI_Comm_disconnect)(comm);
}

static void communicators(struct comm_app *app)
{
    MPI_Comm made;
    MPI_Group group;
    MPI_Request request;
    int left[1] = {app->left}, right[1] = {app->right}, dims[2] = {1, app->size}, none[2] = {0, 0},
        keep[2] = {0, 1}, weight = 1;
    LOG_CALL(MPI_Comm_dup_with_info)(app->comm, MPI_INFO_NULL, &made);
    barrier_and_end(&made);
    LOG_CALL(MPI_Comm_idup)(app->comm, &made, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    barrier_and_end(&made);
    LOG_CALL(MPI_Comm_split_type)(app->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made);
    barrier_and_end(&made);
    LOG_CALL(MPI_Comm_group)(app->comm, &group);
    LOG(MPI_Comm_create_group, NONE, 21, 0)(app->comm, group, 21, &made);
    LOG_CALL(MPI_Group_free)(&group);
    barrier_and_end(&made);
    LOG_CALL(MPI_Dist_graph_create_adjacent)
    (app->comm, 1, left, &weight, 1, right, &weight, MPI_INFO_NULL, 0, &made);
    barrier_and_end(&made);
    LOG_CALL(MPI_Cart_create)(app->comm, 2, dims, none, 0, &made);
    MPI_Comm row;
    LOG_CALL(MPI_Cart_sub)(made, keep, &row);
    barrier_and_end(&row);
    LOG_CALL(MPI_Comm_free)(&made);
}

/* On a ring each rank has two neighbours. The logged bytes are those for one neighbour. */
static void neighbours(struct comm_app *app)
{
    MPI_Comm ring;
    MPI_Request request;
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    MPI_Aint bytes[2] = {0, 8};
    int dims[1] = {app->size}, periods[1] = {1}, out[6] = {0}, in[6] = {1, 2, 3, 4, 5, 6};
    int counts[2] = {1, 1}, places[2] = {0, 2};
    LOG_CALL(MPI_Cart_create)(app->comm, 1, dims, periods, 0, &ring);
    LOG_BYTES(MPI_Neighbor_alltoall, 12)(in, 3, MPI_INT, out, 3, MPI_INT, ring);
    LOG_BYTES(MPI_Neighbor_allgatherv, 4)(in, 1, MPI_INT, out, counts, places, MPI_INT, ring);
    LOG_CALL(MPI_Neighbor_alltoallv)
    (in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring);
    LOG_CALL(MPI_Neighbor_alltoallw)(in, counts, bytes, types, out, counts, bytes, types, ring);
    LOG_BYTES(MPI_Ineighbor_allgather, 8)(in, 2, MPI_INT, out, 2, MPI_INT, ring, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG_BYTES(MPI_Ineighbor_allgatherv, 4)
    (in, 1, MPI_INT, out, counts, places, MPI_INT, ring, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG_BYTES(MPI_Ineighbor_alltoall, 12)(in, 3, MPI_INT, out, 3, MPI_INT, ring, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG_CALL(MPI_Ineighbor_alltoallv)
    (in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    /* With two ranks both neighbours are the same rank, and the order of its two messages is not
     * defined: count the values only. */
    for (int i = 0; i < 6; i++)
        app->check += out[i] > 0;
    LOG_CALL(MPI_Comm_free)(&ring);
}

static void requests_of_windows(struct comm_app *app)
{
    int *base, value[2] = {app->rank, 1}, got[2] = {0, 0}, unit;
    void *shared;
    MPI_Aint size;
    MPI_Win win;
    MPI_Request request;
    LOG_CALL(MPI_Win_allocate_shared)
    (8 * sizeof(int), sizeof(int), MPI_INFO_NULL, app->comm, &base, &win);
    LOG(MPI_Win_shared_query, 0, NONE, 0)(win, 0, &size, &unit, &shared);
    LOG_CALL(MPI_Win_lock_all)(0, win);
    for (int i = 0; i < 8; i++)
        base[i] = 3;
    LOG_CALL(MPI_Win_sync)(win);
    LOG_CALL(MPI_Barrier)(app->comm);
    LOG(MPI_Rget, app->right, NONE, 8)
    (got, 2, MPI_INT, app->right, 0, 2, MPI_INT, win, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG(MPI_Raccumulate, app->right, NONE, 4)
    (value, 1, MPI_INT, app->right, 4, 1, MPI_INT, MPI_SUM, win, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG(MPI_Rget_accumulate, app->left, NONE, 8)
    (value, 2, MPI_INT, got, 2, MPI_INT, app->left, 6, 2, MPI_INT, MPI_SUM, win, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG(MPI_Put, MPI_PROC_NULL, NONE, 4)
    (value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    LOG(MPI_Win_flush_local, app->right, NONE, 0)(app->right, win);
    LOG_CALL(MPI_Win_unlock_all)(win);
    app->check += got[0] + got[1] + unit;
    LOG_CALL(MPI_Win_free)(&win);
}

static void external(struct comm_app *app)
{
    char packed[64];
    int in[3] = {1, 2, 3}, out[3] = {0};
    MPI_Aint place = 0;
    LOG_BYTES(MPI_Pack_external, 12)
    ("external32", in, 3, MPI_INT, packed, sizeof packed, &place);
    place = 0;
    LOG_BYTES(MPI_Unpack_external, 12)
    ("external32", packed, sizeof packed, &place, out, 3, MPI_INT);
    app->check += out[2];
}

void more_objects(struct comm_app *app)
{
    communicators(app);
    neighbours(app);
    requests_of_windows(app);
    external(app);
}

static void waited(MPI_Request *request)
{
    LOG_CALL(MPI_Wait)(request, MPI_STATUS_IGNORE);
}

static void file_alone(struct comm_app *app, MPI_File file)
{
    MPI_Status *no = MPI_STATUS_IGNORE;
    MPI_Offset at = 64L * app->rank;
    MPI_Request request;
    int out[4] = {1, 2, 3, 4}, in[4] = {0};
    LOG_BYTES(MPI_File_write_at, 16)(file, at, out, 4, MPI_INT, no);
    LOG_CALL(MPI_File_seek)(file, at + 16, MPI_SEEK_SET);
    LOG_BYTES(MPI_File_write, 8)(file, out, 2, MPI_INT, no);
    LOG_BYTES(MPI_File_iwrite, 8)(file, out, 2, MPI_INT, &request);
    waited(&request);
    LOG_BYTES(MPI_File_iwrite_at, 4)(file, at + 32, out, 1, MPI_INT, &request);
    waited(&request);
    LOG_CALL(MPI_File_seek)(file, at, MPI_SEEK_SET);
    LOG_BYTES(MPI_File_read, 16)(file, in, 4, MPI_INT, no);
    app->check += in[3];
    LOG_BYTES(MPI_File_iread, 8)(file, in, 2, MPI_INT, &request);
    waited(&request);
    LOG_BYTES(MPI_File_iread_at, 4)(file, at + 4, in, 1, MPI_INT, &request);
    waited(&request);
    app->check += in[0];
}

static void file_together(struct comm_app *app, MPI_File file)
{
    MPI_Status *no = MPI_STATUS_IGNORE;
    MPI_Offset at = 64L * app->rank;
    MPI_Request request;
    int out[4] = {5, 6, 7, 8}, in[4] = {0};
    LOG_CALL(MPI_File_seek)(file, at, MPI_SEEK_SET);
    LOG_BYTES(MPI_File_write_all, 8)(file, out, 2, MPI_INT, no);
    LOG_BYTES(MPI_File_write_all_begin, 4)(file, out, 1, MPI_INT);
    LOG_CALL(MPI_File_write_all_end)(file, out, no);
    LOG_BYTES(MPI_File_write_at_all_begin, 12)(file, at + 16, out, 3, MPI_INT);
    LOG_CALL(MPI_File_write_at_all_end)(file, out, no);
    LOG_BYTES(MPI_File_iwrite_at_all, 4)(file, at + 28, out, 1, MPI_INT, &request);
    waited(&request);
    LOG_BYTES(MPI_File_iwrite_all, 4)(file, out, 1, MPI_INT, &request);
    waited(&request);
    LOG_CALL(MPI_File_seek)(file, at, MPI_SEEK_SET);
    LOG_BYTES(MPI_File_read_all, 8)(file, in, 2, MPI_INT, no);
    app->check += in[1];
    LOG_BYTES(MPI_File_read_all_begin, 4)(file, in, 1, MPI_INT);
    LOG_CALL(MPI_File_read_all_end)(file, in, no);
    LOG_BYTES(MPI_File_read_at_all, 16)(file, at, in, 4, MPI_INT, no);
    LOG_BYTES(MPI_File_read_at_all_begin, 12)(file, at + 16, in, 3, MPI_INT);
    LOG_CALL(MPI_File_read_at_all_end)(file, in, no);
    LOG_BYTES(MPI_File_iread_at_all, 4)(file, at, in, 1, MPI_INT, &request);
    waited(&request);
    LOG_CALL(MPI_File_seek)(file, at, MPI_SEEK_SET);
    LOG_BYTES(MPI_File_iread_all, 4)(file, in, 1, MPI_INT, &request);
    waited(&request);
    app->check += in[0];
}

void more_file_calls(struct comm_app *app, MPI_File file)
{
    LOG_CALL(MPI_Barrier)(app->comm); /* rank 0 writes where other ranks have read */
    file_alone(app, file);
    file_together(app, file);
}
