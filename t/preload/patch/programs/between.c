/* SPDX-License-Identifier: BSD-3-Clause
 * Calls functions within windows and between them, ten times each: hot() directly and through a
 * pointer, and closing() through the same call. begin() and the end of closing() are for alarms.
 * Prints in how many rounds of each kind the code of hot(), and where the direct call returns, was
 * not as compiled. */
#include <stdint.h>
#include <stdio.h>

__asm__(".text\n.globl hot\n.type hot, @function\n"
        "hot: lea 1(%rdi), %rax\n	ret\n.size hot, .-hot\n"
        ".globl closing\n.type closing, @function\n"
        "closing: lea 1(%rdi), %rax\n	ret\n.size closing, .-closing\n"
        ".globl begin\n.type begin, @function\n"
        "begin: lea 1(%rdi), %rax\n	ret\n.size begin, .-begin\n"
        ".globl calls\n.type calls, @function\n"
        "calls: push %rsi\n	call hot\n"
        "direct: mov %rax, %rdi\n	mov $0, %eax\n	pop %rsi\n	push %rsi\n"
        "	call *%rsi\n"
        "indirect: mov %rax, %rdi\n	mov $0, %eax\n	pop %rsi\n	mov %rdi, %rax\n"
        "	ret\n.size calls, .-calls\n");
long hot(long n), closing(long n), begin(long n), calls(long n, long (*other)(long));
extern const uint8_t direct[];

static int is_changed(void)
{
    const volatile uint8_t *code = (const uint8_t *)(uintptr_t)hot;
    const volatile uint8_t *after = direct;
    return code[0] != 0x48 || code[1] != 0x8d || after[0] != 0x48 || after[1] != 0x89;
}

int main(void)
{
    int within = 0, between = 0;
    long n = 0;
    for (int round = 0; round < 10; round++) {
        n = calls(calls(n, hot), hot);
        between += is_changed();
        n = begin(n);
        n = calls(n, hot);
        within += is_changed();
        n = calls(n, closing);
        between += is_changed();
    }
    printf("%ld, changed: within %d, between %d\n", n, within, between);
    return 0;
}
