/* SPDX-License-Identifier: BSD-3-Clause
 * Makes MPI calls in many places and logs each with its line. usage: call_sites LOG LIBRARY...
 *
 * Writes to LOG.RANK.THREAD a line "FUNCTION LINE" for each call, in order of their beginnings.
 * From each library it loads, calls `int call_it(void)`, which makes an MPI_Comm_size call and
 * returns its line, and unloads the library again. */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

static __thread FILE *log_file;

#define SITE(function, ...)                                                                        \
    do {                                                                                           \
        fprintf(log_file, "MPI_%s %d\n", #function, __LINE__);                                     \
        MPI_##function(__VA_ARGS__);                                                               \
    } while (0)

static int rank, size;
static const char *log_name;

static void open_log(int thread)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d.%d", log_name, rank, thread);
    log_file = fopen(name, "w");
    if (log_file == NULL)
        exit(3);
}

__attribute__((always_inline)) static inline void is_inlined(int *n)
{
    SITE(Comm_size, MPI_COMM_WORLD, n);
    SITE(Comm_rank, MPI_COMM_WORLD, n);
}

__attribute__((noinline)) static void exchange(MPI_Comm comm, int n)
{
    int x = n, y;
    SITE(Sendrecv, &x, 1, MPI_INT, (rank + 1) % size, 1, &y, 1, MPI_INT, (rank + size - 1) % size,
         1, comm, MPI_STATUS_IGNORE);
    MPI_Request r[2];
    SITE(Irecv, &y, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, &r[0]);
    SITE(Isend, &x, 1, MPI_INT, (rank + 1) % size, 2, comm, &r[1]);
    SITE(Waitall, 2, r, MPI_STATUSES_IGNORE);
}

/* An operation of the program, which calls MPI within an MPI call. */
static void add(void *in, void *to, int *n, MPI_Datatype *type)
{
    int bytes;
    SITE(Type_size, *type, &bytes);
    for (int i = 0; i < *n; i++)
        ((int *)to)[i] += ((int *)in)[i];
}

/* The same, which closes the window and opens another one. */
static void add_outside(void *in, void *to, int *n, MPI_Datatype *type)
{
    MPI_Pcontrol(0); /* stop */
    MPI_Pcontrol(1); /* start */
    add(in, to, n, type);
}

static int forget(MPI_Comm comm, int key, void *value, void *extra)
{
    int n;
    (void)key, (void)value, (void)extra;
    SITE(Comm_test_inter, comm, &n);
    return MPI_SUCCESS;
}

static void callbacks(void)
{
    int x[4] = {1, 2, 3, 4}, y[4] = {0}, key;
    MPI_Op op, outside;
    MPI_Comm copy;
    SITE(Op_create, add, 1, &op);
    SITE(Op_create, add_outside, 1, &outside);
    SITE(Reduce_local, x, y, 4, MPI_INT, op);
    SITE(Reduce_local, x, y, 4, MPI_INT, outside);
    SITE(Comm_create_keyval, MPI_COMM_NULL_COPY_FN, forget, &key, NULL);
    SITE(Comm_dup, MPI_COMM_WORLD, &copy);
    SITE(Comm_set_attr, copy, key, NULL);
    exchange(copy, 3);
    SITE(Comm_free, &copy);
}

static void libraries(char **names)
{
    for (; *names != NULL; names++) {
        void *library = dlopen(*names, RTLD_NOW);
        if (library == NULL) {
            fprintf(stderr, "%s\n", dlerror());
            exit(3);
        }
        int (*call_it)(void) = (int (*)(void))dlsym(library, "call_it");
        fprintf(log_file, "MPI_Comm_size %d\n", call_it());
        dlclose(library);
    }
}

static void *work(void *unused)
{
    int n;
    (void)unused;
    open_log(1);
    for (int i = 0; i < 100; i++) {
        SITE(Comm_rank, MPI_COMM_WORLD, &n);
        is_inlined(&n);
    }
    fclose(log_file);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, n;
    pthread_t thread;
    log_name = argv[1];
    (void)argc;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    open_log(0);
    MPI_Pcontrol(1);
    for (int i = 0; i < 10; i++)
        exchange(MPI_COMM_WORLD, i);
    is_inlined(&n);
    callbacks();
    libraries(argv + 2);
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_create(&thread, NULL, work, NULL);
        for (int i = 0; i < 100; i++)
            SITE(Barrier, MPI_COMM_SELF);
        pthread_join(thread, NULL);
    }
    SITE(Barrier, MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    fclose(log_file);
    return MPI_Finalize();
}
