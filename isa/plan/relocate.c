/* SPDX-License-Identifier: BSD-3-Clause
 * Rewrites instructions to run at another address. Encodings: Intel's manual, volume 2. */
#include "isa/plan/relocate.h"

static void put(struct relocated *r, const uint8_t *bytes, size_t n)
{
    memcpy(r->code + r->bytes, bytes, n);
    r->bytes += (unsigned)n;
}

/* Appends a 32-bit distance to target; `after` more bytes of the instruction follow it. */
static void put_distance(struct relocated *r, uint64_t target, unsigned after)
{
    static const uint8_t zeros[4];
    r->fixups[r->fixup_count++] = (struct isa_fixup){
        .target = target,
        .at = (uint8_t)r->bytes,
        .end = (uint8_t)(r->bytes + 4 + after),
    };
    put(r, zeros, sizeof zeros);
}

static void put_jump(struct relocated *r, uint64_t target)
{
    put(r, (const uint8_t[]){0xe9}, 1);
    put_distance(r, target, 0);
}

static bool is_legacy(const struct instruction *i, ZydisOpcodeMap map, uint8_t opcode)
{
    return i->form.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY && i->form.map == map &&
           i->form.opcode == opcode;
}

/* Copies the instruction; a distance to memory becomes a fixup. */
static const char *copy(struct relocated *r, const struct instruction *i, const uint8_t *bytes)
{
    if (!i->form.relative) {
        put(r, bytes, i->form.length);
        return NULL;
    }
    if (i->form.address_width != 64)
        return "its operand is relative to half of the instruction pointer";
    unsigned at = i->form.disp_offset;
    put(r, bytes, at);
    put_distance(r, i->memory, i->form.length - at - 4u);
    put(r, bytes + at + 4, i->form.length - at - 4u);
    return NULL;
}

/* loop, loope, loopne and jrcxz reach 127 bytes: taken, they skip the short jump and reach a long
 * one; not taken, the short jump skips the long one. */
static void copy_loop(struct relocated *r, const struct instruction *i)
{
    if (i->form.address_width == 32)
        put(r, (const uint8_t[]){0x67}, 1);
    put(r, (const uint8_t[]){i->form.opcode, 2, 0xeb, 5}, 4);
    put_jump(r, i->target);
}

static const char *copy_branch(struct relocated *r, const struct instruction *i)
{
    bool plain = i->form.map == ZYDIS_OPCODE_MAP_DEFAULT;
    if (plain && i->form.opcode >= 0xe0 && i->form.opcode <= 0xe3) {
        copy_loop(r, i);
        return NULL;
    }
    if (i->form.has_66)
        return "its branch has another length on another processor";
    if (plain && i->form.opcode == 0xc7) /* xbegin */
        put(r, (const uint8_t[]){0xc7, 0xf8}, 2);
    else
        put(r, (const uint8_t[]){0x0f, (uint8_t)(0x80 | (i->form.opcode & 15))}, 2);
    put_distance(r, i->target, 0);
    return NULL;
}

/* Turns the call into a jump: ff /2 and ff /4 differ only in the byte after the opcode. The return
 * address has been pushed by then, so an operand relative to the stack pointer would lie
 * elsewhere. */
static const char *copy_call_pointer(struct relocated *r, const struct instruction *i,
                                     const uint8_t *bytes)
{
    uint8_t changed[15];
    bool sib = i->form.has_sib;
    unsigned base = sib ? (unsigned)(i->form.rex_b << 3 | i->form.base) : form_rm(&i->form);
    if (i->form.reg == 3)
        return "it is a far call";
    if (base == 4 && (sib || i->form.mod == 3))
        return "it calls by the stack pointer";
    memcpy(changed, bytes, i->form.length);
    changed[i->form.modrm_offset] ^= 0x30;
    return copy(r, i, changed);
}

/* Returns NULL if the instruction may be copied, or the reason why not. */
static const char *refuse(const struct relocated *r, const struct instruction *i)
{
    bool call = i->form.flow == FLOW_CALL || i->form.flow == FLOW_CALL_POINTER;
    bool syscall = is_legacy(i, ZYDIS_OPCODE_MAP_0F, 0x05);
    if (r->ends)
        return "control does not get there";
    if ((call || syscall) && r->bytes != 0)
        return call ? "a call would return elsewhere" : "a thread would stay elsewhere";
    if (is_legacy(i, ZYDIS_OPCODE_MAP_DEFAULT, 0xcc) ||
        is_legacy(i, ZYDIS_OPCODE_MAP_DEFAULT, 0xf1))
        return "it is a breakpoint of the program's own";
    if (is_legacy(i, ZYDIS_OPCODE_MAP_DEFAULT, 0xcd) || is_legacy(i, ZYDIS_OPCODE_MAP_0F, 0x34))
        return "the kernel looks at where it is";
    if (r->bytes + i->form.length + 16 > RELOCATE_BYTES || r->fixup_count + 2 > RELOCATE_FIXUPS ||
        r->step_count + 1 > RELOCATE_STEPS)
        return "too many instructions";
    return NULL;
}

static const char *copy_any(struct relocated *r, const struct instruction *i, const uint8_t *bytes)
{
    switch ((enum flow)i->form.flow) {
    case FLOW_CALL:
    case FLOW_JUMP:
        if (i->form.has_66)
            return "its branch has another length on another processor";
        put_jump(r, i->target);
        return NULL;
    case FLOW_BRANCH: return copy_branch(r, i);
    case FLOW_CALL_POINTER: return copy_call_pointer(r, i, bytes);
    case FLOW_NEXT:
    case FLOW_JUMP_POINTER:
    case FLOW_RETURN:
    case FLOW_END: break;
    }
    if (i->form.imm_relative)
        return "it is relative in a way that is not known";
    return copy(r, i, bytes);
}

const char *relocate_add(struct relocated *r, const struct instruction *i, const uint8_t *bytes)
{
    struct relocated before = *r;
    const char *why = refuse(r, i);
    if (why != NULL)
        return why;
    if (r->bytes == 0)
        r->first = i->at;
    r->steps[r->step_count++] = (struct isa_step){(uint8_t)r->displaced, (uint8_t)r->bytes};
    why = copy_any(r, i, bytes);
    if (why != NULL) {
        *r = before;
        return why;
    }
    r->displaced += i->form.length;
    r->call = i->form.flow == FLOW_CALL || i->form.flow == FLOW_CALL_POINTER;
    r->syscall = is_legacy(i, ZYDIS_OPCODE_MAP_0F, 0x05);
    r->ends = i->form.flow != FLOW_NEXT && i->form.flow != FLOW_BRANCH;
    return NULL;
}

const char *relocate_end(struct relocated *r)
{
    if (r->ends)
        return NULL;
    if (r->bytes + 5 > RELOCATE_BYTES || r->fixup_count + 1 > RELOCATE_FIXUPS)
        return "too many instructions";
    put_jump(r, r->first + r->displaced);
    r->ends = true;
    return NULL;
}
