/* SPDX-License-Identifier: BSD-3-Clause
 * Sustained rate from the recorder to a closed HDF5 file: one thread records as fast as it can,
 * with and without deflate. Prints a line for each: ns an event, the share of waiting for the
 * writer, bytes an event, the processor time of the program and of the writer in ns an event.
 *
 * writer_rate WRITER [EVENTS [ROUNDS]]; the files go to TMPDIR. */
#include "t/writer/producer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct result {
    double ns, waiting_share, bytes, close_ms;
    double program, writer; /* processor time, ns an event */
    uint64_t dropped;
};

/* Records calls with arguments like those of an MPI program: enter and leave, a few peers, tags and
 * sizes. */
static void record(uint64_t n)
{
    for (uint64_t i = 0; i < n; i += 2) {
        uint64_t peer = i / 2 % 6, bytes = UINT64_C(64) << (i / 12 % 8);
        (void)recorder_emit(&recorder_self, EVENT_MPI_ENTER(40 + peer % 3),
                            peer | UINT64_C(7) << 32, bytes | UINT64_C(1) << 48);
        (void)recorder_emit(&recorder_self, EVENT_MPI_LEAVE(40 + peer % 3), 0, 0);
    }
}

static double processor_ns(int who)
{
    struct rusage u;
    (void)getrusage(who, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
}

static void measure(const char *writer, const char *level, uint64_t n, struct result *out)
{
    char dir[256], stream[64], path[320];
    const char *meta[] = {"option.compress", level, NULL};
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(dir, sizeof dir, "%s/regtrace-rate-XXXXXX", tmp != NULL ? tmp : "/tmp");
    (void)snprintf(stream, sizeof stream, "/dev/shm/regtrace-rate-%d", (int)getpid());
    if (mkdtemp(dir) == NULL)
        exit(99);
    struct producer p;
    producer_create(&p, stream, &(struct stream_geometry){0}, meta);
    producer_start_writer(&p, writer, dir);
    producer_attach(&p);
    const struct stream_thread *row = &stream_threads(&p.stream)[0];
    uint64_t began = clock_monotonic_ns(), ticks = clock_ticks();
    double busy = processor_ns(RUSAGE_THREAD);
    record(n);
    busy = processor_ns(RUSAGE_THREAD) - busy;
    uint64_t took = clock_monotonic_ns() - began;
    ticks = clock_ticks() - ticks;
    uint64_t waited = atomic_load(&((struct stream_thread *)(uintptr_t)row)->wait_ticks);
    (void)producer_finish(&p, STREAM_FINISHED);
    struct stat st = {0};
    (void)snprintf(path, sizeof path, "%s/rank-00000.h5", dir);
    (void)stat(path, &st);
    *out =
        (struct result){.ns = (double)took / (double)n,
                        .waiting_share = (double)waited / (double)ticks,
                        .bytes = (double)st.st_size / (double)n,
                        .close_ms = (double)(clock_monotonic_ns() - began - took) / 1e6,
                        .dropped = atomic_load(&((struct stream_thread *)(uintptr_t)row)->dropped)};
    (void)waitpid(p.writer, NULL, 0);
    out->program = busy / (double)n;
    out->writer = processor_ns(RUSAGE_CHILDREN) / (double)n;
    (void)snprintf(path, sizeof path, "rm -rf '%s'", dir);
    if (system(path) != 0)
        exit(99);
}

static int by_ns(const void *a, const void *b)
{
    double x = ((const struct result *)a)->ns, y = ((const struct result *)b)->ns;
    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static const char *const levels[] = {"0", "1"};
    if (argc < 2) {
        (void)fputs("Usage: writer_rate WRITER [EVENTS [ROUNDS]]\n", stderr);
        return 2;
    }
    uint64_t n = argc > 2 ? strtoull(argv[2], NULL, 10) : 4000000;
    int rounds = argc > 3 ? atoi(argv[3]) : 5;
    rounds = rounds < 1 ? 1 : rounds > 32 ? 32 : rounds;
    struct result results[2][32];
    for (int r = 0; r < rounds; r++)
        for (int k = 0; k < 2; k++) {
            (void)fflush(stdout);
            int pair[2];
            if (pipe(pair) != 0)
                return 99;
            /* A process for each measurement: the recorder is per process. */
            pid_t pid = fork();
            if (pid == 0) {
                measure(argv[1], levels[k], n, &results[k][r]);
                _exit(write(pair[1], &results[k][r], sizeof results[k][r]) ==
                              (ssize_t)sizeof results[k][r]
                          ? 0
                          : 1);
            }
            (void)close(pair[1]);
            if (read(pair[0], &results[k][r], sizeof results[k][r]) !=
                (ssize_t)sizeof results[k][r])
                return 1;
            (void)close(pair[0]);
            (void)waitpid(pid, NULL, 0);
        }
    printf("%-9s %12s %12s %14s %10s %10s %10s %12s %8s\n", "deflate", "ns/event", "events/s",
           "waiting", "bytes", "program", "writer", "close ms", "dropped");
    for (int k = 0; k < 2; k++) {
        qsort(results[k], (size_t)rounds, sizeof results[k][0], by_ns);
        const struct result *m = &results[k][rounds / 2];
        printf("%-9s %12.1f %12.0f %13.1f%% %10.2f %10.1f %10.1f %12.1f %8llu\n", levels[k], m->ns,
               1e9 / m->ns, 100 * m->waiting_share, m->bytes, m->program, m->writer, m->close_ms,
               (unsigned long long)m->dropped);
    }
    return 0;
}
