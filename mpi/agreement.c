/* SPDX-License-Identifier: BSD-3-Clause
 * Agreement of ranks by files: presence by a file each, the decision by a symbolic link, whose making is exclusive and atomic. */
#include "mpi/agreement.h"

#include "base/format/recorder.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_NS 1500000000u      /* of rank 0, which looks for the others */
#define LONG_PATIENCE_NS 2000000000u /* of the others: rank 0 may be the one that is missing */
#define LOOK_NS 5000000

/* DIR/.regtrace/together, made if it is not there; a descriptor or -1. */
static int open_meeting(void)
{
    static char dir[PATH_MAX],
        path[PATH_MAX + 32]; /* static: this runs only once, on a stack that may be small */
    if (recorder_stream.base == NULL)
        return -1;
    if (!stream_meta_get(&recorder_stream, "dir", dir, sizeof dir))
        return -1;
    (void)snprintf(path, sizeof path, "%s/.regtrace/together", dir);
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* 1 yes, 0 no, -1 not yet. */
static int decision(int meeting)
{
    char text[8];
    ssize_t n = readlinkat(meeting, "decision", text, sizeof text);
    return n < 0 ? -1 : n == 3 && memcmp(text, "yes", 3) == 0;
}

/* Whoever is first decides; the answer is the decision that stands, -1 where none can be made. */
static int decide(int meeting, const char *answer)
{
    if (symlinkat(answer, meeting, "decision") == 0)
        return strcmp(answer, "yes") == 0;
    return errno == EEXIST ? decision(meeting) : -1;
}

/* Files named by numbers below size. */
static int count_present(int meeting, int size)
{
    char buffer[512] __attribute__((aligned(16)));
    int present = 0;
    long n;
    if (lseek(meeting, 0, SEEK_SET) != 0)
        return 0;
    while ((n = sys_call6(SYS_getdents64, meeting, (long)buffer, sizeof buffer, 0, 0, 0)) > 0)
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(buffer + at);
            at += d->d_reclen;
            char *end;
            long rank = strtol(d->d_name, &end, 10);
            present += end != d->d_name && *end == '\0' && rank >= 0 && rank < size;
        }
    return present;
}

static int wait_for_decision(int meeting, int rank, int size)
{
    uint64_t began = clock_monotonic_ns();
    uint64_t patience = rank == 0 ? PATIENCE_NS : LONG_PATIENCE_NS;
    struct timespec nap = {.tv_nsec = LOOK_NS};
    for (;;) {
        int answer = decision(meeting);
        if (answer < 0 && rank == 0 && count_present(meeting, size) == size)
            answer = decide(meeting, "yes");
        uint64_t waited = clock_monotonic_ns() - began;
        if (answer < 0 && waited > patience)
            answer = decide(meeting, "no");
        /* The link is there and cannot be read, or cannot be made: the file system fails. No other rank can read "yes" for long. */
        if (answer >= 0 || waited > 2 * LONG_PATIENCE_NS)
            return answer;
        (void)nanosleep(&nap, NULL);
    }
}

bool agreement_all_here(int rank, int size)
{
    char name[16];
    int meeting = open_meeting(), answer = 0;
    if (meeting < 0)
        return false;
    /* A decision that stands before this rank has come is of another world, or "no". */
    if (decision(meeting) < 0) {
        (void)snprintf(name, sizeof name, "%d", rank);
        int fd = openat(meeting, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        answer = fd >= 0 ? wait_for_decision(meeting, rank, size) : decide(meeting, "no");
        if (fd >= 0) {
            (void)close(fd);
            (void)unlinkat(meeting, name, 0);
        }
    }
    (void)close(meeting);
    return answer == 1;
}
