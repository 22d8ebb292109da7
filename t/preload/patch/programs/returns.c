/* SPDX-License-Identifier: BSD-3-Clause
 * Return addresses of functions with exit_func alarms: returns BYTE [interrupted]. Prints for each
 * kind of call the first byte at the return address, or "same" if it is as without a probe, for
 * direct calls BYTE. Then prints how often `told` was called. Without arguments it prints BYTE.
 * With a second argument a handler interrupts the calls: prints how often `told` and the handler
 * were called. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

#define PLAIN __attribute__((noinline, noclone))

int plugged(int n); /* in a library */
int plugged_within(int n);
extern void *plugged_back; /* its last return address */

static volatile int sink;
static void *back;
static _Atomic int calls;

PLAIN int told(int n)
{
    back = __builtin_return_address(0);
    calls++;
    return sink = n;
}

/* A branch leads to the second instruction after the call, so no jump fits there. */
int tight(int n);
__asm__(".text\n.globl tight\n.type tight, @function\n"
        "tight: push %rbx\n	mov %edi, %ebx\n"
        "1: call told\n	nop\n"
        "2: sub $1, %ebx\n	je 3f\n	test $1, %ebx\n	je 2b\n	jmp 1b\n"
        "3: pop %rbx\n	ret\n.size tight, . - tight\n");

static unsigned char byte_at(const void *at)
{
    return *(const volatile unsigned char *)at;
}

PLAIN static void directly(int n)
{
    for (int i = 0; i < n; i++)
        sink = told(i) + 1;
}

PLAIN static void by_pointer(int n)
{
    int (*volatile pointer)(int) = told;
    for (int i = 0; i < n; i++)
        sink = pointer(i) + 2;
}

PLAIN static void of_library(int n)
{
    for (int i = 0; i < n; i++)
        sink = plugged(i) + 3;
}

static void *thread(void *unused)
{
    directly(10);
    return unused;
}

static const char *call(void (*how)(int), void *const *where, unsigned char before)
{
    static char text[8];
    how(10);
    if (byte_at(*where) == before)
        return "same";
    (void)snprintf(text, sizeof text, "%02x", byte_at(*where));
    return text;
}

static volatile sig_atomic_t handled;
PLAIN int in_handler(int n)
{
    return sink = n;
}
static void handle(int signo)
{
    handled++;
    sink = in_handler(signo) + 4;
}

/* At any moment of the calls, a handler enters and leaves its own function. */
static int interrupted(void)
{
    struct itimerval every = {{0, 100}, {0, 100}}, none = {{0, 0}, {0, 0}};
    (void)signal(SIGALRM, handle);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 1000 || handled < 3000; i++)
        directly(1000);
    (void)setitimer(ITIMER_REAL, &none, NULL);
    return printf("%d %d\n", calls, (int)handled) < 0;
}

int main(int argc, char **argv)
{
    if (argc > 2)
        return interrupted();
    pthread_t t[4];
    unsigned char direct = argc > 1 ? (unsigned char)strtoul(argv[1], NULL, 16) : 0;
    if (argc == 1) {
        directly(1);
        return printf("%02x\n", byte_at(back)) < 0;
    }
    printf("direct %s\n", call(directly, &back, direct));
    printf("pointer %s\n", call(by_pointer, &back, 0));
    printf("library %s\n", call(of_library, &plugged_back, 0));
    (void)plugged_within(10);
    printf("within %02x\n", byte_at(plugged_back));
    (void)tight(10);
    printf("tight %02x\n", byte_at(back));
    for (int i = 0; i < 4; i++)
        (void)pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(t[i], NULL);
    printf("threads %s\n", call(directly, &back, direct));
    printf("%d\n", calls);
    return 0;
}
