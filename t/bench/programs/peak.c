/* SPDX-License-Identifier: BSD-3-Clause
 * Replaces the writer program: runs BENCH_WRITER with the same arguments and descriptors, and
 * appends a line to BENCH_PEAK: its peak memory in KiB and its processor time in microseconds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    const char *writer = getenv("BENCH_WRITER"), *peak = getenv("BENCH_PEAK");
    (void)argc;
    if (writer == NULL || peak == NULL)
        return 2;
    pid_t child = fork();
    if (child == 0) {
        execv(writer, argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0)
        return 3;
    FILE *f = fopen(peak, "a");
    if (f == NULL)
        return 4;
    fprintf(f, "%ld %ld\n", usage.ru_maxrss,
            (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000L + usage.ru_utime.tv_usec +
                usage.ru_stime.tv_usec);
    return fclose(f) != 0;
}
