/* SPDX-License-Identifier: BSD-3-Clause
 * Opens or closes a window at every instruction of a program, one after the other.
 *
 * With -DTRACER this is the tracer: tracer WAY PID ADDRESS SIGNAL MOST EVERY [CLOSE]. It traces
 * process PID by ptrace(2), lets it execute k instructions from a mark on, sends it SIGNAL, and
 * lets it run. It does so for each part of the program, and for all k below MOST in steps of EVERY.
 * For each k it prints a line:
 * - WAY
 * - the part's first element
 * - the next element after those k instructions, from the array at ADDRESS
 * - the element after the part's last
 * - k
 * - the address of the instruction
 *
 * With WAY "again" it opens a window by SIGNAL after fewer instructions. After k more it closes the
 * window by the signal CLOSE, and opens the next, at once or some instructions later. It prints two
 * lines: "close", whose first element is the next one when the first window opens, and "open".
 *
 * Without -DTRACER this is the program: memory_anywhere's functions (MEMORY_EVERY), each of which
 * touches the same elements each time. With the argument "another" it has another thread, which
 * waits. */
#define _GNU_SOURCE 1 /* process_vm_readv() */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MARK = 0x7e61, AGAIN = 1, SYSTEM_CALL = SIGTRAP | 0x80 };
enum { TRAP_FLAG = 0x100, SYSCALL = 0x050f, SIGRETURN = 15 };
/* A real-time signal: handlers of others wait until a copy shares its place with the function. */
enum { OTHER = 50 };

#ifdef TRACER

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

/* Runs from a system call that may block SIGTRAP to the end of a system call after which SIGTRAP is
 * not blocked. A single step in between would be fatal: the kernel forces the blocked signal and
 * removes its handler. */
static int run_blocked(void)
{
    for (int within = 1;; within = !within) {
        uint64_t blocked = 0;
        step(PTRACE_SYSCALL, 0);
        int now = stopped();
        if (now != SYSTEM_CALL)
            return now;
        if (ptrace(PTRACE_GETSIGMASK, pid, (void *)sizeof blocked, &blocked) != 0) /* NOLINT */
            failed("ptrace");
        if (!within && (blocked >> (SIGTRAP - 1) & 1) == 0)
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

static const char *way;
static int start, stop; /* signals that open and close windows */
static unsigned long most, every;

static void print(const char *what, uint64_t first, uint64_t now, uint64_t end, unsigned long k,
                  uint64_t at)
{
    printf("%s %lu %lu %lu %lu %lx\n", what, (unsigned long)first, (unsigned long)now,
           (unsigned long)end, k, (unsigned long)at);
}

/* Is the process about to return from a handler? */
static int returns(void)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
        failed("ptrace");
    return r.rax == SIGRETURN && (ptrace(PTRACE_PEEKTEXT, pid, r.rip, 0) & 0xffff) == SYSCALL;
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

/* Delivers the signal and runs its handler; then the process is back where it was. If `depth` is
 * not 0, delivers the signal before that instruction of another signal's handler, or before its
 * last instruction if it has fewer. */
static void run_handler(int signo, unsigned long depth)
{
    enum { POPF = 0x9d };
    if ((ptrace(PTRACE_PEEKTEXT, pid, where(), 0) & 0xff) == POPF)
        /* The kernel would take the trap flag of our step for the program's own. */
        depth = 0;
    if (depth != 0) {
        if (kill(pid, OTHER) != 0)
            failed("kill");
        step(PTRACE_CONT, 0);
        if (stopped() != OTHER)
            exit(1);
        step(PTRACE_SINGLESTEP, OTHER);
        if (!is_step(stopped()))
            exit(1);
    }
    for (unsigned long n = 1; n < depth && !returns(); n++)
        if (!is_step(single_step()))
            exit(1);
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
    int within = k < most && go(k, r);
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
    enum { MOST_DEPTH = 5003 };
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
    run_handler(start, depth_of(k, 0));
    run_steps();
    uint64_t opened = first + touched(first, before);
    int within = go(k, r);
    uint64_t closed = first + touched(first, before), now = closed, at = where();
    int open = within;
    if (within) {
        run_handler(stop, depth_of(k, 1));
        if (k % 3 != 0)
            run_steps();
        open = k % 3 == 0 || go(k * 11 % 97, r);
    }
    if (open) {
        now = first + touched(first, before);
        run_handler(start, depth_of(k, 2));
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
        answer(&r, within ? AGAIN : 0);
        k = within ? k + every : 0;
        if (run_to_mark(stop != 0 ? stop : within ? 0 : start, &r) == 0)
            return 0;
    }
}

#else

#define MEMORY_EVERY
#include "memory_anywhere.c"

#include "another.inc"

static void nothing(int signo)
{
    (void)signo;
}

/* Stops for the tracer, which reads n. Returns the tracer's answer. Does nothing else, because an
 * instrumented copy leaves for the function itself at an int3. */
APART static uint64_t mark(uint64_t n)
{
    uint64_t said = MARK;
    __asm__ volatile("int3" : "+a"(said) : "D"(n) : "memory");
    return said;
}

static uint64_t recursion(uint64_t n)
{
    return recurse(n, 2);
}

static uint64_t called(uint64_t n)
{
    return library(array, n, leaf);
}

/* Calls functions through stubs of the PLT. */
static uint64_t stubs(uint64_t n)
{
    for (int i = 0; i < 3; i++) {
        n = leaf(n) + ((unsigned)getpagesize() & 1);
        n = touch(n) + ((unsigned)getppid() & 0);
    }
    return n;
}

static int is_traced(void)
{
    char line[256];
    int tracer = 0;
    FILE *f = fopen("/proc/self/status", "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        (void)sscanf(line, "TracerPid: %d", &tracer);
    if (f != NULL)
        (void)fclose(f);
    return tracer != 0;
}

int main(int argc, char **argv)
{
    bool beside = argc > 1 && strcmp(argv[1], "another") == 0;
    static uint64_t (*const parts[])(uint64_t) = {leaf,  loops,  recursion, choose, called, back,
                                                  jumps, thread, odd,       begins, stubs};
    (void)signal(SIGUSR1, SIG_IGN); /* these signals may open and close windows */
    (void)signal(SIGUSR2, SIG_IGN);
    (void)signal(OTHER, nothing);
    (void)threaded(NULL, 0);
    if (beside && !another_begins())
        return 1;
    sorted_count = 3;
    printf("%d %lx\n", (int)getpid(), (unsigned long)(uintptr_t)array);
    (void)fflush(stdout);
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (int n = 0; !is_traced(); n++) {
        if (n == 3000)
            return 1;
        (void)usleep(10000);
    }
    for (unsigned p = 0; p < sizeof parts / sizeof *parts; p++) {
        uint64_t first = 100 * p + 7, end = parts[p](first), now, again;
        do {
            begin_all();
            (void)mark(first);
            now = parts[p](first);
            again = mark(now);
            end_all();
            if (now != end)
                abort();
        } while (again == AGAIN);
    }
    if (beside && !another_ends())
        return 1;
    return 0;
}

#endif
