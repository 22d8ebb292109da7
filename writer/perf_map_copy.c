/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps a process's perf map in the run's folder: /tmp may be empty when the run is looked at. */
#include "writer/perf_map_copy.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)64 << 20)
#define SLACK 2 /* seconds: the time of the last boot is rounded */

bool perf_map_path(char *out, size_t room, const char *dir, const char *host, uint32_t pid)
{
    int n = snprintf(out, room, "%s/perf-%s-%u.map", dir, host, pid);
    return n >= 0 && (size_t)n < room;
}

/* Returns when the process began, in seconds since 1970; 0: unknown. */
static time_t began(uint64_t start_time)
{
    unsigned long long boot = 0;
    char line[256];
    FILE *f = fopen("/proc/stat", "re");
    while (f != NULL && boot == 0 && fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "btime %llu", &boot);
    if (f != NULL)
        (void)fclose(f);
    long ticks = sysconf(_SC_CLK_TCK);
    return boot != 0 && ticks > 0 ? (time_t)(boot + start_time / (unsigned long)ticks) : 0;
}

/* Returns a descriptor, or -1. Another process may have left a file of this name before. */
static int open_map(uint32_t pid, uint64_t start_time, off_t *bytes)
{
    char path[64];
    struct stat s;
    (void)snprintf(path, sizeof path, "/tmp/perf-%u.map", pid);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
        s.st_mtime + SLACK >= began(start_time)) {
        *bytes = s.st_size;
        return fd;
    }
    (void)close(fd);
    return -1;
}

static int copy(int from, const char *path, off_t bytes)
{
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    int rc = to < 0 ? -errno : 0;
    while (rc == 0 && bytes > 0) {
        ssize_t n = sendfile(to, from, NULL, (size_t)bytes);
        if (n < 0 && errno != EINTR)
            rc = -errno;
        else if (n == 0) /* it has become shorter */
            break;
        bytes -= n > 0 ? n : 0;
    }
    if (to >= 0 && close(to) != 0 && rc == 0)
        rc = -errno;
    return rc;
}

void perf_map_keep(const char *dir, const char *host, uint32_t pid, uint64_t start_time)
{
    char path[PATH_MAX];
    off_t bytes = 0;
    int from = open_map(pid, start_time, &bytes);
    if (from < 0)
        return;
    if (bytes > MOST_BYTES) {
        log_line(LOG_WARNING, "the process's perf map has more than 64 MiB: functions that were "
                              "compiled after those have no names");
        bytes = MOST_BYTES;
    }
    int rc =
        perf_map_path(path, sizeof path, dir, host, pid) ? copy(from, path, bytes) : -ENAMETOOLONG;
    if (rc != 0)
        log_detail(LOG_WARNING,
                   "the process's perf map was not copied: code that it compiled has no names",
                   strerror(-rc));
    (void)close(from);
}
