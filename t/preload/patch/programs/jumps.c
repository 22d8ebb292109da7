/* SPDX-License-Identifier: BSD-3-Clause
 * Places whose probe is a patched jump: jumps PART. Each part prints how often `place`, or the
 * place that it names, is executed, or -1 if something is not as it was before. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* Registers, red zone and flags before and after the place. */
struct state {
    uint64_t flags, general[14], red[16];
    unsigned char vector[16][32];
};
static struct state before, after;

/* Loads everything from `before`, executes the place, and stores everything to `after`. `wide` is 0
 * if the processor has no wide registers. */
void pass(int wide);
__asm__(
    ".text\n"
    ".globl pass\n"
    ".type pass, @function\n"
    "pass:\n"
    "	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n	push %r14\n	push %r15\n"
    "	push %rdi\n"
    "	test %edi, %edi\n"
    "	jz 1f\n"
    "	lea before+248(%rip), %rax\n"
    "	vmovdqu (%rax), %ymm0\n	vmovdqu 32(%rax), %ymm1\n	vmovdqu 224(%rax), %ymm7\n"
    "	vmovdqu 256(%rax), %ymm8\n	vmovdqu 480(%rax), %ymm15\n"
    "1:	lea before+120(%rip), %rsi\n"
    "	lea -128(%rsp), %rdi\n"
    "	mov $16, %ecx\n"
    "	rep movsq\n"
    "	push before(%rip)\n"
    "	popfq\n"
    "	mov before+120(%rip), %rdi\n" /* the push has overwritten a word of the red zone */
    "	mov before+8(%rip), %rax\n	mov before+16(%rip), %rbx\n	mov before+24(%rip), %rcx\n"
    "	mov before+32(%rip), %rdx\n	mov before+40(%rip), %rsi\n	mov before+48(%rip), %rdi\n"
    "	mov before+56(%rip), %rbp\n	mov before+64(%rip), %r8\n	mov before+72(%rip), %r9\n"
    "	mov before+80(%rip), %r10\n	mov before+88(%rip), %r11\n	mov before+96(%rip), %r12\n"
    "	mov before+104(%rip), %r13\n	mov before+112(%rip), %r14\n"
    "	mov before+120(%rip), %r15\n"
    "	mov %r15, -128(%rsp)\n	mov before+240(%rip), %r15\n	mov %r15, -8(%rsp)\n"
    ".globl place\n"
    "place:\n"
    "	mov $0x12345678, %r15d\n"
    ".globl place_end\n"
    "place_end:\n"
    "	mov %rax, after+8(%rip)\n	mov %rbx, after+16(%rip)\n	mov %rcx, after+24(%rip)\n"
    "	mov %rdx, after+32(%rip)\n	mov %rsi, after+40(%rip)\n	mov %rdi, after+48(%rip)\n"
    "	mov %rbp, after+56(%rip)\n	mov %r8, after+64(%rip)\n	mov %r9, after+72(%rip)\n"
    "	mov %r10, after+80(%rip)\n	mov %r11, after+88(%rip)\n	mov %r12, after+96(%rip)\n"
    "	mov %r13, after+104(%rip)\n	mov %r14, after+112(%rip)\n"
    /* the red zone, before anything is pushed */
    "	mov -128(%rsp), %rax\n	mov %rax, after+120(%rip)\n"
    "	mov -8(%rsp), %rax\n	mov %rax, after+240(%rip)\n"
    "	mov -64(%rsp), %rax\n	mov %rax, after+184(%rip)\n"
    "	mov -16(%rsp), %rax\n	mov %rax, after+232(%rip)\n"
    "	pushfq\n"
    "	pop after(%rip)\n"
    "	cld\n"
    "	cmpl $0, (%rsp)\n"
    "	jz 2f\n"
    "	lea after+248(%rip), %rax\n"
    "	vmovdqu %ymm0, (%rax)\n	vmovdqu %ymm1, 32(%rax)\n	vmovdqu %ymm7, 224(%rax)\n"
    "	vmovdqu %ymm8, 256(%rax)\n	vmovdqu %ymm15, 480(%rax)\n"
    "2:	pop %rdi\n"
    "	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n	pop %rbp\n	pop %rbx\n"
    "	ret\n"
    ".size pass, . - pass\n");

static int state(void)
{
    int n = 0, wide = __builtin_cpu_supports("avx2");
    for (unsigned i = 0; i < 128; i++, n++) {
        unsigned f = (i & 1) | (i & 2) << 1 | (i & 4) << 2 | (i & 8) << 3 | (i & 16) << 3 |
                     (i & 32) << 5 | (i & 64) << 5;
        memset(&before, 0x11 + (int)i, sizeof before);
        for (unsigned k = 0; k < 14; k++)
            before.general[k] = 0x0101010101010101u * (k + 3) ^ i;
        before.flags = f | 0x202;
        memset(&after, 0, sizeof after);
        pass(wide);
        const struct state *a = &after, *b = &before;
        if ((a->flags & 0xcd5) != (b->flags & 0xcd5) ||
            memcmp(a->general, b->general, sizeof a->general) != 0 || a->red[0] != b->red[0] ||
            a->red[8] != b->red[8] || a->red[14] != b->red[14] || a->red[15] != b->red[15])
            return -1;
        for (int v = 0; wide && v < 16; v++)
            if ((v < 2 || v == 7 || v == 8 || v == 15) &&
                memcmp(a->vector[v], b->vector[v], 32) != 0)
                return -1;
    }
    return n;
}

/* --- counts ----------------------------------------------------------------------------------- */

#define PLAIN __attribute__((noinline, noclone))
static volatile int sum;
static _Atomic int calls;

PLAIN int counted(int x)
{
    static volatile int kept;
    kept = x;
    return kept + 1;
}

static void call(void)
{
    calls++;
    sum = counted(1);
}

static void *thread(void *unused)
{
    for (int i = 0; i < 20000; i++)
        call();
    return unused;
}

static int threads(void)
{
    pthread_t t[8];
    for (int i = 0; i < 8; i++)
        (void)pthread_create(&t[i], NULL, thread, NULL);
    for (int i = 0; i < 8; i++)
        (void)pthread_join(t[i], NULL);
    return calls;
}

static void on_alarm(int signo)
{
    (void)signo;
    call();
}

static int signals(void)
{
    struct sigaction a = {.sa_handler = on_alarm};
    struct itimerval every = {{0, 200}, {0, 200}};
    (void)sigaction(SIGALRM, &a, NULL);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    for (int i = 0; i < 3000000 || calls < 3000500; i++)
        call();
    memset(&every, 0, sizeof every);
    (void)setitimer(ITIMER_REAL, &every, NULL);
    return calls;
}

/* Returns the first byte of counted(), as the program reads it. */
static int first_byte(void)
{
    sum = counted(1);
    return *(const volatile unsigned char *)(uintptr_t)counted;
}

/* A function that is too small for a jump. Its int3 is removed while nothing is armed, and is there
 * again for a thread that begins. rests() prints the first byte before and after its calls, and in
 * each thread before and after a call; it returns the byte at the end. */
int tiny(int x);
__asm__(".text\n.globl tiny\n.type tiny, @function\n"
        "tiny: lea 1(%rdi), %eax\n	ret\n.size tiny, . - tiny\n"
        ".globl behind\n.type behind, @function\nbehind: ret\n.size behind, . - behind\n");

static unsigned byte_of_tiny(void)
{
    return *(const volatile unsigned char *)(uintptr_t)tiny;
}

static void *begins(void *unused)
{
    unsigned first = byte_of_tiny();
    sum = tiny(1);
    printf("%x %x ", first, byte_of_tiny());
    return unused;
}

static int rests(void)
{
    printf("%x ", byte_of_tiny());
    for (int i = 0; i < 3; i++)
        sum = tiny(1);
    printf("%x ", byte_of_tiny());
    for (int i = 0; i < 2; i++) {
        pthread_t t;
        (void)pthread_create(&t, NULL, begins, NULL);
        (void)pthread_join(t, NULL);
    }
    return (int)byte_of_tiny();
}

/* --- neighbours, calls, ends ------------------------------------------------------------------ */

int near_ones(int n);
__asm__(".text\n"
        ".globl near_ones\n"
        ".type near_ones, @function\n"
        "near_ones:\n"
        "	mov %edi, %ecx\n"
        "	xor %eax, %eax\n"
        "3:\n"
        ".globl near_a\n"
        "near_a:	inc %eax\n"
        ".globl near_b\n"
        "near_b:	nop\n"
        ".globl near_c\n"
        "near_c:	lea 7(%rcx), %rdx\n"
        ".globl near_d\n"
        "near_d:	mov $1, %r8d\n"
        "	dec %ecx\n"
        "	jnz 3b\n"
        "	ret\n"
        ".size near_ones, . - near_ones\n");

static int neighbours(void)
{
    return near_ones(50);
}

int caller(int n);
__asm__(".text\n"
        ".globl caller\n"
        ".type caller, @function\n"
        "caller:\n"
        "	push %rbx\n	push %r12\n	push %r13\n"
        "	mov %edi, %ebx\n"
        "	xor %r13d, %r13d\n"
        "	lea counted(%rip), %r12\n"
        "	sub $16, %rsp\n"
        "	mov %r12, (%rsp)\n"
        "4:	mov %ebx, %edi\n"
        ".globl direct\n"
        "direct:	call counted\n"
        "	lea -1(%r13,%rax), %r13d\n"
        "	mov %ebx, %edi\n"
        ".globl by_pointer\n"
        "by_pointer:	call *%r12\n"
        "	lea -1(%r13,%rax), %r13d\n"
        ".globl branch\n"
        "branch:	dec %ebx\n"
        "	jnz 4b\n"
        "	mov %r13d, %eax\n"
        "	add $16, %rsp\n"
        "	pop %r13\n	pop %r12\n	pop %rbx\n"
        "	ret\n"
        ".size caller, . - caller\n");

static int calling(void)
{
    return caller(40) == 40 * 41 ? 40 : -1;
}

/* A function of the C library that the program defines itself, so all callers use this one. */
void *memcpy(void *to, const void *from, size_t n);
PLAIN void *memcpy(void *to, const void *from, size_t n)
{
    volatile char *t = to;
    const volatile char *f = from;
    for (size_t i = 0; i < n; i++)
        t[i] = f[i];
    return to;
}

static int own_memcpy(void)
{
    void *(*volatile copy)(void *, const void *, size_t) = memcpy;
    char room[64];
    for (int i = 0; i < 30; i++)
        copy(room, "a text of some bytes", 21);
    return strcmp(room, "a text of some bytes") == 0 ? 30 : -1;
}

/* Asynchronous cancellation of a thread that is mostly in the code of a probe. */
static void *endless(void *unused)
{
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        sum = counted(1);
    return unused;
}

static int cancelled(void)
{
    for (int i = 0; i < 20; i++) {
        pthread_t t;
        void *result;
        (void)pthread_create(&t, NULL, endless, NULL);
        (void)usleep(i == 0 ? 500 : 2000); /* the first one while the recording starts */
        (void)pthread_cancel(t);
        (void)pthread_join(t, &result);
        if (result != PTHREAD_CANCELED)
            return -1;
    }
    return 20;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(void);
    } parts[] = {{"state", state},           {"threads", threads}, {"signals", signals},
                 {"byte", first_byte},       {"near", neighbours}, {"calling", calling},
                 {"own_memcpy", own_memcpy}, {"rests", rests},     {"cancelled", cancelled}};
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0)
            return printf("%d\n", parts[i].run()) < 0;
    return 2;
}
