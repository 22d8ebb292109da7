/* SPDX-License-Identifier: BSD-3-Clause
 * What counting by steps must get right, a part for each argument. Every run of a part executes the
 * same instructions, also under the oracle, whose ptrace shows in flags and masks. Exits with 1 if
 * the program can see that it is stepped. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* `wrong` adds up errors, because no branch may depend on what a debugger changes. */
static volatile int seen, wrong;
static sigjmp_buf jump;
static char bytes[65536];

static void work(long n)
{
    __asm__ volatile("1: decq %0\n\tjnz 1b" : "+r"(n)::"cc");
}

static int calls(void)
{
    for (int i = 0; i < 50; i++) {
        (void)syscall(SYS_getpid);
        if (write(-1, "", 1) != -1 || errno != EBADF)
            return 1;
        work(20);
    }
    return 0;
}

static void on_signal(int signo)
{
    work(100);
    seen += signo == SIGUSR1 ? 1 : 10;
    if (signo == SIGUSR1)
        (void)raise(SIGUSR2);
}

static void on_jump(int signo)
{
    work(50);
    siglongjmp(jump, signo);
}

static int signals(void)
{
    struct sigaction a = {.sa_handler = on_signal};
    (void)sigaction(SIGUSR2, &a, NULL);
    (void)sigfillset(&a.sa_mask);
    (void)sigdelset(&a.sa_mask, SIGUSR2);
    (void)sigaction(SIGUSR1, &a, NULL);
    (void)signal(SIGHUP, on_jump);
    for (int i = 0; i < 5; i++) {
        (void)raise(SIGUSR1);
        work(30);
    }
    for (volatile int i = 0; i < 3; i++)
        if (sigsetjmp(jump, 1) == 0)
            (void)kill(getpid(), SIGHUP);
    work(300);
    return seen == 55 ? 0 : 1;
}

static void *thread(void *argument)
{
    work(500);
    (void)syscall(SYS_getpid);
    work(500);
    return argument;
}

static int threads(void)
{
    pthread_t t;
    for (int i = 0; i < 3; i++)
        if (pthread_create(&t, NULL, thread, NULL) != 0 || pthread_join(t, NULL) != 0)
            return 1;
    return 0;
}

static int forks(void)
{
    int status = 0;
    work(100);
    pid_t child = fork();
    if (child == 0) {
        work(1000);
        _exit(7);
    }
    work(100);
    return waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7 ? 0 : 1;
}

static int masked(void)
{
    sigset_t all, old, now;
    (void)sigfillset(&all);
    for (int i = 0; i < 5; i++) {
        (void)sigprocmask(SIG_BLOCK, &all, &old);
        work(100);
        (void)pthread_sigmask(SIG_SETMASK, NULL, &now);
        wrong += sigismember(&now, SIGTRAP) + sigismember(&now, SIGINT) - 2;
        uint64_t none = 0, was = 0;
        (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, &was, sizeof none);
        wrong += (int)(was >> (SIGTRAP - 1) & 1) - 1;
        (void)sigprocmask(SIG_SETMASK, &old, NULL);
        work(10);
    }
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, 8, NULL, 8) != -1 || errno != EFAULT)
        wrong++;
    return wrong != 0;
}

static int repeats(void)
{
    char *to = bytes;
    const char *from = bytes;
    size_t n = sizeof bytes;
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(1) : "memory");
    if (to != bytes + sizeof bytes || n != 0 || bytes[sizeof bytes - 1] != 1)
        return 1;
    bytes[40000] = 5;
    to = bytes;
    n = sizeof bytes;
    __asm__ volatile("repne scasb" : "+D"(to), "+c"(n) : "a"(5) : "memory", "cc");
    if (to != bytes + 40001)
        return 1;
    to = bytes + 8;
    n = 1000;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(n)::"memory");
    n = 0;
    __asm__ volatile("rep stosl" : "+D"(to), "+c"(n) : "a"(1) : "memory");
    work(100);
    return from == bytes + 8000 ? 0 : 1;
}

static int flags(void)
{
    uint64_t pushed, r11;
    for (int i = 0; i < 20; i++) {
        __asm__ volatile("pushfq\n\tpopq %0" : "=r"(pushed)::"memory");
        wrong += (int)(pushed >> 8 & 1);
        __asm__ volatile("pushfq\n\txorq $1, (%%rsp)\n\tpopfq\n\tpushfq\n\tpopq %0"
                         : "=r"(r11)::"memory", "cc");
        wrong += (int)((r11 ^ pushed) & 1) - 1; /* the carry flag was inverted */
        __asm__ volatile("syscall\n\tnop\n\tmovq %%r11, %0"
                         : "=r"(r11)
                         : "a"(SYS_getpid)
                         : "rcx", "r11", "memory");
        wrong += (int)(r11 >> 8 & 1);
        __asm__ volatile("syscall\n\tpushfq\n\tpopq %0"
                         : "=r"(r11)
                         : "a"(SYS_getpid)
                         : "rcx", "r11", "memory");
        wrong += (int)(r11 >> 8 & 1);
    }
    return wrong != 0;
}

/* A load of ss and the instruction after it cause one trap. */
static int segments(void)
{
    uint64_t pushed, r11;
    uint32_t ss;
    __asm__ volatile("movl %%ss, %0" : "=r"(ss));
    for (int i = 0; i < 20; i++) {
        static uint16_t memory[4];
        memory[2] = (uint16_t)ss;
        uint64_t two = 2, n = 500; /* a repetition is a step of the oracle */
        char *to = bytes;
        (void)syscall(SYS_getpid); /* keeps the compiler from using the red zone */
        __asm__ volatile("movl %0, %%ss\n\tnop\n\tmovl %0, %%ss\n\tmovl %0, %%ss\n\tnop" ::"r"(ss));
        __asm__ volatile("movl %1, %%ss\n\tpushfq\n\tpopq %0" : "=r"(pushed) : "r"(ss) : "memory");
        wrong += (int)(pushed >> 8 & 1);
        __asm__ volatile("movw %1, %%ss\n\tpushfq\n\tpopq %0\n\tmovw (%2,%3,2), %%ss\n\tnop"
                         : "=&r"(pushed)
                         : "m"(memory[2]), "r"(memory), "r"(two)
                         : "memory");
        wrong += (int)(pushed >> 8 & 1);
        __asm__ volatile("movl %1, %%r12d\n\tmovl %%r12d, %%ss\n\tsyscall\n\tmovq %%r11, %0"
                         : "=r"(r11)
                         : "r"(ss), "a"(SYS_getpid)
                         : "rcx", "r11", "r12", "memory");
        wrong += (int)(r11 >> 8 & 1);
        __asm__ volatile("pushfq\n\tmovl %0, %%ss\n\tpopfq" ::"r"(ss) : "memory", "cc");
        __asm__ volatile("movl %2, %%ss\n\trep stosb"
                         : "+D"(to), "+c"(n)
                         : "r"(ss), "a"(1)
                         : "memory");
        wrong += n != 0;
    }
    return wrong != 0;
}

/* Directly after syscall r11 holds the flags. Tests that, and int $0x80. */
static int entries(void)
{
    uint64_t r11, other, pushed;
    for (int i = 0; i < 20; i++) {
        __asm__ volatile("syscall\n\tmovq %%r11, %0"
                         : "=r"(r11)
                         : "a"(SYS_getpid)
                         : "rcx", "r11", "memory");
        wrong += (int)(r11 >> 8 & 1);
        __asm__ volatile("syscall\n\tpushq %%r11\n\tpopq %0"
                         : "=r"(other)
                         : "a"(SYS_getppid)
                         : "rcx", "r11", "memory");
        wrong += (int)(other >> 8 & 1);
        long pid = 20; /* getpid() of the 32-bit interface */
        __asm__ volatile("int $0x80\n\tpushfq\n\tpopq %1\n\tnop"
                         : "+a"(pid), "=r"(pushed)::"memory", "cc");
        wrong += (int)(pushed >> 8 & 1) + (pid != getpid());
        pid = 20;
        __asm__ volatile("int $0x80\n\tnop\n\tint $0x80\n\tnop" : "+a"(pid)::"memory", "cc");
    }
    return wrong != 0;
}

static void on_trap(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)context;
    work(20);
    seen += info->si_code == SI_KERNEL ? 1 : 100;
}

static int traps(void)
{
    struct sigaction a = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
    sigset_t trap, none;
    if (sigaction(SIGTRAP, NULL, &old) != 0 || old.sa_handler != SIG_DFL)
        return 1;
    (void)sigaction(SIGTRAP, &a, NULL);
    for (int i = 0; i < 5; i++)
        __asm__ volatile("int3\n\tnop" ::: "memory");
    (void)raise(SIGTRAP);
    if (seen != 105)
        return 1;
    (void)sigemptyset(&trap);
    (void)sigemptyset(&none);
    (void)sigaddset(&trap, SIGTRAP);
    (void)sigprocmask(SIG_BLOCK, &trap, NULL);
    (void)raise(SIGTRAP);
    work(10);
    if (seen != 105)
        return 1;
    (void)sigprocmask(SIG_UNBLOCK, &trap, NULL);
    (void)sigaction(SIGTRAP, NULL, &old);
    return seen == 205 && old.sa_sigaction == on_trap ? 0 : 1;
}

static int loop(void)
{
    work(20000);
    return 0;
}

static int longer(void)
{
    work(100000);
    return 0;
}

static int spawned(void)
{
    int a = system("exit 3");
    FILE *f = popen("echo x", "r");
    int c = f != NULL ? fgetc(f) : 0;
    work(100);
    return WEXITSTATUS(a) == 3 && c == 'x' && pclose(f) == 0 ? 0 : 1;
}

/* Compares without strcmp(), which takes another path if a string lies at the end of a page. Where
 * argv lies follows from the size of the environment, which differs between the runs that are
 * compared. */
static int is(const volatile char *a, const char *b)
{
    while (*a == *b && *b != '\0')
        a++, b++;
    return *a == *b;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {{"loop", loop},       {"calls", calls}, {"signals", signals},
                 {"threads", threads}, {"forks", forks}, {"masked", masked},
                 {"repeats", repeats}, {"flags", flags}, {"long", longer},
                 {"spawned", spawned}, {"traps", traps}, {"segments", segments},
                 {"entries", entries}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && argc > 1; i++)
        if (is(argv[1], parts[i].name))
            return parts[i].run();
    return 2;
}
