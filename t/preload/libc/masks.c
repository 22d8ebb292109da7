/* SPDX-License-Identifier: BSD-3-Clause
 * Test program that saves masks of signals and sets them again in all ways: by jumps, contexts,
 * coroutines and handlers. Prints what it sees. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
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

/* The program may change the mask in a context, set a context several times, and keep it in memory
 * that it cannot write. */
static void changed_contexts(void)
{
    static volatile int times;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    ucontext_t *fixed =
        mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    handle(SIGTRAP, count, 0, -1);
    change(SIG_BLOCK, 0);
    (void)getcontext(&coroutine_context);
    print("getcontext", &coroutine_context.uc_sigmask);
    (void)sigemptyset(&coroutine_context.uc_sigmask);
    coroutine_context.uc_stack.ss_sp = coroutine_stack;
    coroutine_context.uc_stack.ss_size = sizeof coroutine_stack;
    coroutine_context.uc_link = &main_context;
    makecontext(&coroutine_context, (void (*)(void))show, 1, "emptied");
    (void)swapcontext(&main_context, &coroutine_context);
    print("swapcontext", &main_context.uc_sigmask);
    show("back");
    change(SIG_UNBLOCK, 0);
    if (fixed == MAP_FAILED)
        return;
    (void)getcontext(fixed);
    show("set");
    if (times == 0)
        (void)sigaddset(&fixed->uc_sigmask, SIGTRAP);
    (void)mprotect(fixed, page, PROT_READ);
    if (times++ < 3) {
        change(SIG_UNBLOCK, 0);
        (void)setcontext(fixed);
    }
    (void)munmap(fixed, page);
    change(SIG_UNBLOCK, 0);
}

static void *shown(void *argument)
{
    show(argument);
    return NULL;
}

static void attributes(void)
{
    pthread_attr_t a;
    pthread_t thread;
    sigset_t set = set_of(SIGUSR1);
    change(SIG_BLOCK, 0);
    (void)pthread_attr_init(&a);
    (void)pthread_attr_setsigmask_np(&a, &set);
    if (pthread_create(&thread, &a, shown, "attribute") == 0)
        (void)pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, shown, "inherited") == 0)
        (void)pthread_join(thread, NULL);
    (void)pthread_attr_destroy(&a);
    change(SIG_UNBLOCK, 0);
}

static void print_context(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
    print("interrupted", &((ucontext_t *)context)->uc_sigmask);
}

/* A signal that comes as the mask is set finds the new mask. */
static void at_once(void)
{
    struct sigaction a = {.sa_sigaction = print_context, .sa_flags = SA_SIGINFO};
    (void)sigaction(SIGUSR1, &a, NULL);
    change(SIG_BLOCK, SIGUSR1);
    change(SIG_BLOCK, SIGTRAP);
    (void)raise(SIGUSR1);
    change(SIG_UNBLOCK, 0);
}

/* A SIGTRAP that waits is lost in a child, but not in a new program. Waits take it as it was
 * sent. */
static void pending(void)
{
    const struct timespec soon = {.tv_sec = 1};
    siginfo_t info = {0};
    sigset_t set = set_of(SIGTRAP);
    change(SIG_BLOCK, SIGTRAP);
    (void)sigqueue(getpid(), SIGTRAP, (union sigval){.sival_int = 42});
    int got = sigtimedwait(&set, &info, &soon);
    printf("took %d, code %d, value %d\n", got, info.si_code, info.si_value.sival_int);
    (void)raise(SIGTRAP);
    pid_t pid = fork();
    if (pid == 0) {
        (void)sigpending(&set);
        print("child", &set);
        handle(SIGTRAP, SIG_DFL, 0, -1);
        change(SIG_UNBLOCK, SIGTRAP);
        _exit(0);
    }
    int end = -1;
    (void)waitpid(pid, &end, 0);
    printf("child's end %d\n", end);
    pid = fork();
    if (pid == 0) {
        (void)raise(SIGTRAP);
        (void)execl("/proc/self/exe", "masks", "inherits", NULL);
        _exit(1);
    }
    (void)waitpid(pid, &end, 0);
    printf("program's end %d\n", end);
    traps = 0;
    change(SIG_UNBLOCK, SIGTRAP);
    printf("unblocked: %d traps\n", (int)traps);
}

static volatile sig_atomic_t ticks, wrong;

static void tick(int signo)
{
    sigset_t set = set_of(SIGUSR2), old;
    (void)sigprocmask(SIG_BLOCK, &set, &old);
    uint64_t bits;
    memcpy(&bits, &old, sizeof bits);
    wrong += bits != UINT64_C(1) << (signo - 1);
    (void)sigprocmask(SIG_SETMASK, &old, NULL);
    ticks++;
}

/* A handler may interrupt one of the tracer's. Its masks are as ever. */
static void critical(void)
{
    const struct itimerval on = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
    handle(SIGALRM, tick, SA_RESTART, -1);
    (void)setitimer(ITIMER_REAL, &on, NULL);
    while (ticks < 500)
        continue;
    (void)setitimer(ITIMER_REAL, &off, NULL);
    printf("%d handlers had a wrong mask\n", (int)wrong);
}

static volatile sig_atomic_t within;

static void come_within(int signo)
{
    (void)signo;
    within++;
}

static void end_wait(int signo)
{
    (void)signo;
    show("in a wait");
    (void)raise(SIGUSR2);
    printf("%d within\n", (int)within);
}

/* A handler that ends such a wait has the mask of the wait, not the one from before, and is itself
 * interrupted by what only the wait lets in. */
static void waits(void)
{
    sigset_t others = set_of(SIGHUP);
    struct epoll_event event;
    int fd = epoll_create1(EPOLL_CLOEXEC);
    handle(SIGUSR1, end_wait, 0, -1);
    handle(SIGUSR2, come_within, 0, -1);
    change(SIG_BLOCK, SIGUSR1);
    change(SIG_BLOCK, SIGUSR2);
    for (int i = 0; i < 4; i++) {
        (void)raise(SIGUSR1);
        switch (i) {
        case 0: (void)sigsuspend(&others); break;
        case 1: (void)ppoll(NULL, 0, NULL, &others); break;
        case 2: (void)pselect(0, NULL, NULL, NULL, NULL, &others); break;
        default: (void)epoll_pwait(fd, &event, 1, -1, &others); break;
        }
    }
    (void)close(fd);
    change(SIG_UNBLOCK, SIGUSR1);
    change(SIG_UNBLOCK, SIGUSR2);
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

int main(int argc, char **argv)
{
    static void (*const parts[])(void) = {jumps,   handlers_left,    coroutines, contexts,
                                          bits,    changed_contexts, attributes, at_once,
                                          pending, critical,         waits,      spawned};
    (void)setvbuf(stdout, NULL, _IONBF, 0);
    if (argc > 1) {
        sigset_t set;
        show(argv[1]);
        (void)sigpending(&set);
        print("pending", &set);
        return 0;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        parts[i]();
    return 0;
}
