/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions, one by one.
 *
 * What an instruction is lies in its first bytes, up to its displacement and immediate: prefixes, opcode, ModRM, SIB (Intel's
 * manual, volume 2, 2.1). Code of millions of instructions has some thousands of such heads. The decoder is asked of each head
 * once; its answer is found again by the bytes of the head, one look for each, in a twentieth of the time. An opcode that comes last
 * (3DNow!) is decoded each time. */
#ifndef REGTRACE_ISA_DECODE_FORM_H
#define REGTRACE_ISA_DECODE_FORM_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
} __attribute__((aligned(16)));

/* The registers that ModRM names, by number: 0 to 15. */
static inline unsigned form_reg(const struct form *f)
{
    return (unsigned)(f->rex_r << 3 | f->reg);
}

static inline unsigned form_rm(const struct form *f)
{
    return (unsigned)(f->rex_b << 3 | f->rm);
}

struct instruction {
    uint64_t at, next;
    const uint8_t *bytes; /* as they were given */
    uint64_t target;      /* of FLOW_BRANCH, _JUMP, _CALL */
    uint64_t memory;      /* if form.relative: what it reads, writes or, with lea, computes */
    struct form form;
};

enum { FORM_LONGEST = 15 /* instruction */ };

/* What is found of some bytes: their form by its number, and its length, 0: no instruction. */
enum { FORM_NUMBER_BITS = 27, FORM_LENGTHS = 15 };
#define FORM_FOUND UINT32_C(0x80000000)

/* The decoder, and what it has said so far: for each byte of a head one look. */
struct forms {
    ZydisDecoder decoder;
    uint32_t *
        next; /* 256 for each node, the first is the root: FORM_FOUND and what; or the begin of a node; 0: not known */
    size_t node_count;
    struct form *forms; /* the first: what was asked last and is not kept */
    size_t form_count;
    bool guessing;                         /* what is asked from now on may be data */
    bool categories[256], extensions[256]; /* seen before that */
};

/* NULL: no memory. */
struct forms *forms_open(void) RT_MUST_CHECK;
void forms_close(struct forms *f);

/* The parts of form_find(): what is not known yet, and fewer than FORM_LONGEST bytes. */
uint32_t form_ask(struct forms *f, const uint8_t *bytes);
uint32_t form_find_end(struct forms *f, const uint8_t *bytes, size_t n);

/* What these bytes begin with, n at most. Inline, since it is done for each instruction of a program, where the next begins is known
 * by it alone, and a processor can do nothing meanwhile. */
static inline uint32_t form_find(struct forms *f, const uint8_t *bytes, size_t n)
{
    uint32_t at = 0;
    if (n < FORM_LONGEST)
        return form_find_end(f, bytes, n);
    for (unsigned k = 0; k < FORM_LONGEST; k++) {
        at = f->next[at + bytes[k]];
        if ((at & FORM_FOUND) != 0)
            return at;
        if (at == 0)
            break;
    }
    return form_ask(f, bytes);
}

static inline unsigned form_length(uint32_t found)
{
    return found >> FORM_NUMBER_BITS & FORM_LENGTHS;
}

/* Valid until the next is asked. */
static inline const struct form *form_found(const struct forms *f, uint32_t found)
{
    return &f->forms[found & ((UINT32_C(1) << FORM_NUMBER_BITS) - 1)];
}

/* Both at once; NULL: no instruction. */
RT_MUST_CHECK static inline const struct form *form_read(struct forms *f, const uint8_t *bytes,
                                                         size_t n)
{
    uint32_t found = form_find(f, bytes, n);
    return form_length(found) != 0 ? form_found(f, found) : NULL;
}

/* The number of so many bits, 0 to 64, that is there. */
static inline uint64_t form_number(const uint8_t *bytes, unsigned bits, bool is_signed)
{
    uint64_t value = 0;
    switch (bits) {
    case 8: memcpy(&value, bytes, 1); return is_signed ? (uint64_t)(int8_t)value : value;
    case 16: memcpy(&value, bytes, 2); return is_signed ? (uint64_t)(int16_t)value : value;
    case 32: memcpy(&value, bytes, 4); return is_signed ? (uint64_t)(int32_t)value : value;
    case 64: memcpy(&value, bytes, 8); return value;
    default: return 0;
    }
}

/* The number in its displacement (signed), or its first immediate, as 64 bits; 0 where it has none. */
static inline uint64_t instruction_displacement(const struct instruction *i)
{
    return form_number(i->bytes + i->form.disp_offset, i->form.disp_size, true);
}

static inline uint64_t instruction_immediate(const struct instruction *i)
{
    return form_number(i->bytes + i->form.imm_offset, i->form.imm_size, i->form.imm_signed);
}

/* An instruction of that form, with these bytes, at that address. The bytes must live as long as it. */
static inline struct instruction instruction_of(const struct form *form, const uint8_t *bytes,
                                                uint64_t at)
{
    struct instruction i;
    i.at = at;
    i.next = at + form->length;
    i.bytes = bytes;
    i.target = i.memory = 0;
    i.form = *form;
    if (form->flow == FLOW_BRANCH || form->flow == FLOW_JUMP || form->flow == FLOW_CALL)
        i.target = i.next + instruction_immediate(&i);
    if (form->relative)
        i.memory = i.next + instruction_displacement(&i);
    return i;
}

/* What these bytes begin with; false: no instruction. */
static inline bool instruction_read(struct forms *f, const uint8_t *bytes, size_t n, uint64_t at,
                                    struct instruction *i)
{
    const struct form *form = form_read(f, bytes, n);
    if (form != NULL)
        *i = instruction_of(form, bytes, at);
    return form != NULL;
}

/* False: nothing of that category, or of that extension, has been read before guessing. */
bool forms_may_have(const struct forms *f, bool category, uint64_t number);

#endif
