/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application: emits numbered marks as fast as it can. It writes each number to a file AFTER
 * the mark's call has returned, so that a test that kills the program knows which marks must have
 * been recorded.
 *
 * emit [COUNT [THREADS]]: marks per thread (default 0: until killed), threads (default 1).
 * - EMIT_LOG=FILE: thread T of rank R writes its last number to FILE.R.T: 8 bytes, native byte
 *   order, at offset 0, by pwrite.
 * - EMIT_PAUSE=N: sleeps N microseconds after each 64 marks.
 *
 * Marks are regtrace_mark_set(7, number) with numbers 1, 2, 3, ... in each thread. After each
 * 1000th mark the thread also begins and ends the region "emit". */
#include "regtrace.h"

#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long count;
static int rank;
static useconds_t pause_us;

static int log_open(long thread)
{
    char path[4096];
    const char *base = getenv("EMIT_LOG");
    if (base == NULL)
        return -1;
    snprintf(path, sizeof path, "%s.%d.%ld", base, rank, thread);
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

static void *emit(void *arg)
{
    int fd = log_open((long)(intptr_t)arg);
    for (int64_t n = 1; count == 0 || n <= count; n++) {
        regtrace_mark_set(7, (long)n);
        if (n % 1000 == 0) {
            regtrace_region_begin("emit");
            regtrace_region_end("emit");
        }
        if (fd >= 0 && pwrite(fd, &n, sizeof n, 0) != sizeof n)
            _exit(1);
        if (pause_us != 0 && n % 64 == 0)
            usleep(pause_us);
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

int main(int argc, char **argv)
{
    int level;
    long threads = argc > 2 ? atol(argv[2]) : 1;
    count = argc > 1 ? atol(argv[1]) : 0;
    pause_us = getenv("EMIT_PAUSE") != NULL ? (useconds_t)atol(getenv("EMIT_PAUSE")) : 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    regtrace_mark_type(7, REGTRACE_MARK_SINGLE, "number");
    pthread_t other[64];
    if (threads > 64)
        threads = 64;
    for (long t = 1; t < threads; t++)
        if (pthread_create(&other[t], NULL, emit, (void *)(intptr_t)t) != 0)
            return 1;
    emit(NULL);
    for (long t = 1; t < threads; t++)
        pthread_join(other[t], NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("emitted %ld on each of %ld threads\n", count, threads < 1 ? 1 : threads);
    MPI_Finalize();
    return 0;
}
