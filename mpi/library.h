/* SPDX-License-Identifier: BSD-3-Clause
 * The PMPI functions that regtrace itself calls, through pointers, so that nothing links against
 * MPI. */
#ifndef REGTRACE_MPI_LIBRARY_H
#define REGTRACE_MPI_LIBRARY_H

#include <stdint.h>

/* Name and type of each pointer. Handles are passed as words, as in the wrappers. */
#define MPI_LIBRARY(X)                                                                             \
    X(Comm_rank, int (*)(uint64_t, int *))                                                         \
    X(Comm_size, int (*)(uint64_t, int *))                                                         \
    X(Comm_test_inter, int (*)(uint64_t, int *))                                                   \
    X(Comm_remote_size, int (*)(uint64_t, int *))                                                  \
    X(Comm_group, int (*)(uint64_t, void *))                                                       \
    X(Comm_remote_group, int (*)(uint64_t, void *))                                                \
    X(Comm_get_parent, int (*)(void *))                                                            \
    X(Group_size, int (*)(uint64_t, int *))                                                        \
    X(Group_translate_ranks, int (*)(uint64_t, int, const int *, uint64_t, int *))                 \
    X(Group_free, int (*)(void *))                                                                 \
    X(Type_size, int (*)(uint64_t, int *))                                                         \
    X(Get_count_c, int (*)(const void *, uint64_t, int64_t *))                                     \
    X(Test_cancelled, int (*)(const void *, int *))                                                \
    X(Comm_f2c, uint64_t (*)(int))                                                                 \
    X(Type_f2c, uint64_t (*)(int))                                                                 \
    X(Request_f2c, uint64_t (*)(int))                                                              \
    X(Win_f2c, uint64_t (*)(int))                                                                  \
    X(File_f2c, uint64_t (*)(int))                                                                 \
    X(Query_thread, int (*)(int *))                                                                \
    X(Allgather, int (*)(const void *, int, uint64_t, void *, int, uint64_t, uint64_t))            \
    X(Send, int (*)(const void *, int, uint64_t, int, int, uint64_t))                              \
    X(Recv, int (*)(void *, int, uint64_t, int, int, uint64_t, void *))                            \
    X(Comm_dup, int (*)(uint64_t, void *))                                                         \
    X(Comm_free, int (*)(void *))

struct mpi_library {
#define X(name, type) __typeof__(type) name;
    MPI_LIBRARY(X)
#undef X
    int ready;
};

/* Returns all pointers; NULL for functions that the loaded library lacks. Cheap after the first
 * call. Not for signal handlers. */
const struct mpi_library *mpi_library(void);

#endif
