/* SPDX-License-Identifier: BSD-3-Clause
 * Windows that open, or close, at every instruction of a program, one after the other. With -DTRACER the program that does it: it traces the process
 * whose number is argv[1] (ptrace(2)), lets it go k instructions from a mark on, sends it signal argv[3], and lets it run; for all k of each part of
 * the program below argv[4], and each argv[5]-th. It prints a line for each: the part's first element, the one that is next after those k (by what the array at
 * address argv[2] has), the one behind the part's last, k, and the address of the instruction.
 *
 * Without, the program: memory_anywhere's functions (MEMORY_EVERY), each of which touches the same elements each time. */
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

enum { MARK = 0x7e61, AGAIN = 1 };

#ifdef TRACER

static pid_t pid;
static uintptr_t array_at;

static void failed(const char *what)
{
    perror(what);
    exit(1);
}

/* How many elements of the program's array differ from what they were, from that one on. */
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
    if (ptrace(how, pid, 0, (void *)(uintptr_t)signo) != 0) /* NOLINT: as it takes it */
        failed("ptrace");
}

/* It stops with that signal; 0: it has ended. */
static int stopped(void)
{
    int status;
    if (waitpid(pid, &status, 0) != pid)
        failed("waitpid");
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

/* At a mark: the number that it was given. */
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
           info.si_code != SI_KERNEL; /* behind a system call it is another one than TRAP_TRACE */
}

/* Signals of the program's own, and of the tool's, are its own. */
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

/* One instruction. What pushfq stores has the flag by which this is done, and behind popfq the kernel thinks that the program has set it. */
static int single_step(void)
{
    enum { PUSHF = 0x9c, TRAP_FLAG = 0x100 };
    long code = ptrace(PTRACE_PEEKTEXT, pid, where(), 0);
    step(PTRACE_SINGLESTEP, 0);
    int now = stopped();
    struct user_regs_struct r;
    if (!is_step(now) || ptrace(PTRACE_GETREGS, pid, 0, &r) != 0)
        return now;
    if ((r.eflags & TRAP_FLAG) != 0) {
        r.eflags &= ~(uint64_t)TRAP_FLAG;
        if (ptrace(PTRACE_SETREGS, pid, 0, &r) != 0)
            failed("ptrace");
    }
    if ((code & 0xff) != PUSHF)
        return now;
    long flags = ptrace(PTRACE_PEEKDATA, pid, r.rsp, 0);
    if (ptrace(PTRACE_POKEDATA, pid, r.rsp, flags & ~(long)TRAP_FLAG) != 0)
        failed("ptrace");
    return now;
}

/* From a mark on. False: the part has ended before, or stepping has to: a handler of SIGTRAP (of an int3 that the tool has put into the program) that
 * is stepped through is none any more, the kernel takes the blocked signal for fatal. */
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

int main(int argc, char **argv)
{
    static uint64_t before[MOST_ELEMENTS];
    struct user_regs_struct r;
    unsigned long k = 0;
    if (argc < 6)
        return 2;
    pid = (pid_t)atoi(argv[1]);
    array_at = strtoul(argv[2], NULL, 16);
    int signo = atoi(argv[3]);
    unsigned long most = strtoul(argv[4], NULL, 10), every = strtoul(argv[5], NULL, 10);
    if (ptrace(PTRACE_ATTACH, pid, 0, 0) != 0)
        failed("ptrace");
    if (stopped() == 0 || run_to_mark(0, &r) == 0)
        return 1;
    for (;;) { /* here it stands at a part's begin */
        uint64_t first = r.rdi;
        answer(&r, 0);
        look(first, before);
        int within = k < most && go(k, &r);
        if (k >= most && run_to_mark(0, &r) == 0)
            return 1; /* else the part is over as well: the signal comes behind it */
        unsigned long done = touched(first, before);
        uint64_t at = where();
        if (within && run_to_mark(signo, &r) == 0)
            return 1;
        printf("%lu %lu %lu %lu %lx\n", (unsigned long)first, (unsigned long)first + done,
               (unsigned long)r.rdi, k, (unsigned long)at);
        answer(&r, within ? AGAIN : 0);
        k = within ? k + every : 0;
        if (run_to_mark(within ? 0 : signo, &r) == 0)
            return 0;
    }
}

#else

#define MEMORY_EVERY
#include "memory_anywhere.c"

/* What whoever traces it says; the number is for him. Nothing else is in it: a clone is left for the function itself where it has an int3. */
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

/* Through stubs of the PLT. */
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

int main(void)
{
    static uint64_t (*const parts[])(uint64_t) = {leaf,  loops,  recursion, choose, called, back,
                                                  jumps, thread, odd,       begins, stubs};
    (void)signal(SIGUSR1, SIG_IGN); /* windows may go by them */
    (void)signal(SIGUSR2, SIG_IGN);
    (void)threaded(NULL, 0);
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
    return 0;
}

#endif
