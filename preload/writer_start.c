/* SPDX-License-Identifier: BSD-3-Clause
 * Starts the writer apart from the program (base/toolkit/apart.h), with the stream as descriptor
 * 3, /dev/null as descriptors 0 to 2, and no others. Waits for the writer at the end of the
 * program. */
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/process.h"

#include "base/decimal.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/toolkit/apart.h"
#include "base/toolkit/beside.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENVIRONMENT_MAX 4096

extern char **environ;

/* Limits that may be too low for a writer. If no writer could be started, the message names those
 * below `enough`. A writer gets at most `most`: without memory HDF5 may call itself without end,
 * and an unlimited stack then takes all memory of the node. A quarter of the stack's limit bounds
 * arguments and environment, which have 6 MiB at most (execve(2)). */
static const struct {
    int resource;
    uint64_t enough, most, unit;
    const char *name;
} limits[] = {
    {RLIMIT_NOFILE, 32, RLIM64_INFINITY, 1, "open files (ulimit -n) "},
    {RLIMIT_AS, 256u << 20, RLIM64_INFINITY, 1024, "address space in KiB (ulimit -v) "},
    {RLIMIT_DATA, 64u << 20, RLIM64_INFINITY, 1024, "data in KiB (ulimit -d) "},
    {RLIMIT_STACK, 512u << 10, 24u << 20, 1024, "stack in KiB (ulimit -s) "},
};

struct writer_launch {
    const char *program;
    const char *stream_path; /* NULL: the stream already has a name */
    char *const *arguments;
    char *const *environment;
    int stream_fd, null_fd;
};

static long raw(long n, long a, long b, long c, long d)
{
    return sys_call6(n, a, b, c, d, 0, 0);
}

/* Gives the stream its name and opens it by that name. Only now is there a process that will remove
 * it. Returns a descriptor, or -errno. */
static long name_stream(const char *path, int fd)
{
    char link[16 + DECIMAL_ROOM] = "/proc/self/fd/";
    *decimal_put(link + strlen(link), (unsigned)fd) = '\0';
    long rc =
        sys_call6(SYS_linkat, AT_FDCWD, (long)link, AT_FDCWD, (long)path, AT_SYMLINK_FOLLOW, 0);
    return rc != 0 ? rc : raw(SYS_openat, AT_FDCWD, (long)path, O_RDWR | O_NOFOLLOW, 0);
}

/* Raises the writer's soft limits to the hard ones, or to `most`: they were set for the program. An
 * unlimited stack is lowered to `most`. */
static void lift_limits(void)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit64 r;
        if (raw(SYS_prlimit64, 0, limits[i].resource, 0, (long)&r) != 0)
            continue;
        r.rlim_cur = r.rlim_max < limits[i].most ? r.rlim_max : limits[i].most;
        (void)raw(SYS_prlimit64, 0, limits[i].resource, (long)&r, 0);
    }
}

static long writer_process(void *context)
{
    const struct writer_launch *l = context;
    lift_limits();
    int stream = l->stream_fd;
    if (l->stream_path != NULL)
        stream = (int)name_stream(l->stream_path, stream);
    if (stream < 0)
        return stream;
    unsigned long everywhere[16];
    for (int i = 0; i < 16; i++)
        everywhere[i] = ~0ul;
    (void)raw(SYS_sched_setaffinity, 0, sizeof everywhere, (long)everywhere, 0);
    const int fds[] = {l->null_fd, l->null_fd, l->null_fd, stream};
    return apart_exec(fds, 4, l->program, l->arguments, l->environment);
}

static bool find_library(char path[PATH_MAX])
{
    Dl_info info;
    return dladdr((const void *)&process_start_writer, &info) != 0 && info.dli_fname != NULL &&
           realpath(info.dli_fname, path) != NULL;
}

bool process_find_program(const char *name, char path[PATH_MAX])
{
    char library[PATH_MAX];
    return find_library(library) && beside_library(library, name, path);
}

static char writer_path[PATH_MAX]; /* "": none was found, see writer_missing */
static struct rt_error writer_missing;

/* The writer's environment: the program's, without LD_PRELOAD. Copied at the start, because a
 * signal handler that starts the writer later may have interrupted setenv(), which has freed the
 * list that environ still points to. */
static char *writer_environment[ENVIRONMENT_MAX + 1];

int process_find_writer(struct rt_error *e)
{
    char library[PATH_MAX];
    apart_environment(environ, writer_environment, ENVIRONMENT_MAX);
    if (!find_library(library))
        (void)snprintf(library, sizeof library, "libregtrace.so");
    int rc = beside_writer(library, process.options.text[OPT_writer], writer_path, &writer_missing);
    if (rc != 0)
        writer_path[0] = '\0';
    *e = writer_missing;
    return rc;
}

void writer_limits(char *text, size_t room)
{
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit64 r;
        if (raw(SYS_prlimit64, 0, limits[i].resource, 0, (long)&r) != 0 ||
            r.rlim_max >= limits[i].enough || n >= room)
            continue;
        n += (size_t)snprintf(text + n, room - n, "%s%s%llu", n == 0 ? "; limits: " : ", ",
                              limits[i].name, (unsigned long long)r.rlim_max / limits[i].unit);
    }
}

bool process_start_writer(void)
{
    if (process.writer_started)
        return true;
    char dir[PATH_MAX], *path = writer_path;
    if (path[0] == '\0') {
        log_detail(LOG_ERROR, "nothing is recorded", writer_missing.text);
        return false;
    }
    (void)snprintf(dir, sizeof dir, "%s", process.dir);
    char *const arguments[] = {path, "--stream-fd", "3", "--dir", dir, NULL};
    struct stat made;
    bool unnamed = fstat(recorder_stream.fd, &made) == 0 && made.st_nlink == 0;
    struct writer_launch l = {.program = path,
                              .stream_path = unnamed ? process.stream_path : NULL,
                              .arguments = arguments,
                              .environment = writer_environment,
                              .stream_fd = recorder_stream.fd,
                              .null_fd = open("/dev/null", O_RDWR | O_CLOEXEC)};
    int pid = l.null_fd < 0 ? -errno : 0;
    atomic_store(&recorder_stream.header->writer_state, WRITER_STARTING);
    if (pid == 0)
        pid = apart_start(writer_process, &l);
    if (l.null_fd >= 0)
        (void)close(l.null_fd);
    if (pid < 0) {
        char text[PATH_MAX + 512], few[256];
        writer_limits(few, sizeof few);
        (void)snprintf(text, sizeof text, "%.4000s: %s%s", path, strerror(-pid), few);
        log_detail(LOG_ERROR, "nothing is recorded: the writer cannot be started", text);
        return false;
    }
    atomic_store(&recorder_stream.header->writer_pid, (uint32_t)pid);
    process.writer_started = true;
    return true;
}

bool writer_is_alive(void)
{
    uint32_t pid = atomic_load(&recorder_stream.header->writer_pid);
    if (pid == 0)
        return false;
    if (raw(SYS_kill, (long)pid, 0, 0, 0) == -ESRCH)
        return false;
    /* The writer may have ended without an init that reaps it. If we cannot look (no /proc, no
     * descriptor) we assume that it is alive. */
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return true;
    ssize_t n = read(fd, text, sizeof text - 1);
    (void)close(fd);
    text[n > 0 ? n : 0] = '\0';
    const char *p = strrchr(text, ')');
    return p == NULL || p[1] != ' ' || (p[2] != 'Z' && p[2] != 'X');
}

/* Removes the stream of a writer that ended before it was ready, unless there is something in it
 * that `regtrace recover` can read. Returns true if the stream is kept. */
static bool keep_stream(void)
{
    if (atomic_load(&recorder_stream.header->state) != STREAM_EMPTY &&
        access(process.stream_path, F_OK) == 0)
        return true;
    (void)unlink(process.stream_path);
    return false;
}

static void report_dead_writer(uint32_t state)
{
    char few[256];
    writer_limits(few, sizeof few);
    const char *detail = few[0] != '\0' ? few + 2 : NULL;
    if (state == WRITER_STARTING && !keep_stream())
        log_detail(LOG_ERROR,
                   "nothing is recorded: the writer of this process ended as soon as it had begun",
                   detail);
    else if (state == WRITER_STARTING)
        log_detail(LOG_ERROR,
                   "the writer of this process ended as soon as it had begun; "
                   "`regtrace recover` makes its file",
                   detail);
    else if (detail != NULL)
        log_detail(LOG_ERROR,
                   "the writer of this process was killed, or had too little to work with; "
                   "`regtrace recover` finishes its file",
                   detail);
    else
        log_line(LOG_ERROR,
                 "the writer of this process was killed: `regtrace recover` finishes its file");
}

/* Sleeps for a short time between looks, because the writer does not signal us. */
void process_wait_for_writer(void)
{
    struct stream_header *h = recorder_stream.header;
    uint64_t limit = clock_monotonic_ns() + process.options.number[OPT_exit_wait] * 1000000000u;
    uint64_t nap = 200000;
    while (clock_monotonic_ns() < limit) {
        bool alive =
            writer_is_alive(); /* read before the state: the state of a dead writer is final */
        uint32_t w = atomic_load(&h->writer_state);
        if (w == WRITER_CLOSED)
            return;
        if (w == WRITER_FAILED) {
            if (!log_has_lines())
                log_line(LOG_ERROR, "recording has ended early, and the log could not be written "
                                    "either: is the disk full, or is this another user by now?");
            return;
        }
        if (!alive) {
            report_dead_writer(w);
            return;
        }
        recorder_wake_writer();
        sys_nap(nap);
        nap = nap < 5000000 ? nap * 3 / 2 : nap;
    }
    log_line(LOG_WARNING,
             "the writer has not closed its file within REGTRACE_EXIT_WAIT; it goes on by itself");
}
