/* SPDX-License-Identifier: BSD-3-Clause
 * Detects the end of the traced process, by pidfd or by /proc. */
#include "writer/traced_process.h"

#include "base/identity.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Tells different start times apart, in ticks. A process cannot end, and its pid be used again,
 * within a few ticks of its start. Emulators (qemu-user) report a start time that may be a tick or
 * two off. */
static bool differs(uint64_t one, uint64_t other)
{
    const uint64_t tolerance = 10;
    return one > other + tolerance || other > one + tolerance;
}

/* A process whose pid exists but whose /proc/PID/stat is not readable (no /proc, or hidden after
 * the exec of a set-uid program) counts as alive. */
static bool is_gone_by_proc(const struct traced_process *o)
{
    struct process_stat found;
    if (kill((pid_t)o->pid, 0) != 0 && errno == ESRCH)
        return true;
    if (!identity_look(o->pid, &found))
        return false;
    if (o->start_time != 0 && differs(found.start_time, o->start_time))
        return true;
    return found.state == 'X' || (found.state == 'Z' && found.threads <= 1);
}

void traced_process_open(struct traced_process *o, uint32_t pid, uint64_t start_time)
{
    *o = (struct traced_process){.pid = pid, .start_time = start_time, .pidfd = -1};
    int fd = (int)syscall(SYS_pidfd_open, (long)pid, 0L);
    if (fd < 0)
        return;
    /* Check after the open: if the process exists now, the descriptor refers to it and not to a
     * later one. */
    if (is_gone_by_proc(o))
        (void)close(fd);
    else
        o->pidfd = fd;
}

bool traced_process_is_gone(const struct traced_process *o)
{
    struct pollfd p = {.fd = o->pidfd, .events = POLLIN};
    if (o->pidfd < 0)
        return is_gone_by_proc(o);
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLIN | POLLHUP)) != 0;
}
