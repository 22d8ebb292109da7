/* SPDX-License-Identifier: BSD-3-Clause
 * Pieces of code for t/preload/values/followed.c, which the processor executes itself and by copies
 * of their instructions. Each piece begins and ends with int3. On entry r15 has 4 KiB on either
 * side that may be used, r14 is r15 + 512, and rcx is 5; the other registers hold anything. */
    .intel_syntax noprefix
    .text
    .macro piece name, needs=0
    .pushsection .rodata.text, "aMS", @progbits, 1
text_\name: .asciz "\name"
    .popsection
    .pushsection .data.rel.ro.pieces, "aw", @progbits
    .quad text_\name, at_\name, end_\name, \needs
    .popsection
    .balign 16
at_\name:
    int3
    .endm
    .macro over name
end_\name:
    int3
    .endm
    .pushsection .data.rel.ro.pieces, "aw", @progbits
    .globl pieces
pieces:
    .popsection

piece arithmetic
    add rax, rbx
    adc rdx, rsi
    sub r8, 77
    sbb r9, rax
    imul r10, r11, 1234567
    mul rbx
    lea rbp, [rax + rbx * 4 + 99]
    xor edi, edi
    inc rdi
    neg r12
    not r13
    bswap rsi
    popcnt r8, rbx
    bsr r9, rbx
    shld rax, rbx, 7
    rol rdx, cl
    rcr r11, 3
    cmovc rbx, rax
    setnz al
    movsx rax, bl
    movzx r12d, ax
    cdqe
    cqo
    xchg rax, r13
    bt r13, 5
    add ah, bh
    mov dl, ch
over arithmetic

piece flags
    stc
    cmc
    lahf
    sahf
    std
    cld
    cmp rax, rbx
    sete cl
    clc
    std
over flags

piece memory
    mov [r15 - 256], rax
    mov rbx, [r15 - 256]
    add qword ptr [r15 + 8], 5
    mov byte ptr [r15 + 3], 0x5a
    movzx esi, byte ptr [r15 + 3]
    lea rdi, [rip + counter]
    mov rdx, [rip + counter]
    add [rip + counter], rcx
    inc dword ptr [rip + counter]
    cmp qword ptr [rip + counter], 7
    mov r8, [r15 + rcx * 8]
    mov r9, fs:[0]
    mov r10d, [r14 - 8]
    xadd [r15 + 64], rbx
    lock add qword ptr [r15 + 64], 3
    lock cmpxchg [r15 + 72], rdx
    xchg [r15 + 80], rsi
    mov word ptr [r15 + 90], 0x1234
    movbe r11, [r15]
over memory

piece jumps
1:  dec rcx
    jz 2f
    add rax, rcx
    test rcx, 1
    jnz 1b
    add rbx, 1
    jmp 1b
2:  mov ecx, 3
3:  add rdx, 9
    loop 3b
    jrcxz 4f
    ud2
4:  lea rdi, [rip + 5f]
    jmp rdi
    ud2
5:  lea rdi, [rip + 6f]
    mov [r15], rdi
    jmp [r15]
    ud2
6:  cmp rax, rbx
    jl 7f
    jg 7f
    nop
7:  js 8f
    jo 8f
    jp 8f
    jbe 8f
    nop
8:  mov ecx, 2
9:  cmp eax, eax
    loope 9b
    xor ecx, ecx
    jecxz 10f
    ud2
10: nop
over jumps

    .macro all_conditions
    .irp condition, o, no, b, nb, z, nz, be, nbe, s, ns, p, np, l, nl, le, nle
    lea r12, [r12 + r12]
    j\condition 11f
    lea r12, [r12 + 1]
11:
    .endr
    .endm
piece conditions
    cmp rax, rax
    all_conditions
    cmp rcx, 6
    all_conditions
    cmp rcx, 4
    all_conditions
    add r12, r13
    mov r13, r12
    mov edi, 0x7fffffff
    add edi, 1
    all_conditions
    mov edi, 0x80000000
    sub edi, 1
    all_conditions
    test rax, rbx
    all_conditions
    add r12, r13
over conditions

piece calls
    push rax
    push rbx
    call 1f
    mov rdi, rax
    lea rdx, [rip + 1f]
    call rdx
    mov [r15], rdx
    call [r15]
    pop r8
    pop r9
    jmp 2f
1:  push rbp
    mov rbp, rsp
    sub rsp, 32
    mov [rsp + 8], rcx
    mov [rbp - 16], rdx
    mov rax, [rsp + 8]
    add rax, [rsp + 16]
    lea r10, [rsp + 4]
    sub r10, rsp
    add rsp, 16
    and rsp, -16
    leave
    ret
2:  push rcx
    call 3f
    jmp 4f
3:  ret 8
4:  nop
over calls

/* Uses the stack more than a red zone below rsp, where the handler's frame lies. */
piece deep
    mov rbx, rsp
    sub rsp, 2048
    mov qword ptr [rsp], 11
    mov qword ptr [rsp + 1024], 12
    mov qword ptr [rsp + 2000], 13
    push 5
    pop rax
    add rax, [rsp + 1024]
    mov rdi, rsp
    mov ecx, 256
    mov eax, 0x5a5a
    rep stosq
    mov rdx, [rsp + 800]
    call 1f
    jmp 2f
1:  sub rsp, 8192
    mov [rsp], rdx
    mov r9, [rsp]
    add rsp, 8192
    ret
2:  mov rsp, rbx
over deep

piece strings
    cld
    lea rdi, [r15 + 100]
    lea rsi, [r15 - 200]
    mov ecx, 50
    rep movsb
    mov ecx, 9
    rep stosq
    lodsq
    stosd
    movsw
    scasb
    cmpsb
    mov ecx, 40
    repne scasb
    lea rdi, [r15 + 100]
    lea rsi, [r15 - 200]
    mov ecx, 50
    repe cmpsb
    xor ecx, ecx
    rep movsq
    std
    mov ecx, 5
    lea rdi, [r15 + 100]
    rep stosb
    cld
over strings

piece odd, 4
    rdtsc
    xor eax, eax
    xor edx, edx
    nop
    pause
    mfence
    lfence
    mov rbx, r15
    xor eax, eax
    xlatb
    enter 16, 0
    leave
    mov r8, gs
    xor r8d, r8d
    prefetcht0 [r15]
    cpuid
    xor eax, eax
    xor ebx, ebx
    xor ecx, ecx
    xor edx, edx
    push rsp
    pop rsi
    sub rsi, rsp
    push qword ptr [r15]
    pop qword ptr [r15 + 8]
    mov eax, 39
    syscall
    mov rcx, 0
    mov r11, 0
    endbr64
    pushfq
    pop rbx
    push rbx
    popfq
    and ebx, 0xcd5
over odd

/* The program's fault handler, faulted() in following.c, skips each faulting instruction, whose
 * length it tells from the first bytes. */
piece faults, 4
    xor ebx, ebx
    mov rax, [rbx]
    add rax, 3
    mov [rbx], rax
    div rbx
    add r8, 1
    ud2
    lea rdi, [r15 + 4070]
    lea rsi, [r15 + 4076]
    mov ecx, 50
    rep movsb
    mov r9, rcx
    mov r10, rsp
    sub rsp, 0x70000000
    add rax, [rsp + 8]
    nop
    nop
    mov rsp, r10
    jmp 1f
1:  movups xmm0, [rbx]
    addps xmm0, xmm1
    fld1
    fadd dword ptr [rbx]
    nop
over faults

piece strided
1:  mov rax, [r15 + rcx * 8 + 16]
    add rbx, [r15 + rcx * 8 - 800]
    mov [r14 + rcx], al
    dec rcx
    jnz 1b
over strided

piece framed
    call 1f
    jmp 2f
1:  push rbp
    mov rbp, rsp
    mov [r15], rax
    add rax, [r15]
    pop rbp
    ret
2:  nop
over framed

piece x87
    fninit
    fld1
    fldpi
    fadd st, st(1)
    fst qword ptr [r15]
    fild word ptr [r15 + 2]
    fmulp st(1), st
    fsqrt
    fxch
    fstp dword ptr [r15 + 16]
    fldcw [rip + control]
    fldl2e
    fcomi st, st(1)
    fnstcw [r15 + 20]
    fnstsw ax
    xor eax, eax
    fld tbyte ptr [rip + extended]
    fchs
over x87

piece sse
    movapd xmm0, xmm1
    addpd xmm0, xmm2
    mulsd xmm3, xmm0
    movdqu [r15], xmm3
    movq rax, xmm4
    pinsrq xmm5, rax, 1
    pxor xmm6, xmm6
    pshufd xmm7, xmm8, 0x1b
    cvtsi2sd xmm9, rbx
    cvttsd2si rdx, xmm2
    ldmxcsr [rip + rounding]
    divsd xmm2, xmm3
    sqrtpd xmm10, xmm1
    movhps xmm11, [r15]
    movaps xmm12, [rip + sixteen]
    paddd xmm13, [rip + sixteen]
    ucomisd xmm2, xmm3
    stmxcsr [r15 + 32]
    movss [r15 + 40], xmm14
    crc32 rax, rbx
    aesenc xmm1, xmm2
    lea rdi, [r15 + 200]
    maskmovdqu xmm1, xmm6
over sse

piece avx, 1
    vaddpd ymm0, ymm1, ymm2
    vfmadd231pd ymm0, ymm3, ymm4
    vmovdqu [r15], ymm0
    vbroadcastsd ymm5, [r15 + 8]
    vperm2f128 ymm6, ymm7, ymm8, 0x21
    vextractf128 xmm9, ymm0, 1
    vpxor ymm10, ymm10, ymm10
    vpcmpeqd ymm11, ymm11, ymm11
    vpgatherqq ymm12, [r15 + ymm10 * 8], ymm11
    vpcmpeqd ymm11, ymm11, ymm11
    vpsrlq ymm13, ymm11, 62
    vgatherqpd ymm14, [r15 + ymm13 * 8 + 16], ymm11
    vmovaps ymm15, [rip + sixteen]
    vpmaskmovq [r15 + 128], ymm11, ymm15
    pdep rax, rbx, rdx
    mulx rax, rbx, rdx
    andn r8, r9, r10
    vzeroupper
    vaddsd xmm0, xmm1, [rsp]
over avx

piece avx512, 2
    vpternlogd zmm31, zmm31, zmm31, 255
    vmovdqu64 [r15], zmm30
    vaddpd zmm16, zmm1, zmm17
    mov eax, 0xaa
    kmovb k1, eax
    vmovdqu64 zmm18 {k1}, [r15]
    vpxorq zmm19, zmm19, zmm19
    kxnorb k2, k2, k2
    vpgatherqq zmm20 {k2}, [r15 + zmm19 * 8]
    kxnorb k3, k3, k3
    vpaddq zmm21, zmm31, zmm31
    vpsrlq zmm21, zmm31, 61
    vpscatterqq [r14 + zmm21 * 8] {k3}, zmm20
    vpcmpuq k4, zmm20, zmm18, 1
    kmovw ebx, k4
    vcompresspd zmm22 {k4}{z}, zmm16
    vmovapd zmm23, [rip + sixteen]
    vaddpd zmm24, zmm23, [rip + sixteen]{1to8}
    vcvtpd2ps ymm25, zmm23
over avx512

    .pushsection .data.rel.ro.pieces, "aw", @progbits
    .quad 0, 0, 0, 0
    .popsection

/* void enter(const struct state *s, uintptr_t piece, uint64_t *stack): saves its stack pointer in
 * *stack, pushes 64 words that hold r15, loads all registers from *s and jumps to `piece`. At the
 * end of the piece the handler restores that stack pointer and goes on at `entered`, which returns
 * to the caller. */
    .globl enter, entered
enter:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    pushfq
    mov [rdx], rsp
    mov [rip + piece_at], rsi
    mov ecx, 64
1:  push qword ptr [rdi + 120]
    loop 1b
    mov rcx, rdi
    mov eax, -1
    mov edx, -1
    xrstor64 [rcx + 192]
    push qword ptr [rcx + 128]
    popfq
    mov rax, [rcx + 0]
    mov rdx, [rcx + 16]
    mov rbx, [rcx + 24]
    mov rbp, [rcx + 40]
    mov rsi, [rcx + 48]
    mov rdi, [rcx + 56]
    mov r8, [rcx + 64]
    mov r9, [rcx + 72]
    mov r10, [rcx + 80]
    mov r11, [rcx + 88]
    mov r12, [rcx + 96]
    mov r13, [rcx + 104]
    mov r14, [rcx + 112]
    mov r15, [rcx + 120]
    mov rcx, [rcx + 8]
    jmp [rip + piece_at]
entered:
    popfq
    cld
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret

    .data
    .balign 64
    .globl counter
sixteen:
    .double 1.5, -2.25, 3.0, 4.125, 5.0, 6.0, 7.5, -8.0
extended:
    .byte 0x01, 0, 0, 0, 0, 0, 0, 0xc9, 0x00, 0x40
    .balign 8
counter:
    .quad 41
piece_at:
    .quad 0
control:
    .word 0x0e7f
    .balign 4
rounding:
    .long 0x5f80
    .section .note.GNU-stack, "", @progbits
