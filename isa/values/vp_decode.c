/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes instructions for value profiling, with Zydis: opcode and function, explicit operands,
 * destination. */
#include "isa/values/vp.h"

#include <string.h>

static ZydisDecoder decoder;
static trace_opcode_t opcodes[ZYDIS_MNEMONIC_MAX_VALUE + 1]; /* by Zydis mnemonic */

static void prepare(void)
{
    static bool done;
    if (done)
        return;
    (void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (unsigned m = 1; m <= ZYDIS_MNEMONIC_MAX_VALUE; m++)
        opcodes[m] = trace_opcode_by_name(ZydisMnemonicGetString((ZydisMnemonic)m));
    done = true;
}

static bool is_written(const ZydisDecodedOperand *o)
{
    return (o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
}

/* --- the x87 stack ---------------------------------------------------------------------------- */

/* Returns by how much the instruction changes the number of st(i): positive if it pushes, negative
 * if it pops. */
static int x87_moves(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_FLD:
    case ZYDIS_MNEMONIC_FLD1:
    case ZYDIS_MNEMONIC_FLDL2E:
    case ZYDIS_MNEMONIC_FLDL2T:
    case ZYDIS_MNEMONIC_FLDLG2:
    case ZYDIS_MNEMONIC_FLDLN2:
    case ZYDIS_MNEMONIC_FLDPI:
    case ZYDIS_MNEMONIC_FLDZ:
    case ZYDIS_MNEMONIC_FILD:
    case ZYDIS_MNEMONIC_FBLD:
    case ZYDIS_MNEMONIC_FPTAN:
    case ZYDIS_MNEMONIC_FSINCOS:
    case ZYDIS_MNEMONIC_FXTRACT:
    case ZYDIS_MNEMONIC_FDECSTP: return 1;
    case ZYDIS_MNEMONIC_FADDP:
    case ZYDIS_MNEMONIC_FMULP:
    case ZYDIS_MNEMONIC_FSUBP:
    case ZYDIS_MNEMONIC_FSUBRP:
    case ZYDIS_MNEMONIC_FDIVP:
    case ZYDIS_MNEMONIC_FDIVRP:
    case ZYDIS_MNEMONIC_FSTP:
    case ZYDIS_MNEMONIC_FSTPNCE:
    case ZYDIS_MNEMONIC_FISTP:
    case ZYDIS_MNEMONIC_FISTTP:
    case ZYDIS_MNEMONIC_FBSTP:
    case ZYDIS_MNEMONIC_FCOMP:
    case ZYDIS_MNEMONIC_FCOMIP:
    case ZYDIS_MNEMONIC_FICOMP:
    case ZYDIS_MNEMONIC_FUCOMP:
    case ZYDIS_MNEMONIC_FUCOMIP:
    case ZYDIS_MNEMONIC_FFREEP:
    case ZYDIS_MNEMONIC_FYL2X:
    case ZYDIS_MNEMONIC_FYL2XP1:
    case ZYDIS_MNEMONIC_FPATAN:
    case ZYDIS_MNEMONIC_FINCSTP: return -1;
    case ZYDIS_MNEMONIC_FCOMPP:
    case ZYDIS_MNEMONIC_FUCOMPP: return -2;
    default: return 0;
    }
}

/* Returns the register in which the operand is after the instruction, or 0 if it was popped. The
 * result of a push already is st(0). */
static trace_value_t x87_after(const ZydisDecodedInstruction *z, trace_value_t v, bool written)
{
    int moves = x87_moves(z->mnemonic), index = (int)TRACE_INDEX(v);
    if (!(moves > 0 && written && index == 0))
        index += moves;
    return index >= 0 && index < 8 ? TRACE_X87(index) : 0;
}

/* --- operands --------------------------------------------------------------------------------- */

static bool is_float(const ZydisDecodedOperand *o)
{
    return o->element_type == ZYDIS_ELEMENT_TYPE_FLOAT16 ||
           o->element_type == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
           o->element_type == ZYDIS_ELEMENT_TYPE_FLOAT64 ||
           o->element_type == ZYDIS_ELEMENT_TYPE_FLOAT80;
}

/* Returns how many bits of a register to capture: at most a 64-bit lane; of a vector with a single
 * narrower element, that element. */
static unsigned captured_bits(const struct vp_decoded *d, const ZydisDecodedOperand *o,
                              unsigned width)
{
    bool single = o->element_count == 1 || d->z.mnemonic == ZYDIS_MNEMONIC_MOVSS ||
                  d->z.mnemonic == ZYDIS_MNEMONIC_VMOVSS;
    if (width > 64 && single && (o->element_size == 16 || o->element_size == 32))
        return o->element_size;
    return width < 64 ? width : 64;
}

static trace_operand_t describe(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    trace_operand_t t = {
        .is_read = (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0,
        .is_written = is_written(o),
        .bits = o->size,
        .element_bits = o->element_size,
        .is_float = is_float(o),
    };
    switch (o->type) {
    case ZYDIS_OPERAND_TYPE_REGISTER:
        t.type = TRACE_OPERAND_REGISTER;
        t.value = vp_register(o->reg.value);
        t.shift = o->reg.value >= ZYDIS_REGISTER_AH && o->reg.value <= ZYDIS_REGISTER_BH ? 8 : 0;
        if (TRACE_KIND(t.value) == TRACE_KIND_X87)
            t.value = x87_after(&d->z, t.value, t.is_written);
        t.bits = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->reg.value);
        t.captured_bits = (unsigned char)captured_bits(d, o, t.bits);
        break;
    case ZYDIS_OPERAND_TYPE_MEMORY:
        t.type = TRACE_OPERAND_MEMORY;
        t.captured_bits = (unsigned char)(o->size < 64 ? o->size : 64);
        break;
    case ZYDIS_OPERAND_TYPE_IMMEDIATE:
        t.type = TRACE_OPERAND_IMMEDIATE;
        t.immediate = o->imm.value.u;
        break;
    default: break;
    }
    return t;
}

/* Describes the operands in the assembler's order. A mask in braces does not count as an
 * operand. */
static void describe_operands(struct vp_decoded *d)
{
    trace_inst_t *inst = &d->inst;
    for (int i = 0; i < d->z.operand_count_visible && inst->operand_count < 4; i++)
        if (d->operands[i].encoding != ZYDIS_OPERAND_ENCODING_MASK)
            inst->operands[inst->operand_count++] = describe(d, &d->operands[i]);
    if (inst->operand_count > 0 && d->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
        d->operands[0].imm.is_relative)
        inst->is_relative = 1;
}

/* --- what the instruction computes ------------------------------------------------------------ */

static bool is_destination(const struct vp_decoded *d, const ZydisDecodedOperand *o)
{
    bool hidden = o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN;
    trace_value_t v = o->type == ZYDIS_OPERAND_TYPE_REGISTER ? vp_register(o->reg.value) : 0;
    if (v == 0 || v == TRACE_RSP || !is_written(o))
        return false;
    if (hidden && d->z.meta.category == ZYDIS_CATEGORY_STRINGOP) /* rsi, rdi, rcx only advance */
        return v == TRACE_RAX;
    return d->z.meta.category != ZYDIS_CATEGORY_SYSCALL &&
           d->z.mnemonic != ZYDIS_MNEMONIC_VZEROALL && d->z.mnemonic != ZYDIS_MNEMONIC_VZEROUPPER;
}

static void describe_destination(struct vp_decoded *d)
{
    trace_inst_t *inst = &d->inst;
    for (int i = 0; i < d->z.operand_count && inst->destination == 0; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (!is_destination(d, o))
            continue;
        const trace_operand_t t = describe(d, o);
        inst->destination = t.value;
        inst->destination_bits = t.captured_bits;
        inst->destination_width = t.bits;
        inst->destination_shift = t.shift;
        inst->destination_is_float = TRACE_KIND(t.value) == TRACE_KIND_X87 ||
                                     (TRACE_KIND(t.value) == TRACE_KIND_VECTOR && t.is_float &&
                                      t.element_bits == t.captured_bits);
    }
}

static void describe_function(struct vp_decoded *d)
{
    unsigned func = d->inst.destination != 0 ? TRACE_FUNC_RESULT : 0;
    for (int i = 0; i < d->z.operand_count; i++) {
        const ZydisDecodedOperand *o = &d->operands[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
            continue;
        if (!vp_is_accessed(d, o)) {
            func |= TRACE_FUNC_ADDRESS;
            continue;
        }
        if ((o->actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0)
            func |= TRACE_FUNC_LOAD;
        if (is_written(o))
            func |= TRACE_FUNC_STORE;
        if (o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP)
            func |= TRACE_FUNC_STACK;
    }
    d->inst.func = (trace_func_t)func;
}

bool vp_decode(const uint8_t *code, size_t bytes, struct vp_decoded *d)
{
    prepare();
    memset(d, 0, sizeof *d);
    d->memory = -1;
    if (bytes > ZYDIS_MAX_INSTRUCTION_LENGTH)
        bytes = ZYDIS_MAX_INSTRUCTION_LENGTH;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, bytes, &d->z, d->operands)))
        return false;
    memcpy(d->inst.bytes, code, d->z.length);
    d->inst.length = d->z.length;
    d->inst.opc = opcodes[d->z.mnemonic];
    d->memory = vp_find_memory(d);
    vp_describe_memory(d);
    describe_operands(d);
    describe_destination(d);
    describe_function(d);
    return true;
}

void vp_decode_inst(const uint8_t *code, size_t bytes, trace_inst_t *inst)
{
    struct vp_decoded d;
    (void)vp_decode(code, bytes, &d);
    *inst = d.inst;
}

/* Corrects two names. Zydis writes the scalar double move like the string instruction movsd
 * (movsdq), and writes Intel's name for movslq. */
static void correct(const ZydisDecodedInstruction *z, char *text)
{
    static const char moves[] = "movslq";
    size_t n = strcspn(text, " ");
    if (z->mnemonic == ZYDIS_MNEMONIC_MOVSXD && z->operand_width == 64 && n >= sizeof moves - 1) {
        memcpy(text, moves, sizeof moves - 1);
        memmove(text + sizeof moves - 1, text + n, strlen(text + n) + 1);
    } else if (z->mnemonic == ZYDIS_MNEMONIC_MOVSD && z->meta.category != ZYDIS_CATEGORY_STRINGOP &&
               strncmp(text, "movsdq", 6) == 0) {
        memmove(text + 5, text + 6, strlen(text + 6) + 1);
    }
}

bool vp_disassemble(const uint8_t *code, size_t bytes, uint64_t address, char *text, size_t room)
{
    static const ZydisFormatterProperty plain[] = {
        ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, ZYDIS_FORMATTER_PROP_ADDR_PADDING_RELATIVE,
        ZYDIS_FORMATTER_PROP_DISP_PADDING, ZYDIS_FORMATTER_PROP_IMM_PADDING};
    static ZydisFormatter formatter;
    static bool ready;
    struct vp_decoded d;
    if (!ready) {
        (void)ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
        for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
            (void)ZydisFormatterSetProperty(&formatter, plain[i], ZYDIS_PADDING_DISABLED);
        (void)ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
        ready = true;
    }
    if (!vp_decode(code, bytes, &d) ||
        !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
            &formatter, &d.z, d.operands, d.z.operand_count_visible, text, room, address, NULL)))
        return false;
    correct(&d.z, text);
    return true;
}
