/* SPDX-License-Identifier: BSD-3-Clause
 * The oracle of memory accesses: single-steps all threads of a program in a window by ptrace(2) and
 * prints what each instruction is about to access, from the decoder's operands and the registers.
 * It knows nothing of regtrace and shares no code with it. x86-64.
 *
 *   accesses [-f] [-g] [-w FROM:TO] -r LOW:HIGH -o FILE [VARIABLE=VALUE]... PROGRAM [ARGUMENT]...
 *
 * The program's environment has only these variables (as after env -i, so that its stack has the
 * same place), and its addresses are not randomized. The window lasts from the first thread's
 * arrival at address FROM until a thread's arrival at TO. Outside of it the threads run without
 * steps. Without -w it lasts from the program's entry point to its end.
 *
 * With -f the program has one thread, which also runs without steps outside the mapping of LOW.
 * While it is there, the mapping is not executable, so the thread comes back by a fault.
 *
 * FILE gets a line "THREAD PC R|W|M BYTES ADDRESS" for each access by instructions from LOW to
 * below HIGH:
 * - Threads are numbered in the order of their creation.
 * - The reads of an instruction come first.
 * - A string instruction has the accesses of each repetition.
 * - Addresses are in hexadecimal.
 * - "?" as kind: vectors of addresses, and masks, whose elements the oracle does not determine.
 *
 * With -g it gets a line "regs 0xADDRESS RAX ... R15" for each step of these instructions instead.
 *
 * The last line is "steps N". */
#include "t/oracle/text.h"

#include <Zydis/Zydis.h>

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { UNKNOWN = -1, NO_THREAD = -2 }; /* in place of a thread's number */
enum { TASKS = 256, CODE = 1 << 16, MOST_BYTES = 15 };

struct task {
    pid_t tid;
    int number;
    bool early; /* stopped before its parent's event */
    bool asked; /* a SIGSTOP from this program is on its way */
};

/* Decoded instructions, by address */
struct decoded {
    uint64_t at;
    bool good;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
};

static struct task tasks[TASKS];
static int task_count, numbers;
static pid_t process;
static unsigned long long from, to, low, high, steps;
static bool stepping;        /* the window is open */
static bool fast;            /* -f */
static bool registers_alone; /* -g */
static struct {
    unsigned long long begin, end;
    uint64_t syscall_at; /* a system call instruction outside */
    bool is_barred;      /* not executable */
} own_code;
static struct decoded *code[CODE];
static ZydisDecoder decoder;
static FILE *out;

static void die(const char *what)
{
    fprintf(stderr, "accesses: %s: %s\n", what, strerror(errno));
    exit(99);
}

/* --- Accesses of an instruction --- */

static const struct decoded *decoded_at(uint64_t at)
{
    struct decoded **d = &code[at * UINT64_C(0x9e3779b97f4a7c15) >> 48];
    uint8_t bytes[MOST_BYTES] = {0};
    if (*d != NULL && (*d)->at == at)
        return *d;
    if (*d == NULL && (*d = malloc(sizeof **d)) == NULL)
        die("no memory");
    struct iovec here = {bytes, sizeof bytes}, there = {(void *)at, sizeof bytes};
    ssize_t n = process_vm_readv(process, &here, 1, &there, 1, 0);
    (*d)->at = at;
    (*d)->good = n > 0 && ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, (size_t)n, &(*d)->z,
                                                              (*d)->o));
    return *d;
}

static uint64_t register_of(const struct user_regs_struct *r, ZydisRegister name, uint64_t next)
{
    const unsigned long long all[16] = {r->rax, r->rcx, r->rdx, r->rbx, r->rsp, r->rbp,
                                        r->rsi, r->rdi, r->r8,  r->r9,  r->r10, r->r11,
                                        r->r12, r->r13, r->r14, r->r15};
    switch (ZydisRegisterGetClass(name)) {
    case ZYDIS_REGCLASS_GPR64: return all[ZydisRegisterGetId(name)];
    case ZYDIS_REGCLASS_GPR32: return (uint32_t)all[ZydisRegisterGetId(name)];
    case ZYDIS_REGCLASS_IP: return name == ZYDIS_REGISTER_EIP ? (uint32_t)next : next;
    default: return 0;
    }
}

/* Intel's manual: push and call write below the stack pointer; pop computes the address of its
 * operand with the stack pointer after the pop; leave reads at rbp; xlat adds al. */
static uint64_t address_of(const struct decoded *d, const ZydisDecodedOperand *o,
                           const struct user_regs_struct *r)
{
    bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    bool stack =
        o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP;
    uint64_t base = register_of(r, o->mem.base, d->at + d->z.length), n;
    if (d->z.mnemonic == ZYDIS_MNEMONIC_LEAVE)
        return r->rbp;
    if (stack)
        return writes ? base - o->size / 8 : base;
    if (d->z.mnemonic == ZYDIS_MNEMONIC_POP && o->mem.base == ZYDIS_REGISTER_RSP)
        base += o->size / 8;
    n = base + register_of(r, o->mem.index, 0) * o->mem.scale +
        (o->mem.disp.has_displacement ? (uint64_t)o->mem.disp.value : 0);
    if (d->z.mnemonic == ZYDIS_MNEMONIC_XLAT)
        n += (uint8_t)r->rax;
    if (d->z.address_width == 32)
        n = (uint32_t)n;
    return n + (o->mem.segment == ZYDIS_REGISTER_FS   ? r->fs_base
                : o->mem.segment == ZYDIS_REGISTER_GS ? r->gs_base
                                                      : 0);
}

static bool is_hint(const ZydisDecodedInstruction *z)
{
    return z->meta.category == ZYDIS_CATEGORY_PREFETCH || z->meta.category == ZYDIS_CATEGORY_NOP ||
           z->meta.category == ZYDIS_CATEGORY_WIDENOP || z->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
           z->mnemonic == ZYDIS_MNEMONIC_CLFLUSHOPT || z->mnemonic == ZYDIS_MNEMONIC_LEA;
}

/* Returns true if a register selects the elements that are accessed. */
static bool is_masked(const struct decoded *d, const ZydisDecodedOperand *o)
{
    return o->mem.type == ZYDIS_MEMOP_TYPE_VSIB || d->z.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED ||
           d->z.mnemonic == ZYDIS_MNEMONIC_VMASKMOVPS ||
           d->z.mnemonic == ZYDIS_MNEMONIC_VMASKMOVPD ||
           d->z.mnemonic == ZYDIS_MNEMONIC_VPMASKMOVD || d->z.mnemonic == ZYDIS_MNEMONIC_VPMASKMOVQ;
}

static void say_accesses(const struct task *t, const struct user_regs_struct *r)
{
    const struct decoded *d = decoded_at(r->rip);
    bool repeats = (d->z.attributes &
                    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
    if (!d->good)
        die("bytes that are no instruction");
    if (is_hint(&d->z) || (repeats && r->rcx == 0))
        return;
    for (int writing = 0; writing < 2; writing++)
        for (unsigned k = 0; k < d->z.operand_count; k++) {
            const ZydisDecodedOperand *o = &d->o[k];
            bool reads = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
            bool writes = (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
            if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || reads == (writing == 1) ||
                (!reads && !writes))
                continue;
            char kind = is_masked(d, o) ? '?' : !writes ? 'R' : reads ? 'M' : 'W';
            fprintf(out, "%d %llx %c %u %llx\n", t->number, r->rip, kind, o->size / 8u,
                    (unsigned long long)address_of(d, o, r));
        }
}

/* --- Threads --- */

static struct task *task_of(pid_t tid)
{
    for (int i = 0; i < task_count; i++)
        if (tasks[i].tid == tid)
            return &tasks[i];
    if (task_count == TASKS) {
        errno = EAGAIN;
        die("too many threads");
    }
    tasks[task_count] = (struct task){.tid = tid, .number = UNKNOWN};
    return &tasks[task_count++];
}

static void go_on(const struct task *t, int signo)
{
    (void)ptrace(stepping && !own_code.is_barred ? PTRACE_SINGLESTEP : PTRACE_CONT, t->tid, NULL,
                 (void *)(long)signo);
}

static void set_breakpoint(pid_t tid, uint64_t at)
{
    (void)ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user, u_debugreg[0]), (void *)at);
    (void)ptrace(PTRACE_POKEUSER, tid, (void *)offsetof(struct user, u_debugreg[7]),
                 (void *)(at != 0 ? 1ul : 0ul));
}

/* --- Code outside the program's own --- */

static uint64_t find_syscall(uint64_t begin, uint64_t end)
{
    static uint8_t bytes[4096];
    for (uint64_t at = begin; at < end; at += sizeof bytes) {
        struct iovec here = {bytes, sizeof bytes}, there = {(void *)at, sizeof bytes};
        ssize_t n = process_vm_readv(process, &here, 1, &there, 1, 0);
        for (ssize_t i = 0; i + 1 < n; i++)
            if (bytes[i] == 0x0f && bytes[i + 1] == 0x05)
                return at + (uint64_t)i;
    }
    return 0;
}

static void find_own_code(void)
{
    char path[64], line[512], permissions[5];
    unsigned long long begin, end;
    snprintf(path, sizeof path, "/proc/%d/maps", process);
    FILE *maps = fopen(path, "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (sscanf(line, "%llx-%llx %4s", &begin, &end, permissions) != 3 || permissions[2] != 'x')
            continue;
        else if (low >= begin && low < end)
            own_code.begin = begin, own_code.end = end;
        else if (own_code.syscall_at == 0)
            own_code.syscall_at = find_syscall(begin, end);
    if (maps != NULL)
        (void)fclose(maps);
    if (own_code.end == 0 || own_code.syscall_at == 0)
        die("the program's code, or a system call instruction, is not found");
}

static bool is_own_code(uint64_t at)
{
    return at >= own_code.begin && at < own_code.end;
}

/* Lets the stopped thread execute mprotect(). */
static void bar_own_code(const struct task *t, bool barred)
{
    struct user_regs_struct was, r;
    int status;
    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &was) != 0)
        die("registers");
    r = was;
    r.rip = own_code.syscall_at;
    r.rax = SYS_mprotect;
    r.orig_rax = UINT64_MAX;
    r.rdi = own_code.begin;
    r.rsi = own_code.end - own_code.begin;
    r.rdx = barred ? PROT_READ : PROT_READ | PROT_EXEC;
    if (ptrace(PTRACE_SETREGS, t->tid, NULL, &r) != 0 ||
        ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL) != 0 ||
        waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status) ||
        WSTOPSIG(status) != SIGTRAP || ptrace(PTRACE_GETREGS, t->tid, NULL, &r) != 0 ||
        r.rax != 0 || ptrace(PTRACE_SETREGS, t->tid, NULL, &was) != 0)
        die("mprotect in the program");
    own_code.is_barred = barred;
}

/* Is this stop a thread's return to the program's own code? */
static bool comes_back(const struct task *t, int signo)
{
    struct user_regs_struct r;
    return own_code.is_barred && signo == SIGSEGV &&
           ptrace(PTRACE_GETREGS, t->tid, NULL, &r) == 0 && is_own_code(r.rip);
}

/* --- Steps --- */

/* Stops the other threads, so that they continue in steps. */
static void begin_stepping(const struct task *first)
{
    stepping = true;
    if (fast)
        find_own_code();
    for (int i = 0; i < task_count; i++)
        if (&tasks[i] != first && tasks[i].number >= 0) {
            tasks[i].asked = true;
            (void)syscall(SYS_tgkill, process, tasks[i].tid, SIGSTOP);
        }
}

static void stepped(struct task *t)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &r) != 0)
        return;
    if (!stepping && from != 0 && r.rip == from) {
        set_breakpoint(t->tid, 0);
        from = 0;
        begin_stepping(t);
    } else if (stepping && r.rip == to) {
        stepping = false;
    }
    if (!stepping)
        return;
    steps++;
    if (r.rip >= low && r.rip < high && registers_alone)
        text_say_registers(out, &r);
    else if (r.rip >= low && r.rip < high)
        say_accesses(t, &r);
    if (fast && !is_own_code(r.rip))
        bar_own_code(t, true);
}

/* Lets a thread run. Detaches from it if it belongs to another process. */
static void let_go(struct task *t)
{
    if (t->number == NO_THREAD)
        (void)ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
    else
        go_on(t, 0);
}

static void on_event(int event, pid_t tid)
{
    unsigned long value = 0;
    (void)ptrace(PTRACE_GETEVENTMSG, tid, NULL, &value);
    if (event == PTRACE_EVENT_EXEC) {
        set_breakpoint(tid, from);
        return;
    }
    if (fast && stepping) {
        errno = EINVAL;
        die("-f is for one thread");
    }
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task/%lu", process, value);
    struct task *child = task_of((pid_t)value);
    child->number = access(path, F_OK) == 0 ? ++numbers : NO_THREAD;
    if (child->early)
        let_go(child);
}

static void on_stop(struct task *t, int status)
{
    int signo = WSTOPSIG(status);
    siginfo_t info = {.si_signo = 0};
    if (t->number == UNKNOWN) {
        /* Seen before its parent's event, which will resume it. */
        t->early = true;
        return;
    }
    if (t->number == NO_THREAD) {
        let_go(t);
        return;
    }
    if (status >> 16 != 0) {
        on_event(status >> 16, t->tid);
        signo = 0;
    } else if (signo == SIGSTOP) {
        t->asked = false;
        signo = 0;
        if (stepping)
            stepped(t);
    } else if (comes_back(t, signo)) {
        bar_own_code(t, false);
        stepped(t);
        signo = 0;
    } else if (signo == SIGTRAP && ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) == 0 &&
               info.si_code > 0 && info.si_code != SI_KERNEL) {
        stepped(t);
        signo = 0;
    }
    go_on(t, signo);
}

static int run(pid_t first)
{
    int status, result = 99;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL)) > 0) {
        struct task *t = task_of(tid);
        if (!WIFEXITED(status) && !WIFSIGNALED(status)) {
            on_stop(t, status);
            continue;
        }
        if (tid == first)
            result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        *t = tasks[--task_count];
    }
    return result;
}

static uint64_t entry_point(pid_t pid)
{
    char path[64];
    uint64_t pair[2] = {AT_NULL, 0};
    snprintf(path, sizeof path, "/proc/%d/auxv", pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && pair[0] != AT_ENTRY && fread(pair, sizeof pair, 1, f) == 1)
        ;
    if (f == NULL || pair[0] != AT_ENTRY)
        die(path);
    (void)fclose(f);
    return pair[1];
}

static pid_t start(char **words)
{
    char *variables[TASKS] = {NULL}, **program = words;
    for (int n = 0; *program != NULL && strchr(*program, '=') != NULL && n + 1 < TASKS; program++)
        variables[n++] = *program;
    pid_t pid = *program != NULL ? fork() : -1;
    if (pid == 0) {
        (void)personality(ADDR_NO_RANDOMIZE);
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execve(program[0], program, variables);
        die(program[0]);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        die("the program has not started");
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) != 0)
        die("ptrace");
    process = pid;
    task_of(pid)->number = 0;
    if (from == 0)
        from = entry_point(pid);
    set_breakpoint(pid, from);
    go_on(task_of(pid), 0);
    return pid;
}

int main(int argc, char **argv)
{
    int c;
    while ((c = getopt(argc, argv, "+fgw:r:o:")) != -1) {
        if (c == 'f')
            fast = true;
        else if (c == 'g')
            registers_alone = true;
        else if (c == 'w' && sscanf(optarg, "%llx:%llx", &from, &to) != 2)
            die(optarg);
        else if (c == 'r' && sscanf(optarg, "%llx:%llx", &low, &high) != 2)
            die(optarg);
        else if (c == 'o' && (out = fopen(optarg, "w")) == NULL)
            die(optarg);
    }
    if (out == NULL || optind == argc || high == 0) {
        fprintf(stderr, "usage: accesses [-f] [-g] [-w FROM:TO] -r LOW:HIGH -o FILE "
                        "[VARIABLE=VALUE]... PROGRAM [ARGUMENT]...\n");
        return 99;
    }
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    int result = run(start(argv + optind));
    fprintf(out, "steps %llu\n", steps);
    return fclose(out) == 0 ? result : 99;
}
