/* SPDX-License-Identifier: BSD-3-Clause
 * Unwinds from each instruction that executes for a probe: in libregtrace, and in memory without a
 * file.
 *
 * unwind HOW LIBRARY: runs itself with the library preloaded, steps through outer() -> middle() ->
 * inner() -> leaf() by ptrace, and sends a signal at each instruction in the library's text or in
 * memory without a file. HOW trace: the handler checks backtrace(3). throw: the handler throws, and
 * outer() catches. Prints how many instructions were tried in memory without a file and in the
 * library, how many had the signal blocked, and how many went wrong. */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Puts each function into its own section, so that its begin and end are known. */
#define IN(name) __attribute__((noinline, noclone, section(name "_text")))
extern "C" {
extern char __start_inner_text[], __stop_inner_text[], __start_middle_text[], __stop_middle_text[];
extern char __start_outer_text[], __stop_outer_text[], __start_leaf_text[], __stop_leaf_text[];
extern char __start_main_text[], __stop_main_text[];
long inner(long x);
long leaf(long x);
}

/* A probe at the entry displaces several instructions that move the stack pointer; a probe at
 * `called` displaces a call; a probe at `place` displaces one long instruction. */
asm(".pushsection inner_text, \"ax\", @progbits\n"
    ".globl inner, called, place\n"
    ".type inner, @function\n"
    "inner:\n"
    ".cfi_startproc\n"
    "	push %rbx\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	.cfi_rel_offset %rbx, 0\n"
    "	push %r12\n"
    "	.cfi_adjust_cfa_offset 8\n"
    "	.cfi_rel_offset %r12, 0\n"
    "	sub $24, %rsp\n"
    "	.cfi_adjust_cfa_offset 24\n"
    "	mov %rdi, %rbx\n"
    "called:\n"
    "	call leaf\n"
    "place:\n"
    "	lea 1000(%rax,%rbx), %rax\n"
    "	add $24, %rsp\n"
    "	.cfi_adjust_cfa_offset -24\n"
    "	pop %r12\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	.cfi_restore %r12\n"
    "	pop %rbx\n"
    "	.cfi_adjust_cfa_offset -8\n"
    "	.cfi_restore %rbx\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size inner, . - inner\n"
    ".popsection\n"
    ".pushsection leaf_text, \"ax\", @progbits\n"
    ".globl leaf\n"
    ".type leaf, @function\n"
    "leaf:\n"
    ".cfi_startproc\n"
    "	push %rbp\n"
    "	.cfi_def_cfa_offset 16\n"
    "	.cfi_offset %rbp, -16\n"
    "	mov %rsp, %rbp\n"
    "	.cfi_def_cfa_register %rbp\n"
    "	lea 3(%rdi), %rax\n"
    "	pop %rbp\n"
    "	.cfi_def_cfa %rsp, 8\n"
    "	ret\n"
    ".cfi_endproc\n"
    ".size leaf, . - leaf\n"
    ".popsection\n");

static bool throwing;
static volatile long wrong, checked, destroyed;
static volatile bool inside; /* inside outer() */

struct Owner {
    long number;
    ~Owner()
    {
        destroyed = destroyed + 1;
    }
};

IN("middle") static long middle(long x)
{
    Owner owner{x};
    return inner(x) + owner.number;
}

IN("outer") static long outer(long x)
{
    try {
        return middle(x) + 1;
    } catch (int thrown) {
        raise(SIGSTOP);
        return x + thrown;
    }
}

static bool is_in(void *at, const char *from, const char *to)
{
    return (char *)at >= from && (char *)at <= to;
}

static void on_signal(int)
{
    /* Innermost first: after a function has returned it is not on the stack any more. */
    static char *const texts[][2] = {{__start_leaf_text, __stop_leaf_text},
                                     {__start_inner_text, __stop_inner_text},
                                     {__start_middle_text, __stop_middle_text},
                                     {__start_outer_text, __stop_outer_text},
                                     {__start_main_text, __stop_main_text}};
    enum { LEAF, INNER, MIDDLE, OUTER, MAIN, TEXTS };
    void *frames[64];
    int n = backtrace(frames, 64), i = 0, first = TEXTS, text = TEXTS;
    for (; i < n && first == TEXTS; i += first == TEXTS)
        for (text = 0; text < TEXTS && first == TEXTS; text++)
            first = is_in(frames[i], texts[text][0], texts[text][1]) ? text : TEXTS;
    bool right = first < TEXTS;
    for (text = first; right && text < TEXTS; text++, i++)
        right = i < n && is_in(frames[i], texts[text][0], texts[text][1]);
    if (inside) {
        checked = checked + 1;
        wrong = wrong + !right;
        /* Does not throw where compiled code does not expect it: after the call in middle(). */
        if (throwing && first <= INNER)
            throw 7;
    }
    raise(SIGSTOP);
}

static void *wait_for_ever(void *)
{
    pause();
    return nullptr;
}

/* Stops by SIGSTOP before each call of outer(), and at the end. */
IN("main") static int traced(long times)
{
    struct sigaction action = {};
    void *warm[4];
    pthread_t thread;
    action.sa_handler = on_signal;
    action.sa_flags = SA_NODEFER;
    if (getenv("UNWIND_THREADS") != nullptr)
        pthread_create(&thread, nullptr, wait_for_ever, nullptr);
    sigaction(SIGUSR1, &action, nullptr);
    (void)backtrace(warm, 4);
    long sum = 0, caught = 0;
    for (long i = 0; i < 8; i++)
        (void)outer(i);
    for (long i = 0; i < times; i++) {
        long before = destroyed;
        raise(SIGSTOP);
        inside = true;
        long got = outer(1);
        inside = false;
        sum += got;
        caught += got == 8;
        if ((got != 8 && got != 1 + 3 + 1 + 1000 + 1 + 1) || destroyed != before + 1)
            wrong = wrong + 1;
    }
    printf("wrong %ld checked %ld caught %ld\n", wrong, checked, caught);
    fflush(stdout);
    raise(SIGSTOP);
    return sum == 0;
}

/* --- the tracer ------------------------------------------------------------------------------- */

struct Range {
    uint64_t from, to;
    bool library;
};

static std::vector<Range> code_of(pid_t pid)
{
    std::vector<Range> ranges;
    char line[4096], path[4096];
    FILE *f = fopen(("/proc/" + std::to_string(pid) + "/maps").c_str(), "r");
    while (f != nullptr && fgets(line, sizeof line, f) != nullptr) {
        unsigned long from, to;
        char flags[8];
        path[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %4095s", &from, &to, flags, path) < 3 ||
            flags[2] != 'x')
            continue;
        if (path[0] == '\0' || strstr(path, "libregtrace.so") != nullptr)
            ranges.push_back({from, to, path[0] != '\0'});
    }
    if (f != nullptr)
        fclose(f);
    return ranges;
}

static const Range *range_of(const std::vector<Range> &ranges, uint64_t at)
{
    for (const Range &r : ranges)
        if (at >= r.from && at < r.to)
            return &r;
    return nullptr;
}

static user_regs_struct registers(pid_t pid)
{
    user_regs_struct regs = {};
    ptrace(PTRACE_GETREGS, pid, nullptr, &regs);
    return regs;
}

static bool is_blocked(pid_t pid)
{
    uint64_t mask = 0;
    ptrace((__ptrace_request)0x420a /* PTRACE_GETSIGMASK */, pid, sizeof mask, &mask);
    return (mask >> (SIGUSR1 - 1) & 1) != 0;
}

/* Continues the process. Returns the signal of its next stop, or -1 if it has ended. */
static int go(pid_t pid, __ptrace_request how, long signal)
{
    int status;
    ptrace(how, pid, nullptr, signal);
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        return -1;
    return WSTOPSIG(status);
}

static bool is_int3(pid_t pid, int signal)
{
    siginfo_t info = {};
    ptrace(PTRACE_GETSIGINFO, pid, nullptr, &info);
    return signal == SIGTRAP && info.si_code == SI_KERNEL;
}

/* Returns the signal to pass to the process, or 0: steps and stops are ours, but an int3 is the
 * program's. */
static int its_own(pid_t pid, int signal)
{
    bool ours = signal == SIGSTOP || (signal == SIGTRAP && !is_int3(pid, signal));
    return ours ? 0 : signal;
}

/* Executes one instruction, or one int3 and its handler. A step while SIGTRAP is blocked would
 * remove the handler. */
static int step(pid_t pid, int before)
{
    int status, signal = its_own(pid, before);
    if (signal != SIGTRAP)
        return go(pid, PTRACE_SINGLESTEP, signal);
    do {
        ptrace(PTRACE_SYSCALL, pid, nullptr, signal);
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
            return -1;
        signal = 0;
    } while (registers(pid).orig_rax != SYS_rt_sigreturn);
    return go(pid, PTRACE_SINGLESTEP, 0);
}

/* Runs until the process stops itself. Returns false if it ends before that. */
static bool go_on(pid_t pid, int signal)
{
    for (int got; (got = go(pid, PTRACE_CONT, signal)) > 0; signal = its_own(pid, got))
        if (got == SIGSTOP)
            return true;
    return false;
}

static int step_through(const char *how, const char *library, const char *self)
{
    enum { TIMES = 400 };
    bool throws = strcmp(how, "throw") == 0;
    pid_t pid = fork();
    if (pid == 0) {
        ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
        setenv("LD_PRELOAD", library, 1);
        execl(self, self, throws ? "thrown" : "traced", (char *)nullptr);
        _exit(127);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) || !go_on(pid, 0))
        return 1;
    std::vector<Range> ranges = code_of(pid);
    std::set<uint64_t> tried[2], blocked;
    size_t before = 1, after = 0;
    for (long round = 0; round < TIMES && after != before; round++) {
        before = round == 0 ? after - 1 : after;
        uint64_t left = 0; /* a handler has just returned to it */
        bool alive = true;
        for (int got = SIGTRAP; got != SIGSTOP && (got = step(pid, got)) > 0;) {
            uint64_t at = registers(pid).rip;
            const Range *r = got == SIGTRAP ? range_of(ranges, at) : nullptr;
            if (left != 0 || r == nullptr) {
                left = at == left ? 0 : left;
                continue;
            }
            if (is_blocked(pid)) {
                blocked.insert(at);
                continue;
            }
            if (tried[r->library].count(at) != 0)
                continue;
            tried[r->library].insert(at);
            /* From its stop in the handler the process returns here. If the handler throws, it goes
             * on from the stop in the catch to the end of the round. */
            alive = go_on(pid, SIGUSR1);
            left = at;
            if (throws)
                alive = alive && go_on(pid, 0);
            if (throws || !alive)
                break;
        }
        if (!alive)
            return 1;
        after = tried[0].size() + tried[1].size();
    }
    while (go_on(pid, 0))
        ;
    printf("memory %zu library %zu blocked %zu\n", tried[0].size(), tried[1].size(),
           blocked.size());
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        throwing = strcmp(argv[1], "thrown") == 0;
        return traced(400);
    }
    return argc == 3 ? step_through(argv[1], argv[2], argv[0]) : 2;
}
