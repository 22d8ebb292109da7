/* SPDX-License-Identifier: BSD-3-Clause
 * A program without libc whose instructions can be counted by hand, for the oracle's own test. The first argument's
 * first letter says which part runs. */
#include <sys/syscall.h>

/* loop: 1 + 2 x 1000; syscall: 2; rep: 4 of which one of 4096 bytes; then each ends by 3 (mov, mov, syscall). */
__asm__(".globl _start\n"
        "_start:\n\t"
        "movq 16(%rsp), %rax\n\t"     /* 1: argv[1] */
        "movb (%rax), %al\n\t"        /* 2 */
        "cmpb $'l', %al\n\t"          /* 3 */
        "je loop\n\t"                 /* 4 */
        "cmpb $'s', %al\n\t"          /* 5 */
        "je calls\n\t"                /* 6 */
        "leaq buffer(%rip), %rdi\n\t" /* 7 */
        "movl $4096, %ecx\n\t"        /* 8 */
        "rep stosb\n\t"               /* 9 */
        "jmp end\n"                   /* 10 */
        "loop:\n\t"
        "movl $1000, %ecx\n"
        "1: decl %ecx\n\t"
        "jnz 1b\n\t"
        "jmp end\n"
        "calls:\n\t"
        "movl $3, %ebx\n"
        "2: movl $39, %eax\n\t" /* getpid */
        "syscall\n\t"
        "nop\n\t"
        "decl %ebx\n\t"
        "jnz 2b\n"
        "end:\n\t"
        "movl $60, %eax\n\t"
        "xorl %edi, %edi\n\t"
        "syscall\n\t"
        ".local buffer\n\t"
        ".comm buffer,4096\n");
