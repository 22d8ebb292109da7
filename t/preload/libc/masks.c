/* SPDX-License-Identifier: BSD-3-Clause
 * Test program that saves masks of signals and sets them again in all ways: by jumps, contexts,
 * coroutines and handlers. Prints what it sees. */
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t traps, depth;
static sigjmp_buf env;
static ucontext_t saved, main_context, coroutine_context;
static char coroutine_stack[65536];
extern char **environ;

__attribute__((noinline)) void probed(void)
{
    __asm__ volatile("nop");
}

static sigset_t set_of(int signo)
{
    sigset_t set;
    (void)sigemptyset(&set);
    if (signo != 0)
        (void)sigaddset(&set, signo);
    else
        (void)sigfillset(&set);
    return set;
}

static void print(const char *what, const sigset_t *set)
{
    printf("%s:", what);
    for (int n = 1; n < 32; n++)
        if (sigismember(set, n) == 1)
            printf(" %d", n);
    printf("\n");
}

static void show(const char *what)
{
    sigset_t set;
    (void)pthread_sigmask(SIG_BLOCK, NULL, &set);
    print(what, &set);
}

static void change(int how, int signo)
{
    sigset_t set = set_of(signo);
    (void)sigprocmask(how, &set, NULL);
}

static void trap(const char *what)
{
    traps = 0;
    probed();
    __asm__ volatile("int3");
    printf("%s: %d traps\n", what, (int)traps);
}

static void count(int signo)
{
    (void)signo;
    traps++;
}

static void nest(int signo)
{
    (void)signo;
    traps++;
    if (++depth < 3)
        __asm__ volatile("int3");
    depth--;
}

static void handle(int signo, void (*handler)(int), int flags, int mask)
{
    struct sigaction a = {.sa_handler = handler, .sa_flags = flags};
    if (mask >= 0)
        a.sa_mask = set_of(mask);
    (void)sigaction(signo, &a, NULL);
}

static void jumps(void)
{
    handle(SIGTRAP, count, 0, -1);
    if (sigsetjmp(env, 1) == 0) {
        change(SIG_BLOCK, 0);
        show("blocked");
        siglongjmp(env, 1);
    }
    show("jumped back");
    trap("after the jump");
    change(SIG_BLOCK, SIGTRAP);
    if (sigsetjmp(env, 1) == 0) {
        change(SIG_UNBLOCK, SIGTRAP);
        siglongjmp(env, 1);
    }
    show("blocked again");
    traps = 0;
    (void)raise(SIGTRAP);
    sigset_t waiting;
    (void)sigpending(&waiting);
    print("pending", &waiting);
    printf("withheld: %d traps\n", (int)traps);
    change(SIG_UNBLOCK, SIGTRAP);
    printf("unblocked: %d traps\n", (int)traps);
}

static void leave(int signo)
{
    (void)signo;
    show("in the handler");
    siglongjmp(env, 1);
}

static void leave_by_context(int signo)
{
    (void)signo;
    traps++;
    (void)setcontext(&saved);
}

static void handlers_left(void)
{
    volatile int rounds = 0;
    handle(SIGUSR1, leave, 0, 0);
    if (sigsetjmp(env, 1) == 0)
        (void)raise(SIGUSR1);
    show("left by a jump");
    handle(SIGTRAP, count, 0, -1);
    trap("then");
    handle(SIGTRAP, leave_by_context, 0, -1);
    traps = 0;
    (void)getcontext(&saved);
    if (rounds++ < 3) {
        probed();
        __asm__ volatile("int3");
    }
    printf("left by setcontext: %d traps\n", (int)traps);
    show("mask");
}

static void coroutine(void)
{
    show("coroutine");
    change(SIG_BLOCK, 0);
    probed();
    (void)swapcontext(&coroutine_context, &main_context);
    show("coroutine again");
    probed();
}

static void coroutines(void)
{
    handle(SIGTRAP, count, 0, -1);
    (void)getcontext(&coroutine_context);
    coroutine_context.uc_stack.ss_sp = coroutine_stack;
    coroutine_context.uc_stack.ss_size = sizeof coroutine_stack;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, coroutine, 0);
    (void)swapcontext(&main_context, &coroutine_context);
    show("main");
    trap("beside a coroutine");
    (void)swapcontext(&main_context, &coroutine_context);
    show("coroutine is over");
    trap("after it");
}

static void change_context(int signo, siginfo_t *info, void *context)
{
    ucontext_t *uc = context;
    (void)info;
    sigset_t set = set_of(SIGTRAP);
    print("returns to", &uc->uc_sigmask);
    show("handler's mask");
    probed();
    memcpy(&uc->uc_sigmask, &set, sizeof(uint64_t));
    if (signo == SIGUSR2)
        (void)sigdelset(&uc->uc_sigmask, SIGTRAP);
}

static void contexts(void)
{
    struct sigaction a = {.sa_sigaction = change_context, .sa_flags = SA_SIGINFO}, old;
    a.sa_mask = set_of(0);
    (void)sigaction(SIGUSR1, &a, NULL);
    (void)sigaction(SIGUSR2, &a, NULL);
    (void)sigaction(SIGUSR1, NULL, &old);
    print("action", &old.sa_mask);
    handle(SIGTRAP, count, 0, SIGSEGV);
    (void)sigaction(SIGTRAP, NULL, &old);
    print("action of SIGTRAP", &old.sa_mask);
    (void)raise(SIGUSR1);
    show("the handler has blocked");
    (void)raise(SIGUSR2);
    show("the handler has unblocked");
    trap("so");
    handle(SIGTRAP, nest, SA_NODEFER, -1);
    trap("nested");
}

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void bits(void)
{
    handle(SIGTRAP, count, 0, -1);
    int before = sigblock(sigmask(SIGTRAP));
    show("sigblock");
    probed();
    printf("sigsetmask: %x, siggetmask: %x\n", (unsigned)sigsetmask(before),
           (unsigned)siggetmask());
    trap("after sigsetmask");
}

/* A new program inherits the mask. */
static void spawned(void)
{
    char *const arguments[] = {"grep", "SigBlk", "/proc/self/status", NULL};
    pid_t pid;
    if (sigsetjmp(env, 1) == 0) {
        change(SIG_BLOCK, 0);
        siglongjmp(env, 1);
    }
    (void)fflush(stdout);
    if (posix_spawnp(&pid, "grep", NULL, NULL, arguments, environ) == 0)
        (void)waitpid(pid, NULL, 0);
}

int main(void)
{
    static void (*const parts[])(void) = {jumps,    handlers_left, coroutines,
                                          contexts, bits,          spawned};
    (void)setvbuf(stdout, NULL, _IONBF, 0);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i]();
    return 0;
}
