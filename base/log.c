/* SPDX-License-Identifier: BSD-3-Clause
 * Signal-safe log lines into the run's folder. */
#include "base/log.h"

#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char log_path[PATH_MAX + 16];
static char log_head[64];
static _Atomic int stderr_used;

static size_t put_text(char *to, size_t at, size_t room, const char *text)
{
    for (; *text != '\0' && at + 1 < room; text++)
        to[at++] = *text == '\n' ? ' ' : *text;
    to[at] = '\0';
    return at;
}

static size_t put_number(char *to, size_t at, size_t room, long value)
{
    char digits[24];
    size_t n = sizeof digits;
    digits[--n] = '\0';
    unsigned long v = value < 0 ? (unsigned long)-value : (unsigned long)value;
    do {
        digits[--n] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    if (value < 0)
        digits[--n] = '-';
    return put_text(to, at, room, digits + n);
}

void log_set_folder(const char *dir, int rank, uint32_t pid)
{
    size_t n = put_text(log_head, 0, sizeof log_head, "rank ");
    n = put_number(log_head, n, sizeof log_head, rank);
    n = put_text(log_head, n, sizeof log_head, " pid ");
    (void)put_number(log_head, n, sizeof log_head, (long)pid);
    log_path[0] = '\0';
    if (dir != NULL) {
        n = put_text(log_path, 0, sizeof log_path - 16, dir);
        (void)put_text(log_path, n, sizeof log_path, "/regtrace.log");
    }
}

void log_detail(enum log_level level, const char *text, const char *detail)
{
    static const char *const words[] = {" error: ", " warning: ", " note: "};
    static const char prefix[] = "regtrace: "; /* on stderr, in the same write */
    enum { PREFIX = sizeof prefix - 1 };
    char line[2048];
    size_t n = put_text(line, 0, sizeof line - 2, prefix);
    n = put_text(line, n, sizeof line - 2, log_head);
    n = put_text(line, n, sizeof line - 2, words[level]);
    n = put_text(line, n, sizeof line - 2, text);
    if (detail != NULL) {
        n = put_text(line, n, sizeof line - 2, ": ");
        n = put_text(line, n, sizeof line - 2, detail);
    }
    line[n++] = '\n';
    struct sys_file_guard guard = sys_file_guard_begin();
    long fd = -1;
    if (log_path[0] != '\0')
        fd = sys_call6(SYS_openat, AT_FDCWD, (long)log_path,
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666, 0, 0);
    if (fd >= 0) {
        int rc = sys_write_all((int)fd, line + PREFIX, n - PREFIX);
        (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
        if (rc == 0) {
            sys_file_guard_end(&guard);
            return;
        }
    }
    if (level != LOG_NOTE && atomic_exchange(&stderr_used, 1) == 0)
        (void)sys_write_all(2, line, n);
    sys_file_guard_end(&guard);
}

void log_line(enum log_level level, const char *text)
{
    log_detail(level, text, NULL);
}

bool log_has_lines(void)
{
    if (log_path[0] == '\0')
        return false;
    char byte;
    long fd = sys_call6(SYS_openat, AT_FDCWD, (long)log_path, O_RDONLY | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    bool any = sys_call6(SYS_read, fd, (long)&byte, 1, 0, 0, 0) == 1;
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    return any;
}
