/* SPDX-License-Identifier: BSD-3-Clause
 * REGTRACE_CONTROLLER_LOG: one line of text for each fired event, as it happens. */
#include "preload/internal.h"

#include "base/sys.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/syscall.h>

/* snprintf of integers and strings neither allocates nor locks; the line goes out in one write. */
void controller_log_fired(const struct ctl_fired *f, bool ignored)
{
    const char *path = process.options.text[OPT_controller_log];
    if (path[0] == '\0')
        return;
    const struct ctl_alarm *a =
        f->alarm != CTL_NO_ALARM ? ctl_config_alarm(process.config, f->alarm) : NULL;
    char line[512], icount[24] = "-", requested[24] = "-";
    if (f->moment.icount != CTL_UNKNOWN)
        (void)snprintf(icount, sizeof icount, "%llu", (unsigned long long)f->moment.icount);
    if (f->requested != CTL_UNKNOWN)
        (void)snprintf(requested, sizeof requested, "%llu", (unsigned long long)f->requested);
    int n = snprintf(line, sizeof line,
                     "rank %d tid %u event %s%s%s%s alarm %s pass %llu icount %s requested %s ip "
                     "0x%llx clock %llu\n",
                     process.id.rank, f->tid, ctl_event_name((enum ctl_event)f->event),
                     f->bcast ? " bcast" : "", f->late ? " late" : "", ignored ? " ignored" : "",
                     a != NULL          ? a->text
                     : f->default_start ? "(default start)"
                                        : "(named call)",
                     (unsigned long long)f->pass, icount, requested,
                     (unsigned long long)f->moment.ip, (unsigned long long)f->moment.clock);
    struct sys_file_guard guard = sys_file_guard_begin();
    long fd = sys_call6(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
                        0666, 0, 0);
    if (fd >= 0) {
        (void)sys_write_all((int)fd, line,
                            (size_t)(n < (int)sizeof line ? n : (int)sizeof line - 1));
        (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    }
    sys_file_guard_end(&guard);
}
