/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: makes erroneous calls, and prints which error handlers ran, how often, and with
 * which error class.
 *
 * usage: handlers count|return FOLDER [CASE...]: runs every case except those named. Prints the
 * name of a case before it runs, so that the output shows which case crashes. Then prints the class
 * of the result and, for each handler that ran, its letter, the class, and the function that MPI
 * named.
 * handlers fatal FOLDER CASE: runs that case alone, with the handlers that MPI sets. */
#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char seen[4096];

/* Writes the name of the function that failed. Open MPI passes the name to the handler; MPICH has
 * it in the error's text. */
static void name_of(int code, va_list more, char name[64])
{
#ifdef OPEN_MPI
    (void)code;
    (void)snprintf(name, 64, "%s", va_arg(more, const char *));
#else
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    (void)more;
    (void)PMPI_Error_string(code, text, &n);
    const char *at = strstr(text, "MPI_");
    n = at != NULL ? (int)strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_") : 0;
    (void)snprintf(name, 64, "%.*s", n, at != NULL ? at : "");
#endif
}

static void note(char where, int code, va_list more)
{
    char name[64];
    int class = -1;
    size_t n = strlen(seen);
    (void)PMPI_Error_class(code, &class);
    name_of(code, more, name);
    (void)snprintf(seen + n, sizeof seen - n, " %c%d %s", where, class, name);
}

#define HANDLER(name, type, letter)                                                                \
    static void name(type *handle, int *code, ...)                                                 \
    {                                                                                              \
        va_list more;                                                                              \
        (void)handle;                                                                              \
        va_start(more, code);                                                                      \
        note(letter, *code, more);                                                                 \
        va_end(more);                                                                              \
    }
HANDLER(on_world, MPI_Comm, 'w')
HANDLER(on_self, MPI_Comm, 's')
HANDLER(on_twin, MPI_Comm, 't')
HANDLER(on_win, MPI_Win, 'm')
HANDLER(on_file, MPI_File, 'f')

#define INVENTED(type) ((type)(intptr_t)0x12345678)
static char path[4096];
static int data[64], other[64], counts[8] = {1}, zeros[8];
static MPI_Comm twin, freed_comm;
static MPI_Datatype pair, bare, freed_type;
static MPI_Op freed_op;
static MPI_Group freed_group;
static MPI_Win win, freed_win;
static MPI_File file, closed_file;
static MPI_Request inactive, freed_request;

static void add(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)n, (void)type;
}

static void make(void)
{
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_dup(MPI_COMM_SELF, &freed_comm);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Type_contiguous(3, MPI_INT, &bare);
    MPI_Type_vector(2, 1, 2, MPI_INT, &freed_type);
    MPI_Type_commit(&freed_type);
    MPI_Op_create(add, 1, &freed_op);
    MPI_Comm_group(MPI_COMM_WORLD, &freed_group);
    MPI_Win_create(data, sizeof data, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create(other, sizeof other, 4, MPI_INFO_NULL, MPI_COMM_SELF, &freed_win);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDWR, MPI_INFO_NULL, &closed_file);
    MPI_Recv_init(data, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &inactive);
    MPI_Recv_init(data, 1, MPI_INT, 0, 9, MPI_COMM_SELF, &freed_request);
}

/* Frees the object but keeps a copy of its handle. */
#define FREE(call, handle)                                                                         \
    do {                                                                                           \
        __typeof__(handle) copy_ = handle;                                                         \
        call(&handle);                                                                             \
        handle = copy_;                                                                            \
    } while (0)

static void free_some(void)
{
    FREE(MPI_Comm_free, freed_comm);
    FREE(MPI_Type_free, freed_type);
    FREE(MPI_Op_free, freed_op);
    FREE(MPI_Group_free, freed_group);
    FREE(MPI_Win_free, freed_win);
    FREE(MPI_File_close, closed_file);
    FREE(MPI_Request_free, freed_request);
}

static void set_handlers(const char *mode)
{
    MPI_Errhandler world = MPI_ERRORS_RETURN, self = world, of_twin = world, of_win = world,
                   of_file = world;
    if (strcmp(mode, "fatal") == 0)
        return;
    if (strcmp(mode, "count") == 0) {
        MPI_Comm_create_errhandler(on_world, &world);
        MPI_Comm_create_errhandler(on_self, &self);
        MPI_Comm_create_errhandler(on_twin, &of_twin);
        MPI_Win_create_errhandler(on_win, &of_win);
        MPI_File_create_errhandler(on_file, &of_file);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, self);
    MPI_Comm_set_errhandler(twin, of_twin);
    MPI_Win_set_errhandler(win, of_win);
    MPI_File_set_errhandler(file, of_file);
    MPI_File_set_errhandler(MPI_FILE_NULL, of_file);
}

static int truncated(MPI_Comm comm)
{
    MPI_Request r;
    MPI_Isend(data, 2, MPI_INT, 0, 3, comm, &r);
    int error = MPI_Recv(other, 1, MPI_INT, 0, 3, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    return error;
}

/* X(name, call) */
#define CASES(X)                                                                                   \
    X(barrier_null, MPI_Barrier(MPI_COMM_NULL))                                                    \
    X(barrier_freed, MPI_Barrier(freed_comm))                                                      \
    X(barrier_invented, MPI_Barrier(INVENTED(MPI_Comm)))                                           \
    X(send_comm_null, MPI_Send(data, 1, MPI_INT, 0, 1, MPI_COMM_NULL))                             \
    X(send_comm_freed, MPI_Send(data, 1, MPI_INT, 0, 1, freed_comm))                               \
    X(send_comm_invented, MPI_Send(data, 1, MPI_INT, 0, 1, INVENTED(MPI_Comm)))                    \
    X(send_type_null, MPI_Send(data, 1, MPI_DATATYPE_NULL, 0, 1, twin))                            \
    X(isend_type_freed, MPI_Isend(data, 1, freed_type, 0, 21, twin, &request))                     \
    X(send_type_invented, MPI_Send(data, 1, INVENTED(MPI_Datatype), 0, 1, MPI_COMM_WORLD))         \
    X(send_type_zero, MPI_Send(data, 1, (MPI_Datatype)0, 0, 1, MPI_COMM_WORLD))                    \
    X(send_type_bare, MPI_Send(data, 1, bare, 0, 1, MPI_COMM_SELF))                                \
    X(send_rank, MPI_Send(data, 1, MPI_INT, 99, 1, twin))                                          \
    X(send_rank_negative, MPI_Send(data, 1, pair, -77, 1, MPI_COMM_SELF))                          \
    X(send_tag, MPI_Send(data, 1, MPI_INT, 0, -5, twin))                                           \
    X(send_count, MPI_Send(data, -1, pair, 0, 1, MPI_COMM_WORLD))                                  \
    X(send_buffer, MPI_Send(NULL, 1, MPI_INT, 0, 1, MPI_COMM_WORLD))                               \
    X(irecv_type_freed, MPI_Irecv(data, 1, freed_type, 0, 22, twin, &request))                     \
    X(recv_source, MPI_Recv(data, 1, MPI_INT, 77, 1, twin, MPI_STATUS_IGNORE))                     \
    X(recv_truncated, truncated(MPI_COMM_SELF))                                                    \
    X(recv_truncated_twin, truncated(twin))                                                        \
    X(isend_comm_freed, MPI_Isend(data, 1, MPI_INT, 0, 1, freed_comm, &request))                   \
    X(irecv_type_null, MPI_Irecv(data, 1, MPI_DATATYPE_NULL, 0, 1, twin, &request))                \
    X(send_init_type_freed, MPI_Send_init(data, 1, freed_type, 0, 1, twin, &request))              \
    X(probe_freed, MPI_Probe(0, 1, freed_comm, &status))                                           \
    X(sendrecv_type_null,                                                                          \
      MPI_Sendrecv(data, 1, MPI_INT, 0, 1, other, 1, MPI_DATATYPE_NULL, 0, 1, twin, &status))      \
    X(bcast_root, MPI_Bcast(data, 1, MPI_INT, 12, MPI_COMM_WORLD))                                 \
    X(bcast_type_freed, MPI_Bcast(data, 1, freed_type, 0, twin))                                   \
    X(bcast_comm_freed, MPI_Bcast(data, 1, freed_type, 0, freed_comm))                             \
    X(reduce_op_null, MPI_Reduce(data, other, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD))         \
    X(reduce_op_freed, MPI_Reduce(data, other, 1, MPI_INT, freed_op, 0, twin))                     \
    X(allreduce_type, MPI_Allreduce(data, other, 1, pair, MPI_SUM, twin))                          \
    X(gather_type_null, MPI_Gather(data, 1, MPI_DATATYPE_NULL, other, 1, MPI_INT, 0, twin))        \
    X(gatherv_comm_freed,                                                                          \
      MPI_Gatherv(data, 1, MPI_INT, other, counts, zeros, MPI_INT, 0, freed_comm))                 \
    X(alltoallw_type_null, MPI_Alltoallw(data, counts, zeros, (MPI_Datatype[]){MPI_DATATYPE_NULL}, \
                                         other, counts, zeros, (MPI_Datatype[]){MPI_INT}, twin))   \
    X(comm_rank_freed, MPI_Comm_rank(freed_comm, &n))                                              \
    X(comm_size_invented, MPI_Comm_size(INVENTED(MPI_Comm), &n))                                   \
    X(comm_dup_null, MPI_Comm_dup(MPI_COMM_NULL, &comm))                                           \
    X(comm_dup_freed, MPI_Comm_dup(freed_comm, &comm))                                             \
    X(comm_split_invented, MPI_Comm_split(INVENTED(MPI_Comm), 0, 0, &comm))                        \
    X(comm_split_color, MPI_Comm_split(twin, -17, 0, &comm))                                       \
    X(comm_create_group_null, MPI_Comm_create(twin, MPI_GROUP_NULL, &comm))                        \
    X(comm_free_null, MPI_Comm_free(&(MPI_Comm){MPI_COMM_NULL}))                                   \
    X(comm_free_world, MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}))                                 \
    X(comm_free_freed, MPI_Comm_free(&(MPI_Comm){freed_comm}))                                     \
    X(comm_attribute, MPI_Comm_get_attr(twin, -3, &pointer, &n))                                   \
    X(cart_dims, MPI_Cart_create(twin, 1, (int[]){64}, zeros, 0, &comm))                           \
    X(cart_none, MPI_Cart_coords(twin, 0, 1, data))                                                \
    X(group_freed, MPI_Group_size(freed_group, &n))                                                \
    X(group_null, MPI_Group_rank(MPI_GROUP_NULL, &n))                                              \
    X(type_size_freed, MPI_Type_size(freed_type, &n))                                              \
    X(type_commit_null, MPI_Type_commit(&(MPI_Datatype){MPI_DATATYPE_NULL}))                       \
    X(type_vector_count, MPI_Type_vector(-1, 1, 1, MPI_INT, &type))                                \
    X(type_free_int, MPI_Type_free(&(MPI_Datatype){MPI_INT}))                                      \
    X(pack_type_freed, MPI_Pack(data, 1, freed_type, other, sizeof other, &n, twin))               \
    X(op_free_sum, MPI_Op_free(&(MPI_Op){MPI_SUM}))                                                \
    X(wait_invented, MPI_Wait(&(MPI_Request){INVENTED(MPI_Request)}, &status))                     \
    X(start_null, MPI_Start(&(MPI_Request){MPI_REQUEST_NULL}))                                     \
    X(start_freed, MPI_Start(&(MPI_Request){freed_request}))                                       \
    X(request_free_null, MPI_Request_free(&(MPI_Request){MPI_REQUEST_NULL}))                       \
    X(waitall_count, MPI_Waitall(-1, &inactive, &status))                                          \
    X(win_fence_null, MPI_Win_fence(0, MPI_WIN_NULL))                                              \
    X(win_fence_freed, MPI_Win_fence(0, freed_win))                                                \
    X(win_create_freed, MPI_Win_create(other, 4, 4, MPI_INFO_NULL, freed_comm, &window))           \
    X(put_rank, MPI_Put(data, 1, MPI_INT, 99, 0, 1, MPI_INT, win))                                 \
    X(put_type_freed, MPI_Put(data, 1, freed_type, 0, 0, 1, MPI_INT, win))                         \
    X(file_null, MPI_File_read(MPI_FILE_NULL, data, 1, MPI_INT, &status))                          \
    X(file_closed, MPI_File_read(closed_file, data, 1, MPI_INT, &status))                          \
    X(file_type_freed, MPI_File_write(file, data, 1, freed_type, &status))                         \
    X(file_count, MPI_File_read(file, data, -1, pair, &status))                                    \
    X(file_missing,                                                                                \
      MPI_File_open(MPI_COMM_SELF, "/nowhere/nothing", MPI_MODE_RDONLY, MPI_INFO_NULL, &opened))   \
    X(after_finalize, (MPI_Finalize(), done = 1, MPI_Barrier(MPI_COMM_WORLD)))

static int done;

static int run(const char *name)
{
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Win window;
    MPI_File opened;
    void *pointer;
    int n = 0;
#define X(which, call)                                                                             \
    if (strcmp(name, #which) == 0)                                                                 \
        return call;
    CASES(X)
#undef X
    return -1;
}

#define X(which, call) #which,
static const char *const names[] = {CASES(X)};
#undef X

static void say(const char *text)
{
    (void)!write(1, text, strlen(text));
}

int main(int argc, char **argv)
{
    const char *mode = argv[1];
    char line[8192];
    (void)snprintf(path, sizeof path, "%s/file", argv[2]);
    MPI_Init(&argc, &argv);
    make();
    set_handlers(mode);
    free_some();
    if (strcmp(mode, "fatal") == 0) {
        (void)run(argv[3]);
        return 0;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        /* This case ends the process, whatever the handler. */
        bool left = strcmp(names[i], "after_finalize") == 0;
        for (int k = 3; k < argc; k++)
            left = left || strcmp(argv[k], names[i]) == 0;
        if (left)
            continue;
        seen[0] = '\0';
        say(names[i]);
        int class = -1, result = run(names[i]);
        (void)PMPI_Error_class(result, &class);
        (void)snprintf(line, sizeof line, ": %d%s\n", class, seen);
        say(line);
    }
    say("end\n");
    _exit(0);
}
