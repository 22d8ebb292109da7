/* SPDX-License-Identifier: BSD-3-Clause
 * Cancels threads asynchronously within `walk`, a loop in which all registers that it writes are
 * live. Prints how many of argv[1] cleanup handlers got their argument: the unwinder finds it in a
 * register of the caller of walk. -DSAVES: walk saves and uses rbx; else rbx is its caller's. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { NODES = 5003 };
static struct node {
    struct node *next;
} nodes[NODES];
static unsigned right;
static _Atomic int begun;

__attribute__((noipa)) void open_window(void)
{
}

__attribute__((noipa)) void close_window(void)
{
}

long walk(struct node *n, long steps);
__asm__(".text\n.globl walk\n.type walk, @function\nwalk:\n.cfi_startproc\n"
        "xor %eax, %eax\nxor %ecx, %ecx\nxor %edx, %edx\n"
#ifdef SAVES
        "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\nxor %ebx, %ebx\n"
#endif
        "1: mov (%rdi), %rdi\nadd %rdi, %rax\nadd %rdi, %rcx\nadd %rdi, %rdx\n"
#ifdef SAVES
        "add %rdi, %rbx\n"
#endif
        "dec %rsi\njnz 1b\nadd %rcx, %rax\nadd %rdx, %rax\n"
#ifdef SAVES
        "add %rbx, %rax\npop %rbx\n.cfi_adjust_cfa_offset -8\n.cfi_restore %rbx\n"
#endif
        "ret\n.cfi_endproc\n.size walk, .-walk\n");

__attribute__((noipa)) static void clean_up(void *argument)
{
    right += *(unsigned *)argument == 0x12345678;
}

/* Has a frame pointer, because of the array, and `value` in a register that calls preserve. */
__attribute__((noipa)) static long call_walk(size_t bytes)
{
    volatile char room[bytes];
    unsigned *value = malloc(sizeof *value);
    room[0] = 1;
    *value = 0x12345678;
    pthread_cleanup_push(clean_up, value);
    begun = 1;
    walk(nodes, 1l << 40);
    pthread_cleanup_pop(0);
    return room[0];
}

static void *run(void *unused)
{
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    call_walk(100);
    return unused;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1;
    for (unsigned k = 0; k < NODES; k++)
        nodes[k * 1999ul % NODES].next = &nodes[(k + 1) * 1999ul % NODES];
    for (int k = 0; k < times; k++) {
        pthread_t thread;
        begun = 0;
        open_window();
        if (pthread_create(&thread, NULL, run, NULL) != 0)
            return 1;
        while (!begun)
            (void)usleep(100);
        (void)usleep((unsigned)(3000 + k * 37));
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, NULL);
        close_window();
    }
    printf("%u\n", right);
    return 0;
}
