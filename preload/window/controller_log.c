/* SPDX-License-Identifier: BSD-3-Clause
 * REGTRACE_CONTROLLER_LOG: one line of text for each fired event, as it happens. */
#include "preload/process.h"
#include "preload/window/control_events.h"

#include "base/log.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Absolute path, made at the start, because the program may change its folder. "": no log. */
static char log_path[PATH_MAX];

int controller_log_prepare(struct rt_error *e)
{
    char here[PATH_MAX] = "";
    const char *path = process.options.text[OPT_controller_log];
    if (path[0] == '\0')
        return 0;
    int rc = folder_check_log(path, process.options.text[OPT_dir], e);
    if (rc != 0)
        return rc;
    bool whole = path[0] == '/' || getcwd(here, sizeof here) == NULL;
    int n =
        snprintf(log_path, sizeof log_path, "%s%s%s", whole ? "" : here, whole ? "" : "/", path);
    if (n < (int)sizeof log_path)
        return 0;
    rt_error_set(e, "REGTRACE_CONTROLLER_LOG: %.1000s: %s", path, strerror(ENAMETOOLONG));
    return -ENAMETOOLONG;
}

/* The file could be written at the start, so this is worth a warning. */
static void say_once(long failed)
{
    static _Atomic bool told;
    if (!atomic_exchange(&told, true))
        log_detail(LOG_WARNING, "a fired event could not be written to REGTRACE_CONTROLLER_LOG",
                   failed == -ENOSPC ? "no space left" : log_path);
}

/* snprintf() of integers and strings neither allocates nor locks. A single write takes the whole
 * line. */
void controller_log_fired(const struct ctl_fired *f, bool ignored)
{
    if (log_path[0] == '\0')
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
    long fd = sys_call6(SYS_openat, AT_FDCWD, (long)log_path,
                        O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666, 0, 0);
    long failed = fd < 0 ? fd : 0;
    if (fd >= 0) {
        failed =
            sys_write_all((int)fd, line, (size_t)(n < (int)sizeof line ? n : (int)sizeof line - 1));
        (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    }
    sys_file_guard_end(&guard);
    if (failed < 0)
        say_once(failed);
}
