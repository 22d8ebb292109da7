/* SPDX-License-Identifier: BSD-3-Clause
 * Jumps through tables that lead where the analysis of their function may find nothing: labels
 * kept in variables, several tables in one function, jumps that compilers have merged. Also a
 * jump that the flags stay live across, and registers that are live only at targets that no
 * analysis finds. */
#include <stdio.h>

#define APART __attribute__((noinline, noclone))
#define KEEP APART __attribute__((used))

static long m[32];

KEEP void open_window(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop");
}

KEEP void close_window(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop");
}

/* Has two jump tables, one of plain labels and one of labels that count. */
KEEP long two(const unsigned char *c, int counts)
{
    static const void *const plain[] = {&&p0, &&p1, &&p2, &&end};
    static const void *const counting[] = {&&t0, &&t1, &&t2, &&end};
    long n = 0;
#define NEXT                                                                                       \
    do {                                                                                           \
        if (n & 8)                                                                                 \
            goto *plain[*c++];                                                                     \
        else                                                                                       \
            goto *counting[*c++];                                                                  \
    } while (0)
    if (counts)
        goto *counting[*c++];
    goto *plain[*c++];
p0:
    m[0]++;
    n += 3;
    NEXT;
p1:
    m[1] ^= n;
    n += 5;
    NEXT;
p2:
    m[2] += m[1];
    n -= 1;
    NEXT;
t0:
    m[4]++;
    m[0]++;
    n += 3;
    NEXT;
t1:
    m[5]++;
    m[1] ^= n;
    n += 5;
    NEXT;
t2:
    m[6]++;
    m[2] += m[1];
    n += 1;
    NEXT;
end:
    return n;
}

/* Jumps through one of two tables, so that loops are entered at each of their labels. */
KEEP long chosen(const unsigned char *c, int counts)
{
    static const void *const plain[] = {&&p0, &&p1, &&p2, &&end};
    static const void *const counting[] = {&&t0, &&t1, &&t2, &&end};
    const void *const *table = counts ? counting : plain;
    long n = 0;
    goto *table[*c++];
p0:
    m[0]++;
    n += 3;
    goto *table[*c++];
p1:
    m[1] ^= n;
    n += 5;
    goto *table[*c++];
p2:
    m[2] += m[1];
    n -= 1;
    if (n & 8)
        table = counting;
    goto *table[*c++];
t0:
    m[4]++;
    m[0]++;
    n += 3;
    goto *table[*c++];
t1:
    m[5]++;
    m[1] ^= n;
    n += 5;
    if (n & 16)
        table = plain;
    goto *table[*c++];
t2:
    m[6]++;
    m[2] += m[1];
    n += 1;
    goto *table[*c++];
end:
    return n;
}

/* Fills its jump table as the program runs, and has a label in a variable. */
KEEP long kept(long n, void ***keep)
{
    static void *t[3];
    long s = 0;
    void *next;
    if (!t[0]) {
        t[0] = &&one;
        t[1] = &&other;
        t[2] = &&third;
    }
    *keep = t;
    goto *t[n % 3];
one:
    m[8] += s;
    s += 3;
    next = &&first;
    if (n > 5)
        next = &&second;
    m[9]++;
    goto *next;
other:
    m[10] += s;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
third:
    m[11] ^= s;
    s--;
    m[12]++;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
first:
    m[13]++;
    m[14] += m[13];
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
second:
    m[14]++;
    m[13] ^= 2;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
}

/* The comparison before the jump allows fewer entries than the table has. Entries 2 and 3 need rdx,
 * rcx, r8 and the carry flag, which the other entries change at once. */
long crossed(long index, long *to);
__asm__(".text\n"
        ".globl crossed\n"
        ".type crossed, @function\n"
        "crossed:\n"
        "    cmp $1, %rdi\n"
        "    ja 8f\n"
        "8:  mov $3, %edx\n"
        "    mov $5, %ecx\n"
        "    mov $7, %r8d\n"
        "    mov $9, %r9d\n"
        "    mov $11, %r10d\n"
        "    mov $13, %r11d\n"
        "    xor %eax, %eax\n"
        "    lea 9f(%rip), %rax\n"
        "    movslq (%rax,%rdi,4), %rdi\n"
        "    add %rax, %rdi\n"
        "    stc\n"
        "    jmp *%rdi\n"
        "    .section .rodata\n"
        "    .balign 4\n"
        "9:  .long 10f-9b, 11f-9b, 12f-9b, 13f-9b\n"
        "    .text\n"
        "10: adc $0, %rsi\n"
        "    xor %eax, %eax\n"
        "    xor %edx, %edx\n"
        "    xor %ecx, %ecx\n"
        "    xor %r8d, %r8d\n"
        "    addq $1, -1(%rsi)\n"
        "    ret\n"
        "11: sbb %rax, %rax\n"
        "    xor %edx, %edx\n"
        "    xor %ecx, %ecx\n"
        "    xor %r8d, %r8d\n"
        "    xor %r9d, %r9d\n"
        "    sub %rax, 8(%rsi)\n"
        "    ret\n"
        "12: mov $0, %eax\n"
        "    adc %rdx, %rax\n"
        "    lea (%rax,%rcx), %rax\n"
        "    lea (%rax,%r8), %rax\n"
        "    lea (%rax,%r9), %rax\n"
        "    lea (%rax,%r10), %rax\n"
        "    lea (%rax,%r11), %rax\n"
        "    add %rax, 16(%rsi)\n"
        "    ret\n"
        "13: sbb %rax, %rax\n"
        "    lea (%rax,%rdx), %rax\n"
        "    add %rax, 24(%rsi)\n"
        "    add %rcx, 32(%rsi)\n"
        "    ret\n"
        ".size crossed, .-crossed\n");

/* The program's own err() returns; that of err(3) does not. */
KEEP void err(int n)
{
    m[24] += n;
}

KEEP long calls(int n)
{
    long s = 0;
    for (int i = 0; i < n; i++) {
        err(i);
        s += m[24];
    }
    return s;
}

int main(void)
{
    static unsigned char code[200];
    void **labels;
    long s = 0;
    for (int i = 0; i < 199; i++)
        code[i] = (unsigned char)((i * 7 + i / 5) % 3);
    code[199] = 3;
    open_window();
    s += two(code, 1) + two(code, 0) + chosen(code, 1) + chosen(code, 0);
    s += kept(41, &labels) + kept(9, &labels);
    for (int i = 0; i < 12; i++)
        s += crossed(i & 3, m + 16);
    s += calls(7);
    close_window();
    for (int i = 0; i < 32; i++)
        s = s * 31 + m[i];
    printf("%ld\n", s);
    return 0;
}
