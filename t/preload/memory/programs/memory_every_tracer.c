/* SPDX-License-Identifier: BSD-3-Clause
 * Opens or closes a window at every instruction of a program, one after the other.
 *
 * memory_every_tracer WAY PID ADDRESS SIGNAL MOST EVERY [CLOSE]. It traces process PID by
 * ptrace(2), lets it execute k instructions from a mark on, sends it SIGNAL, and lets it run. It
 * does so for each part of the program, and for all k below MOST in steps of EVERY. For each k it
 * prints a line:
 * - WAY
 * - the part's first element
 * - the next element after those k instructions, from the array at ADDRESS
 * - the element after the part's last
 * - k
 * - the address of the instruction
 *
 * With WAY "again" it opens a window by SIGNAL after fewer instructions. After k more it closes the
 * window by the signal CLOSE, and opens the next, at once or some instructions later. It prints two
 * lines: "close", whose first element is the next one when the first window opens, and "open". */
#define _GNU_SOURCE 1 /* process_vm_readv() */
#include "memory_every.h"

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SYSTEM_CALL = SIGTRAP | 0x80 }; /* the signal of a stop at a system call */
enum { MOST_DEPTH = 5003 };            /* instructions of a handler */
enum { TRAP_FLAG = 0x100, SYSCALL = 0x050f, SIGRETURN = 15 };

static pid_t pid;
static uintptr_t array_at;

static void failed(const char *what)
{
    perror(what);
    exit(1);
}

/* look() copies elements of the program's array, from `first` on. touched() returns how many of
 * them differ from `before`, up to the first that does not. */
enum { MOST_ELEMENTS = 256 };

static void look(uint64_t first, uint64_t *into)
{
    struct iovec here = {into, MOST_ELEMENTS * sizeof *into};
    struct iovec there = {(void *)(array_at + first * sizeof *into), here.iov_len}; /* NOLINT */
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) != (ssize_t)here.iov_len)
        failed("process_vm_readv");
}

static unsigned long touched(uint64_t first, const uint64_t *before)
{
    static uint64_t now[MOST_ELEMENTS];
    unsigned long n = 0;
    look(first, now);
    while (n < MOST_ELEMENTS && now[n] != before[n])
        n++;
    return n;
}

static void step(enum __ptrace_request how, int signo)
{
    /* NOLINT: the type that ptrace() takes */
    if (ptrace(how, pid, 0, (void *)(uintptr_t)signo) != 0)
        failed("ptrace");
}

/* Waits for the process to stop. Returns the signal of the stop, or 0 if the process has ended. */
static int stopped(void)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        failed("waitpid");
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* Is the process at a mark? *r gets its registers; rdi has the number of the mark. */
static int at_mark(int signo, struct user_regs_struct *r)
{
    siginfo_t info;
    if (signo != SIGTRAP || ptrace(PTRACE_GETSIGINFO, pid, 0, &info) != 0 ||
        ptrace(PTRACE_GETREGS, pid, 0, r) != 0)
        return 0;
    return info.si_code == SI_KERNEL && r->rax == MARK;
}

static int is_step(int signo)
{
    siginfo_t info;
    return signo == SIGTRAP && ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 &&
           info.si_code != SI_KERNEL; /* after a system call the code is not TRAP_TRACE */
}

/* Runs to the next mark. Passes the other signals, the program's and the tool's, on to the process.
 * Returns 0 if the process has ended. */
static int run_to_mark(int signo, struct user_regs_struct *r)
{
    int now;
    for (;;) {
        step(PTRACE_CONT, signo);
        now = stopped();
        if (now == 0 || at_mark(now, r))
            return now;
        signo = now;
    }
}

static uint64_t where(void)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
        failed("ptrace");
    return r.rip;
}

static void answer(struct user_regs_struct *r, uint64_t value)
{
    r->rax = value;
    if (ptrace(PTRACE_SETREGS, pid, 0, r) != 0)
        failed("ptrace");
}

static int is_trap_blocked(void)
{
    uint64_t blocked = 0;
    if (ptrace(PTRACE_GETSIGMASK, pid, (void *)sizeof blocked, &blocked) != 0) /* NOLINT */
        failed("ptrace");
    return (blocked >> (SIGTRAP - 1) & 1) != 0;
}

/* Runs from a system call that may block SIGTRAP to the end of a system call after which SIGTRAP is
 * not blocked. A single step in between would be fatal: the kernel forces the blocked signal and
 * removes its handler. */
static int run_blocked(void)
{
    for (int within = 1;; within = !within) {
        step(PTRACE_SYSCALL, 0);
        int now = stopped();
        if (now != SYSTEM_CALL)
            return now;
        if (!within && !is_trap_blocked())
            return SIGTRAP;
    }
}

/* Executes one instruction. Returns the signal of the stop. Removes our trap flag from what pushfq
 * stores, and after popfq, where the kernel thinks that the program has set it. */
static int single_step(void)
{
    enum { PUSHF = 0x9c, SIGPROCMASK = 14 };
    struct user_regs_struct r;
    long code = ptrace(PTRACE_PEEKTEXT, pid, where(), 0);
    if ((code & 0xffff) == SYSCALL && ptrace(PTRACE_GETREGS, pid, 0, &r) == 0 &&
        r.rax == SIGPROCMASK)
        return run_blocked();
    step(PTRACE_SINGLESTEP, 0);
    int now = stopped();
    if (now == 0 || ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
        return now;
    if ((r.eflags & TRAP_FLAG) != 0) {
        r.eflags &= ~(uint64_t)TRAP_FLAG;
        if (ptrace(PTRACE_SETREGS, pid, 0, &r) != 0)
            failed("ptrace");
    }
    if ((code & 0xff) != PUSHF || !is_step(now))
        return now;
    long flags = ptrace(PTRACE_PEEKDATA, pid, r.rsp, 0);
    if (ptrace(PTRACE_POKEDATA, pid, r.rsp, flags & ~(long)TRAP_FLAG) != 0)
        failed("ptrace");
    return now;
}

/* Executes k instructions from a mark on. Returns 0 if the part ends before that, or if another
 * signal than that of a step stops the process. Then it must not be stepped: if the handler of
 * SIGTRAP (for an int3 of the tool) is stepped through, the kernel takes the blocked signal as
 * fatal and removes the handler. */
static int go(unsigned long k, struct user_regs_struct *r)
{
    int now = 0;
    for (unsigned long n = 0; n < k; n++) {
        now = single_step();
        if (now == 0)
            exit(1);
        if (at_mark(now, r))
            return 0;
        if (is_step(now))
            continue;
        if (run_to_mark(now, r) == 0)
            exit(1);
        return 0;
    }
    return 1;
}

/* --- trails ----------------------------------------------------------------------------------- */

/* Addresses that the process came to, one for each instruction that it executed. To come to one of
 * them again, it runs to a hardware breakpoint: single steps would take 10,000 times as long. */
struct trail {
    uintptr_t at[100000];
    unsigned long length;
};

static void note(struct trail *t)
{
    if (t->length == sizeof t->at / sizeof *t->at) {
        (void)fputs("a trail is too long\n", stderr);
        exit(1);
    }
    t->at[t->length++] = where();
}

static void set_register(unsigned number, uintptr_t value)
{
    if (ptrace(PTRACE_POKEUSER, pid, offsetof(struct user, u_debugreg[number]), value) != 0)
        failed("a hardware breakpoint");
}

/* Runs until a breakpoint or a signal stops the process. Returns the signal. While SIGTRAP is
 * blocked there are no breakpoints, and no steps (run_blocked()). */
static int run_to_breakpoint(unsigned long enabled)
{
    for (int on = 1;;) {
        step(PTRACE_SYSCALL, 0);
        int now = stopped();
        if (now != SYSTEM_CALL)
            return now;
        if (is_trap_blocked() == on)
            set_register(7, (on = !on) ? enabled : 0);
    }
}

/* Runs along the trail to where it is after n instructions, or to `other` if the process comes
 * there first (0: none). Returns the signal of the stop: SIGTRAP, at one of these places, or what
 * stopped the process on the way. */
static int run_along(const struct trail *t, unsigned long n, uintptr_t other, int *arrived)
{
    enum { FIRST = 1, BOTH = 5, CONTROL = 7 };
    uintptr_t to = t->at[n - 1];
    unsigned long times = 0, enabled = other != 0 ? BOTH : FIRST;
    int now = 0;
    for (unsigned long i = 0; i < n; i++)
        times += t->at[i] == to;
    set_register(0, to);
    set_register(1, other);
    set_register(CONTROL, enabled);
    *arrived = 0;
    while (!*arrived) {
        now = run_to_breakpoint(enabled);
        if (now == 0)
            exit(1);
        if (!is_step(now))
            break;
        uintptr_t at = where();
        *arrived = at == other || (at == to && --times == 0);
    }
    set_register(CONTROL, 0);
    return now;
}

/* The trail of the trial before this one, and whether the process left it. */
static struct trail part;
static int left_trail;

/* As go(). If k is not less than that of the trial before, the process runs along its trail. Sets
 * left_trail if it does not come to its end; then it stands at the next mark. */
static int go_along(unsigned long k, struct user_regs_struct *r)
{
    int arrived;
    if (k < part.length)
        part.length = 0;
    if (part.length != 0) {
        int now = run_along(&part, part.length, 0, &arrived);
        if (!arrived && !at_mark(now, r) && run_to_mark(now, r) == 0)
            exit(1);
        left_trail = !arrived;
        if (left_trail)
            return 0;
    }
    while (part.length < k) {
        if (!go(1, r))
            return 0;
        note(&part);
    }
    return 1;
}

static const char *way;
static int start, stop; /* signals that open and close windows */
static unsigned long most, every;

static void print(const char *what, uint64_t first, uint64_t now, uint64_t end, unsigned long k,
                  uint64_t at)
{
    printf("%s %lu %lu %lu %lu %lx\n", what, (unsigned long)first, (unsigned long)now,
           (unsigned long)end, k, (unsigned long)at);
}

/* Sends the process on with `signo` (0: none), and runs until `count` handlers have returned. */
static void run_handlers(int signo, int count)
{
    int within = 0, over = 0;
    struct user_regs_struct r;
    while (count > 0) {
        step(PTRACE_SYSCALL, signo);
        int now = stopped();
        if (now == 0)
            exit(1);
        signo = now == SYSTEM_CALL ? 0 : now;
        if (now != SYSTEM_CALL)
            continue;
        if (ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
            failed("ptrace");
        within = !within;
        count -= !within && over;
        over = within && r.orig_rax == SIGRETURN;
    }
}

/* Returns the address of the system call that ends the handler which begins. The handler returns to
 * code that consists of `mov $15, %rax` and `syscall`. */
static uintptr_t end_of_handler(void)
{
    enum { MOV_BYTES = 7 };
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
        failed("ptrace");
    uintptr_t end = (uintptr_t)ptrace(PTRACE_PEEKDATA, pid, r.rsp, 0) + MOV_BYTES;
    if ((ptrace(PTRACE_PEEKTEXT, pid, end, 0) & 0xffff) != SYSCALL) {
        (void)fputs("a handler does not return to a sigreturn system call\n", stderr);
        exit(1);
    }
    return end;
}

/* Goes on in a handler that begins: to the instruction `depth`, or to its last one if it has fewer.
 * Each of the three places of a trial (`which`) has a trail, which is made again now and then. That
 * time the handler goes to its last instruction, or to the instruction MOST_DEPTH. */
static void go_into_handler(unsigned long depth, unsigned which)
{
    enum { OFTEN = 64 };
    static struct trail trails[3];
    static unsigned uses[3];
    struct trail *t = &trails[which];
    uintptr_t end = end_of_handler();
    if (uses[which]++ % OFTEN == 0) {
        for (t->length = 0; where() != end && t->length < MOST_DEPTH; note(t))
            if (!is_step(single_step()))
                exit(1);
    } else if (depth > 1) {
        unsigned long n = depth - 1 < t->length ? depth - 1 : t->length;
        int arrived;
        (void)run_along(t, n, end, &arrived);
        if (!arrived) {
            (void)fputs("a handler has not ended\n", stderr);
            exit(1);
        }
    }
}

/* Delivers the signal and runs its handler; then the process is back where it was. If `depth` is
 * not 0, delivers the signal before that instruction of another signal's handler. */
static void run_handler(int signo, unsigned long depth, unsigned which)
{
    enum { POPF = 0x9d };
    struct user_regs_struct r;
    if ((ptrace(PTRACE_PEEKTEXT, pid, where(), 0) & 0xff) == POPF)
        /* The kernel would take the trap flag of our step for the program's own. */
        depth = 0;
    if (ptrace(PTRACE_GETREGS, pid, 0, &r) == 0 && (r.eflags & TRAP_FLAG) != 0)
        /* The tool steps the process: its SIGTRAP comes before any other signal. */
        depth = 0;
    if (depth != 0) {
        /* To this thread: the kernel gives a signal of the process to another thread, since this
         * one is stopped. */
        if (syscall(SYS_tgkill, pid, pid, OTHER) != 0)
            failed("tgkill");
        step(PTRACE_CONT, 0);
        if (stopped() != OTHER)
            exit(1);
        step(PTRACE_SINGLESTEP, OTHER);
        if (!is_step(stopped()))
            exit(1);
        go_into_handler(depth, which);
    }
    run_handlers(signo, 1 + (depth != 0));
}

/* Runs while the tool steps the process by the trap flag. These steps end. */
static void run_steps(void)
{
    struct user_regs_struct r;
    while (ptrace(PTRACE_GETREGS, pid, 0, &r) == 0 && (r.eflags & TRAP_FLAG) != 0)
        run_handlers(0, 1);
}

/* Executes k instructions of a part, then opens or closes a window. Returns whether the part was
 * not over by then. The process then stands at the mark after the part. */
static int once(unsigned long k, struct user_regs_struct *r)
{
    static uint64_t before[MOST_ELEMENTS];
    uint64_t first = r->rdi;
    answer(r, 0);
    look(first, before);
    int within = k < most && go_along(k, r);
    if (k >= most && run_to_mark(0, r) == 0)
        /* If k is not below `most`, run to the end of the part: the signal comes after it. */
        exit(1);
    uint64_t now = first + touched(first, before), at = where();
    if (within && run_to_mark(start, r) == 0)
        exit(1);
    print(way, first, now, r->rdi, k, at);
    return within;
}

/* Returns the instruction of another signal's handler before which a signal comes, for every second
 * signal; 0 for the others. */
static unsigned long depth_of(unsigned long k, unsigned which)
{
    return (k >> which & 1) == 0 ? 0 : 1 + k * 37 * (which + 1) % MOST_DEPTH;
}

static int once_again(unsigned long k, struct user_regs_struct *r)
{
    static uint64_t before[MOST_ELEMENTS];
    uint64_t first = r->rdi;
    answer(r, 0);
    look(first, before);
    if (k >= most) {
        if (run_to_mark(0, r) == 0)
            exit(1);
        return 0;
    }
    if (!go(k * 7 % 23, r))
        return 1;
    run_handler(start, depth_of(k, 0), 0);
    run_steps();
    uint64_t opened = first + touched(first, before);
    int within = go(k, r);
    uint64_t closed = first + touched(first, before), now = closed, at = where();
    int open = within;
    if (within) {
        run_handler(stop, depth_of(k, 1), 1);
        if (k % 3 != 0)
            run_steps();
        open = k % 3 == 0 || go(k * 11 % 97, r);
    }
    if (open) {
        now = first + touched(first, before);
        run_handler(start, depth_of(k, 2), 2);
        if (run_to_mark(0, r) == 0)
            exit(1);
    }
    print("close", opened, closed, r->rdi, k, at);
    if (open)
        print("open", opened, now, r->rdi, k, at);
    return within;
}

int main(int argc, char **argv)
{
    struct user_regs_struct r;
    unsigned long k = 0;
    if (argc < 7)
        return 2;
    way = argv[1];
    pid = (pid_t)atoi(argv[2]);
    array_at = strtoul(argv[3], NULL, 16);
    start = atoi(argv[4]);
    most = strtoul(argv[5], NULL, 10);
    every = strtoul(argv[6], NULL, 10);
    stop = argc > 7 ? atoi(argv[7]) : 0;
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0)
        failed("ptrace");
    if (stopped() == 0 || ptrace(PTRACE_SETOPTIONS, pid, 0, PTRACE_O_TRACESYSGOOD) != 0 ||
        run_to_mark(0, &r) == 0)
        return 1;
    for (;;) { /* the process stands at the begin of a part */
        int within = stop != 0 ? once_again(k, &r) : once(k, &r);
        answer(&r, within || left_trail ? AGAIN : 0);
        if (left_trail)
            left_trail = part.length = 0; /* the same k once more, step by step */
        else if (within)
            k += every;
        else
            k = part.length = 0;
        if (run_to_mark(stop != 0 ? stop : within ? 0 : start, &r) == 0)
            return 0;
    }
}
