/* SPDX-License-Identifier: BSD-3-Clause
 * Decodes the instructions of a function, each once (decoded.h). */
#include "isa/memory/ir/decoded.h"

#include "isa/memory/arena.h"

#include <string.h>

static const struct decoded not_one;

static const struct decoded *decode(struct function *f, const struct instruction *i)
{
    static ZydisDecoder decoder;
    static bool is_ready;
    ZydisDecodedInstruction z;
    ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
    if (!is_ready)
        is_ready = ZYAN_SUCCESS(
            ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64));
    if (!is_ready ||
        !ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, i->bytes, i->form.length, &z, o)))
        return &not_one;
    size_t n = z.operand_count > DECODED_OPERANDS ? z.operand_count : DECODED_OPERANDS;
    struct decoded *d = arena_take(f->arena, sizeof *d + n * sizeof *d->o);
    d->z = z;
    memcpy(d->o, o, z.operand_count * sizeof *o);
    return d;
}

const struct decoded *decoded_of(struct function *f, uint32_t at)
{
    if (f->decoded == NULL)
        f->decoded = arena_take(f->arena, f->instruction_count * sizeof(const struct decoded *));
    const struct decoded **d = &f->decoded[at];
    if (*d == NULL)
        *d = decode(f, &f->instructions[at]);
    return *d != &not_one ? *d : NULL;
}
