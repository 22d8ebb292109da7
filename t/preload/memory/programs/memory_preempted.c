/* SPDX-License-Identifier: BSD-3-Clause
 * memory_preempted WHAT: computes a sum while a second thread sends it signals, as preemptive
 * schedulers of coroutines do. WHAT, what the handler does:
 *   resumes  sends the thread to code that keeps all registers and jumps back to where it was
 *   swaps    leaves by swapcontext(), and is resumed later from another context
 *   SIGBUS, SIGFPE, SIGSYS  as resumes, by that signal
 * Prints how often that happened, and whether the sum is right. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

enum { ROUNDS = 300, LENGTH = 4096, LEAST = 100, STACK = 65536 };

static uint32_t numbers[LENGTH];
static atomic_int over, preempted;
static int preempting = SIGURG, astray;
static pthread_t main_thread;
static ucontext_t scheduler, preempted_at;

/* Keeps values in all registers, so that a copy must borrow one of them to record the branches. The
 * code is built without a red zone, so that there is room for an address below the stack
 * pointer. */
__attribute__((noinline)) static uint64_t add_up(const uint32_t *from, size_t n, uint64_t seed)
{
    uint64_t result = 0;
    __asm__ volatile(
        "	push	%%rbp\n"
        "	mov	%[seed], %%rax\n"
        "	.irp	register, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
        "	lea	1(%%rax, %%rax, 4), %%rax\n"
        "	mov	%%rax, %%\\register\n"
        "	.endr\n"
        "1:	.irp	register, rax, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
        "	mov	(%%rsi), %%edx\n"
        "	add	%%rdx, %%\\register\n"
        "	mov	4(%%rsi), %%edi\n"
        "	imul	%%rdi, %%\\register\n"
        "	add	%%rdx, %%rdi\n"
        "	xor	%%rdi, %%\\register\n"
        "	test	$64, %%rdi\n"
        "	jz	2f\n"
        "	not	%%\\register\n"
        "2:\n"
        "	.endr\n"
        "	add	$8, %%rsi\n"
        "	sub	$2, %%rcx\n"
        "	jnz	1b\n"
        "	.irp	register, rbx, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
        "	add	%%\\register, %%rax\n"
        "	.endr\n"
        "	pop	%%rbp\n"
        : "=&a"(result), "+S"(from), "+c"(n), [seed] "+d"(seed)
        :
        : "rbx", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
    return result;
}

/* Keeps all registers and flags, and returns to the address on the stack. */
void resume(void);
__asm__("	.text\n"
        "resume:\n"
        "	pushfq\n"
        "	push	%rax\n"
        "	push	%rcx\n"
        "	push	%rdx\n"
        "	mov	$1000, %ecx\n"
        "1:	dec	%ecx\n"
        "	jnz	1b\n"
        "	pop	%rdx\n"
        "	pop	%rcx\n"
        "	pop	%rax\n"
        "	popfq\n"
        "	ret\n");

static void resumes(int signo, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)r[REG_RIP];
    (void)signo;
    (void)info;
    if (at - (uintptr_t)add_up > 512) /* as a scheduler: only in code that it knows */
        return;
    r[REG_RSP] -= 8;
    memcpy((void *)r[REG_RSP], &at, sizeof at);
    r[REG_RIP] = (greg_t)(uintptr_t)resume;
    atomic_fetch_add(&preempted, 1);
}

static void swaps(int signo, siginfo_t *info, void *context)
{
    uintptr_t at = (uintptr_t)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)signo;
    (void)info;
    if (at - (uintptr_t)add_up > 512)
        return;
    atomic_fetch_add(&preempted, 1);
    (void)swapcontext(&preempted_at, &scheduler);
}

/* Computes a little, then resumes what was preempted, again and again. */
static void schedule(void)
{
    uint64_t first = add_up(numbers, LENGTH, 1);
    for (;;) {
        astray += add_up(numbers, LENGTH, 1) != first;
        (void)swapcontext(&scheduler, &preempted_at);
    }
}

static void *sends(void *unused)
{
    struct timespec pause = {.tv_nsec = 200000};
    (void)unused;
    while (!atomic_load(&over)) {
        (void)pthread_kill(main_thread, preempting);
        (void)nanosleep(&pause, NULL);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    static char stack[STACK];
    const char *what = argc > 1 ? argv[1] : "resumes";
    struct sigaction action = {.sa_sigaction = resumes, .sa_flags = SA_SIGINFO | SA_RESTART};
    pthread_t sender;
    uint64_t sum = 0, right = 0;
    for (int i = 0; i < LENGTH; i++)
        numbers[i] = (uint32_t)i * 2654435761u;
    if (strcmp(what, "swaps") == 0) {
        action.sa_sigaction = swaps;
        (void)getcontext(&scheduler);
        scheduler.uc_stack.ss_sp = stack;
        scheduler.uc_stack.ss_size = sizeof stack;
        (void)sigaddset(&scheduler.uc_sigmask, SIGURG);
        makecontext(&scheduler, schedule, 0);
    }
    preempting = strcmp(what, "SIGBUS") == 0   ? SIGBUS
                 : strcmp(what, "SIGFPE") == 0 ? SIGFPE
                 : strcmp(what, "SIGSYS") == 0 ? SIGSYS
                                               : SIGURG;
    right = add_up(numbers, LENGTH, 0);
    for (int i = 1; i < 64; i++)
        right ^= add_up(numbers, LENGTH, (uint64_t)i);
    main_thread = pthread_self();
    (void)sigaction(preempting, &action, NULL);
    (void)pthread_create(&sender, NULL, sends, NULL);
    int wrong = 0, rounds = 0;
    while (rounds++ < ROUNDS || atomic_load(&preempted) < LEAST) {
        sum = 0;
        for (int i = 0; i < 64; i++)
            sum ^= add_up(numbers, LENGTH, (uint64_t)i);
        wrong += sum != right;
    }
    atomic_store(&over, 1);
    (void)pthread_join(sender, NULL);
    printf("%s, %d wrong\n", atomic_load(&preempted) >= LEAST ? "often" : "seldom", wrong + astray);
    return 0;
}
