# SPDX-License-Identifier: BSD-3-Clause
# Places that alarms look for, at labels site_KIND_n. Labels near_KIND_n are at places that resemble
# one but are none.
        .text
        .globl  _start
        .type   _start, @function
_start: .cfi_startproc
site_ssc_1:
        mov     $0x111, %ebx
        .byte   0x64, 0x67, 0x90
near_ssc_1:
        mov     $0x222, %ebx
        .byte   0x64, 0x67, 0x90
near_ssc_2:
        mov     $0x111, %ebx
        nop
near_ssc_3:
        movabs  $0x9067640000011190, %rax
site_ssc_2:
        mov     $0x111, %ebx
        addr32 fs nop
site_magic_1:
        xchg    %bx, %bx
site_magic_2:
        xchg    %ebx, %ebx
near_magic_1:
        xchg    %rbx, %rbx
site_cpuid_1:
        cpuid
near_cpuid_1:
        mov     $0xa20fa20f, %eax
site_itext_1:
        lea     8(%rax,%rbx,2), %rcx
near_itext_1:
        mov     $0x0858, %eax
near_itext_2:
        lea     16(%rax,%rbx,2), %rcx
        test    %ebx, %ebx
        je      site_int3_2
site_int3_1:
        int3
near_int3_1:
        mov     $0xcccccccc, %eax
site_int3_2:
        int3
        call    site_enter_1
site_return_1:
        call    *pointer(%rip)
        call    site_enter_1
site_return_2:
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        hlt
        .cfi_endproc
        .size   _start, . - _start
        .balign 16, 0xcc
        .globl  marked
        .type   marked, @function
marked:
site_enter_1:
        .cfi_startproc
        endbr64
        test    %rax, %rax
        js      site_ret_2
        nop
site_ret_1:
        ret
site_ret_2:
        ret
        .cfi_endproc
        .size   marked, . - marked
# In `into` a branch leads into the bytes to patch. `short` has no room. `next` has a call among the
# bytes to patch. `padded` is one byte, then padding.
        .type   into, @function
into:
refused_jump_1:
        .cfi_startproc
        push    %rax
target: pop     %rax
        inc     %ecx
        jnz     target
        ret
        .cfi_endproc
        .size   into, . - into
        .type   short, @function
short:
refused_jump_2:
        .cfi_startproc
        inc     %ecx
        ret
        .cfi_endproc
        .size   short, . - short
        .type   next, @function
next:   .cfi_startproc
        push    %rcx
refused_jump_3:
        push    %rcx
        call    *%rdx
        pop     %rcx
        pop     %rcx
        ret
        .cfi_endproc
        .size   next, . - next
        .balign 16
        .type   padded, @function
padded:
fits_jump_1:
        .cfi_startproc
        ret
        .cfi_endproc
        .size   padded, . - padded
        .balign 16
        .type   usual, @function
usual:
fits_jump_2:
        .cfi_startproc
        push    %rbp
        mov     %rsp, %rbp
        pop     %rbp
        ret
        .cfi_endproc
        .size   usual, . - usual
        .data
pointer: .quad  marked
        .section .note.GNU-stack, "", @progbits
