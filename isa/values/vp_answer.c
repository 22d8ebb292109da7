/* SPDX-License-Identifier: BSD-3-Clause
 * Answers questions of the traced process about an instruction. Decides how the process follows it:
 * where control goes, and whether a copy can replace the instruction.
 *
 * In doubt the instruction is stepped in place (VALUES_STEP), or following ends before it
 * (VALUES_STOP). */
#include "isa/values/vp.h"

#include <string.h>

enum { LEGACY_66 = 0x66 };

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t prefix)
{
    for (unsigned n = 0; n < z->raw.prefix_count; n++)
        if (z->raw.prefixes[n].value == prefix)
            return true;
    return false;
}

static bool is_general(ZydisRegister r)
{
    ZydisRegisterClass c = ZydisRegisterGetClass(r);
    return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 ||
           c == ZYDIS_REGCLASS_GPR64;
}

/* --- instructions that are not followed ------------------------------------------------------- */

/* True if the instruction calls the kernel or a supervisor, begins or ends a state in which no
 * signal handler may run (a transaction), or is privileged. */
static bool leaves_program(const ZydisDecodedInstruction *z)
{
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_VTX:
    case ZYDIS_CATEGORY_SGX:
    case ZYDIS_CATEGORY_UINTR:
    case ZYDIS_CATEGORY_PCONFIG:
    case ZYDIS_CATEGORY_HRESET:
    case ZYDIS_CATEGORY_KEYLOCKER:
    case ZYDIS_CATEGORY_KEYLOCKER_WIDE:
    case ZYDIS_CATEGORY_TSX_LDTRK: return true;
    case ZYDIS_CATEGORY_CET:
        return z->mnemonic != ZYDIS_MNEMONIC_ENDBR64 && z->mnemonic != ZYDIS_MNEMONIC_ENDBR32;
    default: break;
    }
    switch (z->meta.isa_ext) {
    case ZYDIS_ISA_EXT_RTM:
    case ZYDIS_ISA_EXT_SVM:
    case ZYDIS_ISA_EXT_SMX:
    case ZYDIS_ISA_EXT_SNP:
    case ZYDIS_ISA_EXT_TDX:
    case ZYDIS_ISA_EXT_VMFUNC:
    case ZYDIS_ISA_EXT_AMD_INVLPGB: return true;
    default: return (z->attributes & ZYDIS_ATTRIB_IS_PRIVILEGED) != 0;
    }
}

/* True if the instruction faults, changes or reveals the trap flag, or changes a segment base
 * through which the handler finds its own memory. */
static bool is_delicate(const ZydisDecodedInstruction *z)
{
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_UD0:
    case ZYDIS_MNEMONIC_UD1:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_HLT:
    case ZYDIS_MNEMONIC_CLI:
    case ZYDIS_MNEMONIC_STI:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_PUSHF:
    case ZYDIS_MNEMONIC_PUSHFD:
    case ZYDIS_MNEMONIC_PUSHFQ:
    case ZYDIS_MNEMONIC_POPF:
    case ZYDIS_MNEMONIC_POPFD:
    case ZYDIS_MNEMONIC_POPFQ:
    case ZYDIS_MNEMONIC_WRFSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_LFS:
    case ZYDIS_MNEMONIC_LGS:
    case ZYDIS_MNEMONIC_LSS: return true;
    default: return false;
    }
}

static bool writes_system_register(const struct vp_decoded *d)
{
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
            continue;
        switch (ZydisRegisterGetClass(o->reg.value)) {
        case ZYDIS_REGCLASS_SEGMENT:
            if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0)
                return true;
            break;
        case ZYDIS_REGCLASS_TEST:
        case ZYDIS_REGCLASS_CONTROL:
        case ZYDIS_REGCLASS_DEBUG: return true;
        default: break;
        }
    }
    return false;
}

/* --- instructions that no copy can replace ---------------------------------------------------- */

static bool saves_state(const ZydisDecodedInstruction *z)
{
    if (z->meta.category == ZYDIS_CATEGORY_XSAVE || z->meta.category == ZYDIS_CATEGORY_XSAVEOPT)
        return z->mnemonic != ZYDIS_MNEMONIC_XGETBV;
    switch (z->mnemonic) {
    case ZYDIS_MNEMONIC_FXSAVE:
    case ZYDIS_MNEMONIC_FXSAVE64:
    case ZYDIS_MNEMONIC_FXRSTOR:
    case ZYDIS_MNEMONIC_FXRSTOR64:
    case ZYDIS_MNEMONIC_FNSAVE:
    case ZYDIS_MNEMONIC_FRSTOR:
    case ZYDIS_MNEMONIC_FNSTENV:
    case ZYDIS_MNEMONIC_FLDENV: return true;
    default: return false;
    }
}

/* True if the effect depends on more than registers and memory: on where the instruction stands, on
 * how often it is interrupted, or on the thread's rights. */
static bool needs_its_place(const ZydisDecodedInstruction *z)
{
    const ZydisInstructionAttributes repeated = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
                                                ZYDIS_ATTRIB_HAS_REPNE | ZYDIS_ATTRIB_HAS_XACQUIRE |
                                                ZYDIS_ATTRIB_HAS_XRELEASE;
    if ((z->attributes & repeated) != 0 || saves_state(z))
        return true;
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_SYSTEM:
        return z->mnemonic != ZYDIS_MNEMONIC_RDTSC && z->mnemonic != ZYDIS_MNEMONIC_RDTSCP;
    case ZYDIS_CATEGORY_PKU:
    case ZYDIS_CATEGORY_WAITPKG:
    case ZYDIS_CATEGORY_AMX_TILE:
    case ZYDIS_CATEGORY_MPX:
    case ZYDIS_CATEGORY_PADLOCK:
    case ZYDIS_CATEGORY_ENQCMD:
    case ZYDIS_CATEGORY_SEGOP:
    case ZYDIS_CATEGORY_PT: return true;
    default: break;
    }
    switch (z->meta.isa_ext) {
    case ZYDIS_ISA_EXT_MONITOR:
    case ZYDIS_ISA_EXT_MONITORX:
    case ZYDIS_ISA_EXT_MCOMMIT:
    case ZYDIS_ISA_EXT_AMX_BF16:
    case ZYDIS_ISA_EXT_AMX_INT8:
    case ZYDIS_ISA_EXT_AMX_TILE: return true;
    default: return z->mnemonic == ZYDIS_MNEMONIC_CPUID;
    }
}

/* True if the instruction writes elsewhere than its memory operand states: the code that runs a
 * copy cannot know beforehand whether the write hits its own stack. */
static bool writes_elsewhere(const struct vp_decoded *d)
{
    switch (d->z.mnemonic) {
    case ZYDIS_MNEMONIC_BTC:
    case ZYDIS_MNEMONIC_BTR:
    case ZYDIS_MNEMONIC_BTS: return d->memory >= 0 && vp_is_partial(d);
    case ZYDIS_MNEMONIC_MOVDIR64B:
    case ZYDIS_MNEMONIC_CLZERO: return true;
    default: return false;
    }
}

/* True if the instruction uses rsp explicitly or implicitly. rsp as the base of the ModRM memory
 * operand does not count: make_copy() replaces it. */
static bool uses_stack_pointer(const struct vp_decoded *d)
{
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && is_general(o->reg.value) &&
            vp_register(o->reg.value) == TRACE_RSP)
            return true;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && vp_register(o->mem.base) == TRACE_RSP &&
            o->encoding != ZYDIS_OPERAND_ENCODING_MODRM_RM)
            return true;
    }
    return false;
}

static bool is_used(const struct vp_decoded *d, trace_value_t r)
{
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && vp_register(o->reg.value) == r)
            return true;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (vp_register(o->mem.base) == r || vp_register(o->mem.index) == r))
            return true;
    }
    return false;
}

/* Returns a general register that the instruction does not use and that can replace rsp as a base,
 * or 0 if none is free. rsp as a base always has a SIB byte. The low eight registers fit that
 * byte's base field without a prefix bit; rbp (5) has another meaning there. */
static unsigned free_register(const struct vp_decoded *d)
{
    static const uint8_t candidates[] = {1, 2, 3, 6, 7};
    for (unsigned i = 0; i < sizeof candidates; i++)
        if (!is_used(d, TRACE_GENERAL(candidates[i])))
            return candidates[i];
    return 0;
}

/* Makes a copy that can run elsewhere, on another stack. Returns false if no copy can. */
static bool make_copy(const struct vp_decoded *d, struct values_answer *a)
{
    const ZydisDecodedInstruction *z = &d->z;
    const trace_memory_t *m = &d->inst.memory;
    if (m->is_rip_relative) {
        if (z->address_width != 64 || z->raw.disp.size != 32)
            return false;
        memcpy(a->copy, d->inst.bytes, z->length);
        memset(a->copy + z->raw.disp.offset, 0, 4);
        a->copy_bytes = z->length;
        a->fixup_at = z->raw.disp.offset;
        a->fixup_end = z->length;
        a->fixup_target = (uint64_t)a->where.displacement;
    } else if (m->base == TRACE_RSP) {
        unsigned other = free_register(d);
        if (other == 0 || (z->attributes & ZYDIS_ATTRIB_HAS_SIB) == 0)
            return false;
        memcpy(a->copy, d->inst.bytes, z->length);
        a->copy[z->raw.sib.offset] = (uint8_t)((a->copy[z->raw.sib.offset] & ~7u) | other);
        a->copy_bytes = z->length;
        a->stack_as = (uint8_t)other;
    }
    return true;
}

/* --- where control goes ----------------------------------------------------------------------- */

static enum values_flow condition_of(const struct vp_decoded *d, struct values_answer *a)
{
    const ZydisDecodedInstruction *z = &d->z;
    uint8_t op = z->opcode;
    /* jkzd, jknzd: Xeon Phi coprocessors only */
    if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return VALUES_STOP;
    a->target = a->address + z->length + d->operands[0].imm.value.u;
    if (has_prefix(z, LEGACY_66))
        return VALUES_STEP;
    if (z->opcode_map == ZYDIS_OPCODE_MAP_0F && op >= 0x80 && op <= 0x8f)
        a->condition = op & 15;
    else if (z->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
        return VALUES_STOP;
    else if (op >= 0x70 && op <= 0x7f)
        a->condition = op & 15;
    else if (op == 0xe3)
        a->condition = z->address_width == 32 ? 17 : 16;
    else if (op >= 0xe0 && op <= 0xe2 && z->address_width == 64)
        a->condition = (uint8_t)(20 - (op - 0xe0));
    else
        return op >= 0xe0 && op <= 0xe2 ? VALUES_STEP : VALUES_STOP;
    return VALUES_CONDITION;
}

/* Handles near branches. Steps those with prefix 66, which changes their length on some
 * processors. */
static enum values_flow branch_of(const struct vp_decoded *d, struct values_answer *a,
                                  enum values_flow kind)
{
    const ZydisDecodedInstruction *z = &d->z;
    const ZydisDecodedOperand *o = &d->operands[0];
    if (z->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
        return VALUES_STOP;
    if (has_prefix(z, LEGACY_66))
        return VALUES_STEP;
    if (kind == VALUES_RETURN) {
        if (z->operand_count_visible > 0)
            a->target = o->imm.value.u & UINT16_MAX;
        return kind;
    }
    if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative) {
        a->target = a->address + z->length + o->imm.value.u;
        return a->target != 0 ? kind : VALUES_STOP; /* 0 means: see `where` */
    }
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        a->by_register = true;
        a->where = (struct values_address){
            .base = (int8_t)TRACE_INDEX(vp_register(o->reg.value)), .index = -1, .scale = 1};
        a->has_memory = false;
        return kind;
    }
    return o->type == ZYDIS_OPERAND_TYPE_MEMORY ? kind : VALUES_STOP;
}

static enum values_flow flow_of(const struct vp_decoded *d, struct values_answer *a)
{
    if (leaves_program(&d->z) || is_delicate(&d->z) || writes_system_register(d))
        return VALUES_STOP;
    switch (d->z.meta.category) {
    case ZYDIS_CATEGORY_COND_BR: return condition_of(d, a);
    case ZYDIS_CATEGORY_UNCOND_BR: return branch_of(d, a, VALUES_JUMP);
    case ZYDIS_CATEGORY_CALL: return branch_of(d, a, VALUES_CALL);
    case ZYDIS_CATEGORY_RET: return branch_of(d, a, VALUES_RETURN);
    default: break;
    }
    if (needs_its_place(&d->z) || writes_elsewhere(d) || uses_stack_pointer(d) || !make_copy(d, a))
        return VALUES_STEP;
    return VALUES_STRAIGHT;
}

/* --- what the instruction touches ------------------------------------------------------------- */

static bool is_vector_register(ZydisRegister r)
{
    switch (ZydisRegisterGetClass(r)) {
    case ZYDIS_REGCLASS_X87:
    case ZYDIS_REGCLASS_MMX:
    case ZYDIS_REGCLASS_XMM:
    case ZYDIS_REGCLASS_YMM:
    case ZYDIS_REGCLASS_ZMM:
    case ZYDIS_REGCLASS_TMM:
    case ZYDIS_REGCLASS_MASK: return true;
    default:
        return r == ZYDIS_REGISTER_MXCSR || r == ZYDIS_REGISTER_X87CONTROL ||
               r == ZYDIS_REGISTER_X87STATUS || r == ZYDIS_REGISTER_X87TAG;
    }
}

/* True for conversions, which use MXCSR's rounding mode and set its flags. From memory to a general
 * register no operand shows that: the decoder's table does not list MXCSR for all of them. */
static bool converts(const ZydisDecodedInstruction *z)
{
    return z->meta.category == ZYDIS_CATEGORY_CONVERT && z->meta.isa_ext != ZYDIS_ISA_EXT_BASE &&
           z->meta.isa_ext != ZYDIS_ISA_EXT_LONGMODE;
}

static bool uses_vectors(const struct vp_decoded *d)
{
    if (d->z.meta.isa_ext == ZYDIS_ISA_EXT_X87 || converts(&d->z) || saves_state(&d->z) ||
        d->z.mnemonic == ZYDIS_MNEMONIC_EMMS || d->z.mnemonic == ZYDIS_MNEMONIC_FEMMS ||
        d->z.mnemonic == ZYDIS_MNEMONIC_VZEROALL || d->z.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER)
        return true;
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if ((o->type == ZYDIS_OPERAND_TYPE_REGISTER && is_vector_register(o->reg.value)) ||
            (o->type == ZYDIS_OPERAND_TYPE_MEMORY && is_vector_register(o->mem.index)))
            return true;
    }
    return false;
}

void vp_answer_flow(const struct vp_decoded *d, const struct values_question *q,
                    struct values_answer *a)
{
    a->length = d->z.length;
    a->where = vp_address_of(d, q->address);
    a->has_memory = d->memory >= 0;
    a->uses_vectors = uses_vectors(d);
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        bool accessed = vp_is_accessed(d, o);
        a->reads_memory |= accessed && (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
        a->writes_memory |= accessed && (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    }
    a->flow = (uint8_t)flow_of(d, a);
}

void vp_answer(const struct vp_spec *s, const struct values_question *q, struct values_answer *a)
{
    struct vp_decoded d;
    memset(a, 0, sizeof *a);
    a->address = q->address;
    a->flow = VALUES_STOP;
    a->where = (struct values_address){.base = -1, .index = -1, .scale = 1};
    size_t count = q->count < sizeof q->bytes ? q->count : sizeof q->bytes;
    if (!vp_decode(q->bytes, count, &d))
        return;
    vp_answer_flow(&d, q, a);
    if (a->by_register) /* `where` is that register, not the stack slot a call writes */
        d.memory = -1;
    vp_answer_items(s, &d, a);
}
