/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes single instructions.
 *
 * The kind of an instruction is in its head: the bytes before its displacement and immediate, which
 * are prefixes, opcode, ModRM and SIB (Intel's manual, volume 2, 2.1). Code of millions of
 * instructions has some thousands of different heads. The decoder decodes each head once; a trie
 * then finds the result by the bytes of the head, one look-up for each byte, in a twentieth of the
 * time. An instruction whose opcode comes last (3DNow!) is decoded each time. */
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
    FLOW_BRANCH, /* conditional: continues at target or after it */
    FLOW_JUMP,
    FLOW_CALL,
    FLOW_JUMP_POINTER, /* through a register or memory */
    FLOW_CALL_POINTER,
    FLOW_RETURN,
    FLOW_END, /* ud2, hlt: control does not continue */
};

/* What instructions with the same head have in common. Sizes are in bits (0: the field is absent);
 * offsets and the length are in bytes. */
struct form {
    uint8_t length;
    uint8_t flow;                  /* enum flow */
    uint8_t encoding, map, opcode; /* ZydisInstructionEncoding, ZydisOpcodeMap */
    uint8_t category, extension;   /* ZydisInstructionCategory, ZydisISAExt */
    uint8_t address_width;
    uint8_t mod, reg, rm, modrm_offset; /* fields of ModRM */
    uint8_t scale, index, base;         /* fields of SIB */
    uint8_t rex_r, rex_b;
    uint8_t disp_size, disp_offset;
    uint8_t imm_size, imm_offset; /* of the first immediate */
    bool imm_signed, imm_relative;
    bool has_sib;
    bool has_66;   /* prefix 66 */
    bool relative; /* has a memory operand relative to its own address */
    bool lea;
} __attribute__((aligned(16)));

/* The registers that ModRM names, numbered from 0 to 15. */
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
    const uint8_t *bytes; /* not copied */
    uint64_t target;      /* for FLOW_BRANCH, _JUMP, _CALL */
    /* If form.relative: the address that it reads or writes, or, for lea, computes. */
    uint64_t memory;
    struct form form;
};

enum { FORM_LONGEST = 15 /* bytes of an instruction */ };

/* The result of form_find(): FORM_FOUND, the number of the form, and the length of the instruction;
 * length 0: no instruction. */
enum { FORM_NUMBER_BITS = 27, FORM_LENGTHS = 15 };
#define FORM_FOUND UINT32_C(0x80000000)

/* The decoder, and a trie that caches its results by the bytes of heads. */
struct forms {
    ZydisDecoder decoder;
    /* The nodes of the trie, 256 entries each; the first node is the root. An entry is a result
     * with FORM_FOUND, or the index of the next node's first entry, or 0: not known. */
    uint32_t *next;
    size_t node_count;
    struct form *forms; /* the first is for a result that is not cached */
    size_t form_count;
    bool guessing;                         /* what is decoded from now on may be data */
    bool categories[256], extensions[256]; /* decoded before guessing began */
};

/* Returns NULL without memory; forms_close() frees the result. */
struct forms *forms_open(void) RT_MUST_CHECK;
void forms_close(struct forms *f);

/* Parts of form_find(): for bytes that the trie does not know, and for fewer than FORM_LONGEST
 * bytes. */
uint32_t form_ask(struct forms *f, const uint8_t *bytes);
uint32_t form_find_end(struct forms *f, const uint8_t *bytes, size_t n);

/* Finds the instruction that `bytes`, n of them, begin with. Inline, because it runs for each
 * instruction of a program: only its result tells where the next instruction begins, and the
 * processor can do nothing meanwhile. */
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

/* Returns the form of a result. Valid until the next form_find(). */
static inline const struct form *form_found(const struct forms *f, uint32_t found)
{
    return &f->forms[found & ((UINT32_C(1) << FORM_NUMBER_BITS) - 1)];
}

/* Combines form_find() and form_found(). Returns NULL if there is no instruction. */
RT_MUST_CHECK static inline const struct form *form_read(struct forms *f, const uint8_t *bytes,
                                                         size_t n)
{
    uint32_t found = form_find(f, bytes, n);
    return form_length(found) != 0 ? form_found(f, found) : NULL;
}

/* Reads a number of `bits` bits, 0 to 64. */
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

/* Return the displacement (signed) or the first immediate, extended to 64 bits; 0 if it is
 * absent. */
static inline uint64_t instruction_displacement(const struct instruction *i)
{
    return form_number(i->bytes + i->form.disp_offset, i->form.disp_size, true);
}

static inline uint64_t instruction_immediate(const struct instruction *i)
{
    return form_number(i->bytes + i->form.imm_offset, i->form.imm_size, i->form.imm_signed);
}

/* Makes the instruction of this form at address `at`. Keeps `bytes`: they must outlive the
 * result. */
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

/* Reads the instruction that `bytes` begin with. Returns false if there is none. */
static inline bool instruction_read(struct forms *f, const uint8_t *bytes, size_t n, uint64_t at,
                                    struct instruction *i)
{
    const struct form *form = form_read(f, bytes, n);
    if (form != NULL)
        *i = instruction_of(form, bytes, at);
    return form != NULL;
}

/* Returns false if no instruction of this category (or ISA extension, if not category) was decoded
 * before guessing began. */
bool forms_may_have(const struct forms *f, bool category, uint64_t number);

#endif
