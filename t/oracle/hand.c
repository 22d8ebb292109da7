/* SPDX-License-Identifier: BSD-3-Clause
 * A program without libc whose instructions can be counted by hand, for the oracle's own test. The
 * first letter of the first argument selects the part that runs. */
#include <sys/syscall.h>

/* The numbers count the instructions that a part executes. It ends with two mov and the exit, which
 * does not return and does not count. */
__asm__(".globl _start\n"
        "_start:\n\t"
        "movq 16(%rsp), %rax\n\t"     /* 1: argv[1] */
        "movb (%rax), %al\n\t"        /* 2 */
        "cmpb $'l', %al\n\t"          /* 3 */
        "je loop\n\t"                 /* 4 */
        "cmpb $'s', %al\n\t"          /* 5 */
        "je calls\n\t"                /* 6 */
        "cmpb $'k', %al\n\t"          /* 7 */
        "je ended\n\t"                /* 8 */
        "cmpb $'m', %al\n\t"          /* 9 */
        "je segments\n\t"             /* 10 */
        "leaq buffer(%rip), %rdi\n\t" /* 11 */
        "movl $4096, %ecx\n\t"        /* 12 */
        "rep stosb\n\t"               /* 13, once */
        "jmp end\n"                   /* 14 */
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
        "jmp end\n"
        "segments:\n\t"
        "movl %ss, %ebx\n\t"       /* 11 */
        "movw %bx, buffer(%rip)\n" /* 12 */
        "movl $3, %edx\n"          /* 13 */
        "3: movl %ebx, %ss\n\t"    /* 3 times 8 */
        "movl %ebx, %ss\n\t"
        "nop\n\t"
        "movw buffer(%rip), %ss\n\t"
        "movl $39, %eax\n\t"
        "int $0x80\n\t" /* mkdir(NULL): EFAULT */
        "decl %edx\n\t"
        "jnz 3b\n\t"
        "jmp end\n" /* 38 */
        "ended:\n\t"
        "movl $39, %eax\n\t"
        "syscall\n\t"
        "movl %eax, %edi\n\t"
        "movl $15, %esi\n\t"
        "movl $62, %eax\n\t" /* kill with SIGTERM */
        "syscall\n"
        "end:\n\t"
        "movl $60, %eax\n\t"
        "movl $7, %edi\n\t"
        "syscall\n\t"
        ".local buffer\n\t"
        ".comm buffer,4096\n");
