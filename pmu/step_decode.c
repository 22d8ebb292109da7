/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes the instruction that a stepped thread executes next, to the depth that the stepper needs.
 * Encodings: Intel's manual, volume 2. */
#include "pmu/step_decode.h"

#include "base/sys.h"

#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

enum { JMP_32 = 0xe9, JMP_8 = 0xeb };

bool step_copy(long call, uintptr_t there, void *here, size_t n)
{
    struct iovec ours = {.iov_base = here, .iov_len = n};
    struct iovec theirs = {.iov_base = (void *)there, .iov_len = n}; /* NOLINT: the program's */
    return sys_call6(call, sys_getpid(), (long)&ours, 1, (long)&theirs, 1, 0) == (long)n;
}

static bool page_is_known(struct pmu_step *s, uintptr_t page)
{
    uintptr_t *known = &s->pages[page % PMU_STEP_PAGES];
    char byte;
    if (*known == page + 1)
        return true;
    if (!step_copy(SYS_process_vm_readv, page * 4096, &byte, 1))
        return false;
    *known = page + 1;
    return true;
}

static bool byte_at(struct pmu_step *s, uintptr_t at, unsigned char *byte)
{
    if (!page_is_known(s, at / 4096))
        return false;
    *byte = *(const unsigned char *)at; /* NOLINT: the program's text */
    return true;
}

/* Returns the slot of a string instruction: rep and repne have 20 slots each, an operation has
 * 4. */
static unsigned string_slot(unsigned char op, unsigned char rep, const struct step_instruction *i)
{
    unsigned row = op < 0xa6 ? 0 : op < 0xa8 ? 1 : op < 0xac ? 2 : op < 0xae ? 3 : 4;
    unsigned size = (op & 1) == 0 ? 0 : (i->rex & 8) != 0 ? 3 : i->narrow ? 1 : 2;
    return i->elsewhere ? STEP_NO_SLOT : (rep == 0xf2 ? 20u : 0u) + 4 * row + size;
}

static bool is_elsewhere(unsigned char op)
{
    return op == 0x67 || op == 0x2e || op == 0x36 || op == 0x3e || op == 0x26 || op == 0x64 ||
           op == 0x65;
}

static bool is_string(unsigned char op)
{
    return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf);
}

/* Returns the kind of an instruction with a second opcode byte. */
static enum step_kind kind_of_two(unsigned char op, unsigned char second)
{
    if (op == 0x0f && second == 0x05)
        return STEP_SYSCALL;
    if (op == 0xcd && second == 0x80)
        return STEP_INT_80;
    return op == 0x8e && (second >> 3 & 7) == 2 ? STEP_MOV_SS : STEP_PLAIN;
}

struct step_instruction step_decode(struct pmu_step *s, uintptr_t ip)
{
    struct step_instruction i = {.kind = STEP_PLAIN};
    unsigned char op, rep = 0;
    uintptr_t at = ip;
    for (;; at++) {
        if (!byte_at(s, at, &op) || at - ip > 14)
            return i;
        if (op == 0xf2 || op == 0xf3)
            rep = op;
        else if (op == 0x66)
            i.narrow = true;
        else if (is_elsewhere(op))
            i.elsewhere = true;
        else if ((op & 0xf0) == 0x40)
            i.rex = op;
        else
            break;
    }
    i.length = (uint8_t)(at - ip + 1);
    i.jumps = op == JMP_32 || op == JMP_8;
    /* A REX prefix extends a register number. VEX, EVEX and XOP prefixes may do so. */
    i.wide_set = (i.rex & 7) != 0 || op == 0xc4 || op == 0xc5 || op == 0x62 || op == 0x8f;
    if (op == 0x9c || op == 0x9d) {
        i.kind = op == 0x9c ? STEP_PUSHF : STEP_POPF;
    } else if (op == 0xcc) {
        i.kind = STEP_INT3;
    } else if (rep != 0 && is_string(op)) {
        i.kind = STEP_STRING;
        i.slot = string_slot(op, rep, &i);
    } else if ((op == 0x0f || op == 0xcd || op == 0x8e) && byte_at(s, at + 1, &i.modrm)) {
        i.length++;
        i.kind = kind_of_two(op, i.modrm);
    }
    return i;
}

uintptr_t step_jump_target(uintptr_t ip)
{
    const unsigned char *p = (const unsigned char *)ip; /* NOLINT: code */
    int32_t distance;
    if (p[0] == JMP_8)
        return ip + 2 + (uintptr_t)(intptr_t)(int8_t)p[1];
    memcpy(&distance, p + 1, sizeof distance);
    return ip + 5 + (uintptr_t)(intptr_t)distance;
}

/* Returns the register with this number in an instruction's encoding. */
static uintptr_t numbered(const ucontext_t *uc, unsigned number)
{
    static const uint8_t of[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                   REG_R12, REG_R13, REG_R14, REG_R15};
    return step_reg(uc, of[number & 15]);
}

/* Computes the address of the memory operand. Adds the operand's bytes to the length. */
static bool operand(struct pmu_step *s, const ucontext_t *uc, struct step_instruction *i,
                    uintptr_t *address)
{
    unsigned mod = i->modrm >> 6, base = i->modrm & 7, extended = (i->rex & 1u) << 3;
    bool no_base = mod == 0 && base == 5, relative = no_base;
    uint8_t sib = 0, bytes[4] = {0};
    *address = 0;
    if (base == 4) {
        if (!byte_at(s, s->at + i->length++, &sib))
            return false;
        unsigned index = (unsigned)(sib >> 3 & 7) | (i->rex & 2u) << 2;
        base = sib & 7;
        no_base = mod == 0 && base == 5;
        if (index != 4)
            *address += numbered(uc, index) << (sib >> 6);
    }
    unsigned displaced = mod == 1 ? 1 : mod == 2 || no_base ? 4 : 0;
    for (unsigned n = 0; n < displaced; n++)
        if (!byte_at(s, s->at + i->length++, &bytes[n]))
            return false;
    int32_t distance;
    memcpy(&distance, bytes, sizeof distance);
    *address += (uintptr_t)(intptr_t)(displaced == 1 ? (int8_t)bytes[0] : distance);
    if (relative)
        *address += s->at + i->length;
    else if (!no_base)
        *address += numbered(uc, base | extended);
    return true;
}

bool step_new_ss(struct pmu_step *s, const ucontext_t *uc, struct step_instruction *i,
                 uint16_t *selector)
{
    uintptr_t address;
    if (i->modrm >> 6 == 3) {
        *selector = (uint16_t)numbered(uc, (i->modrm & 7u) | (i->rex & 1u) << 3);
        return true;
    }
    return !i->elsewhere && operand(s, uc, i, &address) &&
           step_copy(SYS_process_vm_readv, address, selector, sizeof *selector);
}
