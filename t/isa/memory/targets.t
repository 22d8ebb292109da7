#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Tests the targets of jumps through registers to which several paths lead (compilers merge computed
# gotos): all targets are found, or they are not known. Also labels that programs store, and tables
# that a subtraction bounds.
. "$(dirname "$0")/../../lib.sh"
cd "$T" || exit 1
needs memory
# shellcheck source=t/isa/memory/stepped.inc
. "$here/stepped.inc"

# found FUNCTION PROGRAM: prints the names of the labels to which its jumps through tables lead, or
# the reason why it is not analysed.
found() {
    "$REGTRACE" skel analyze -function "^$1\$" "$2" >analysed
    sed -n 's/.*cannot be analysed: \(.*\) (at.*/\1/p' analysed
    nm "$2" | awk '{ print "0x" $1, $3 }' | sed 's/^0x0*/0x/' >names
    sed -n '/which of a table/{n;s/.*-> //p}' analysed | tr ' ' '\n' | sed 's/\..*//' | sort -u |
        while read -r at; do awk -v at="$at" '$1 == at { print $2; f = 1 } END { if (!f) print at }' names; done | sort | xargs
}

# Labels are global, so that they have names without being functions.
cat >asm.inc <<'E2'
    .macro begin name
    .globl \name
    .hidden \name
    .type \name, @function
\name:
    .cfi_startproc
    .endm
    .macro end name
    .cfi_endproc
    .size \name, .-\name
    .endm
    .macro label name, n
    .globl \name
    .hidden \name
\name:
    add $\n, %rdi
    mov %rdi, \n(%rsi)
    ret
    .endm
E2
cat >fixed.S <<'E2'
    .include "asm.inc"
    .text
    begin merged
    test %edx, %edx
    jne 2f
    mov 8f(,%rdi,8), %rax
1:  nop
    jmp *%rax
2:  mov 9f(,%rdi,8), %rax
    jmp 1b
    label merged_a, 1
    label merged_b, 2
    label merged_c, 3
    label merged_d, 4
    end merged
    .section .rodata
    .balign 8
8:  .quad merged_a, merged_b
    .quad 0
9:  .quad merged_c, merged_d
    .quad 0
    .text
    /* Of one way nothing is known. */
    begin given
    mov %rcx, %rax
    test %edx, %edx
    jne 1f
    mov 8f(,%rdi,8), %rax
1:  jmp *%rax
    label given_a, 1
    label given_b, 2
    end given
    .section .rodata
    .balign 8
8:  .quad given_a, given_b
    .quad 0
    .text
    /* Labels that instructions name, in a table that is written when the program runs. */
    begin stored
    movq $stored_a, table
    movq $stored_b, table+8
    mov $stored_c, %eax
    test %edx, %edx
    mov $stored_d, %ecx
    cmovne %rcx, %rax
    test %edi, %edi
    je 1f
    mov table(,%rdi,8), %rax
1:  jmp *%rax
    label stored_a, 1
    label stored_b, 2
    label stored_c, 3
    label stored_d, 4
    end stored
    .lcomm table, 32
E2
gcc -no-pie -static -nostdlib -Wl,-e,merged -o fixed fixed.S || exit 99
is "$(found merged ./fixed)" "merged_a merged_b merged_c merged_d" "two loads, one jump: both tables"
is "$(found given ./fixed)" "a jump whose targets are not known" "a load or an argument: not known"
is "$(found stored ./fixed)" "stored_a stored_b stored_c stored_d" "labels that instructions name"

cat >moved.S <<'E2'
    .include "asm.inc"
    .text
    /* One jump, one of two tables of distances. */
    begin chosen
    cmp $1, %rdi
    ja 3f
    lea 8f(%rip), %rcx
    test %edx, %edx
    jne 1f
    lea 9f(%rip), %rcx
1:  movslq (%rcx,%rdi,4), %rax
    add %rcx, %rax
    jmp *%rax
3:  ret
    label chosen_a, 1
    label chosen_b, 2
    label chosen_c, 3
    label chosen_d, 4
    end chosen
    .section .rodata
    .balign 4
8:  .long chosen_a-8b, chosen_b-8b
    .long 0x7fffffff
9:  .long chosen_c-9b, chosen_d-9b
    .long 0x7fffffff
    .text
    /* Kept labels, after which stands what data may be too. */
    begin kept
    lea 8f(%rip), %rax
    jmp *(%rax,%rdi,8)
    label kept_a, 1
    .globl kept_b, kept_c
    .hidden kept_b, kept_c
kept_b:
    add %al, (%r8)
    mov %rdi, (%rsi)
kept_c:
    add %al, (%rsi)
    ret
    end kept
    .section .data.rel.ro, "aw"
    .balign 8
8:  .quad kept_a, kept_b, kept_c
    .text
    /* One of the labels leads to what is no code. */
    begin broken
    lea 8f(%rip), %rax
    jmp *(%rax,%rdi,8)
    label broken_a, 1
    label broken_b, 2
    .globl broken_c
    .hidden broken_c
broken_c:
    .byte 6, 6, 6, 6
    end broken
    .section .data.rel.ro, "aw"
    .balign 8
8:  .quad broken_a, broken_b, broken_c
    .text
    /* As clang -O0 compares; after the table lies what would lead into an instruction. */
    begin subtracted
    mov %rdi, %rax
    sub $1, %rax
    ja 3f
    mov %rdi, %rax
    lea 8f(%rip), %rcx
    movslq (%rcx,%rax,4), %rax
    add %rcx, %rax
    jmp *%rax
3:  ret
    label subtracted_a, 1
    label subtracted_b, 2
9:  movabs $0x0006060606060606, %rax
    ret
    end subtracted
    .section .rodata
    .balign 4
8:  .long subtracted_a-8b, subtracted_b-8b
    .long 9b-8b+4
E2
gcc -shared -nostdlib -o moved.so moved.S || exit 99
is "$(found chosen ./moved.so)" "chosen_a chosen_b chosen_c chosen_d" "one of two tables of distances: both"
is "$(found kept ./moved.so)" "kept_a kept_b kept_c" "labels before add %al, (%r8)"
is "$(found broken ./moved.so)" "a jump whose targets are not known" "a label that is no code: not known"
is "$(found subtracted ./moved.so)" "subtracted_a subtracted_b" "a subtraction bounds a table"

# Guesses that all fail in the same place must not cost more than a function of that size may.
{
    printf '    .include "asm.inc"\n    .text\n    begin guessed\n    ret\n    .balign 16\n'
    printf '    .rept 40000\n    endbr64\n    lea 8(%%rax,%%rcx,4), %%rax\n    lea 8(%%rax,%%rcx,4), %%rax\n    nop\n    nop\n    .endr\n    .byte 6, 6\n    end guessed\n'
} >guessed.S
gcc -shared -nostdlib -o guessed.so guessed.S || exit 99
run 8 "$ISA" skel --summary guessed.so
is "$status" 0 "40000 guesses that are none, in time"

# Code of compilers, against the processor
cat >goto.c <<'E2'
#include <stdio.h>
long a[8];
__attribute__((noinline)) long co(long n, void ***keep)
{
    static void *t[3];
    long s = 0;
    void *nx;
    if (!t[0]) {
        t[0] = &&one;
        t[1] = &&two;
        t[2] = &&three;
    }
    *keep = t;
    goto *t[n % 3];
one:
    a[1] += s;
    s += 3;
    nx = &&b1;
    if (n > 5)
        nx = &&b2;
    a[5]++;
    goto *nx;
two:
    a[2] += s;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
three:
    a[3] ^= s;
    s--;
    a[4]++;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
b1:
    a[6]++;
    a[7] += a[6];
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
b2:
    a[7]++;
    a[6] ^= 2;
    if (n-- > 0)
        goto *(*keep)[n % 3];
    return s;
}
__attribute__((noinline)) long run(const unsigned char *c, int traced)
{
    static const void *const plain[] = {&&p0, &&p1, &&p2, &&end};
    static const void *const trace[] = {&&t0, &&t1, &&t2, &&end};
    long n = 0;
#define NEXT                                                                                       \
    do {                                                                                           \
        if (n & 8)                                                                                 \
            goto *plain[*c++];                                                                     \
        else                                                                                       \
            goto *trace[*c++];                                                                     \
    } while (0)
    if (traced)
        goto *trace[*c++];
    goto *plain[*c++];
p0: a[0]++; n += 3; NEXT;
p1: a[1] ^= n; n += 5; NEXT;
p2: a[2] += a[1]; n -= 1; NEXT;
t0: a[4]++; a[0]++; n += 3; NEXT;
t1: a[5]++; a[1] ^= n; n += 5; NEXT;
t2: a[6]++; a[2] += a[1]; n += 1; NEXT;
end:
    return n;
}
int main(int argc, char **v)
{
    static unsigned char code[200];
    void **k;
    (void)v;
    long x = co(41, &k) + co(9, &k);
    for (int i = 0; i < 199; i++)
        code[i] = (i * 7 + i / 5) % 3;
    code[199] = 3;
    x += run(code, argc & 1) + run(code, 0);
    return printf("%ld\n", x) < 0;
}
E2
setarch -R true 2>/dev/null || { skip "goto.c" "addresses cannot be without randomization here"; done_testing; exit; }
for compiler in gcc clang; do
    command -v $compiler >/dev/null || { skip "$compiler" "it is not installed"; continue; }
    for flags in '-O1 -fno-pie -no-pie' '-O2 -fno-pie -no-pie' '-O2 -fPIE -pie'; do
        # shellcheck disable=SC2086
        $compiler -w $flags -o goto goto.c || exit 99
        exact "$compiler $flags" ./goto
    done
done
done_testing
