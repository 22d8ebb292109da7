/* SPDX-License-Identifier: BSD-3-Clause
 * collective_waits FOLDER SEED [windows]: collective calls in a random order, with one rank late.
 *
 * Logs to FOLDER/log.RANK the calls in windows (MPI_Pcontrol(1) to MPI_Pcontrol(0); without
 * "windows" the whole run is one). A line has the number of the meeting, the function and the
 * ordinal of the call that belongs to it, and the same of the call that waits for it, "-" if none
 * does. Ordinals count the rank's calls of that function in windows, from 0 on. */
#include <mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 60, FUNCTIONS = 32 };

static int rank, size, meeting;
static bool in_window;
static FILE *out;
static const char *folder;
static int one = 1, two[2];
static MPI_File held; /* opened outside windows, on a communicator that has ended */

/* Returns the ordinal of a call that begins. */
static int count(const char *function)
{
    static const char *names[FUNCTIONS];
    static int counts[FUNCTIONS];
    int i = 0;
    while (names[i] != NULL && strcmp(names[i], function) != 0)
        i++;
    names[i] = function;
    return counts[i] += in_window, counts[i] - 1;
}

/* Logs a call that belongs to the meeting of this number, and the one that waits. */
static void logged(int number, const char *function, int n, const char *waits, int waits_n)
{
    if (in_window)
        fprintf(out, "%d %s %d %s %d\n", number, function, n, waits, waits_n);
}

/* Makes one rank late; all ranks draw the same numbers. */
static void be_late(void)
{
    int late = rand() % size, seed = rand();
    if (rank == late)
        nanosleep(&(struct timespec){.tv_nsec = 1000L * (200 + seed % 1500)}, NULL);
}

/* Makes a call that waits itself. */
#define CALL(function, ...)                                                                        \
    do {                                                                                           \
        be_late();                                                                                 \
        int n_ = count("MPI_" #function), m_ = meeting++;                                          \
        MPI_##function(__VA_ARGS__);                                                               \
        logged(m_, "MPI_" #function, n_, "MPI_" #function, n_);                                    \
    } while (0)

/* A nonblocking call whose request is not complete. */
struct later {
    const char *function;
    int n, meeting;
};
#define BEGIN(l_, mpi_name, ...)                                                                   \
    do {                                                                                           \
        be_late();                                                                                 \
        (l_)->function = "MPI_" #mpi_name;                                                         \
        (l_)->n = count("MPI_" #mpi_name);                                                         \
        (l_)->meeting = meeting++;                                                                 \
        MPI_##mpi_name(__VA_ARGS__);                                                               \
    } while (0)

static void end(const struct later *l, const char *waits, int n)
{
    logged(l->meeting, l->function, l->n, waits, n);
}

static void wait_for(const struct later *l, MPI_Request *r)
{
    int n = count("MPI_Wait");
    MPI_Wait(r, MPI_STATUS_IGNORE);
    end(l, "MPI_Wait", n);
}

/* Random ones, of which all, one after the other, or the first are waited for, or none is. */
static void nonblocking(MPI_Comm comm, int ranks)
{
    struct later l[2];
    MPI_Request r[2];
    int root = rand() % ranks, how = rand() % 4, i, n, done = 0;
    switch (rand() % 3) {
    case 0: BEGIN(&l[0], Ibarrier, comm, &r[0]); break;
    case 1: BEGIN(&l[0], Iallreduce, &one, &two[0], 1, MPI_INT, MPI_SUM, comm, &r[0]); break;
    default: BEGIN(&l[0], Ireduce, &one, &two[0], 1, MPI_INT, MPI_SUM, root, comm, &r[0]);
    }
    BEGIN(&l[1], Ibcast, &two[1], 1, MPI_INT, root, comm, &r[1]);
    if (rand() % 2 != 0)
        be_late();
    if (how == 0) {
        wait_for(&l[1], &r[1]);
        wait_for(&l[0], &r[0]);
    } else if (how == 1) {
        n = count("MPI_Waitall");
        MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
        end(&l[0], "MPI_Waitall", n);
        end(&l[1], "MPI_Waitall", n);
    } else if (how == 2) {
        n = count("MPI_Waitany");
        MPI_Waitany(2, r, &i, MPI_STATUS_IGNORE);
        end(&l[i], "MPI_Waitany", n);
        wait_for(&l[1 - i], &r[1 - i]);
    } else {
        while (!done)
            MPI_Testall(2, r, &done, MPI_STATUSES_IGNORE);
        end(&l[0], "-", 0);
        end(&l[1], "-", 0);
    }
}

static void blocking(MPI_Comm comm)
{
    int what = rand() % 3;
    if (what == 0)
        CALL(Barrier, comm);
    else if (what == 1)
        CALL(File_sync, held);
    else
        CALL(Allreduce, &one, &two[0], 1, MPI_INT, MPI_SUM, comm);
}

/* Communicators made by their members alone, of two groups, and without a wait. */
static void communicators(void)
{
    MPI_Group world, some;
    MPI_Comm comm, half, copy;
    MPI_Request r;
    struct later l;
    int out_of_it = rand() % size, tag = rand() % 100;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_excl(world, 1, &out_of_it, &some);
    if (rank != out_of_it)
        CALL(Comm_create_group, MPI_COMM_WORLD, some, tag, &comm);
    else
        be_late(), meeting++;
    if (rank != out_of_it)
        MPI_Comm_free(&comm);
    CALL(Comm_split, MPI_COMM_WORLD, rank % 2, 0, &half);
    CALL(Intercomm_create, half, 0, MPI_COMM_WORLD, rank % 2 == 0 ? 1 : 0, tag, &comm);
    BEGIN(&l, Comm_idup, MPI_COMM_WORLD, &copy, &r);
    wait_for(&l, &r);
    int first = meeting;
    meeting += rank % 2 * 10; /* each half has its own meetings */
    nonblocking(half, size / 2);
    meeting = first + 20;
    MPI_Comm_free(&comm);
    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Group_free(&some);
    MPI_Group_free(&world);
}

static void files(void)
{
    char name[4096];
    MPI_File f;
    MPI_Request r;
    struct later l;
    snprintf(name, sizeof name, "%s/file", folder);
    MPI_Comm comm = MPI_COMM_WORLD;
    bool ends = rand() % 2 != 0; /* the communicator, before its file is closed */
    if (ends)
        CALL(Comm_dup, MPI_COMM_WORLD, &comm);
    CALL(File_open, comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &f);
    if (ends)
        MPI_Comm_free(&comm);
    CALL(File_set_view, f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    CALL(File_write_at_all, f, rank, &one, 1, MPI_INT, MPI_STATUS_IGNORE);
    BEGIN(&l, File_iwrite_at_all, f, rank, &one, 1, MPI_INT, &r);
    wait_for(&l, &r);
    CALL(File_sync, f);
    CALL(File_close, &f);
}

int main(int argc, char **argv)
{
    char name[4096];
    bool windows = argc > 3;
    folder = argv[1];
    in_window = !windows;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s/log.%d", folder, rank);
    out = fopen(name, "w");
    srand((unsigned)atoi(argv[2]));
    MPI_Comm comm;
    CALL(Comm_dup, MPI_COMM_WORLD, &comm);
    snprintf(name, sizeof name, "%s/held", folder);
    CALL(File_open, comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &held);
    MPI_Comm_free(&comm);
    for (int i = 0; out != NULL && i < ROUNDS; i++) {
        in_window = !windows || rand() % 3 != 0;
        if (windows && in_window)
            MPI_Pcontrol(1);
        int what = rand() % 8;
        if (what < 2)
            blocking(MPI_COMM_WORLD);
        else if (what < 6)
            nonblocking(MPI_COMM_WORLD, size);
        else if (what == 6)
            communicators();
        else
            files();
        if (windows && in_window)
            MPI_Pcontrol(0);
    }
    in_window = !windows;
    CALL(File_close, &held);
    MPI_Finalize();
    return out == NULL || fclose(out) != 0;
}
