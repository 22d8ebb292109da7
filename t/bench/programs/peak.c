/* SPDX-License-Identifier: BSD-3-Clause
 * Replaces the writer program: runs BENCH_WRITER with the same arguments and descriptors, and
 * appends its peak memory in KiB as a line to BENCH_PEAK. */
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
    fprintf(f, "%ld\n", usage.ru_maxrss);
    return fclose(f) != 0;
}
