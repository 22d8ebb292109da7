/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions with operands of all kinds, for t/isa/values/operands.t. They never run. */
    .text
here:
    /* Addressing: base, index, scale, displacement; 32-bit, absolute, relative to rip and eip */
    mov (%rax), %rcx
    mov (%r8), %rcx
    mov (%r12), %rcx
    mov (%r13), %rcx
    mov 8(%rbp), %rcx
    mov -8(%rbp), %rcx
    mov 0x12345678(%r15), %rcx
    mov -0x12345678(%r15), %rcx
    mov (%rax,%rbx), %rcx
    mov (%rax,%rbx,2), %rcx
    mov (%r13,%r14,4), %rcx
    mov -1(%r12,%r12,8), %rcx
    mov 0x10(,%rbx,8), %rcx
    mov -0x10(,%r15,4), %rcx
    mov 0x1000, %rcx
    mov -0x1000, %rcx
    mov (%eax), %rcx
    mov 8(%r13d,%r14d,4), %rcx
    mov -8(%ebp), %rcx
    mov -16(,%r9d,2), %rcx
    mov here(%rip), %rcx
    mov 0x100(%rip), %rcx
    mov -0x100(%rip), %rcx
    mov 0x100(%eip), %rcx
    movl $5, 0x100(%rip)
    movw $5, 0x100(%rip)
    movb $5, 0x100(%rip)
    addq $0x12345678, 0x100(%rip)
    imul $0x1234, 0x100(%rip), %rcx
    pshufd $3, 0x100(%rip), %xmm9
    lea 0x100(%rip), %rcx
    lea -8(%rax,%rbx,4), %rcx
    movabs %al, 0x1122334455667788
    movabs 0x1122334455667788, %rax
    addr32 movabs 0x11223344, %eax
    mov %fs:0, %rax
    mov %fs:0x28, %rax
    mov %gs:8(%rbx,%rcx,2), %rax
    mov %fs:-8(%r12), %rax
    mov %fs:here(%rip), %rax
    mov %fs:(%eax), %rax
    mov %ds:(%rax), %rax
    mov %es:(%rsp), %rax
    /* The stack pointer, by all encodings */
    mov (%rsp), %rcx
    mov %rcx, 8(%rsp)
    mov %ch, -0x80(%rsp)
    mov %dh, 0x1234(%rsp,%rcx,8)
    mov %sil, (%rsp,%rdx)
    mov %r8b, (%rsp,%r12,2)
    mov (%esp), %ebx
    add 8(%rsp), %rdi
    mulq 8(%rsp)
    divq 8(%rsp)
    shlq %cl, 8(%rsp)
    cmpxchg %rbx, 8(%rsp)
    cmpxchg16b (%rsp)
    lock xadd %rcx, (%rsp)
    lea 8(%rsp), %rsp
    lea 8(%rsp,%rax), %rdx
    movsd 8(%rsp), %xmm3
    vmovupd %ymm3, 0x20(%rsp)
    vmovups 0x40(%rsp), %zmm13
    vaddpd 0x40(%rsp){1to8}, %zmm29, %zmm30{%k3}{z}
    vgatherdpd %ymm1, (%rsp,%xmm2,8), %ymm3
    fldt 0x10(%rsp)
    fstps (%rsp)
    andn (%rsp), %rcx, %rdx
    bextr %rcx, (%rsp), %rdx
    mov %rsp, %rcx
    mov %rcx, %rsp
    sub $0x100, %rsp
    and $-16, %rsp
    cmp %spl, %al
    push %rax
    push %r12
    push $5
    push $0x12345
    pushw %ax
    push (%rax)
    push 8(%rsp)
    push 0x100(%rip)
    pop %rax
    pop %r12
    popw %ax
    pop (%rax)
    pop 8(%rsp)
    pop -8(%rsp,%rax,2)
    pushf
    popf
    leave
    enter $16, $0
    /* Registers of 8 bits and others */
    mov %ah, %bh
    mov %spl, %dil
    add %r15b, %r14b
    movzbl %ch, %edx
    movsx %r9w, %r10
    xchg %rax, %rdi
    bswap %r11
    bt %rax, (%rcx)
    btsl $3, (%rcx)
    btr %rax, (%rcx)
    lock btc %r9d, 8(%rbp)
    bts %rax, %rcx
    setne (%rdx)
    cmovne (%rdx), %eax
    crc32b (%rdx), %ecx
    movbe (%rdx), %rcx
    pdep (%rdx), %rcx, %r9
    rorx $3, (%rdx), %rcx
    mulx (%rax), %rcx, %rdi
    xlat
    nop
    nopw 0x100(%rax,%rax)
    nopl 8(%rsp)
    prefetcht0 (%rax)
    prefetchw (%rax)
    clflush (%rax)
    movnti %rax, (%rcx)
    endbr64
    pause
    lfence
    rdtsc
    rdtscp
    rdrand %rax
    cpuid
    cld
    std
    lahf
    cltq
    cqto
    /* Strings */
    movsb
    movsq
    movsl %fs:(%rsi), %es:(%rdi)
    addr32 movsb
    stosq
    lodsw
    scasb
    cmpsl
    rep movsb
    rep stosq
    repne scasb
    repe cmpsb
    /* x87, MMX, SSE, AVX, AVX-512 */
    fld %st(3)
    fldl (%rax)
    fildll (%rax)
    fstpl (%rax)
    fistpll (%rax)
    fstpt (%rax)
    faddp
    fadds (%rax)
    fxch %st(2)
    fsqrt
    fldcw (%rax)
    fnstcw (%rax)
    fnstsw %ax
    fnstenv (%rax)
    fldenv (%rax)
    fnsave (%rax)
    frstor (%rax)
    fxsave (%rax)
    fxrstor (%rax)
    emms
    movq (%rax), %mm3
    paddd %mm1, %mm3
    movaps (%rax), %xmm1
    movss (%rax), %xmm1
    movhpd (%rax), %xmm1
    addsd %xmm1, %xmm15
    cvtsi2sdq (%rax), %xmm1
    pextrb $3, %xmm1, (%rax)
    maskmovdqu %xmm1, %xmm2
    ldmxcsr (%rax)
    stmxcsr (%rax)
    vzeroupper
    vmovdqa (%rax), %ymm1
    vmaskmovps (%rax), %ymm1, %ymm2
    vbroadcastsd (%rax), %ymm1
    vextractf128 $1, %ymm1, (%rax)
    vfmadd231pd (%rax), %ymm1, %ymm2
    vmovdqu64 0x40(%rax), %zmm1
    vmovdqu64 0x2000(%rax), %zmm17
    vmovdqu8 (%rax), %xmm21{%k2}
    vaddps 4(%rax){1to16}, %zmm1, %zmm2
    vaddps 0x7f8(%rax), %zmm1, %zmm2
    vcvtps2ph $0, %zmm1, 0x20(%rax)
    vpcmpeqd (%rax), %zmm1, %k3
    vpcompressd %zmm1, (%rax){%k1}
    kmovq (%rax), %k5
    kmovw %k5, %eax
    kortestw %k1, %k2
    /* Gathers and scatters: by xmm, ymm, zmm; indices of 32 and 64 bits */
    vgatherdps %xmm1, 8(%rax,%xmm2,4), %xmm3
    vgatherdps %ymm1, 8(%rax,%ymm2,4), %ymm3
    vgatherdpd %xmm1, 8(%rax,%xmm2,8), %xmm3
    vgatherdpd %ymm1, 8(%rax,%xmm12,8), %ymm3
    vgatherqps %xmm1, 8(%rax,%xmm2,1), %xmm3
    vgatherqps %xmm1, (,%ymm2,1), %xmm3
    vgatherqpd %xmm1, 0x100(%r13,%xmm2,2), %xmm3
    vgatherqpd %ymm1, (%r13,%ymm2,2), %ymm3
    vpgatherdd %ymm1, (%r8,%ymm9,4), %ymm10
    vpgatherdq %ymm1, (%r8,%xmm9,4), %ymm10
    vpgatherqd %xmm1, (%r8,%ymm9,4), %xmm10
    vpgatherqq %ymm1, %fs:(%r8,%ymm9,4), %ymm10
    vgatherdps 8(%rax,%zmm2,4), %zmm3{%k1}
    vgatherdpd 8(%rax,%ymm2,8), %zmm3{%k2}
    vgatherqps 8(%rax,%zmm2,8), %ymm3{%k7}
    vgatherqpd 0x100(%rax,%zmm31,8), %zmm3{%k1}
    vpgatherdd (%rax,%xmm2,4), %xmm19{%k1}
    vpgatherqq (%rax,%xmm18,4), %xmm3{%k1}
    vscatterdps %zmm3, 8(%rax,%zmm2,4){%k1}
    vscatterqpd %ymm3, (%rax,%ymm2,8){%k3}
    vpscatterdq %xmm3, (%r9d,%xmm2,8){%k3}
    vpscatterqd %ymm23, -4(%rax,%zmm22,1){%k4}
    /* Control flow */
near:
    jo near
    jno near
    jb near
    jae near
    je near
    jne near
    jbe near
    ja near
    js near
    jns near
    jp near
    jnp near
    jl near
    jge near
    jle near
    jg near
    jo here
    jg here
    loop near
    loope near
    loopne near
    addr32 loop near
    jrcxz near
    jecxz near
    jmp near
    jmp here
    jmp *%rax
    jmp *%r11
    jmp *(%rax)
    jmp *here(%rip)
    jmp *8(,%rax,8)
    jmp *%fs:8(%rax)
    jmp *8(%rsp)
    notrack jmp *%rdx
    bnd jmp near
    call near
    call *%r12
    call *%rsp
    call *8(%rsp)
    call *here(%rip)
    ret
    ret $0x10
    repz ret
    data16 jmp *%rax
    data16 call *(%rax)
    ljmp *(%rax)
    lcall *(%rax)
    lretl
    lretl $8
    iretq
    /* Instructions that are not followed, or stepped */
    syscall
    sysenter
    int3
    int1
    int $0x80
    hlt
    ud2
    in %dx, %al
    out %al, $0x10
    insb
    outsl
    cli
    sti
    mov %eax, %ds
    mov %ss, %eax
    mov %cr0, %rax
    mov %rax, %dr7
    pop %fs
    push %gs
    lss (%rax), %ecx
    wrfsbase %rax
    rdfsbase %rax
    wrpkru
    rdpkru
    xgetbv
    xsave (%rax)
    xrstor (%rax)
    xbegin near
    xend
    xabort $1
    xtest
    rdsspq %rax
    incsspq %rax
    sgdt (%rax)
    smsw %eax
    lar %eax, %ecx
    rdpmc
    monitor
    mwait
    umwait %eax
    xacquire lock add %rax, (%rcx)
    lock add %rax, (%rcx)
    lock cmpxchg16b (%rcx)
