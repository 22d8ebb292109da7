/* SPDX-License-Identifier: BSD-3-Clause
 * Waits until a socket or a terminal is ready, for calls whose timeout the kernel would begin
 * again: SO_RCVTIMEO and SO_SNDTIMEO of socket(7), VTIME of termios(3). */
#include "preload/waits/interrupted_call.h"

#if defined(__x86_64__)

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* Does the call send to the address of a local socket? */
static bool is_to_address(const ucontext_t *uc, const struct wait_broken *b)
{
    const struct sockaddr *to = NULL;
    if (b->rule->number == SYS_sendto)
        to = (const struct sockaddr *)wait_argument(uc, 4); /* NOLINT: the program's */
    else if (b->rule->number == SYS_sendmsg)
        to = ((const struct msghdr *)wait_argument(uc, 1))->msg_name; /* NOLINT */
    return to != NULL && to->sa_family == AF_UNIX;
}

/* Tries each millisecond, until `end`: poll(2) does not know whether the receiver's queue has
 * room. */
static long send_to_address(ucontext_t *uc, const struct wait_broken *b, int64_t end,
                            struct signals_seen seen)
{
    enum { FLAGS_OF_SENDMSG = 2, FLAGS_OF_SENDTO = 3, NAP_NS = 1000000 };
    struct pollfd none = {.fd = -1};
    long arguments[6];
    wait_arguments(uc, arguments);
    arguments[b->rule->number == SYS_sendmsg ? FLAGS_OF_SENDMSG : FLAGS_OF_SENDTO] |= MSG_DONTWAIT;
    for (;;) {
        long rc = wait_once(uc, b->rule->number, arguments, seen);
        int64_t now = (int64_t)clock_monotonic_ns();
        if (rc != -EAGAIN && rc != WAIT_AGAIN)
            return rc;
        if (now >= end)
            return -EAGAIN;
        if (rc == -EAGAIN &&
            wait_poll(uc, &none, now + NAP_NS < end ? now + NAP_NS : end, seen) == -EINTR)
            return -EINTR;
    }
}

long wait_for_socket(ucontext_t *uc, const struct wait_broken *b, bool connecting, int64_t end,
                     struct signals_seen seen)
{
    struct pollfd fd = {.fd = (int)wait_argument(uc, 0),
                        .events = b->rule->unit == UNIT_SEND ? POLLOUT : POLLIN};
    if (is_to_address(uc, b))
        return send_to_address(uc, b, end, seen);
    long rc = wait_poll(uc, &fd, end, seen);
    if (rc == 0 && b->rule->number == SYS_connect)
        return connecting ? -EALREADY : -EINPROGRESS;
    return rc == 0 ? -EAGAIN : rc == -EINTR ? rc : WAIT_AGAIN;
}

long wait_for_terminal(ucontext_t *uc, int64_t timeout, struct signals_seen seen)
{
    struct pollfd fd = {.fd = (int)wait_argument(uc, 0), .events = POLLIN};
    return wait_poll(uc, &fd, (int64_t)clock_monotonic_ns() + timeout, seen);
}

#endif
