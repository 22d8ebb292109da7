/* SPDX-License-Identifier: BSD-3-Clause
 * Probes that have been removed because nothing was armed any more, and what may happen then: rest
 * PART. Calls placed() and whole(), which a jump fits into. Prints how often the alarm
 * "precond:enter_func:placed" must have fired: once in each thread that has a chain. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

__asm__(".text\n.p2align 4\n.globl placed\n.type placed,@function\n"
        "placed: push %rbx\nmov %rdi,%rbx\nlea 1(%rbx),%rax\npop %rbx\nret\n.size placed,.-placed\n"
        ".p2align 4\n.globl whole\n.type whole,@function\n"
        "whole: lea 0x1000(%rdi),%rax\nret\n.size whole,.-whole\n");
long placed(long), whole(long);

static volatile int stop, bad;
static int threads = 1; /* threads that call placed() */

static void *once(void *p)
{
    bad |= placed(1) != 2 || whole(1) != 0x1001;
    return p;
}

static void thread(void)
{
    pthread_t t;
    if (pthread_create(&t, NULL, once, NULL) != 0)
        exit(3);
    (void)pthread_join(t, NULL);
    threads++;
}

static void compute(union sigval v)
{
    (void)v;
    while (!stop)
        for (long i = 0; i < 1000; i++)
            bad |= placed(i) != i + 1 || whole(i) != i + 0x1000;
}

/* glibc's own threads have all signals blocked. */
static void timer(void)
{
    struct sigevent e = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = compute};
    struct itimerspec at = {.it_value.tv_nsec = 10000000};
    timer_t t;
    if (timer_create(CLOCK_MONOTONIC, &e, &t) != 0 || timer_settime(t, 0, &at, NULL) != 0)
        exit(3);
    threads++;
    (void)usleep(200000);
    for (int i = 0; i < 200; i++) {
        thread();
        (void)usleep(500);
    }
    stop = 1;
    (void)usleep(100000);
}

/* A thread of a child begins with its chains, although the child has recorded nothing. */
static void forked(void)
{
    pid_t child = fork();
    if (child == 0) {
        thread();
        exit(0);
    }
    (void)waitpid(child, NULL, 0);
    threads++;
}

/* From here on no file can be opened. */
static void files(void)
{
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_NOFILE, &none);
    thread();
    thread();
}

static ucontext_t main_context, other;
static void on_small(void)
{
    bad |= placed(1) != 2;
}
/* Calls placed() on a stack whose size nobody knows. The memory below it, which is not the stack's,
 * must not change. */
static void small_stack(void)
{
    static unsigned char below_and_stack[4096 + 8192];
    memset(below_and_stack, 0x5a, 4096);
    (void)getcontext(&other);
    other.uc_stack.ss_sp = below_and_stack + 4096;
    other.uc_stack.ss_size = 8192;
    other.uc_link = &main_context;
    makecontext(&other, on_small, 0);
    (void)swapcontext(&main_context, &other);
    for (int i = 0; i < 4096; i++)
        bad |= below_and_stack[i] != 0x5a;
}

/* Forks by a system call that no library sees; each child calls placed(). */
static void raw_forks(void)
{
    for (int i = 0; i < 20; i++) {
        pid_t child = (pid_t)syscall(SYS_fork);
        if (child == 0) {
            bad |= placed(2) != 3;
            _exit(bad);
        }
        int status = -1;
        (void)waitpid(child, &status, 0);
        bad |= status;
    }
}

int main(int argc, char **argv)
{
    const char *part = argc > 1 ? argv[1] : "";
    if (strcmp(part, "small") != 0) {
        (void)once(NULL);
        (void)usleep(20000);
    }
    if (strcmp(part, "timer") == 0)
        timer();
    else if (strcmp(part, "forked") == 0)
        forked();
    else if (strcmp(part, "files") == 0)
        files();
    else if (strcmp(part, "small") == 0)
        small_stack();
    else if (strcmp(part, "raw") == 0)
        raw_forks();
    else
        return 2;
    printf("%d\n", threads);
    return bad;
}
