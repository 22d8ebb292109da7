/* SPDX-License-Identifier: BSD-3-Clause
 * Async-signal-safe log lines, appended to a file in the run's folder. */
#include "base/log.h"

#include "base/decimal.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
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
    char text[DECIMAL_ROOM + 2], *end = text;
    if (value < 0)
        *end++ = '-';
    end = decimal_put(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    *end = '\0';
    return put_text(to, at, room, text);
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

/* One log line in memory that this process shares with the processes that it forks. */
struct kept_line {
    _Atomic uint32_t state; /* LINE_... */
    uint32_t bytes;
    char text[504];
};
enum { KEPT_LINES = 8 };
enum { LINE_FREE, LINE_BUSY, LINE_COMPLETE }; /* busy: it is being written or read */
static struct kept_line *kept;

void log_share(void)
{
    long at = sys_call6(SYS_mmap, 0, KEPT_LINES * sizeof *kept, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kept == NULL && at > 0)
        kept = (struct kept_line *)at; /* NOLINT(performance-no-int-to-ptr) */
}

static void keep_line(const char *line, size_t n)
{
    for (int k = 0; kept != NULL && k < KEPT_LINES; k++) {
        struct kept_line *l = &kept[k];
        uint32_t none = LINE_FREE;
        if (!atomic_compare_exchange_strong(&l->state, &none, LINE_BUSY))
            continue;
        l->bytes = (uint32_t)(n < sizeof l->text ? n : sizeof l->text);
        for (uint32_t i = 0; i < l->bytes; i++)
            l->text[i] = line[i];
        l->text[l->bytes - 1] = '\n';
        atomic_store_explicit(&l->state, LINE_COMPLETE, memory_order_release);
        return;
    }
}

/* Returns true if the whole line is in the log. */
static bool append(const char *line, size_t n)
{
    long fd = -1;
    if (log_path[0] != '\0')
        fd = sys_call6(SYS_openat, AT_FDCWD, (long)log_path,
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666, 0, 0);
    if (fd < 0)
        return false;
    int rc = sys_write_all((int)fd, line, n);
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    return rc == 0;
}

void log_take_shared(void)
{
    for (int k = 0; kept != NULL && k < KEPT_LINES; k++) {
        struct kept_line *l = &kept[k];
        uint32_t there = LINE_COMPLETE;
        if (!atomic_compare_exchange_strong(&l->state, &there, LINE_BUSY))
            continue;
        bool good = l->bytes > 0 && l->bytes <= sizeof l->text && append(l->text, l->bytes);
        atomic_store_explicit(&l->state, good ? LINE_FREE : LINE_COMPLETE, memory_order_release);
    }
}

/* For stderr, in the same write() as the line. */
static const char prefix[] = "regtrace: ";
enum { PREFIX = sizeof prefix - 1 };

/* Each line takes one write(), because other processes append to the same file. */
static void write_line(enum log_level level, char *line, size_t n)
{
    struct sys_file_guard guard = sys_file_guard_begin();
    bool written = append(line + PREFIX, n - PREFIX);
    if (!written && level != LOG_NOTE)
        keep_line(line + PREFIX, n - PREFIX);
    if (!written && level != LOG_NOTE && atomic_exchange(&stderr_used, 1) == 0)
        (void)sys_write_all(2, line, n);
    sys_file_guard_end(&guard);
}

static size_t make_line(char *line, size_t room, enum log_level level, const char *text,
                        const char *detail)
{
    static const char *const words[] = {" error: ", " warning: ", " note: "};
    size_t n = put_text(line, 0, room - 2, prefix);
    n = put_text(line, n, room - 2, log_head);
    n = put_text(line, n, room - 2, words[level]);
    n = put_text(line, n, room - 2, text);
    if (detail != NULL) {
        n = put_text(line, n, room - 2, ": ");
        n = put_text(line, n, room - 2, detail);
    }
    line[n++] = '\n';
    return n;
}

/* The stack may be small, so all threads share one buffer; a thread blocks signals while it holds
 * it. If the holder no longer exists, as in a child of fork, the line goes into a smaller buffer on
 * the stack, and may be cut. */
void log_detail(enum log_level level, const char *text, const char *detail)
{
    enum { TRIES = 100000 };
    static _Atomic uint32_t taken;
    static char shared[2048];
    char small[512];
    uint64_t mask = sys_block_signals();
    int tries = 0;
    while (atomic_exchange(&taken, 1) != 0 && ++tries < TRIES)
        sys_relax();
    bool have = tries < TRIES;
    char *line = have ? shared : small;
    write_line(level, line,
               make_line(line, have ? sizeof shared : sizeof small, level, text, detail));
    if (have)
        atomic_store(&taken, 0);
    sys_restore_signals(mask);
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
    long fd = sys_call6(SYS_openat, AT_FDCWD, (long)log_path, O_RDWR | O_CLOEXEC, 0, 0, 0);
    if (fd < 0)
        return false;
    bool any = sys_call6(SYS_read, fd, (long)&byte, 1, 0, 0, 0) == 1;
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
    return any;
}
