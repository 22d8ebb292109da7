/* SPDX-License-Identifier: BSD-3-Clause
 * Windows in which ranks call no MPI, and windows outside MPI. A rank that shall have most time in
 * a window opens it first and closes it last: the others wait for that in shared memory. Each rank
 * logs between which times its windows opened and closed. Also the library below regtrace, with
 * -DBELOW. */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <regtrace.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 3, WINDOWS = 8 };

/* Of the library: when MPI_Init returns to regtrace, when regtrace calls MPI_Finalize. */
extern long long init_leaves, finalize_inside;
extern int
    with_windows; /* a window closes inside MPI_Init, another one opens inside MPI_Finalize */

static long long now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

#ifdef BELOW
long long init_leaves, finalize_inside;
int with_windows;

int MPI_Init(int *argc, char ***argv)
{
    int rc = PMPI_Init(argc, argv);
    if (with_windows)
        regtrace_stop(0);
    init_leaves = now();
    return rc;
}

int MPI_Finalize(void)
{
    finalize_inside = now();
    if (with_windows)
        regtrace_start(0);
    return PMPI_Finalize();
}
#else
/* Of a window of a rank, what counts of it: least and most. */
struct logged {
    long long begin_least, begin_most, end_least, end_most;
};

static struct shared {
    _Atomic int opened[WINDOWS][RANKS], closed[WINDOWS][RANKS];
} * shared;
static struct logged logs[WINDOWS];
static int rank, size = RANKS;

static void open_window(int w)
{
    logs[w].begin_least = now();
    regtrace_start(0);
    logs[w].begin_most = now();
    shared->opened[w][rank] = 1;
}

static void close_window(int w)
{
    logs[w].end_least = now();
    regtrace_stop(0);
    logs[w].end_most = now();
    shared->closed[w][rank] = 1;
}

/* Opens a window after `longest` has. */
static void open_after(int w, int longest)
{
    while (rank != longest && !shared->opened[w][longest])
        sched_yield();
    open_window(w);
}

/* Closes it; `longest` does so after all others. */
static void close_before(int w, int longest)
{
    for (int i = 0; rank == longest && i < size; i++)
        while (i != rank && !shared->closed[w][i])
            sched_yield();
    close_window(w);
}

static void work(int n)
{
    static volatile double x;
    for (int i = 0; i < n * 2000; i++)
        x = x * 0.999 + i;
}

static void start(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT, 0644);
    if (fd < 0 || ftruncate(fd, sizeof *shared) != 0)
        exit(3);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (shared == MAP_FAILED)
        exit(3);
}

/* Writes the times of all windows that count. */
static int end(const char *path)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, rank);
    FILE *f = fopen(name, "w");
    for (int w = 0; f != NULL && w < WINDOWS; w++)
        if (logs[w].begin_most < logs[w].end_least)
            fprintf(f, "%d %lld %lld %lld %lld\n", w, logs[w].begin_least, logs[w].begin_most,
                    logs[w].end_least, logs[w].end_most);
    return f == NULL || fclose(f) != 0;
}

static void inside(void)
{
    int x = 0;
    open_after(0, 1); /* rank 1 has most, and calls no MPI */
    if (rank == 0) {
        work(20);
        MPI_Send(&x, 1, MPI_INT, 2, 1, MPI_COMM_WORLD);
        MPI_Recv(&x, 1, MPI_INT, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        work(30);
        MPI_Send(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
    }
    close_before(0, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    open_after(1, 2); /* no rank calls MPI */
    work(10 * rank);
    close_before(1, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    open_window(2); /* rank 0 calls no MPI, and has least */
    if (rank == 1) {
        work(40);
        MPI_Send(&x, 1, MPI_INT, 2, 3, MPI_COMM_WORLD);
    } else if (rank == 2) {
        MPI_Recv(&x, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    close_before(2, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    open_window(3); /* all call MPI */
    work(10 * (rank + 1));
    MPI_Barrier(MPI_COMM_WORLD);
    close_window(3);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void edges(int *argc, char ***argv, int only_before)
{
    int flag;
    regtrace_start(0); /* window 0: before MPI_Init */
    MPI_Initialized(&flag);
    regtrace_stop(0);
    if (only_before) {
        MPI_Init(argc, argv);
        return;
    }
    regtrace_start(0); /* window 1: from before MPI_Init on */
    MPI_Init(argc, argv);
    logs[1].begin_least = init_leaves;
    logs[1].begin_most = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    shared->opened[1][rank] = 1;
    work(20);
    close_before(1, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    open_after(2, 0);
    close_before(2, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    open_window(3); /* until after MPI_Finalize */
    work(20 * rank);
}

static void edges_end(void)
{
    int flag;
    logs[3].end_least = now();
    MPI_Finalize();
    logs[3].end_most = finalize_inside;
    regtrace_stop(0);
    regtrace_start(0); /* window 4: after MPI_Finalize */
    MPI_Finalized(&flag);
    work(10);
    regtrace_stop(0);
}

/* Another thread than the main one is MPI's. */
static void *elsewhere(void *nothing)
{
    MPI_Init(NULL, NULL);
    logs[0].begin_least = init_leaves;
    logs[0].begin_most = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    work(20 * (rank + 1));
    logs[0].end_least = now();
    MPI_Finalize();
    logs[0].end_most = finalize_inside;
    return nothing;
}

int main(int argc, char **argv)
{
    const char *mode = argv[1], *path = argv[2];
    start(path);
    if (strcmp(mode, "edges") == 0 || strcmp(mode, "before") == 0) {
        edges(&argc, &argv, strcmp(mode, "before") == 0);
    } else if (strcmp(mode, "within") == 0) {
        with_windows = 1;
        regtrace_start(0);
        MPI_Init(&argc, &argv);
        MPI_Finalize();
        regtrace_stop(0);
        return 0;
    } else if (strcmp(mode, "elsewhere") == 0) {
        pthread_t t;
        regtrace_start(1);
        pthread_create(&t, NULL, elsewhere, NULL);
        pthread_join(t, NULL);
        regtrace_stop(1);
        return end(path);
    } else {
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        inside();
    }
    if (strcmp(mode, "edges") == 0)
        edges_end();
    else
        MPI_Finalize();
    return end(path);
}
#endif
