/* SPDX-License-Identifier: BSD-3-Clause
 * Finds out which system call a signal has interrupted, and how to continue it. */
#include "preload/waits/interrupted_call.h"

#if defined(__x86_64__)

#include "base/sys.h"
#include "preload/libc/signals.h"
#include "preload/thread.h"
#include "preload/waits/wait_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <time.h>

#define NUMBER_BYTES 20u /* length of code before a system call to search for its number */

static uintptr_t at_of(const ucontext_t *uc)
{
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static uintptr_t stack_of(const ucontext_t *uc)
{
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

static const struct wait_rule rules[] = {
    {SYS_nanosleep, CONTINUE_KERNEL, 0, 0},
    {SYS_clock_nanosleep, CONTINUE_KERNEL, 0, 0},
    {SYS_poll, CONTINUE_KERNEL, 0, 0},
    {SYS_futex, CONTINUE_KERNEL, 0, 0},
    {SYS_pause, CONTINUE_AGAIN, 0, 0},
    {SYS_rt_sigsuspend, CONTINUE_AGAIN, 0, 0},
    {SYS_msgrcv, CONTINUE_AGAIN, 0, 0},
    {SYS_msgsnd, CONTINUE_AGAIN, 0, 0},
    {SYS_semop, CONTINUE_AGAIN, 0, 0},
    {SYS_io_uring_enter, CONTINUE_AGAIN, 0, 0},
    {SYS_select, CONTINUE_REMAINING, 4, UNIT_TIMEVAL},
    {SYS_pselect6, CONTINUE_REMAINING, 4, UNIT_TIMESPEC},
    {SYS_ppoll, CONTINUE_REMAINING, 2, UNIT_TIMESPEC},
    {SYS_epoll_wait, CONTINUE_TIMED, 3, UNIT_MS},
    {SYS_epoll_pwait, CONTINUE_TIMED, 3, UNIT_MS},
    {SYS_epoll_pwait2, CONTINUE_TIMED, 3, UNIT_TIMESPEC},
    {SYS_rt_sigtimedwait, CONTINUE_TIMED, 2, UNIT_TIMESPEC},
    {SYS_semtimedop, CONTINUE_TIMED, 3, UNIT_TIMESPEC},
    {SYS_io_getevents, CONTINUE_TIMED, 4, UNIT_TIMESPEC},
    {SYS_io_pgetevents, CONTINUE_TIMED, 4, UNIT_TIMESPEC},
    {SYS_read, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_readv, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_preadv2, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_recvfrom, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_recvmsg, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_recvmmsg, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_accept, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_accept4, CONTINUE_SOCKET, 0, UNIT_RECEIVE},
    {SYS_write, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_writev, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_pwritev2, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_sendto, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_sendmsg, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_sendmmsg, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_connect, CONTINUE_SOCKET, 0, UNIT_SEND},
    {SYS_ioctl, CONTINUE_RESTARTED, 0, 0},
    {SYS_open, CONTINUE_RESTARTED, 0, 0},
    {SYS_openat, CONTINUE_RESTARTED, 0, 0},
    {SYS_creat, CONTINUE_RESTARTED, 0, 0},
    {SYS_wait4, CONTINUE_RESTARTED, 0, 0},
    {SYS_waitid, CONTINUE_RESTARTED, 0, 0},
    {SYS_flock, CONTINUE_RESTARTED, 0, 0},
    {SYS_fcntl, CONTINUE_RESTARTED, 0, 0},
    {SYS_mq_timedsend, CONTINUE_RESTARTED, 0, 0},
    {SYS_mq_timedreceive, CONTINUE_RESTARTED, 0, 0},
    {SYS_getrandom, CONTINUE_RESTARTED, 0, 0},
    {SYS_splice, CONTINUE_RESTARTED, 0, 0},
    {SYS_tee, CONTINUE_RESTARTED, 0, 0},
    {SYS_vmsplice, CONTINUE_RESTARTED, 0, 0},
    {SYS_sendfile, CONTINUE_RESTARTED, 0, 0},
    {SYS_copy_file_range, CONTINUE_RESTARTED, 0, 0},
    {449 /* futex_waitv */, CONTINUE_RESTARTED, 0, 0},
};

static const struct wait_rule *rule_of(long number)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].number == number)
            return &rules[i];
    return NULL;
}

bool waits_is_timed(long number)
{
    const struct wait_rule *r = rule_of(number);
    return r != NULL && (r->continuation == CONTINUE_TIMED || r->continuation == CONTINUE_SOCKET);
}

/* --- which call it was ------------------------------------------------------------------------ */

long wait_argument(const ucontext_t *uc, unsigned i)
{
    static const uint8_t places[6] = {REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8, REG_R9};
    return (long)uc->uc_mcontext.gregs[places[i]];
}

void wait_arguments(const ucontext_t *uc, long arguments[6])
{
    for (unsigned i = 0; i < 6; i++)
        arguments[i] = wait_argument(uc, i);
}

static bool is_system_call(uintptr_t at)
{
    uint8_t copy[2];
    const uint8_t *code = (const uint8_t *)at;      /* NOLINT: code that ran or runs next */
    if (at % TEXT_PAGE > TEXT_PAGE - sizeof copy) { /* the next page may be unmapped */
        if (sys_read_self(at, copy, sizeof copy) != (long)sizeof copy)
            return false;
        code = copy;
    }
    return code[0] == 0x0f && code[1] == 0x05;
}

/* The instruction pointer is after a syscall instruction, which has put the same address into %rcx.
 * After that the program may change %rcx; our code clears it when the program is to see the
 * result. */
bool wait_is_over(const ucontext_t *uc)
{
    const greg_t *r = uc->uc_mcontext.gregs;
    return r[REG_RCX] == r[REG_RIP] && is_system_call(at_of(uc) - 2);
}

bool wait_is_broken(const ucontext_t *uc)
{
    return uc->uc_mcontext.gregs[REG_RAX] == -EINTR && wait_is_over(uc);
}

bool wait_is_restarting(const ucontext_t *uc)
{
    return uc->uc_mcontext.gregs[REG_RAX] == SYS_restart_syscall && is_system_call(at_of(uc));
}

/* Does a prefix make the instruction at p set %r8 in place of %rax? Only what compilers write
 * counts, since the byte may also belong to the instruction before. */
static bool sets_r8(const uint8_t *p)
{
    bool clears = p[0] == 0x31 || p[0] == 0x33;
    return clears ? p[-1] == 0x45 || p[-1] == 0x4d : p[-1] == 0x41 || p[-1] == 0x49;
}

/* Returns the number that the instructions at p put into %rax, or -1: mov $number, %eax; mov
 * $number, %rax; push $number, pop %rax; xor %eax, %eax, and mov $number, %al after it or
 * nothing. */
static long number_set_by(const uint8_t *p, const uint8_t *end)
{
    if (end - p >= 5 && p[0] == 0xb8 && p[2] <= 1 && p[3] == 0 && p[4] == 0 && !sets_r8(p))
        return p[1] | p[2] << 8;
    if (end - p >= 6 && p[0] == 0xc7 && p[1] == 0xc0 && p[3] <= 1 && p[4] == 0 && p[5] == 0 &&
        !sets_r8(p))
        return p[2] | p[3] << 8;
    if (end - p >= 3 && p[0] == 0x6a && p[2] == 0x58)
        return (int8_t)p[1];
    bool clears = (p[0] == 0x31 || p[0] == 0x33) && p[1] == 0xc0 && !sets_r8(p);
    if (clears && end - p == 2)
        return 0;
    return clears && end - p >= 4 && p[2] == 0xb0 ? p[3] : -1;
}

/* Returns the number that the code sets shortly before the syscall instruction at `at`, or -1. */
static long number_in_code(uintptr_t at)
{
    uint8_t copy[NUMBER_BYTES + 1];
    const uint8_t *code = (const uint8_t *)at - sizeof copy; /* NOLINT: code */
    if (at % TEXT_PAGE < sizeof copy) {                      /* the page before may be unmapped */
        if (sys_read_self(at - sizeof copy, copy, sizeof copy) != (long)sizeof copy)
            return -1;
        code = copy;
    }
    const uint8_t *end = code + sizeof copy;
    long number = -1;
    for (const uint8_t *p = end - 2; p > code && number < 0; p--)
        number = number_set_by(p, end);
    return number;
}

/* Returns the number of the call. For libc's syscall(), whose code has no number, our wrapper has
 * noted it. If the call is in an instrumented copy, this reads the original code. */
long wait_number(const ucontext_t *uc)
{
    uintptr_t at = signals_ip_of(uc);
    /* Code of a copy that records the call's result has the address of the system call. */
    if (at == at_of(uc) || !is_system_call(at))
        at -= 2;
    long number = number_in_code(at);
    const struct wait_note *n = &wait_noted;
    bool fits = number < 0 && n->stack == stack_of(uc) && n->first == (int32_t)wait_argument(uc, 0);
    return fits ? n->number & ~WAIT_CONNECTING : number;
}

static int64_t ns_of(int64_t seconds, int64_t rest)
{
    return seconds > 4000000000 ? INT64_MAX / 2 : seconds * 1000000000 + rest;
}

/* Reads the timeout. Returns false if there is none. In a timeval the kernel has truncated the
 * remaining time to microseconds, so this adds 999 ns. */
static bool timeout_of(const ucontext_t *uc, const struct wait_rule *r, int64_t *ns)
{
    long a = wait_argument(uc, r->timeout);
    const struct timespec *ts = (const struct timespec *)a; /* NOLINT: the program's */
    const struct timeval *tv = (const struct timeval *)a;   /* NOLINT: the program's */
    if (r->unit == UNIT_MS) {
        *ns = (int64_t)(int)a * 1000000;
        return *ns >= 0;
    }
    if (a == 0)
        return false;
    *ns = r->unit == UNIT_TIMESPEC ? ns_of(ts->tv_sec, ts->tv_nsec)
                                   : ns_of(tv->tv_sec, tv->tv_usec * 1000 + 999);
    return true;
}

bool wait_look_at_terminal(int fd, struct wait_terminal *how)
{
    enum { CANONICAL = 2, TIME = 5, MIN = 6, MASTERS = 5, MASTER = 2 };
    struct { /* the kernel's termios, which is shorter than libc's */
        uint32_t input, output, control, local;
        uint8_t line, characters[19];
    } t;
    struct stat s;
    long flags = sys_call6(SYS_fcntl, fd, F_GETFL, 0, 0, 0, 0);
    /* The other side of a pseudo-terminal shows the terminal's settings, which are not its own. */
    if (flags < 0 || (flags & O_NONBLOCK) != 0 ||
        sys_call6(SYS_fstat, fd, (long)&s, 0, 0, 0, 0) != 0 || !S_ISCHR(s.st_mode) ||
        s.st_rdev == makedev(MASTERS, MASTER) ||
        sys_call6(SYS_ioctl, fd, TCGETS, (long)&t, 0, 0, 0) != 0 || (t.local & CANONICAL) != 0)
        return false;
    *how = (struct wait_terminal){.least = t.characters[MIN], .tenths = t.characters[TIME]};
    return true;
}

/* Reads the timeout of the socket. Returns false if there is none. */
static bool socket_timeout(const ucontext_t *uc, const struct wait_rule *r, int64_t *ns)
{
    struct timeval tv = {0};
    socklen_t size = sizeof tv;
    int option = r->unit == UNIT_SEND ? SO_SNDTIMEO : SO_RCVTIMEO;
    if (sys_call6(SYS_getsockopt, wait_argument(uc, 0), SOL_SOCKET, option, (long)&tv, (long)&size,
                  0) != 0)
        return false;
    *ns = ns_of(tv.tv_sec, tv.tv_usec * 1000);
    return *ns != 0;
}

static enum wait_continuation continuation_of(const ucontext_t *uc, const struct wait_rule *r,
                                              int64_t *timeout)
{
    switch ((enum wait_continuation)r->continuation) {
    case CONTINUE_KERNEL:
        return r->number == SYS_clock_nanosleep && (wait_argument(uc, 1) & TIMER_ABSTIME) != 0
                   ? CONTINUE_AGAIN
                   : CONTINUE_KERNEL;
    case CONTINUE_AGAIN:
        return r->number == SYS_io_uring_enter && (wait_argument(uc, 3) & URING_EXTENDED) != 0
                   ? CONTINUE_NONE
                   : CONTINUE_AGAIN;
    case CONTINUE_REMAINING:
    case CONTINUE_TIMED:
        return timeout_of(uc, r, timeout) ? (enum wait_continuation)r->continuation
                                          : CONTINUE_AGAIN;
    case CONTINUE_SOCKET: return socket_timeout(uc, r, timeout) ? CONTINUE_SOCKET : CONTINUE_AGAIN;
    case CONTINUE_TERMINAL:
    case CONTINUE_TRANSFER:
    case CONTINUE_RESTARTED:
    case CONTINUE_NONE: break;
    }
    return CONTINUE_NONE;
}

struct wait_broken wait_look(const ucontext_t *uc)
{
    struct wait_broken b = {.rule = rule_of(wait_number(uc))};
    if (b.rule != NULL)
        b.continuation = continuation_of(uc, b.rule, &b.timeout);
    return b;
}

bool wait_would_restart(const ucontext_t *uc, const struct wait_broken *b)
{
    return b->rule != NULL && (b->rule->continuation == CONTINUE_RESTARTED ||
                               (b->rule->number == SYS_futex && wait_argument(uc, 3) == 0));
}

const struct wait_rule *wait_rule_ahead(const ucontext_t *uc)
{
    const struct wait_rule *r = rule_of((long)uc->uc_mcontext.gregs[REG_RAX]);
    return r != NULL && is_system_call(at_of(uc)) ? r : NULL;
}

/* Returns the address of the set that the call takes, or 0. */
static uintptr_t set_of(const ucontext_t *uc, long number)
{
    uintptr_t set = 0;
    switch (number) {
    case SYS_rt_sigsuspend: return (uintptr_t)wait_argument(uc, 0);
    case SYS_ppoll: return (uintptr_t)wait_argument(uc, 3);
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2: return (uintptr_t)wait_argument(uc, 4);
    case SYS_pselect6: /* the argument's address has that of the set */
        (void)sys_read_self((uintptr_t)wait_argument(uc, 5), &set, sizeof set);
        return set;
    default: return 0;
    }
}

uint64_t waits_mask(const void *context, uint64_t mask)
{
    const ucontext_t *uc = context;
    const struct wait_rule *ahead = wait_rule_ahead(uc);
    uintptr_t set = set_of(uc, ahead != NULL        ? ahead->number
                               : wait_is_broken(uc) ? wait_number(uc)
                                                    : -1);
    uint64_t waits;
    return set != 0 && sys_read_self(set, &waits, sizeof waits) == sizeof waits ? waits : mask;
}

#else

bool waits_is_timed(long number)
{
    (void)number;
    return false;
}

#endif
