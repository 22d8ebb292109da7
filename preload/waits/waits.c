/* SPDX-License-Identifier: BSD-3-Clause
 * Continues the system calls that our signals interrupt.
 *
 * The kernel restarts some calls itself, because our handlers have SA_RESTART. It makes the other
 * calls fail with EINTR, with or without SA_RESTART. At its end our handler finishes such a call:
 *
 * - The kernel knows when the call ends (nanosleep, poll, futex with a timeout): restart_syscall
 *   continues it exactly. The kernel forgets the end time when a handler returns through it, so the
 *   handler itself makes the call. If a handler of the program ran on top of ours, it has returned
 *   through the kernel. Then restart_syscall fails with EINTR, and the program gets EINTR, as it
 *   should.
 * - The call has a relative timeout: the handler makes the call with the remaining time. Either the
 *   kernel wrote that time into memory (ppoll, select), or the wrapper of the call noted when the
 *   call began (wait_calls.c). Without a note the timeout starts at the first interruption.
 * - The call has no timeout or an absolute one: the program executes the instruction again.
 *
 * The handler makes such a call through waits_call(), under the program's signal mask. If our
 * signal interrupts that call, its handler does not return through the kernel but by
 * waits_resume(). So stack frames do not pile up, and the kernel does not forget the end time.
 *
 * If a handler of the program runs between the interruption and the continuation, the call ends
 * with EINTR, as it would without us: waits_program_comes(). */
#include "preload/waits/waits.h"

#include "base/clock.h"
#include "base/sys.h"
#include "preload/count/counting.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_frames.h"
#include "preload/stack/with_room.h"
#include "preload/valgrind.h"
#include "preload/waits/wait_calls.h"
#include "preload/waits/wait_transfers.h"
#include "preload/waits/interrupted_call.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>

__thread struct signals_seen signals_seen;

/* The kernel sets uc_link of a context to NULL and never reads it. We store these marks in it: a
 * handler of the program ran on top of our handler before ours had read signals_seen. */
enum { MARK_PROGRAM = 1, MARK_BREAKING = 2 };

#if defined(__x86_64__)

#define NOTE_REACH 768u /* most stack bytes between a wrapper and its syscall */

extern const uint8_t signals_handler_counted[] __attribute__((visibility("hidden")));
extern const uint8_t waits_call_begins[] __attribute__((visibility("hidden")));
extern const uint8_t waits_call_ends[] __attribute__((visibility("hidden")));
long waits_call(const uint64_t *mask, long number, const long arguments[6], void *context)
    __attribute__((visibility("hidden")));
_Noreturn void waits_resume(const void *context) __attribute__((visibility("hidden")));

/* The call that the thread is about to make again: address of its instruction, stack pointer. If a
 * handler of the program comes at exactly that instruction, it interrupts the call: a handler
 * without SA_RESTART always, one with it if AGAIN_ALWAYS is set. Nothing clears this after the
 * call: to the program, a signal that comes there later looks like one that came a moment after the
 * call. */
static __thread struct {
    uintptr_t at;
    uintptr_t stack; /* shifted left by one bit; user addresses are below 2^63 */
} again;
#define AGAIN_ALWAYS 1u /* lowest bit: SA_RESTART handlers end the call too */

static uintptr_t at_of(const ucontext_t *uc)
{
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
}

static uintptr_t stack_of(const ucontext_t *uc)
{
    return (uintptr_t)uc->uc_mcontext.gregs[REG_RSP];
}

/* Returns the note of when this call began, or NULL. libc's epoll_wait() may make epoll_wait or
 * epoll_pwait. */
static const struct wait_note *note_for(const ucontext_t *uc, long number)
{
    const struct wait_note *n = &wait_noted;
    bool fits = n->clock != 0 && n->stack - stack_of(uc) <= NOTE_REACH &&
                n->first == (int32_t)wait_argument(uc, 0) &&
                ((n->number & ~WAIT_CONNECTING) == number ||
                 (n->number == SYS_epoll_pwait && number == SYS_epoll_wait));
    return fits ? n : NULL;
}

/* Cached, because a small alternate stack may have room to read this, but not to ask valgrind. */
static bool under_valgrind;

void waits_prepare(void)
{
    under_valgrind = valgrind_request(VALGRIND_RUNNING, 0, 0) != 0;
}

static bool can_continue(void)
{
    return processes_vfork_depth == 0 && !under_valgrind;
}

/* --- handlers that interrupt waits_call() ----------------------------------------------------- */

static bool is_within(const ucontext_t *uc)
{
    uintptr_t at = at_of(uc);
    return at >= (uintptr_t)waits_call_begins && at <= (uintptr_t)waits_call_ends;
}

/* Is the call in waits_call() unfinished: without a result, or with EINTR because of a signal? */
static bool is_waiting(const ucontext_t *uc)
{
    return is_within(uc) &&
           (at_of(uc) != (uintptr_t)waits_call_ends || uc->uc_mcontext.gregs[REG_RAX] == -EINTR);
}

void *waits_place(void *context)
{
    const ucontext_t *uc = context;
    return is_within(uc) ? (void *)uc->uc_mcontext.gregs[REG_RBX] : context; /* NOLINT */
}

bool waits_call_can_go_on(const void *context)
{
    const ucontext_t *uc = context;
    if (is_within(uc) || !wait_is_broken(uc))
        return true;
    struct wait_broken b = wait_look(uc);
    return can_continue() && (b.continuation != CONTINUE_NONE || wait_would_restart(uc, &b));
}

bool waits_call_goes_on(const void *context)
{
    const ucontext_t *uc = context;
    return is_within(uc) || wait_is_broken(uc) || wait_is_restarting(uc) ||
           (at_of(uc) == again.at && stack_of(uc) == again.stack >> 1);
}

struct waits_arrival waits_arrive(const siginfo_t *info, void *context, struct signals_seen seen)
{
    ucontext_t *uc = context;
    uintptr_t marks = (uintptr_t)uc->uc_link;
    bool fault = info->si_code > 0 && (sys_raised_signals() & sys_signal_bit(info->si_signo)) != 0;
    if (RT_UNLIKELY(marks != 0 && marks <= (MARK_PROGRAM | MARK_BREAKING))) {
        uc->uc_link = NULL;
        seen.program--;
        seen.breaking -= (marks & MARK_BREAKING) != 0;
    }
    return (struct waits_arrival){
        .seen = seen,
        .at = !fault && wait_is_broken(uc) ? (int64_t)clock_monotonic_ns() : 0,
        .ip = !fault && memory_is_traced && wait_is_over(uc) ? at_of(uc) : 0,
        .fault = fault,
    };
}

bool waits_is_lost(const void *context)
{
    const ucontext_t *uc = context;
    return !is_within(uc) && wait_is_broken(uc) &&
           (!can_continue() || wait_look(uc).continuation == CONTINUE_NONE);
}

/* Gives the program EINTR. Clears %rcx, so that our next signal does not mistake this context for a
 * call that it has interrupted itself (wait_is_broken()). */
static void give(ucontext_t *uc)
{
    if (uc->uc_mcontext.gregs[REG_RAX] <= 0) /* else it is the count of a transfer */
        uc->uc_mcontext.gregs[REG_RAX] = -EINTR;
    uc->uc_mcontext.gregs[REG_RCX] = 0;
}

/* Ends a call with this result that the kernel or we have set up to be executed again. */
static void end_restarted(ucontext_t *uc, long result)
{
    uc->uc_mcontext.gregs[REG_RAX] = result;
    uc->uc_mcontext.gregs[REG_RIP] += 2;
    uc->uc_mcontext.gregs[REG_RCX] = 0;
}

void waits_program_comes(void *context, bool restarts)
{
    ucontext_t *uc = context;
    uintptr_t at = at_of(uc);
    if (at >= (uintptr_t)signals_handler && at < (uintptr_t)signals_handler_counted) {
        ucontext_t *below = (ucontext_t *)uc->uc_mcontext.gregs[REG_RDX]; /* NOLINT: its argument */
        uintptr_t marks = MARK_PROGRAM | (restarts ? 0 : MARK_BREAKING);
        below->uc_link = (ucontext_t *)((uintptr_t)below->uc_link | marks); /* NOLINT: no pointer */
    } else if (is_within(uc) && at != (uintptr_t)waits_call_ends) {
        uc->uc_mcontext.gregs[REG_RAX] = -EINTR;
        uc->uc_mcontext.gregs[REG_RIP] = (greg_t)(uintptr_t)waits_call_ends;
    } else if (at == again.at && stack_of(uc) == again.stack >> 1) {
        if (wait_rule_ahead(uc) != NULL && ((again.stack & AGAIN_ALWAYS) != 0 || !restarts))
            end_restarted(uc, -EINTR);
    }
}

/* --- continuing ------------------------------------------------------------------------------- */

static bool program_came(struct signals_seen seen)
{
    return signals_seen.program != seen.program;
}

/* Makes the program execute the call again. Signals are blocked from here on, so a handler of the
 * program runs either before this or at `again`. */
static void execute_again(ucontext_t *uc, long number, struct signals_seen seen)
{
    (void)sys_block_signals();
    if (program_came(seen)) {
        give(uc);
        return;
    }
    uc->uc_mcontext.gregs[REG_RAX] = number;
    uc->uc_mcontext.gregs[REG_RIP] -= 2;
    again = (typeof(again)){.at = at_of(uc), .stack = stack_of(uc) << 1 | AGAIN_ALWAYS};
}

/* Prepares for a call that the kernel is about to restart. */
static void let_restart(ucontext_t *uc, struct signals_seen seen)
{
    (void)sys_block_signals();
    again = (typeof(again)){.at = at_of(uc), .stack = stack_of(uc) << 1};
    if (signals_seen.breaking != seen.breaking) {
        end_restarted(uc, -EINTR);
    }
}

long wait_once(ucontext_t *uc, long number, const long arguments[6], struct signals_seen seen)
{
    uint64_t mask;
    memcpy(&mask, &uc->uc_sigmask, sizeof mask);
    (void)sys_block_signals();
    return program_came(seen) ? -EINTR : waits_call(&mask, number, arguments, uc);
}

static long wait_by_kernel(ucontext_t *uc, struct signals_seen seen)
{
    static const long none[6];
    long rc;
    do
        rc = wait_once(uc, SYS_restart_syscall, none, seen);
    while (rc == WAIT_AGAIN);
    return rc;
}

static struct timespec time_until(int64_t end)
{
    int64_t left = end - (int64_t)clock_monotonic_ns();
    left = left > 0 ? left : 0;
    return (struct timespec){.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
}

/* Makes the call with the time that remains until `end`. If the kernel writes the remaining time
 * into the program's memory, this does too; either fails if that is read-only. epoll_wait becomes
 * epoll_pwait2, which takes ns. */
static long wait_until(ucontext_t *uc, const struct wait_broken *b, int64_t end,
                       struct signals_seen seen)
{
    const struct wait_rule *r = b->rule;
    long number = r->number, arguments[6], rc;
    struct timespec left;
    struct timeval rest;
    wait_arguments(uc, arguments);
    arguments[r->timeout] = r->unit == UNIT_TIMEVAL ? (long)&rest : (long)&left;
    if (r->unit == UNIT_MS) {
        number = SYS_epoll_pwait2;
        if (r->number == SYS_epoll_wait)
            arguments[4] = 0;
    }
    do {
        left = time_until(end);
        rest = (struct timeval){.tv_sec = left.tv_sec, .tv_usec = (left.tv_nsec + 999) / 1000};
        rc = wait_once(uc, number, arguments, seen);
    } while (rc == WAIT_AGAIN);
    if (b->continuation == CONTINUE_REMAINING)
        (void)sys_write_self((uintptr_t)wait_argument(uc, r->timeout),
                             (const void *)arguments[r->timeout], sizeof rest); /* NOLINT */
    return rc;
}

long wait_poll(ucontext_t *uc, struct pollfd *fd, int64_t end, struct signals_seen seen)
{
    struct timespec left;
    const long arguments[6] = {(long)fd, 1, (long)&left, 0, 0, 0};
    long rc;
    do {
        left = time_until(end);
        rc = wait_once(uc, SYS_ppoll, arguments, seen);
    } while (rc == WAIT_AGAIN);
    return rc;
}

void wait_go_on(ucontext_t *uc, const struct wait_broken *b, struct waits_arrival came)
{
    struct signals_seen seen = came.seen;
    if (b->continuation == CONTINUE_TRANSFER) {
        if (transfer_go_on(uc, seen))
            execute_again(uc, wait_number(uc), seen);
        return;
    }
    if (b->continuation == CONTINUE_TERMINAL) {
        if (wait_for_terminal(uc, b->timeout, seen) != 0)
            let_restart(uc, seen);
        else
            end_restarted(uc, 0);
        return;
    }
    const struct wait_note *n =
        b->continuation == CONTINUE_REMAINING ? NULL : note_for(uc, b->rule->number);
    int64_t end = (n != NULL ? (int64_t)n->clock : came.at) + b->timeout;
    long rc =
        b->continuation == CONTINUE_KERNEL ? wait_by_kernel(uc, seen)
        : b->continuation == CONTINUE_SOCKET
            ? wait_for_socket(uc, b, n != NULL && (n->number & WAIT_CONNECTING) != 0, end, seen)
            : wait_until(uc, b, end, seen);
    if (rc == WAIT_AGAIN)
        execute_again(uc, b->rule->number, seen);
    else if (rc == -EINTR)
        give(uc);
    else
        uc->uc_mcontext.gregs[REG_RAX] = rc;
}

/* --- the end of our handler ------------------------------------------------------------------- */

/* Returns true if a signal of ours alone has cut a transfer of data short, so that we must transfer
 * the rest. If a handler of the program ran too, the short count is the right result: then this
 * clears %rcx, so that our next signal does not take the call for one to continue. */
static bool is_cut_short(ucontext_t *uc, struct signals_seen seen)
{
    if (uc->uc_mcontext.gregs[REG_RAX] <= 0 || !wait_is_over(uc))
        return false;
    if (program_came(seen)) {
        uc->uc_mcontext.gregs[REG_RCX] = 0;
        return false;
    }
    return transfer_is_short(uc);
}

/* There is no room to continue the call on the alternate stack, and no other stack. */
static void cannot_move(ucontext_t *uc, const struct wait_broken *b, struct waits_arrival came)
{
    struct recorder_thread *t = &recorder_self;
    if (b->continuation == CONTINUE_TERMINAL) {
        let_restart(uc, came.seen);
        return;
    }
    if (t->row != NULL && recorder_is_attached(t))
        t->row->interrupted++;
    give(uc);
}

/* Is the thread about to execute a read again that a terminal ends after VTIME? */
static bool is_timed_read(const ucontext_t *uc, const struct wait_rule *ahead,
                          struct wait_broken *b)
{
    struct wait_terminal how;
    if (ahead->number != SYS_read || !wait_look_at_terminal((int)wait_argument(uc, 0), &how) ||
        how.least != 0 || how.tenths == 0)
        return false;
    *b = (struct wait_broken){.rule = ahead,
                              .continuation = CONTINUE_TERMINAL,
                              .timeout = (int64_t)how.tenths * 100000000};
    return true;
}

/* As if our signal had interrupted the call. */
static void break_restarting(ucontext_t *uc)
{
    greg_t *r = uc->uc_mcontext.gregs;
    r[REG_RIP] += 2;
    r[REG_RCX] = r[REG_RIP];
    r[REG_RAX] = -EINTR;
}

static void finish_call(ucontext_t *uc, struct waits_arrival came, bool programs)
{
    struct wait_broken b = {.continuation = CONTINUE_NONE};
    if (!programs && wait_is_restarting(uc))
        break_restarting(uc);
    if (!wait_is_broken(uc)) {
        const struct wait_rule *ahead = programs ? NULL : wait_rule_ahead(uc);
        if (ahead != NULL && !is_timed_read(uc, ahead, &b))
            let_restart(uc, came.seen);
        if (ahead == NULL && is_cut_short(uc, came.seen))
            b.continuation = CONTINUE_TRANSFER;
        if (b.continuation == CONTINUE_NONE)
            return;
    } else if (!program_came(came.seen)) {
        b = wait_look(uc);
        if (came.handed_on && wait_would_restart(uc, &b))
            b.continuation = CONTINUE_AGAIN;
    }
    if (b.continuation == CONTINUE_AGAIN) {
        execute_again(uc, b.rule->number, came.seen);
    } else if (b.continuation == CONTINUE_NONE) {
        give(uc);
    } else if (wait_has_room(uc)) {
        wait_go_on(uc, &b, came);
    } else if (!wait_move_stack(uc, &b, came)) {
        cannot_move(uc, &b, came);
    }
}

static void enter_again(void *uc)
{
    memory_enter_again(uc);
}

/* A window of a memory trace that opened or closed in this handler has moved the thread into an
 * instrumented copy of its function, or out of it. The system call goes on in the original code:
 * only there it is directly before the thread's place. */
void waits_continue(void *context, struct waits_arrival came, bool programs)
{
    ucontext_t *uc = context;
    greg_t *r = uc->uc_mcontext.gregs;
    if (came.fault || !can_continue() || is_within(uc))
        return;
    bool moved = came.ip != 0 && at_of(uc) != came.ip, entered = moved && memory_is_made(at_of(uc));
    if (entered)
        r[REG_RIP] = (greg_t)came.ip;
    else if (moved)
        r[REG_RCX] = r[REG_RIP]; /* the same place of the original code */
    finish_call(uc, came, programs);
    bool stayed = at_of(uc) == came.ip || at_of(uc) == came.ip - 2; /* not on another stack */
    if (entered && stayed)
        run_with_room(uc, enter_again, uc);
}

void waits_leave(void *context, struct waits_arrival came)
{
    if (is_waiting(context) && !program_came(came.seen))
        waits_resume(context);
}

#endif
