/* SPDX-License-Identifier: BSD-3-Clause
 * System calls of this library that are no cancellation points. They have libc's names but are
 * hidden: only calls from inside the library, including those from base/, come here.
 *
 * libc's functions of these names are cancellation points. If another thread cancels this one while
 * a handler of ours calls one of them with signals blocked, libc waits for its own signal, for
 * ever. With signals unblocked, the thread would end in our code, with our locks. */
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int close(int fd);
ssize_t read(int fd, void *to, size_t n);
ssize_t write(int fd, const void *from, size_t n);
ssize_t pread(int fd, void *to, size_t n, off_t at);
ssize_t pwrite(int fd, const void *from, size_t n, off_t at);
int fcntl(int fd, int what, ...);
int poll(struct pollfd *fds, nfds_t n, int timeout);
pid_t waitpid(pid_t child, int *status, int options);
#pragma GCC visibility pop

static long result(long rc)
{
    if (rc >= 0 || rc < -4095)
        return rc;
    errno = (int)-rc;
    return -1;
}

/* Reads the last argument of open() or fcntl(). The caller may have omitted it; then it has no
 * effect. */
#define LAST(before)                                                                               \
    ({                                                                                             \
        va_list list;                                                                              \
        va_start(list, before);                                                                    \
        long last = va_arg(list, long);                                                            \
        va_end(list);                                                                              \
        last;                                                                                      \
    })

int open(const char *path, int flags, ...)
{
    return (int)result(sys_call6(SYS_openat, AT_FDCWD, (long)path, flags, (int)LAST(flags), 0, 0));
}

int openat(int folder, const char *path, int flags, ...)
{
    return (int)result(sys_call6(SYS_openat, folder, (long)path, flags, (int)LAST(flags), 0, 0));
}

int close(int fd)
{
    return (int)result(sys_call6(SYS_close, fd, 0, 0, 0, 0, 0));
}

ssize_t read(int fd, void *to, size_t n)
{
    return result(sys_call6(SYS_read, fd, (long)to, (long)n, 0, 0, 0));
}

ssize_t write(int fd, const void *from, size_t n)
{
    return result(sys_call6(SYS_write, fd, (long)from, (long)n, 0, 0, 0));
}

ssize_t pread(int fd, void *to, size_t n, off_t at)
{
    return result(sys_call6(SYS_pread64, fd, (long)to, (long)n, at, 0, 0));
}

ssize_t pwrite(int fd, const void *from, size_t n, off_t at)
{
    return result(sys_call6(SYS_pwrite64, fd, (long)from, (long)n, at, 0, 0));
}

int fcntl(int fd, int what, ...)
{
    return (int)result(sys_call6(SYS_fcntl, fd, what, LAST(what), 0, 0, 0));
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
    struct timespec ts = {.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L};
    return (int)result(
        sys_call6(SYS_ppoll, (long)fds, (long)n, timeout < 0 ? 0 : (long)&ts, 0, 0, 0));
}

pid_t waitpid(pid_t child, int *status, int options)
{
    return (pid_t)result(sys_call6(SYS_wait4, child, (long)status, options, 0, 0, 0));
}
