/* SPDX-License-Identifier: BSD-3-Clause
 * Hand-written functions with operands of every kind, for instrumented copies that record the
 * address of each access. Prints a sum. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Each function takes a buffer of 4096 bytes in rdi and preserves the registers that the ABI
 * preserves. */
#define FUNCTION(name, text)                                                                       \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name                          \
            ":\n.cfi_startproc\n" text "ret\n.cfi_endproc\n.size " #name ", .-" #name "\n");       \
    long name(uint8_t *p, long n)

FUNCTION(stack_words, "pushq (%rdi)\n"
                      "pushq $5\n"
                      "pushw 8(%rdi)\n"
                      "popw 16(%rdi,%rsi,2)\n"
                      "popq 32(%rdi)\n"
                      "pushq 24(%rsp)\n"
                      "popq -8(%rsp)\n"
                      "popq 64(%rdi)\n"
                      "pushfq\n"
                      "popq %rax\n"
                      "and $0x40, %eax\n");
FUNCTION(frames, "pushq %rbp\n"
                 "movq %rsp, %rbp\n"
                 "subq $32, %rsp\n"
                 "movq %rsi, -16(%rbp)\n"
                 "movq -16(%rbp), %rax\n"
                 "leave\n"
                 "enter $16, $0\n"
                 "addq -16(%rbp), %rax\n"
                 "leave\n");
FUNCTION(table, "pushq %rbx\n"
                "movq %rdi, %rbx\n"
                "movl %esi, %eax\n"
                "xlatb\n"
                "addb (%rdi), %al\n"
                "xlatb\n"
                "movzbl %al, %eax\n"
                "popq %rbx\n");
FUNCTION(segments, "movq %fs:0, %rax\n"
                   "movq %fs:(,%rsi,8), %rcx\n"
                   "leaq -64(%rsi), %rdx\n"
                   "addq %fs:64(%rdx), %rax\n"
                   "movabsq %fs:0, %rax\n"
                   "subq %fs:0, %rax\n"
                   "addq %rsi, %rax\n");
FUNCTION(strings, "movq %rdi, %r8\n"
                  "leaq 1024(%rdi), %rsi\n"
                  "movl $37, %ecx\n"
                  "rep movsb\n"
                  "movl $5, %ecx\n"
                  "rep movsq\n"
                  "xorl %eax, %eax\n"
                  "movl $9, %ecx\n"
                  "rep stosl\n"
                  "movsw\n"
                  "stosb\n"
                  "lodsq\n"
                  "xorl %ecx, %ecx\n"
                  "rep movsb\n"
                  "movq %r8, %rsi\n"
                  "leaq 2048(%r8), %rdi\n"
                  "movl $200, %ecx\n"
                  "repe cmpsb\n"
                  "cmpsl\n"
                  "movq %r8, %rdi\n"
                  "movl $77, %ecx\n"
                  "movb $3, %al\n"
                  "repne scasb\n"
                  "scasl\n"
                  "movq %rdi, %rax\n"
                  "subq %r8, %rax\n"
                  "addq %rcx, %rax\n");
/* Addresses use rcx as loop instructions leave it: after a loop, and in a loop that uses it as
 * often as it changes. */
FUNCTION(turns, "movb (%rdi), %al\n"
                "movq %rdi, %r8\n"
                "movl $40, %ecx\n"
                "1: cmpb (%r8), %al\n"
                "leaq 11(%r8), %r8\n"
                "loope 1b\n"
                "movl $9, %edx\n"
                "2: addb 2(%rdi,%rcx), %al\n"
                "addb 3(%rdi,%rcx), %al\n"
                "decl %edx\n"
                "jnz 2b\n"
                "3: addb (%rdi,%rcx), %al\n"
                "loop 3b\n"
                "movzbl %al, %eax\n");
/* Addresses of 32 bits. main() calls it only if the program lies below 4 GiB. */
FUNCTION(narrow, "movl numbers(%rip), %eax\n"
                 "leaq numbers(%rip), %rdi\n"
                 "addl (%edi), %eax\n"
                 "addl -4(%edi,%esi,4), %eax\n");
FUNCTION(sums, "movl (%rdi,%rsi,8), %eax\n"
               "addl 3(%rdi,%rsi,4), %eax\n"
               "addl numbers+4(%rip), %eax\n"
               "lock addl %eax, 128(%rdi)\n"
               "xchgl %eax, 4(%rdi)\n"
               "movdqu 256(%rdi), %xmm0\n"
               "movups %xmm0, 1(%rdi)\n"
               "leaq inner(%rip), %r9\n"
               "movq %r9, 512(%rdi)\n"
               "callq *512(%rdi)\n"
               "movq $0, 512(%rdi)\n");
FUNCTION(inner, "addl $3, %eax\n"
                "addl 12(%rdi), %eax\n");
FUNCTION(wide, "vmovdqu64 64(%rdi), %zmm1\n"
               "vpaddd 8192(%rdi,%rsi,4), %zmm1, %zmm2\n"
               "vpaddd 60(%rdi){1to16}, %zmm2, %zmm2\n"
               "vmovdqu32 %zmm2, -64(%rdi,%rsi,8)\n"
               "vmovdqu64 %ymm2, 32(%rdi)\n"
               "vmovd %xmm2, %eax\n"
               "vzeroupper\n");

__attribute__((used)) int numbers[64];

int main(int argc, char **argv)
{
    static uint8_t bytes[10240];
    uint8_t *p = bytes + 64;
    long sum = 0;
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 37 % 11 + (i >> 8));
    memcpy(p + 2048, p, 100);
    for (int i = 0; i < 64; i++)
        numbers[i] = i;
    bool low = (uintptr_t)numbers >> 32 == 0;
    for (long n = 1; n < 100; n++) {
        sum += stack_words(p, n) + frames(p, n) + table(p, n & 255) + segments(p, 0);
        sum += strings(p, n) + turns(p, n) + sums(p, n) + (low ? narrow(p, 1 + (n & 7)) : 0);
        if (argc > 1 && strcmp(argv[1], "wide") == 0)
            sum += wide(p, n);
    }
    printf("%ld\n", sum);
    return 0;
}
