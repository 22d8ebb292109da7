# SPDX-License-Identifier: BSD-3-Clause
# Instructions to be displaced, with a table of the parts of each that depend on its address; and a
# harness that runs code with all registers set, on a separate stack. The instructions do not write
# rbx, which points to pool_memory + 128, and change rsp only by push and pop.
        .text
        .macro  entry kind, tail, insn:vararg
771:    \insn
772:    .pushsection .data.rel.ro.pool, "aw"
        .quad   771b
        .byte   772b - 771b, \kind, \tail, 0, 0, 0, 0, 0
        .popsection
        .endm
        .macro  plain insn:vararg
        entry   0, 0, \insn
        .endm
# `tail` bytes follow the 32-bit distance to pool_memory + 64.
        .macro  memory tail, insn:vararg
        entry   1, \tail, \insn
        .endm
# The last byte is the distance to the other exit.
        .macro  branch insn:vararg
        entry   2, 0, \insn
        .endm
# The last four bytes are the distance to the other exit.
        .macro  longer insn:vararg
        entry   3, 0, \insn
        .endm

        .section .data.rel.ro.pool, "aw"
        .balign 8
        .globl  pool_table
pool_table:
        .text
pool_begin:
        .irp    r, rax, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
        plain   addq $0x12, %\r
        plain   addq $0x12345678, %\r
        plain   movabsq $0x123456789abcdef0, %\r
        plain   leaq 5(%\r,%rcx,2), %\r
        plain   imulq $77, %rax, %\r
        plain   notq %\r
        plain   rolq $7, %\r
        plain   btq $9, %\r
        plain   cmovcq %rdx, %\r
        plain   xchgq %rax, %\r
        plain   xorq 8(%rbx), %\r
        plain   movq %\r, 16(%rbx)
        plain   cmpq $-3, %\r
        plain   testq %\r, %\r
        plain   pushq %\r
        plain   popq %\r
        plain   adcq $0, %\r
        plain   sbbq %\r, %\r
        memory  0, movq pool_memory + 64(%rip), %\r
        memory  0, addq %\r, pool_memory + 64(%rip)
        memory  0, leaq pool_memory + 64(%rip), %\r
        memory  0, xchgq %\r, pool_memory + 64(%rip)
        memory  1, imulq $5, pool_memory + 64(%rip), %\r
        memory  4, imulq $0x54321, pool_memory + 64(%rip), %\r
        memory  0, lock xaddq %\r, pool_memory + 64(%rip)
        memory  0, movzbl pool_memory + 64(%rip), %eax
        memory  0, cmovnsq pool_memory + 64(%rip), %\r
        memory  0, andnq pool_memory + 64(%rip), %rax, %\r
        .endr
        .irp    c, o, no, c, nc, z, nz, be, a, s, ns, p, np, l, ge, le, g
        branch  j\c .
        longer  .byte 0x0f, 0x80, 0, 0, 0, 0
        plain   set\c %al
        memory  0, set\c pool_memory + 64(%rip)
        .endr
        .rept   6
        branch  loop .
        branch  loope .
        branch  loopne .
        branch  jrcxz .
        branch  jecxz .
        branch  addr32 loop .
        branch  jmp .
        longer  .byte 0xe9, 0, 0, 0, 0
        plain   endbr64
        plain   nop
        plain   nopw 0(%rax,%rax,1)
        plain   cs nopw 0x12345(%rax,%rax,1)
        plain   cld
        plain   lahf
        plain   sahf
        plain   cltq
        plain   cqto
        plain   pushfq
        plain   pushq $77
        plain   movb $3, 4(%rbx)
        plain   movl $5, %eax
        plain   movups 16(%rbx), %xmm1
        plain   paddd %xmm1, %xmm0
        memory  0, movups pool_memory + 64(%rip), %xmm0
        memory  0, movups %xmm1, pool_memory + 64(%rip)
        memory  0, paddq pool_memory + 64(%rip), %xmm1
        memory  1, pshufd $27, pool_memory + 64(%rip), %xmm0
        memory  1, cmpb $3, pool_memory + 64(%rip)
        memory  4, cmpl $0x33333, pool_memory + 64(%rip)
        memory  2, addw $0x333, pool_memory + 64(%rip)
        memory  4, movq $-2, pool_memory + 64(%rip)
        memory  1, shlq $3, pool_memory + 64(%rip)
        memory  0, incl pool_memory + 64(%rip)
        memory  0, pushq pool_memory + 64(%rip)
        memory  0, cvtsi2sdq pool_memory + 64(%rip), %xmm0
        memory  0, fs nopw pool_memory + 64(%rip)
        .endr
        .section .data.rel.ro.pool, "aw"
        .quad   0

# pool_run: jumps to pool_entry with pool_registers (in the order of the loads below) and
# pool_flags; returns by pool_exit.
        .text
        .globl  pool_run
        .type   pool_run, @function
pool_run:
        .irp    r, rbx, rbp, r12, r13, r14, r15
        push    %\r
        .endr
        mov     %rsp, own_stack(%rip)
        mov     pool_stack(%rip), %rsp
        movups  pool_vectors(%rip), %xmm0
        movups  pool_vectors + 16(%rip), %xmm1
        push    pool_flags(%rip)
        popfq
        .set    slot, 0
        .irp    r, rax, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
        mov     pool_registers + slot(%rip), %\r
        .set    slot, slot + 8
        .endr
        jmp     *pool_entry(%rip)
        .globl  pool_exit
pool_exit:
        .set    slot, 0
        .irp    r, rax, rcx, rdx, rbx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15
        mov     %\r, pool_registers + slot(%rip)
        .set    slot, slot + 8
        .endr
        mov     %rsp, pool_stack(%rip)
        lea     own_stack(%rip), %rax
        mov     (%rax), %rsp
        pushfq
        popq    pool_flags(%rip)
        movups  %xmm0, pool_vectors(%rip)
        movups  %xmm1, pool_vectors + 16(%rip)
        cld
        .irp    r, r15, r14, r13, r12, rbp, rbx
        pop     %\r
        .endr
        ret
        .size   pool_run, . - pool_run
        .bss
        .balign 64
        .globl  pool_registers, pool_flags, pool_entry, pool_stack, pool_vectors, pool_memory
pool_registers: .skip 15 * 8
pool_flags:     .skip 8
pool_entry:     .skip 8
pool_stack:     .skip 8
own_stack:      .skip 8
        .balign 16
pool_vectors:   .skip 32
pool_memory:    .skip 256
        .section .note.GNU-stack, "", @progbits
