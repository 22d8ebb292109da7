/* SPDX-License-Identifier: BSD-3-Clause
 * Emits numbered marks and logs each number after it was emitted, so that the expected contents of
 * a trace are known.
 *
 * emit LOG [THREADS [EVENTS [PAUSE_US [BURST]]]]: 1 thread by default, endless (EVENTS 0), with a
 * pause of 500 us after 200 events. Thread k emits regtrace_mark_set(k, 1), (k, 2) ... and after
 * each writes the number, 8 bytes, at offset 8 * k of LOG: a page of the kernel, which a SIGKILL
 * does not take back. With MPI (-DWITH_MPI), LOG gets ".RANK" appended and a barrier on
 * MPI_COMM_SELF follows each event. Prints a line on stdout at the end. */
#include "share/include/regtrace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif

enum { MOST_THREADS = 64 };

static int log_file;
static uint64_t events;
static unsigned pause_us = 500, burst = 200;

static void *emit(void *number)
{
    int thread = (int)(intptr_t)number;
    for (uint64_t i = 1; events == 0 || i <= events; i++) {
        regtrace_mark_set(thread, (long)i);
        if (pwrite(log_file, &i, sizeof i, 8 * thread) != (ssize_t)sizeof i)
            return NULL;
#ifdef WITH_MPI
        if (thread == 0)
            MPI_Barrier(MPI_COMM_SELF);
#endif
        if (pause_us != 0 && i % burst == 0)
            usleep(pause_us);
    }
    return NULL;
}

static int argument(int argc, char **argv, int i, int otherwise)
{
    return argc > i ? atoi(argv[i]) : otherwise;
}

int main(int argc, char **argv)
{
    char path[4096];
    int rank = 0, threads = argument(argc, argv, 2, 1);
    pthread_t others[MOST_THREADS];
#ifdef WITH_MPI
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#endif
    if (argc < 2 || threads < 1 || threads > MOST_THREADS)
        return 2;
    events = strtoull(argc > 3 ? argv[3] : "0", NULL, 10);
    pause_us = (unsigned)argument(argc, argv, 4, 500);
    burst = (unsigned)argument(argc, argv, 5, 200);
#ifdef WITH_MPI
    snprintf(path, sizeof path, "%s.%d", argv[1], rank);
#else
    snprintf(path, sizeof path, "%s", argv[1]);
#endif
    log_file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (log_file < 0)
        return 3;
    for (int t = 1; t < threads; t++)
        if (pthread_create(&others[t], NULL, emit, (void *)(intptr_t)t) != 0)
            return 4;
    (void)emit((void *)0);
    for (int t = 1; t < threads; t++)
        pthread_join(others[t], NULL);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    printf("emit: rank %d wrote %llu events on %d threads\n", rank, (unsigned long long)events,
           threads);
    return 0;
}
