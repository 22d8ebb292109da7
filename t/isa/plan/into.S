/* SPDX-License-Identifier: BSD-3-Clause
 * Functions NAME_from that jump to the second instruction of NAME_one, among its first bytes, each
 * in another way. FIXED adds the ways of programs at a fixed address. NAME_one(x) and NAME_from(x)
 * return x + 1. */
#include "function.inc"
    /* Keeps functions further apart than a short jump reaches. */
    .macro apart
    .fill 300,1,0x90
    .endm
    .macro one name
    apart
    function \name\()_one
    xor %eax,%eax
.L\name:
    lea 1(%rdi),%rax
    ret
    over \name\()_one
    apart
    .endm

    .text
    one free
    one early
    /* A computed address, in code that is decoded after its target or before it. */
    function early_from
    lea .Learly(%rip),%rcx
    jmp *%rcx
    over early_from
    function late_from
    lea .Llate(%rip),%rcx
    push %rcx
    ret
    over late_from
    one late
    one transaction
    function transaction_from
    xbegin .Ltransaction
    lea 1(%rdi),%rax
    ret
    over transaction_from
    /* A table of distances, one of which leads out of the function. */
    one table
    function table_from
    cmp $5,%edi
    ja 9f
    lea .Lentries(%rip),%rdx
    movslq (%rdx,%rdi,4),%rax
    add %rdx,%rax
    jmp *%rax
8:  xor %eax,%eax
9:  lea 1(%rdi),%rax
    ret
    over table_from
    .section .rodata
    .balign 4
    .long 17,4711
.Lentries:
    .long 8b-.Lentries,9b-.Lentries,8b-.Lentries,9b-.Lentries,.Ltable-.Lentries,9b-.Lentries
    .text
    /* From another segment */
    one segment
#ifdef FIXED
    one immediate
    function immediate_from
    mov $.Limmediate,%ecx
    push %rcx
    ret
    over immediate_from
    one long
    function long_from
    movabs $.Llong,%rcx
    push %rcx
    ret
    over long_from
    one displacement
    function displacement_from
    lea .Ldisplacement,%ecx
    push %rcx
    ret
    over displacement_from
    one word
    function word_from
    and $7,%edi
    mov words(,%rdi,8),%rax
    jmp *%rax
7:  lea 1(%rdi),%rax
    ret
    over word_from
    .section .rodata
    .byte 1
words: /* not aligned */
    .quad 7b,7b,7b,7b,.Lword,7b,7b,7b
    .text
#endif

    .section .text2,"ax",@progbits
    apart
    function segment_from
    test %rdi,%rdi
    jne .Lsegment
    mov $1,%eax
    ret
    over segment_from
    /* In the last five bytes of a segment */
    one end
    function end_from
    .byte 0xe9
    .long .Lend-.-4
    over end_from
    .section .note.GNU-stack,"",@progbits
