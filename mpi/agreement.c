/* SPDX-License-Identifier: BSD-3-Clause
 * Agreement of ranks through files: one file a rank shows its presence, and a symbolic link, whose
 * creation is exclusive and atomic, holds the decision. */
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
#include <unistd.h>

#define PATIENCE_NS 1500000000u      /* for rank 0, which looks for the others */
#define LONG_PATIENCE_NS 2000000000u /* for the others: rank 0 itself may be missing */
#define LOOK_NS 5000000

/* Opens DIR/.regtrace/together and makes it if needed. Returns a descriptor or -1. */
static int open_meeting(void)
{
    /* Static, because this runs only once, on a stack that may be small. */
    static char dir[PATH_MAX], path[PATH_MAX + 32];
    if (recorder_stream.base == NULL)
        return -1;
    if (!stream_meta_get(&recorder_stream, "dir", dir, sizeof dir))
        return -1;
    (void)snprintf(path, sizeof path, "%s/.regtrace/together", dir);
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return -1;
    return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* Returns 1 for yes, 0 for no, -1 if there is no decision yet. */
static int decision(int meeting)
{
    char text[8];
    ssize_t n = readlinkat(meeting, "decision", text, sizeof text);
    return n < 0 ? -1 : n == 3 && memcmp(text, "yes", 3) == 0;
}

/* Makes the decision, unless another rank was first. Returns the decision that holds, or -1 if none
 * can be made. */
static int decide(int meeting, const char *answer)
{
    if (symlinkat(answer, meeting, "decision") == 0)
        return strcmp(answer, "yes") == 0;
    return errno == EEXIST ? decision(meeting) : -1;
}

/* Counts the files whose names are numbers below size. */
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
    for (;;) {
        int answer = decision(meeting);
        if (answer < 0 && rank == 0 && count_present(meeting, size) == size)
            answer = decide(meeting, "yes");
        uint64_t waited = clock_monotonic_ns() - began;
        if (answer < 0 && waited > patience)
            answer = decide(meeting, "no");
        /* After this time the file system fails: the link exists but cannot be read, or cannot be
         * made. No other rank can read "yes" for long. */
        if (answer >= 0 || waited > 2 * LONG_PATIENCE_NS)
            return answer;
        sys_nap(LOOK_NS);
    }
}

bool agreement_all_here(int rank, int size)
{
    char name[16];
    int meeting = open_meeting(), answer = 0;
    if (meeting < 0)
        return false;
    /* A decision made before this rank came belongs to another world, or is "no". */
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
