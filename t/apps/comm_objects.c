/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: one-sided communication, datatypes, groups, topologies, attributes, error
 * handlers, generalized requests, files. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void one_sided(struct comm_app *app)
{
    int *base, value = app->rank + 5, got = 0, compare = 0, result = 0;
    MPI_Win win;
    MPI_Request request;
    LOG_CALL(MPI_Win_allocate)(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, app->comm, &base, &win);
    memset(base, 0, 8 * sizeof(int));
    LOG_CALL(MPI_Win_fence)(0, win);
    LOG(MPI_Put, app->right, NONE, 4)(&value, 1, MPI_INT, app->right, 0, 1, MPI_INT, win);
    LOG_CALL(MPI_Win_fence)(0, win);
    LOG(MPI_Get, app->left, NONE, 4)(&got, 1, MPI_INT, app->left, 0, 1, MPI_INT, win);
    LOG_CALL(MPI_Win_fence)(0, win);
    app->check += got + base[0];
    LOG(MPI_Accumulate, 0, NONE, 4)(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
    LOG_CALL(MPI_Win_fence)(0, win);
    app->check += app->rank == 0 ? base[1] : 0;
    LOG_CALL(MPI_Barrier)(app->comm);
    log_enter("MPI_Win_lock", app->right, NONE, 0);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, app->right, 0, win);
    LOG(MPI_Fetch_and_op, app->right, NONE, 4)
    (&value, &result, MPI_INT, app->right, 2, MPI_SUM, win);
    LOG(MPI_Win_flush, app->right, NONE, 0)(app->right, win);
    LOG(MPI_Compare_and_swap, app->right, NONE, 4)
    (&value, &compare, &result, MPI_INT, app->right, 3, win);
    LOG(MPI_Get_accumulate, app->right, NONE, 4)
    (&value, 1, MPI_INT, &got, 1, MPI_INT, app->right, 4, 1, MPI_INT, MPI_SUM, win);
    LOG(MPI_Rput, app->right, NONE, 4)
    (&value, 1, MPI_INT, app->right, 5, 1, MPI_INT, win, &request);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    LOG(MPI_Win_unlock, app->right, NONE, 0)(app->right, win);
    LOG_CALL(MPI_Barrier)(app->comm);
    app->check += result + got;
    LOG_CALL(MPI_Win_free)(&win);
}

static void datatypes(struct comm_app *app)
{
    MPI_Datatype row, column, both;
    MPI_Aint lower, extent, places[2] = {0, 64};
    int size, lengths[2] = {1, 1}, matrix[64], room[64] = {0}, position = 0;
    char packed[64];
    MPI_Request request;
    for (int i = 0; i < 64; i++)
        matrix[i] = i + app->rank;
    LOG_CALL(MPI_Type_contiguous)(8, MPI_INT, &row);
    LOG_CALL(MPI_Type_vector)(8, 1, 8, MPI_INT, &column);
    LOG_CALL(MPI_Type_commit)(&row);
    LOG_CALL(MPI_Type_commit)(&column);
    LOG_CALL(MPI_Type_create_hindexed)(2, lengths, places, MPI_INT, &both);
    LOG_CALL(MPI_Type_commit)(&both);
    LOG_CALL(MPI_Type_size)(column, &size);
    LOG_CALL(MPI_Type_get_extent)(column, &lower, &extent);
    app->check += size + (long)extent;
    LOG(MPI_Irecv, app->left, 80, 32)(room, 1, row, app->left, 80, app->comm, &request);
    LOG(MPI_Send, app->right, 80, 32)(matrix, 1, column, app->right, 80, app->comm);
    LOG_CALL(MPI_Wait)(&request, MPI_STATUS_IGNORE);
    log_completed(app->left, 80, 32);
    app->check += room[7];
    LOG_BYTES(MPI_Pack, 8)(matrix, 1, both, packed, sizeof packed, &position, app->comm);
    app->check += position;
    position = 0;
    LOG_BYTES(MPI_Unpack, 8)(packed, sizeof packed, &position, room, 2, MPI_INT, app->comm);
    app->check += room[1];
    LOG_CALL(MPI_Type_free)(&both);
    LOG_CALL(MPI_Type_free)(&column);
    LOG_CALL(MPI_Type_free)(&row);
}

static void groups_and_topologies(struct comm_app *app)
{
    MPI_Group world, first;
    MPI_Comm one = MPI_COMM_NULL, cart;
    int ranks[1] = {0}, translated, dims[1] = {app->size}, periods[1] = {1}, source, target,
        out[2] = {0}, r;
    LOG_CALL(MPI_Comm_group)(app->comm, &world);
    LOG_CALL(MPI_Group_incl)(world, 1, ranks, &first);
    LOG_CALL(MPI_Group_translate_ranks)(first, 1, ranks, world, &translated);
    LOG_CALL(MPI_Comm_create)(app->comm, first, &one);
    if (one != MPI_COMM_NULL) {
        LOG_CALL(MPI_Barrier)(one);
        LOG_CALL(MPI_Comm_free)(&one);
    }
    LOG_CALL(MPI_Group_free)(&first);
    LOG_CALL(MPI_Group_free)(&world);
    LOG_CALL(MPI_Cart_create)(app->comm, 1, dims, periods, 0, &cart);
    LOG_CALL(MPI_Cart_shift)(cart, 0, 1, &source, &target);
    LOG_CALL(MPI_Comm_rank)(cart, &r);
    LOG_BYTES(MPI_Neighbor_allgather, 4)(&r, 1, MPI_INT, out, 1, MPI_INT, cart);
    app->check += out[0] + 2L * out[1] + source + target + translated;
    LOG_CALL(MPI_Comm_free)(&cart);
}

static int copy_attribute(MPI_Comm comm, int keyval, void *extra, void *value, void *copied,
                          int *flag)
{
    int size;
    (void)keyval, (void)extra;
    LOG_NESTED(MPI_Comm_size)(comm, &size);
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int initialized;
    (void)comm, (void)keyval, (void)extra;
    LOG_NESTED(MPI_Initialized)(&initialized);
    *(int *)value += 1;
    return MPI_SUCCESS;
}

static void attributes(struct comm_app *app)
{
    MPI_Comm duplicate;
    int keyval, deletes = 0, flag = 0, *tag_ub;
    LOG_CALL(MPI_Comm_create_keyval)(copy_attribute, delete_attribute, &keyval, NULL);
    LOG_CALL(MPI_Comm_set_attr)(app->comm, keyval, &deletes);
    LOG_CALL(MPI_Comm_dup)(app->comm, &duplicate);
    LOG_CALL(MPI_Comm_free)(&duplicate);
    LOG_CALL(MPI_Comm_delete_attr)(app->comm, keyval);
    LOG_CALL(MPI_Comm_free_keyval)(&keyval);
    LOG_CALL(MPI_Comm_get_attr)(app->comm, MPI_TAG_UB, &tag_ub, &flag);
    app->check += deletes + flag;
}

static int errors;

static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int n, class;
    (void)comm;
    LOG_NESTED(MPI_Error_class)(*code, &class);
    LOG_NESTED(MPI_Error_string)(*code, text, &n);
    errors += class == MPI_ERR_RANK || class == MPI_ERR_COMM || n > 0;
}

static void error_handlers(struct comm_app *app)
{
    MPI_Errhandler handler;
    int value = 0, code;
    LOG_CALL(MPI_Comm_create_errhandler)(on_error, &handler);
    LOG_CALL(MPI_Comm_set_errhandler)(app->comm, handler);
    code = LOG(MPI_Send, app->size + 5, 1, 4)(&value, 1, MPI_INT, app->size + 5, 1, app->comm);
    LOG_CALL(MPI_Comm_set_errhandler)(app->comm, MPI_ERRORS_ARE_FATAL);
    LOG_CALL(MPI_Errhandler_free)(&handler);
    app->check += 10L * errors + (code != MPI_SUCCESS);
}

static int query(void *extra, MPI_Status *status)
{
    (void)extra;
    LOG_NESTED(MPI_Status_set_elements)(status, MPI_INT, 3);
    LOG_NESTED(MPI_Status_set_cancelled)(status, 0);
    status->MPI_SOURCE = MPI_UNDEFINED;
    status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *extra)
{
    (void)extra;
    return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalised_request(struct comm_app *app)
{
    MPI_Request request;
    MPI_Status status;
    int n;
    LOG_CALL(MPI_Grequest_start)(query, release, cancel, NULL, &request);
    LOG_CALL(MPI_Grequest_complete)(request);
    LOG_CALL(MPI_Wait)(&request, &status);
    LOG_CALL(MPI_Get_count)(&status, MPI_INT, &n);
    app->check += n;
}

void objects(struct comm_app *app)
{
    one_sided(app);
    datatypes(app);
    groups_and_topologies(app);
    attributes(app);
    error_handlers(app);
    generalised_request(app);
}

void file_calls(struct comm_app *app, const char *folder);
void file_calls(struct comm_app *app, const char *folder)
{
    char path[4096];
    int value = app->rank * 11, got = 0;
    MPI_File file;
    snprintf(path, sizeof path, "%s/comm.data", folder);
    if (LOG_CALL(MPI_File_open)(app->comm, path,
                                MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                                MPI_INFO_NULL, &file) != MPI_SUCCESS)
        MPI_Abort(app->comm, 4);
    LOG_BYTES(MPI_File_write_at_all, 4)
    (file, 4L * app->rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    LOG_CALL(MPI_File_sync)(file);
    LOG_CALL(MPI_Barrier)(app->comm);
    LOG_BYTES(MPI_File_read_at, 4)(file, 4L * app->right, &got, 1, MPI_INT, MPI_STATUS_IGNORE);
    app->check += got;
    more_file_calls(app, file);
    LOG_CALL(MPI_File_close)(&file);
}
