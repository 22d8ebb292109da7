/* SPDX-License-Identifier: BSD-3-Clause
 * Test program: reads a counter as regtrace does and by read(2) in turn, while it overflows and the
 * thread sleeps. Prints how often the direct reading was not between the readings before and after
 * it by read(2), how far these were apart at most, and how many instructions the kernel executed
 * for a reading of each kind.
 *
 * - direct: only that
 * - direct off: half-way, also forbids direct reading (needs root), to see whether the readings
 *   continue
 * - direct told: also forbids it, but makes the kernel handle the event (by setting its period
 *   anew) before the next reading */
#include "loop.h"

#include "base/format/recorder.h"
#include "pmu/backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 3000, READS = 1000 };

static uint64_t read_plainly(int fd)
{
    struct pmu_reading r = {0};
    return read(fd, &r, sizeof r) == sizeof r ? r.value : 0;
}

static uint64_t kernel_for(int fd, const struct pmu_direct *d)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_HW_INSTRUCTIONS,
                                   .exclude_user = 1};
    struct pmu_reading r;
    uint64_t before = 0, after = 0;
    int kernel = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (kernel < 0 || read(kernel, &before, sizeof before) != sizeof before)
        return UINT64_MAX;
    for (int i = 0; i < READS; i++)
        pmu_event_read(fd, d, &r);
    if (read(kernel, &after, sizeof after) != sizeof after)
        return UINT64_MAX;
    close(kernel);
    return (after - before) / READS;
}

int main(int argc, char **argv)
{
    struct rt_error e;
    const struct pmu_backend *backend;
    int wrong = 0;
    uint64_t most = 0;
    recorder_watch_forks();
    if (pmu_choose("perf", true, &backend, &e) != 0)
        return 2;
    struct perf_event_attr attr = pmu_direct_attr(pmu_perf_instructions());
    struct pmu_direct d, none = {0};
    int fd = pmu_perf_open_high(attr);
    pmu_direct_begin(&d, fd, &attr);
    for (int i = 0; i < ROUNDS; i++) {
        struct pmu_reading r;
        uint64_t period = 70000 + (uint64_t)i * 7919 % 50000;
        if (i % 3 == 0)
            (void)ioctl(fd, PERF_EVENT_IOC_PERIOD, &period);
        loop_turns(1 + (uint64_t)(i * 31 % 40000));
        if (i % 500 == 0)
            (void)usleep(1000);
        if (i == ROUNDS / 2 && argc > 1) {
            int off = open("/proc/sys/kernel/perf_user_access", O_WRONLY);
            if (write(off, "0\n", 2) != 2)
                return 3;
            close(off);
            if (strcmp(argv[1], "told") == 0 && ioctl(fd, PERF_EVENT_IOC_PERIOD, &period) != 0)
                return 3;
        }
        uint64_t before = read_plainly(fd);
        pmu_event_read(fd, &d, &r);
        uint64_t after = read_plainly(fd);
        wrong += r.value < before || r.value > after;
        most = after - before > most ? after - before : most;
    }
    printf("mapped %d wrong %d apart %llu kernel %llu directly %llu by read\n", d.page != NULL,
           wrong, (unsigned long long)most, (unsigned long long)kernel_for(fd, &d),
           (unsigned long long)kernel_for(fd, &none));
    return 0;
}
