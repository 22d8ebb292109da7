/* SPDX-License-Identifier: BSD-3-Clause
 * taker COMMAND...: takes all counters of processor 0 while it runs the command, as a monitoring
 * daemon may do: with pinned events of the whole machine (needs root). */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Returns true if the event has a counter. Reading an event without one gives end of file. */
static int take(uint32_t type, uint64_t config)
{
    struct perf_event_attr attr = {
        .type = type, .size = sizeof attr, .config = config, .pinned = 1};
    uint64_t n;
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 && read(fd, &n, sizeof n) == sizeof n;
}

int main(int argc, char **argv)
{
    int status = 0, taken = 0;
    if (argc < 2)
        return 2;
    while (taken < 64 && take(PERF_TYPE_RAW, 8)) /* instructions */
        taken++;
    taken += take(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    (void)fprintf(stderr, "taken %d\n", taken);
    pid_t pid = fork();
    if (pid == 0) {
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return 2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
