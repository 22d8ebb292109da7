/* SPDX-License-Identifier: BSD-3-Clause
 * memory_left HOW: leaves loops of which nothing need be recorded in the middle. HOW:
 * - fault: a store faults, and the handler of SIGSEGV jumps out
 * - alarm: a handler of SIGALRM jumps out of a loop that would not end
 * - cancel: the thread is cancelled asynchronously
 * - call: a function that the loop calls jumps out, so the place is known
 * Then a function writes to `after`. Prints the addresses of `after`, of element 0 of the array,
 * and of the first element that is never written to. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { PAGE = 4096, GOOD = 10 };

static sigjmp_buf back;
static volatile long after;
static long ring[1024];

APART void open_window(void)
{
    __asm__ volatile("" ::: "memory");
}

APART void close_window(void)
{
    __asm__ volatile("" ::: "memory");
}

static void leave(int signo)
{
    siglongjmp(back, signo);
}

APART static void fill(long *p, long n)
{
    for (long i = 0; i < n; i++)
        p[i] = i;
    after = 1000;
}

APART static void spin(long n)
{
    for (long i = 0; i != n; i++)
        ring[i & 1023] += i;
    after = 1000;
}

APART static void called(const long *p, long i)
{
    if (p[i] == GOOD - 1)
        leave(1);
}

APART static void calling(long *p, long n)
{
    for (long i = 0; i < n; i++) {
        p[i] = i;
        called(p, i);
    }
    after = 1000;
}

static void *thread(void *argument)
{
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    spin(-1);
    return argument;
}

APART static void go_on(void)
{
    after = after + 1;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "fault";
    char *m = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long *p = (long *)(void *)(m + PAGE) - GOOD;
    struct itimerval soon = {.it_value.tv_usec = 20000};
    if (strcmp(how, "call") != 0)
        (void)mprotect(m + PAGE, PAGE, PROT_NONE);
    (void)signal(SIGSEGV, leave);
    (void)signal(SIGALRM, leave);
    printf("%lx %lx %lx\n", (unsigned long)&after, (unsigned long)p, (unsigned long)(p + GOOD));
    (void)fflush(stdout);
    open_window();
    if (strcmp(how, "cancel") == 0) {
        pthread_t t;
        (void)pthread_create(&t, NULL, thread, NULL);
        (void)usleep(20000);
        (void)pthread_cancel(t);
        (void)pthread_join(t, NULL);
    } else if (sigsetjmp(back, 1) == 0) {
        (void)(strcmp(how, "alarm") == 0 ? setitimer(ITIMER_REAL, &soon, NULL) : 0);
        if (strcmp(how, "alarm") == 0)
            spin(-1);
        if (strcmp(how, "call") == 0)
            calling(p, 2 * GOOD);
        fill(p, 1000);
    }
    go_on();
    close_window();
    printf("%ld\n", after);
    return 0;
}
