/* SPDX-License-Identifier: BSD-3-Clause
 * Continues transfers of data that our signals cut short. See wait_transfers.h. */
#include "preload/waits/wait_transfers.h"

#if defined(__x86_64__)

#include "base/clock.h"
#include "base/sys.h"
#include "preload/stack/with_room.h"
#include "preload/waits/interrupted_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

/* Flags with which a transfer ends early, or does more than to move bytes. */
#define OTHER_FLAGS                                                                                \
    (MSG_DONTWAIT | MSG_OOB | MSG_PEEK | MSG_TRUNC | MSG_ZEROCOPY | MSG_FASTOPEN | MSG_ERRQUEUE)

enum { MEMORY_DEVICES = 1, ZERO = 5, RANDOM = 8, URANDOM = 9 };

#define CALL_MAX UINT64_C(0x7ffff000) /* bytes that the kernel moves in one call (read(2)) */

enum kind {
    KIND_NONE,
    KIND_WRITE,
    KIND_SEND,
    KIND_RECEIVE,
    KIND_READ,
    KIND_TERMINAL,
    KIND_RANDOM,
    KIND_FILE,
    KIND_COPY, /* from file to file: copy_file_range */
    KIND_PEEK, /* takes nothing, so the program makes the call again */
    KIND_URING /* has submitted, and is to wait for completions */
};

struct transfer {
    enum kind kind;
    int fd, flags;
    const struct iovec *parts; /* NULL: the one below */
    size_t count;
    struct iovec part;
    uint64_t total;
    uint64_t enough;  /* the call ends once it has moved this many bytes; 0: `total` */
    bool has_control; /* the program has room for control data */
    bool low_water;   /* poll(2) waits for SO_RCVLOWAT bytes, of which some have been read */
    unsigned between; /* ms to wait for each next byte of a terminal; 0: no limit */
};

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    if (sys_call6(SYS_getsockopt, fd, SOL_SOCKET, option, (long)&value, (long)&size, 0) != 0)
        return -1;
    return value;
}

/* Is this a stream socket without a timeout? A socket with a timeout is left out, because nobody
 * knows how much of the timeout remains. */
static bool is_patient_stream(int fd)
{
    struct timeval in = {0}, out = {0};
    socklen_t size = sizeof in;
    return socket_option(fd, SO_TYPE) == SOCK_STREAM &&
           sys_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_RCVTIMEO, (long)&in, (long)&size, 0) == 0 &&
           sys_call6(SYS_getsockopt, fd, SOL_SOCKET, SO_SNDTIMEO, (long)&out, (long)&size, 0) ==
               0 &&
           in.tv_sec == 0 && in.tv_usec == 0 && out.tv_sec == 0 && out.tv_usec == 0;
}

static bool is_blocking(int fd)
{
    long flags = sys_call6(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

static bool is_file(int fd)
{
    struct stat s;
    return sys_call6(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) == 0 && S_ISREG(s.st_mode);
}

/* Is this a terminal, or the other side of a pseudo-terminal? */
static bool is_terminal(int fd)
{
    char settings[64]; /* room for the kernel's termios */
    return sys_call6(SYS_ioctl, fd, TCGETS, (long)settings, 0, 0, 0) == 0;
}

/* Returns how to continue writes to this descriptor. Only writes to a pipe, a stream socket, a
 * terminal or the random number generator write everything unless a signal or an error ends the
 * call. */
static enum kind writes_to(int fd)
{
    struct stat s;
    if (!is_blocking(fd) || sys_call6(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) != 0)
        return KIND_NONE;
    if (S_ISSOCK(s.st_mode))
        return is_patient_stream(fd) ? KIND_SEND : KIND_NONE;
    bool terminal = S_ISCHR(s.st_mode) && is_terminal(fd);
    bool random = S_ISCHR(s.st_mode) && major(s.st_rdev) == MEMORY_DEVICES &&
                  (minor(s.st_rdev) == RANDOM || minor(s.st_rdev) == URANDOM);
    return S_ISFIFO(s.st_mode) || terminal || random ? KIND_WRITE : KIND_NONE;
}

/* A read of a terminal with VMIN ends when it has that many bytes, or VTIME after a byte. */
static void reads_terminal(struct transfer *t)
{
    struct wait_terminal how;
    if (!wait_look_at_terminal(t->fd, &how) || how.least < 2)
        return;
    t->kind = KIND_TERMINAL;
    t->enough = how.least;
    t->between = how.tenths * 100u;
}

/* A stream socket gives SO_RCVLOWAT bytes, or all that fit with MSG_WAITALL. */
static void receives(struct transfer *t)
{
    bool all = (t->flags & MSG_WAITALL) != 0;
    int least = socket_option(t->fd, SO_RCVLOWAT);
    if ((!all && least < 2) || !is_blocking(t->fd) || !is_patient_stream(t->fd))
        return;
    t->low_water = least > 1;
    t->enough = all ? 0 : (uint64_t)least;
    t->kind = (t->flags & MSG_PEEK) == 0 ? KIND_RECEIVE : all ? KIND_PEEK : KIND_NONE;
}

/* Reads of /dev/zero, /dev/full, /dev/random and /dev/urandom give all that is asked for. Reads of
 * other files may be short. */
static void reads(struct transfer *t)
{
    struct stat s;
    if (sys_call6(SYS_fstat, t->fd, (long)&s, 0, 0, 0, 0) != 0)
        return;
    unsigned which = minor(s.st_rdev);
    if (S_ISSOCK(s.st_mode))
        receives(t);
    else if (S_ISCHR(s.st_mode) && major(s.st_rdev) != MEMORY_DEVICES)
        reads_terminal(t);
    else if (S_ISCHR(s.st_mode) && which >= ZERO && which <= URANDOM)
        t->kind = KIND_READ;
}

static void fill_message(struct transfer *t, const struct msghdr *m)
{
    t->parts = m->msg_iov;
    t->count = m->msg_iovlen;
    if (m->msg_control == NULL)
        return;
    /* The kernel has put the size of the control data in place of the room for it. So a look at the
     * data cannot be repeated, and a call that has received control data ends there. */
    if (t->kind == KIND_PEEK || (t->kind == KIND_RECEIVE && m->msg_controllen != 0))
        t->kind = KIND_NONE;
    t->has_control = true;
}

/* io_uring_enter returns how many requests it has submitted, also if a signal ended its wait for
 * completions. */
static void enters_ring(struct transfer *t, const ucontext_t *uc)
{
    long flags = wait_argument(uc, 3);
    if ((flags & URING_GETEVENTS) != 0 && (flags & URING_EXTENDED) == 0 &&
        wait_argument(uc, 2) > 0 && uc->uc_mcontext.gregs[REG_RAX] == wait_argument(uc, 1))
        t->kind = KIND_URING;
}

static bool has_parts(long number)
{
    return number == SYS_writev || number == SYS_pwritev2 || number == SYS_readv ||
           number == SYS_preadv || number == SYS_preadv2;
}

/* Describes the call with this number. KIND_NONE: the call may end early by itself. */
static void fill(struct transfer *t, const ucontext_t *uc, long number)
{
    long second = wait_argument(uc, 1), third = wait_argument(uc, 2);
    t->fd = (int)wait_argument(uc, 0);
    t->part = (struct iovec){(void *)second, (size_t)third}; /* NOLINT: the program's */
    switch (number) {
    case SYS_write:
    case SYS_writev: t->kind = writes_to(t->fd); break;
    case SYS_pwritev2: /* without flags, at the file's own position */
        if (wait_argument(uc, 3) == -1 && wait_argument(uc, 5) == 0)
            t->kind = writes_to(t->fd);
        break;
    case SYS_read:
    case SYS_readv:
    case SYS_pread64:
    case SYS_preadv:
    case SYS_preadv2: reads(t); break;
    case SYS_io_uring_enter: enters_ring(t, uc); break;
    case SYS_sendto:
    case SYS_sendmsg:
        t->flags = (int)(number == SYS_sendto ? wait_argument(uc, 3) : third);
        t->kind = writes_to(t->fd);
        break;
    case SYS_recvfrom:
    case SYS_recvmsg:
        t->flags = (int)(number == SYS_recvfrom ? wait_argument(uc, 3) : third);
        receives(t);
        break;
    case SYS_getrandom:
        t->part = (struct iovec){(void *)(uintptr_t)wait_argument(uc, 0), (size_t)second};
        t->flags = (int)third;
        t->kind = KIND_RANDOM;
        break;
    case SYS_sendfile:
        t->part.iov_len = (size_t)wait_argument(uc, 3);
        if (writes_to(t->fd) == KIND_SEND || is_file(t->fd)) /* pipes take what fits */
            t->kind = KIND_FILE;
        break;
    case SYS_copy_file_range:
        t->part.iov_len = (size_t)wait_argument(uc, 4);
        t->kind = is_file(t->fd) && is_file((int)third) ? KIND_COPY : KIND_NONE;
        break;
    default: break;
    }
    int peek = t->kind == KIND_PEEK ? MSG_PEEK : 0;
    if (t->kind != KIND_RANDOM && (t->flags & OTHER_FLAGS & ~peek) != 0)
        t->kind = KIND_NONE;
    if (t->kind != KIND_NONE && has_parts(number)) {
        t->parts = (const struct iovec *)second; /* NOLINT: the program's */
        t->count = (size_t)third;
    } else if (t->kind != KIND_NONE && (number == SYS_sendmsg || number == SYS_recvmsg)) {
        fill_message(t, (const struct msghdr *)second); /* NOLINT: the program's */
    }
}

static struct transfer transfer_of(const ucontext_t *uc, long number)
{
    struct transfer t = {.kind = KIND_NONE};
    fill(&t, uc, number);
    t.total = t.part.iov_len;
    if (t.parts != NULL) {
        t.total = 0;
        for (size_t i = 0; i < t.count; i++)
            t.total += t.parts[i].iov_len;
    }
    if (t.enough != 0 && t.enough < t.total)
        t.total = t.enough;
    if (t.total > CALL_MAX)
        t.total = CALL_MAX;
    return t;
}

struct buffer_look {
    const ucontext_t *uc;
    bool is_short;
};

static void look(void *p)
{
    struct buffer_look *l = p;
    struct transfer t = transfer_of(l->uc, wait_number(l->uc));
    l->is_short = t.kind == KIND_URING ||
                  (t.kind != KIND_NONE && (uint64_t)l->uc->uc_mcontext.gregs[REG_RAX] < t.total);
}

bool transfer_is_short(const ucontext_t *uc)
{
    struct buffer_look l = {.uc = uc};
    if (wait_is_over(uc) && uc->uc_mcontext.gregs[REG_RAX] > 0)
        run_with_room(uc, look, &l);
    return l.is_short;
}

/* Returns what remains of the first part that is not complete. */
static struct iovec remaining(const struct transfer *t, uint64_t done)
{
    uint64_t all = done;
    struct iovec part = t->part;
    for (size_t i = 0; t->parts != NULL; i++) {
        part = t->parts[i];
        if (done < part.iov_len)
            break;
        done -= part.iov_len;
    }
    uint64_t bytes = part.iov_len - done, left = t->total - all;
    return (struct iovec){(char *)part.iov_base + done, bytes < left ? bytes : left};
}

/* Does control data come with the next byte? Looks without room for it, so that it stays there. */
static bool control_comes(int fd)
{
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr m = {.msg_iov = &part, .msg_iovlen = 1};
    long rc = sys_call6(SYS_recvmsg, fd, (long)&m, MSG_PEEK | MSG_DONTWAIT, 0, 0, 0);
    return rc > 0 && (m.msg_flags & MSG_CTRUNC) != 0;
}

/* Waits by ppoll() before it receives, so that an error of the socket stays there for the program's
 * next call. With SO_RCVLOWAT, ppoll() would wait for more bytes than the program still wants, so
 * this only looks; an error that comes during the receive is then lost. */
static long receive(ucontext_t *uc, const struct transfer *t, struct iovec part,
                    struct signals_seen seen)
{
    struct pollfd fd = {.fd = t->fd, .events = POLLIN};
    const struct timespec none = {0};
    const long wait[6] = {(long)&fd, 1, t->low_water ? (long)&none : 0, 0, 0, 0};
    int flags = t->low_water ? t->flags | MSG_WAITALL : (t->flags & ~MSG_WAITALL) | MSG_DONTWAIT;
    const long arguments[6] = {t->fd, (long)part.iov_base, (long)part.iov_len, flags, 0, 0};
    long rc = wait_once(uc, SYS_ppoll, wait, seen);
    if (rc < 0)
        return rc;
    if ((fd.revents & (POLLERR | POLLNVAL)) != 0 || (t->has_control && control_comes(t->fd)))
        return 0;
    rc = wait_once(uc, SYS_recvfrom, arguments, seen);
    return rc == -EAGAIN ? WAIT_AGAIN : rc;
}

/* The terminal's own limit on the time between bytes begins with the first byte of a read. */
static long read_terminal(ucontext_t *uc, const struct transfer *t, struct iovec part,
                          struct signals_seen seen)
{
    const long arguments[6] = {t->fd, (long)part.iov_base, (long)part.iov_len, 0, 0, 0};
    struct pollfd fd = {.fd = t->fd, .events = POLLIN};
    int64_t end = (int64_t)clock_monotonic_ns() + (int64_t)t->between * 1000000;
    long rc = t->between == 0 ? 1 : wait_poll(uc, &fd, end, seen);
    return rc <= 0 ? rc : wait_once(uc, SYS_read, arguments, seen);
}

static long move(ucontext_t *uc, const struct transfer *t, struct iovec part,
                 struct signals_seen seen)
{
    long base = (long)part.iov_base, bytes = (long)part.iov_len;
    switch (t->kind) {
    case KIND_RECEIVE: return receive(uc, t, part, seen);
    case KIND_TERMINAL: return read_terminal(uc, t, part, seen);
    case KIND_SEND: { /* after some bytes an error raises no SIGPIPE */
        const long arguments[6] = {t->fd, base, bytes, t->flags | MSG_NOSIGNAL, 0, 0};
        return wait_once(uc, SYS_sendto, arguments, seen);
    }
    case KIND_RANDOM: {
        const long arguments[6] = {base, bytes, t->flags, 0, 0, 0};
        return wait_once(uc, SYS_getrandom, arguments, seen);
    }
    case KIND_FILE: {
        const long arguments[6] = {t->fd, wait_argument(uc, 1), wait_argument(uc, 2), bytes, 0, 0};
        return wait_once(uc, SYS_sendfile, arguments, seen);
    }
    case KIND_COPY: { /* the kernel has moved the positions */
        long arguments[6];
        wait_arguments(uc, arguments);
        arguments[4] = bytes;
        return wait_once(uc, SYS_copy_file_range, arguments, seen);
    }
    case KIND_READ:
    case KIND_WRITE:
    case KIND_PEEK:
    case KIND_URING:
    case KIND_NONE: break;
    }
    const long arguments[6] = {t->fd, base, bytes, 0, 0, 0};
    return wait_once(uc, t->kind == KIND_READ ? SYS_read : SYS_write, arguments, seen);
}

/* Waits for the completions. If they are there, the program has not taken them yet, and this ends
 * at once. */
static void wait_for_ring(ucontext_t *uc, struct signals_seen seen)
{
    long arguments[6];
    wait_arguments(uc, arguments);
    arguments[1] = 0; /* submit nothing more */
    while (wait_once(uc, SYS_io_uring_enter, arguments, seen) == WAIT_AGAIN)
        continue;
}

bool transfer_go_on(ucontext_t *uc, struct signals_seen seen)
{
    struct transfer t = transfer_of(uc, wait_number(uc));
    uint64_t done = (uint64_t)uc->uc_mcontext.gregs[REG_RAX];
    if (t.kind == KIND_PEEK)
        return true;
    if (t.kind == KIND_URING)
        wait_for_ring(uc, seen);
    while (t.kind != KIND_URING && done < t.total) {
        long rc = move(uc, &t, remaining(&t, done), seen);
        if (rc > 0)
            done += (uint64_t)rc;
        else if (rc != WAIT_AGAIN)
            break;
    }
    uc->uc_mcontext.gregs[REG_RAX] = (greg_t)done;
    uc->uc_mcontext.gregs[REG_RCX] = 0;
    return false;
}

#endif
