/* SPDX-License-Identifier: BSD-3-Clause
 * Oracle of instruction counts: steps all threads by ptrace(2), without code of regtrace. x86-64.
 *
 *   oracle [-x IMAGE] [-k IMAGE]... [-p P.T:N]... [-e N] -o FILE PROGRAM [ARGUMENT]...
 *
 * FILE gets "count P.T N" for each thread that has ended: P numbers processes, T their threads, in
 * order of creation. For each -p (-e: for multiples of N in all threads) it gets "at P.T N
 * IMAGE+0xOFFSET 0xADDRESS", the thread's place after N instructions, not randomized.
 *
 * A REP instruction, a system call and mov to ss count once each; the stop at a handler's first
 * instruction does not. A forked child continues its parent's count.
 *
 * -x leaves out instructions in images of that base name and the functions they call, until these
 * return (by stack pointer) or jump elsewhere, but not callbacks in the program and in images named
 * by -k. It leaves out a handler there until its rt_sigreturn or a jump out of its frame. With -x a
 * thread's count begins when it first comes out of such an image. */
#include "t/oracle/text.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TASKS = 256, FRAMES = 256, POINTS = 4096, NAMES = 16, MAPS = 256 };
enum frame_kind { OUT, BACK, HANDLER };

struct frame {
    enum frame_kind kind;
    uint64_t sp;
};

struct task {
    pid_t tid, tgid;
    int process, thread, frames;
    bool started, begun, stepping; /* begun: it counts; stepping: within an instruction */
    bool early;                    /* stopped before its parent's event */
    bool free;                     /* runs at full speed to the breakpoint */
    bool loading;                  /* runs to the first system call of a left-out image */
    bool child_of_ours;            /* made by a left-out image before counting began */
    uint64_t count, ip, sp, after; /* after: address after a mov to ss in progress; 0: none */
    struct frame frame[FRAMES];
};

struct map {
    uint64_t from, to, base;
    char name[64];
    char kind; /* 'x': left out; 'k': its callbacks count; 'p': plain */
};

struct point {
    int process, thread;
    uint64_t at;
};

static struct task tasks[TASKS];
static struct map maps[MAPS];
static struct point points[POINTS];
static const char *left_out[NAMES], *kept[NAMES];
static int map_count, point_count, left_out_count, kept_count, processes;
static pid_t maps_of;
static int threads[TASKS]; /* threads of each process so far */
static uint64_t every;     /* -e */
static FILE *out;

static void die(const char *what)
{
    fprintf(stderr, "oracle: %s: %s\n", what, strerror(errno));
    exit(99);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static char kind_of(const char *name, const char *program)
{
    for (int i = 0; i < left_out_count; i++)
        if (strcmp(left_out[i], name) == 0)
            return 'x';
    for (int i = 0; i < kept_count; i++)
        if (strcmp(kept[i], name) == 0)
            return 'k';
    return strcmp(name, program) == 0 ? 'k' : 'p';
}

static void read_maps(pid_t pid)
{
    char path[64], line[512], program[512], file[400], was[400] = "";
    uint64_t base = 0;
    snprintf(path, sizeof path, "/proc/%d/exe", pid);
    ssize_t n = readlink(path, program, sizeof program - 1);
    program[n > 0 ? n : 0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *f = fopen(path, "r");
    map_count = 0;
    maps_of = pid;
    while (f != NULL && fgets(line, sizeof line, f) != NULL && map_count < MAPS) {
        unsigned long from, to;
        char rights[8];
        file[0] = '\0';
        if (sscanf(line, "%lx-%lx %7s %*s %*s %*s %399s", &from, &to, rights, file) < 3)
            continue;
        if (strcmp(file, was) != 0 || file[0] == '\0')
            base = from;
        (void)strcpy(was, file);
        if (strchr(rights, 'x') == NULL)
            continue;
        struct map *m = &maps[map_count++];
        *m = (struct map){.from = from, .to = to, .base = base};
        snprintf(m->name, sizeof m->name, "%.63s", base_name(file));
        m->kind = kind_of(m->name, base_name(program));
    }
    if (f != NULL)
        fclose(f);
}

static const struct map *find_map(const struct task *t, uint64_t ip)
{
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; maps_of == t->tgid && i < map_count; i++)
            if (ip >= maps[i].from && ip < maps[i].to)
                return &maps[i];
        read_maps(t->tgid);
    }
    return NULL;
}

static bool counts(const struct task *t)
{
    return t->frames == 0 || t->frame[t->frames - 1].kind == BACK;
}

static void set_breakpoint(const struct task *t, uint64_t at)
{
    (void)ptrace(PTRACE_POKEUSER, t->tid, (void *)offsetof(struct user, u_debugreg[0]), (void *)at);
    (void)ptrace(PTRACE_POKEUSER, t->tid, (void *)offsetof(struct user, u_debugreg[7]),
                 (void *)(at != 0 ? 1ul : 0ul));
}

/* A constructor's calls before counting begins need no steps: runs to the return address. */
static void skip_call(struct task *t, uint64_t sp)
{
    errno = 0;
    uint64_t back = (uint64_t)ptrace(PTRACE_PEEKDATA, t->tid, (void *)sp, NULL);
    t->free = errno == 0;
    if (t->free)
        set_breakpoint(t, back);
}

static void resume(const struct task *t, int signo)
{
    (void)ptrace(t->loading ? PTRACE_SYSCALL
                 : t->free  ? PTRACE_CONT
                            : PTRACE_SINGLESTEP,
                 t->tid, NULL, (void *)(long)signo);
}

static void push(struct task *t, enum frame_kind kind, uint64_t sp)
{
    if (t->frames == FRAMES)
        die("calls are nested too deeply");
    t->frame[t->frames++] = (struct frame){kind, sp};
}

/* Updates the frames of a thread at `ip`, which decide whether the next instruction counts. */
static void place(struct task *t, uint64_t ip, uint64_t sp)
{
    const struct map *m = find_map(t, ip);
    char kind = m != NULL ? m->kind : 'p';
    while (t->frames > 0) {
        struct frame *top = &t->frame[t->frames - 1];
        /* After a jump out of the left-out images, their caller's instructions count again. */
        if (top->kind == OUT ? sp < top->sp || kind == 'x' : sp <= top->sp)
            break;
        t->frames--;
    }
    struct frame *top = t->frames > 0 ? &t->frame[t->frames - 1] : NULL;
    if (top != NULL && top->kind == OUT && kind == 'x' && sp > top->sp)
        top->sp = sp;
    if (top != NULL && top->kind == OUT && kind != 'x' && !t->begun && t->process == 0 &&
        t->thread == 0)
        skip_call(t, sp);
    if (counts(t) && kind == 'x')
        push(t, OUT, sp);
    else if (!counts(t) && kind == 'k')
        push(t, BACK, sp);
    if (!t->begun && left_out_count > 0 && counts(t)) {
        for (int i = 0; i < map_count && !t->begun; i++)
            t->begun = t->started && maps[i].kind == 'x';
        t->count = 0;
    }
    t->started = t->started || kind == 'x' || left_out_count == 0;
    t->ip = ip;
    t->sp = sp;
}

static bool is_point(const struct task *t)
{
    for (int i = 0; i < point_count; i++)
        if (points[i].at == t->count && points[i].process == t->process &&
            points[i].thread == t->thread)
            return true;
    return every != 0 && t->count % every == 0;
}

static void say_point(const struct task *t)
{
    if (!is_point(t))
        return;
    const struct map *m = find_map(t, t->ip);
    fprintf(out, "at %d.%d %llu %s+0x%llx 0x%llx\n", t->process, t->thread,
            (unsigned long long)t->count, m != NULL ? m->name : "?",
            (unsigned long long)(t->ip - (m != NULL ? m->base : 0)), (unsigned long long)t->ip);
}

/* A string instruction with a repeat prefix that is not finished stays at its address. */
static bool is_repeating(const struct task *t, uint64_t ip)
{
    return ip == t->ip && text_has_repeat(t->tid, ip);
}

/* Counts the mov to ss that was in progress: the processor stops after the next instruction, at
 * `ip`. If that is a mov to ss too, processors of AMD execute one more; those of Intel do not. */
static void pass_loads_of_ss(struct task *t, uint64_t ip)
{
    if (!t->stepping || !counts(t))
        return;
    for (uint64_t after = t->after; after != 0 && after != ip;) {
        t->count++;
        t->ip = after;
        if (t->begun)
            say_point(t);
        after = text_after_mov_ss(t->tid, after);
    }
}

/* Called after rt_sigreturn: ends the handler's frame. */
static void handler_returned(struct task *t)
{
    int i = t->frames;
    while (i > 0 && t->frame[i - 1].kind != HANDLER)
        i--;
    if (i > 0) {
        t->frames = i - 1;
        t->stepping = false; /* the call itself belongs to the handler */
    }
}

static void stepped(struct task *t, bool instruction)
{
    struct user_regs_struct r;
    if (ptrace(PTRACE_GETREGS, t->tid, NULL, &r) != 0)
        return;
    if (instruction)
        pass_loads_of_ss(t, r.rip);
    if (t->stepping && instruction && !is_repeating(t, r.rip) && counts(t)) {
        t->count++;
        place(t, r.rip, r.rsp);
        if (t->begun)
            say_point(t);
    } else {
        if (!instruction && t->begun && counts(t)) { /* at the first instruction of a handler */
            const struct map *m = find_map(t, r.rip);
            if (m != NULL && m->kind == 'x')
                push(t, HANDLER, r.rsp < t->sp ? t->sp - 1 : UINT64_MAX);
        }
        bool before = t->begun;
        place(t, r.rip, r.rsp);
        if (t->begun && !before)
            say_point(t);
    }
    t->stepping = true;
    t->after = text_after_mov_ss(t->tid, r.rip);
    if (text_is_sigreturn(t->tid, &r))
        handler_returned(t);
}

static struct task *task_of(pid_t tid)
{
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].tid == tid)
            return &tasks[i];
    for (int i = 0; i < TASKS; i++)
        if (tasks[i].tid == 0) {
            tasks[i].tid = tid;
            return &tasks[i];
        }
    errno = EAGAIN;
    die("too many threads");
    return NULL;
}

static void made(const struct task *parent, pid_t tid, bool process)
{
    struct task *t = task_of(tid);
    t->process = process ? ++processes : parent->process;
    t->tgid = process ? tid : parent->tgid;
    t->thread = process ? 0 : ++threads[t->process % TASKS];
    if (process) {
        t->count = parent->count;
        t->begun = parent->begun;
        t->child_of_ours = !parent->begun;
        t->started = parent->started;
        t->frames = parent->frames;
        memcpy(t->frame, parent->frame, sizeof t->frame);
        if (counts(parent))
            t->count++; /* the system call that made it */
    } else {
        t->begun = left_out_count == 0;
    }
}

static void ended(struct task *t)
{
    fprintf(out, "count %d.%d %llu\n", t->process, t->thread, (unsigned long long)t->count);
    *t = (struct task){.tid = 0};
}

/* Lets a thread run, or detaches from a child that was made before counting began. */
static void let_go(struct task *t, int signo)
{
    if (t->child_of_ours) {
        (void)ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
        *t = (struct task){.tid = 0};
    } else {
        resume(t, signo);
    }
}

static void on_event(struct task *t, int event)
{
    unsigned long value = 0;
    (void)ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &value);
    if (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/task/%lu", t->tgid, value);
        made(t, (pid_t)value, access(path, F_OK) != 0);
        struct task *child = task_of((pid_t)value);
        if (child->early) {
            stepped(child, false);
            let_go(child, 0);
        }
    } else if (event == PTRACE_EVENT_EXEC) {
        maps_of = 0;
        t->frames = 0;
        t->count = 0;
        t->stepping = false;
        t->begun = left_out_count == 0;
        t->started = false;
        t->loading = left_out_count > 0;
    }
}

/* Returns the signal to pass on to the thread, or 0. */
static int on_stop(struct task *t, int status)
{
    int signo = WSTOPSIG(status);
    siginfo_t info;
    if (status >> 16 != 0) {
        on_event(t, status >> 16);
        return 0;
    }
    if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &info) != 0)
        return 0;
    if (signo == SIGSTOP && !t->stepping) { /* a new thread's first stop */
        stepped(t, false);
        return 0;
    }
    if (signo == (SIGTRAP | 0x80)) {
        struct user_regs_struct r;
        const struct map *m =
            ptrace(PTRACE_GETREGS, t->tid, NULL, &r) == 0 ? find_map(t, r.rip) : NULL;
        if (m != NULL && m->kind == 'x' && t->loading) {
            t->loading = false;
            stepped(t, false);
        }
        return 0;
    }
    if (signo == SIGTRAP && info.si_code == TRAP_HWBKPT) {
        t->free = false;
        set_breakpoint(t, 0);
        stepped(t, false);
        return 0;
    }
    if (signo != SIGTRAP)
        return signo;
    if (info.si_code <= 0 || info.si_code == SI_KERNEL)
        return signo; /* kill(), int3: the program's */
    stepped(t, info.si_code != SIGTRAP);
    return 0;
}

static int run(pid_t first)
{
    int status, result = 0;
    pid_t tid;
    while ((tid = waitpid(-1, &status, __WALL)) > 0) {
        struct task *t = task_of(tid);
        if (t->tgid == 0 && WIFSTOPPED(status)) {
            t->early = true; /* seen before its parent's event, which will resume it */
            continue;
        }
        if (WIFEXITED(status) || WIFSIGNALED(status)) {
            if (tid == first)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            ended(t);
            continue;
        }
        int signo = on_stop(t, status);
        let_go(t, signo);
    }
    return result;
}

static pid_t start(char **argv)
{
    pid_t pid = fork();
    if (pid == 0) {
        (void)personality(ADDR_NO_RANDOMIZE);
        (void)ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execvp(argv[0], argv);
        die(argv[0]);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
        die("the program has not started");
    long options = PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                   PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD;
    if (ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)options) != 0)
        die("ptrace");
    struct task *t = task_of(pid);
    t->tgid = pid;
    t->begun = left_out_count == 0;
    t->loading = left_out_count > 0;
    if (!t->loading)
        stepped(t, false);
    resume(t, 0);
    return pid;
}

static void add_point(const char *text)
{
    struct point *p = &points[point_count];
    unsigned long long at = 0;
    if (point_count == POINTS || sscanf(text, "%d.%d:%llu", &p->process, &p->thread, &at) != 3) {
        errno = EINVAL;
        die(text);
    }
    p->at = at;
    point_count++;
}

int main(int argc, char **argv)
{
    int c;
    while ((c = getopt(argc, argv, "+x:k:p:e:o:")) != -1) {
        if (c == 'x' && left_out_count < NAMES)
            left_out[left_out_count++] = optarg;
        else if (c == 'k' && kept_count < NAMES)
            kept[kept_count++] = optarg;
        else if (c == 'p')
            add_point(optarg);
        else if (c == 'e')
            every = strtoull(optarg, NULL, 10);
        else if (c == 'o' && (out = fopen(optarg, "w")) == NULL)
            die(optarg);
    }
    if (out == NULL || optind == argc) {
        fprintf(stderr,
                "usage: oracle [-x IMAGE] [-k IMAGE] [-p P.T:N] [-e N] -o FILE PROGRAM...\n");
        return 99;
    }
    int result = run(start(argv + optind));
    return fclose(out) == 0 ? result : 99;
}
