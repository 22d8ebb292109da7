/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions, one by one.
 *
 * What an instruction is lies in its first bytes, up to its displacement and immediate: prefixes, opcode, ModRM, SIB (Intel's
 * manual, volume 2, 2.1). Code of millions of instructions has some thousands of such heads. The decoder is asked of each head
 * once; its answer is found again by the bytes of the head, one look for each, in a twentieth of the time. An opcode that comes last
 * (3DNow!) is decoded each time. */
#ifndef REGTRACE_ISA_FORM_H
#define REGTRACE_ISA_FORM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

enum flow {
    FLOW_NEXT,
    FLOW_BRANCH, /* conditional, to target or on */
    FLOW_JUMP,
    FLOW_CALL,
    FLOW_JUMP_POINTER, /* through a register or memory */
    FLOW_CALL_POINTER,
    FLOW_RETURN,
    FLOW_END, /* ud2, hlt: on to nowhere */
};

/* What instructions with the same head have in common. Sizes are in bits, 0: it has none; offsets and the length in bytes. */
struct form {
    uint8_t length;
    uint8_t flow;                  /* enum flow */
    uint8_t encoding, map, opcode; /* ZydisInstructionEncoding, ZydisOpcodeMap */
    uint8_t category, extension;   /* ZydisInstructionCategory, ZydisISAExt */
    uint8_t address_width;
    uint8_t mod, reg, rm, modrm_offset; /* of ModRM */
    uint8_t scale, index, base;         /* of SIB */
    uint8_t rex_r, rex_b;
    uint8_t disp_size, disp_offset;
    uint8_t imm_size, imm_offset; /* of the first */
    bool imm_signed, imm_relative;
    bool has_sib;
    bool has_66;   /* the prefix */
    bool relative; /* its memory operand is, to its own address */
    bool lea;
};

struct instruction {
    uint64_t at, next;
    const uint8_t *bytes; /* as they were given */
    uint64_t target;      /* of FLOW_BRANCH, _JUMP, _CALL */
    uint64_t memory;      /* if form.relative: what it reads, writes or, with lea, computes */
    struct form form;
};

/* The decoder, and what it has said so far. NULL: no memory. */
struct forms;
struct forms *forms_open(void) RT_MUST_CHECK;
void forms_close(struct forms *f);

/* What these bytes begin with, n at most; NULL: no instruction. Valid until the next call. */
const struct form *form_read(struct forms *f, const uint8_t *bytes, size_t n) RT_MUST_CHECK;
/* The same, as if it were at that address; false: there is none. The bytes must live as long as it. */
bool instruction_read(struct forms *f, const uint8_t *bytes, size_t n, uint64_t at,
                      struct instruction *i);

/* False: nothing of that category, or of that extension, has been read by now. */
bool forms_may_have(const struct forms *f, bool category, uint64_t number);

/* The number in its displacement (signed), or its first immediate, as 64 bits; 0 where it has none. */
uint64_t instruction_displacement(const struct instruction *i);
uint64_t instruction_immediate(const struct instruction *i);

#endif
