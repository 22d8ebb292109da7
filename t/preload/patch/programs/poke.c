/* SPDX-License-Identifier: BSD-3-Clause
 * Patched jumps come and go while threads execute the instructions that they displace. A thread
 * that begins arms all chains anew. It is the last one with anything armed when it has called each
 * function once. So for each of `rounds` short threads the jumps are written and removed, while
 * eight threads execute these functions all the time, also from a signal's handler.
 * - poke SECONDS [-pie [FILES]]: prints the rounds, in how many of them the first function had a
 *   jump when the thread began, and in how many it had none after the thread had called all
 *   functions. With FILES each short thread has so many open files of its own: the kernel closes
 *   them after pthread_join() has returned, so that ended threads stay for some time.
 * - poke dlopen LIBRARY: prints the first byte, in hexadecimal, of a function in a library that is
 *   loaded while threads run, and the sum of the function's results. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 8 };

/* Functions whose first five bytes belong to instructions of 1+3+1.., 1+2+2, 5, 1+1+1+1+1, 4+..,
 * 2+3, and 3+.. bytes. All return x + 1. */
long f_frame(long x), f_pushes(long x), f_whole(long x), f_singles(long x), f_four(long x),
    f_two(long x), f_three(long x);
__asm__(".text\n.p2align 4\n"
        ".globl f_frame\n.type f_frame,@function\nf_frame: push %rbp; mov %rsp,%rbp; sub $16,%rsp; "
        "lea 1(%rdi),%rax; leave; ret\n.size f_frame,.-f_frame\n.p2align 4\n"
        ".globl f_pushes\n.type f_pushes,@function\nf_pushes: push %rbx; push %r12; push %r13; lea "
        "1(%rdi),%rbx; mov %rbx,%rax; pop %r13; pop %r12; pop %rbx; ret\n.size "
        "f_pushes,.-f_pushes\n.p2align 4\n"
        ".globl f_whole\n.type f_whole,@function\nf_whole: mov $1,%eax; add %rdi,%rax; ret\n.size "
        "f_whole,.-f_whole\n.p2align 4\n"
        ".globl f_singles\n.type f_singles,@function\nf_singles: push %rdi; pop %rax; push %rax; "
        "pop %rdx; stc; adc $0,%rdx; mov %rdx,%rax; ret\n.size f_singles,.-f_singles\n.p2align 4\n"
        ".globl f_four\n.type f_four,@function\nf_four: lea 3(%rdi),%rax; sub $2,%rax; ret\n.size "
        "f_four,.-f_four\n.p2align 4\n"
        ".globl f_two\n.type f_two,@function\nf_two: xor %eax,%eax; add %rdi,%rax; inc %rax; "
        "ret\n.size f_two,.-f_two\n.p2align 4\n"
        ".globl f_three\n.type f_three,@function\nf_three: mov %rdi,%rax; jmp 1f; nop; nop\n1: inc "
        "%rax; ret\n.size f_three,.-f_three\n");

static long (*const all[])(long) = {f_frame, f_pushes, f_whole, f_singles, f_four, f_two, f_three};
enum { FUNCTIONS = sizeof all / sizeof *all };

static _Atomic int go_on = 1;
static _Atomic long wrong;
static _Atomic int begun;
static int may_go; /* the jumps of this build can be removed */
static int files;

static void come_to_all(long x)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (all[i](x) != x + 1)
            atomic_fetch_add(&wrong, 1);
}

static void handler(int signo)
{
    (void)signo;
    come_to_all(1000);
}

static void *hammer(void *unused)
{
    come_to_all(0);
    atomic_fetch_add(&begun, 1);
    for (long x = 0; atomic_load_explicit(&go_on, memory_order_relaxed); x++)
        come_to_all(x);
    return unused;
}

static unsigned first_byte(void)
{
    return *(const volatile unsigned char *)(void *)f_frame;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Calls all functions, then waits until the jump is gone, because another thread may be removing
 * it. */
static void *short_one(void *seen)
{
    unsigned *bytes = seen;
    bytes[0] = first_byte();
    come_to_all(5);
    for (double end = now() + 30; (bytes[1] = first_byte()) != 0x55 && may_go && now() < end;)
        ;
    if (files > 0 && unshare(CLONE_FILES) != 0)
        exit(2);
    return NULL;
}

static int run(double seconds)
{
    pthread_t hammers[THREADS], one;
    long rounds = 0, there = 0, gone = 0;
    struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};
    sigset_t alarm;
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    signal(SIGALRM, handler);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&hammers[i], NULL, hammer, NULL);
    while (atomic_load(&begun) < THREADS)
        ;
    come_to_all(7);
    /* The short threads inherit this mask: a handler in them would call all functions. */
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (double end = now() + seconds; now() < end; rounds++) {
        unsigned seen[2] = {0, 0};
        pthread_create(&one, NULL, short_one, seen);
        pthread_join(one, NULL);
        there += seen[0] == 0xe9;
        gone += seen[1] == 0x55;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&go_on, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(hammers[i], NULL);
    printf("%ld %ld %ld\n", rounds, there, gone);
    return atomic_load(&wrong) != 0;
}

static int load(const char *library)
{
    pthread_t hammers[THREADS];
    for (int i = 0; i < THREADS; i++)
        pthread_create(&hammers[i], NULL, hammer, NULL);
    while (atomic_load(&begun) < THREADS)
        ;
    void *handle = dlopen(library, RTLD_NOW);
    long (*late)(long);
    if (handle == NULL)
        return 2;
    *(void **)&late = dlsym(handle, "late");
    long sum = 0;
    for (long i = 0; i < 100; i++)
        sum += late(i);
    atomic_store(&go_on, 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(hammers[i], NULL);
    printf("%02x %ld\n", *(const volatile unsigned char *)*(void **)&late, sum);
    return atomic_load(&wrong) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "dlopen") == 0)
        return load(argv[2]);
    files = argc > 3 ? atoi(argv[3]) : 0;
    for (int i = 0, fd = open("/dev/null", O_RDONLY); i < files; i++)
        if (dup(fd) < 0)
            return 2;
    may_go = argc > 2 && strcmp(argv[2], "-pie") == 0;
    return run(argc > 1 ? atof(argv[1]) : 1);
}
