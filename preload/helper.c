/* SPDX-License-Identifier: BSD-3-Clause
 * Starts a helper program and talks to it over a socket (helper.h). */
#include "preload/helper.h"
#include "preload/life.h"

#include "base/toolkit/apart.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#define ENVIRONMENT_MAX 4096
#define HIGH_FD 500 /* programs expect low numbers for new descriptors */

extern char **environ;

static char *environment[ENVIRONMENT_MAX + 1];

struct launch {
    const struct helper *helper;
    int fds[3];
};

static long exec_program(void *context)
{
    const struct launch *l = context;
    return apart_exec(l->fds, 3, l->helper->program, (char *const *)(uintptr_t)l->helper->arguments,
                      environment);
}

static void close_fd(int n)
{
    if (n >= 0)
        (void)sys_call6(SYS_close, n, 0, 0, 0, 0, 0);
}

bool helper_is_there(const struct helper *h)
{
    struct stat s;
    return h->fd >= 0 && sys_call6(SYS_fstat, h->fd, (long)&s, 0, 0, 0, 0) == 0 &&
           s.st_dev == h->device && s.st_ino == h->inode;
}

/* Some programs close descriptors that they do not know, and use the number themselves. This leaves
 * such a descriptor open. */
void helper_drop(struct helper *h)
{
    if (helper_is_there(h))
        close_fd(h->fd);
    h->fd = -1;
}

int helper_find(struct helper *h, const char *name, struct rt_error *e)
{
    h->fd = -1;
    if (!process_find_program(name, h->program)) {
        rt_error_set(e, "%s is not there (it is built where Zydis is)", h->program);
        return -ENOENT;
    }
    apart_environment(environ, environment, ENVIRONMENT_MAX);
    return 0;
}

int helper_start(struct helper *h, int said)
{
    int pair[2];
    long rc = sys_call6(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, (long)pair, 0, 0);
    if (rc != 0)
        return (int)rc;
    int null = (int)sys_call6(SYS_openat, AT_FDCWD, (long)"/dev/null", O_RDWR | O_CLOEXEC, 0, 0, 0);
    struct launch l = {.helper = h, .fds = {pair[1], null, said >= 0 ? said : null}};
    rc = null < 0 ? null : apart_start(exec_program, &l);
    close_fd(null);
    close_fd(pair[1]);
    h->fd = -1;
    if (rc > 0)
        h->fd = (int)sys_call6(SYS_fcntl, pair[0], F_DUPFD_CLOEXEC, HIGH_FD, 0, 0, 0);
    close_fd(pair[0]);
    h->got = 0;
    struct stat s;
    rc = rc < 0 ? rc : h->fd < 0 ? h->fd : sys_call6(SYS_fstat, h->fd, (long)&s, 0, 0, 0, 0);
    if (rc < 0)
        return (int)rc;
    h->device = s.st_dev;
    h->inode = s.st_ino;
    return 0;
}

static long wait_for(const struct helper *h, short events, int ms)
{
    struct pollfd p = {.fd = h->fd, .events = events};
    struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    return sys_call6(SYS_ppoll, (long)&p, 1, (long)&limit, 0, 8, 0);
}

int helper_put(const struct helper *h, const void *bytes, size_t n, int ms)
{
    long rc;
    do {
        rc = sys_call6(SYS_sendto, h->fd, (long)bytes, (long)n, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    } while (rc == -EINTR || (rc == -EAGAIN && ms != 0 && wait_for(h, POLLOUT, ms) != 0));
    return rc == (long)n ? 0 : rc < 0 && rc != -EAGAIN ? (int)rc : -EAGAIN;
}

int helper_get(struct helper *h, void *to, size_t n, int ms)
{
    while (h->got < n) {
        long rc = wait_for(h, POLLIN, ms);
        if (rc == 0)
            return -EAGAIN;
        if (rc == -EINTR)
            continue;
        rc = sys_call6(SYS_recvfrom, h->fd, (long)to + (long)h->got, (long)(n - h->got),
                       MSG_DONTWAIT, 0, 0);
        if (rc == -EAGAIN || rc == -EINTR)
            continue;
        if (rc <= 0)
            return -EPIPE;
        h->got += (size_t)rc;
    }
    h->got = 0;
    return 0;
}
