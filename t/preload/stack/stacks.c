/* SPDX-License-Identifier: BSD-3-Clause
 * stacks THREADS [AT_ONCE]: runs threads with the smallest possible stacks and 2 KiB of TLS. They
 * call functions, take signals on those stacks and on alternate stacks of ALTERNATE (8,192) bytes,
 * and ask for windows. Prints the results.
 *
 * The kernel's frame of a handler is as large as the processor's state. So that an overflow shows
 * on each processor, the alternate stacks are smaller here by the additional size of two frames on
 * the processor with the largest frames. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK = 16384, TLS = 2048, ROUNDS = 20, TURNS = 4000 };
static size_t alternate = 8192; /* bytes of a thread's alternate stack */
static size_t less;             /* bytes of it that are not accessible */

static __thread unsigned char own[TLS] __attribute__((tls_model("initial-exec")));
static __thread volatile int here, there;
static pthread_barrier_t begin;
static volatile double sink;

void regtrace_region_begin(const char *name) __attribute__((weak));
void regtrace_region_end(const char *name) __attribute__((weak));
void regtrace_start(int bcast) __attribute__((weak));
void regtrace_stop(int bcast) __attribute__((weak));

__attribute__((noinline)) unsigned leaf(unsigned n)
{
    own[n % TLS]++;
    return n * 2654435761u;
}

__attribute__((noinline)) unsigned work(unsigned n)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < TURNS; i++)
        sum += leaf(n + i) >> 7;
    return sum;
}

__attribute__((noinline)) unsigned handled(int signo)
{
    return leaf((unsigned)signo);
}

static void on_thread(int signo)
{
    here += handled(signo) != 0;
}

static void on_alternate(int signo)
{
    char local;
    there += handled(signo) != 0 && &local != NULL;
}

/* Bytes of the XSAVE state up to AMX's tile configuration, and of the mark after it. struct
 * _fpx_sw_bytes has the size for this processor. */
#define LARGEST_STATE 2820u

static void measure(int signo, siginfo_t *info, void *context)
{
    (void)signo;
    (void)info;
#if defined(__x86_64__)
    const ucontext_t *uc = context;
    unsigned state;
    memcpy(&state, (const char *)uc->uc_mcontext.fpregs + 464 + 4, sizeof state);
    if (state < LARGEST_STATE)
        less = 2 * (LARGEST_STATE - state);
#else
    (void)context;
#endif
}

static void *run(void *p)
{
    /* The lower half is not accessible, so an overflow faults. */
    char *memory = mmap(NULL, 2 * alternate, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = memory + alternate - less, .ss_size = alternate};
    if (memory == MAP_FAILED ||
        mprotect(memory + alternate, alternate, PROT_READ | PROT_WRITE) != 0 ||
        sigaltstack(&stack, NULL) != 0)
        return NULL;
    (void)pthread_barrier_wait(&begin);
    unsigned long sum = (unsigned long)p;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (regtrace_start != NULL && i % 8 == 3)
            regtrace_start(0);
        if (regtrace_region_begin != NULL)
            regtrace_region_begin("round");
        sum += work(i);
        (void)pthread_kill(pthread_self(), SIGUSR1);
        (void)pthread_kill(pthread_self(), SIGUSR2);
        sum += work(i + 1);
        if (regtrace_region_end != NULL)
            regtrace_region_end("round");
        if (regtrace_stop != NULL && i % 8 == 6)
            regtrace_stop(0);
    }
    stack.ss_flags = SS_DISABLE;
    (void)sigaltstack(&stack, NULL);
    (void)munmap(memory, 2 * alternate);
    for (unsigned i = 0; i < TLS; i++)
        sum += own[i];
    return (void *)(sum * 1000000 + (unsigned long)here * 1000 + (unsigned long)there);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 4, made = 0;
    pthread_t *all = calloc((size_t)threads, sizeof *all);
    pthread_attr_t a;
    struct sigaction one = {.sa_handler = on_thread},
                     two = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK};
    struct sigaction first = {.sa_sigaction = measure, .sa_flags = SA_SIGINFO};
    unsigned long sum = 0;
    if (getenv("ALTERNATE") != NULL)
        alternate = (size_t)atoi(getenv("ALTERNATE"));
    if (sigaction(SIGUSR1, &first, NULL) != 0 || raise(SIGUSR1) != 0)
        return 1;
    if (all == NULL || sigaction(SIGUSR1, &one, NULL) != 0 || sigaction(SIGUSR2, &two, NULL) != 0 ||
        pthread_attr_init(&a) != 0 || pthread_attr_setstacksize(&a, STACK) != 0)
        return 1;
    (void)pthread_barrier_init(&begin, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        int rc = pthread_create(&all[i], &a, run, (void *)(long)i);
        if (rc != 0) {
            printf("thread %d: %s\n", i, strerror(rc));
            return 2;
        }
        made++;
    }
    for (int i = 0; i < made; i++) {
        void *result = NULL;
        (void)pthread_join(all[i], &result);
        sum += (unsigned long)result;
    }
    printf("made %d, sum %lu\n", made, sum);
    free(all);
    return 3;
}
