# SPDX-License-Identifier: BSD-3-Clause
# Code that is hard to decode: data in the text, tables in the text, overlapping instructions.
# Labels tell which is which: at code_* there are instructions; data_* begins bytes that are no
# instructions and end at the next end_*.
        .text
        .globl _start
        .type _start, @function
_start: .cfi_startproc
        endbr64
        xor     %ebx, %ebx
        call    function_table
        call    function_text
        call    function_overlap
        call    function_noreturn_user
        call    function_lea
        call    function_one
        call    function_loop
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        hlt
        .cfi_endproc
        .size _start, . - _start

# A table of distances in the text, inside of the function.
        .type function_table, @function
function_table:
        .cfi_startproc
        mov     %ebx, %eax
        cmp     $3, %eax
        ja      code_table_default
        lea     data_table(%rip), %rdx
        movslq  (%rdx,%rax,4), %rax
        add     %rdx, %rax
        jmp     *%rax
        .balign 4
data_table:
        .long   code_table_0 - data_table, code_table_1 - data_table
        .long   code_table_2 - data_table, code_table_default - data_table
end_table:
code_table_0:
        mov     $1, %ebx
        ret
code_table_1:
        mov     $2, %ebx
        ret
code_table_2:
        lea     3(%rbx), %ebx
        ret
code_table_default:
        ret
        .cfi_endproc
        .size function_table, . - function_table

# A text after a call that only takes its address. The text decodes as instructions.
        .type function_text, @function
function_text:
        .cfi_startproc
        call    code_text_behind
data_text:
        .asciz  "PQRST this is no code"
end_text:
code_text_behind:
        pop     %rax
        ret
        .cfi_endproc
        .size function_text, . - function_text

# A jump to the byte after the lock prefix, as in old C libraries.
        .type function_overlap, @function
function_overlap:
        .cfi_startproc
        lea     -8(%rsp), %rcx
        test    %ebx, %ebx
        je      overlap_inner
overlap_outer:
        .byte   0xf0
overlap_inner:
        orl     $0, (%rcx)
code_overlap_behind:
        ret
        .cfi_endproc
        .size function_overlap, . - function_overlap

# Data after a call that never returns, up to the end of the function.
        .globl  abort
        .type abort, @function
abort:  .cfi_startproc
        ud2
        .cfi_endproc
        .size abort, . - abort
        .type function_noreturn_user, @function
function_noreturn_user:
        .cfi_startproc
        cmp     $77, %ebx
        jne     code_noreturn_out
        call    abort
data_noreturn:
        .byte   0x50, 0x51, 0x52, 0x53, 0x90, 0x90, 0x58
end_noreturn:
code_noreturn_out:
        ret
        .cfi_endproc
        .size function_noreturn_user, . - function_noreturn_user

# Constants between functions. Instructions read them and compute their addresses.
        .type function_lea, @function
function_lea:
        .cfi_startproc
        lea     data_constants(%rip), %rax
        movups  data_constants(%rip), %xmm0
        ret
        .cfi_endproc
        .size function_lea, . - function_lea
        .balign 16
data_constants:
        .long   0x01010101, 0x02020202, 0x90909090, 0xc3c3c3c3
        .long   0, 0, 0, 0xc3
end_constants:

# A function of one byte, with the next function right after it.
        .type function_one, @function
function_one:
        .cfi_startproc
        ret
        .cfi_endproc
        .size function_one, . - function_one

# A loop instruction that jumps to itself, and a jump back into the first five bytes.
        .type function_loop, @function
function_loop:
        .cfi_startproc
        push    %rcx
code_loop_inner:
        inc     %ebx
        cmp     $5, %ebx
        jl      code_loop_inner
        mov     $3, %ecx
code_loop_self:
        loop    code_loop_self
        jmp     *code_loop_pointer(%rip)
code_loop_end:
        pop     %rcx
        ret
        .cfi_endproc
        .size function_loop, . - function_loop
        .section .data.rel.local, "aw"
        .balign 8
code_loop_pointer:
        .quad   code_loop_end
        .section .note.GNU-stack, "", @progbits
