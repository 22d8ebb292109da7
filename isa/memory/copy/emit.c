/* SPDX-License-Identifier: BSD-3-Clause
 * Encodes the machine code that records. */
#include "isa/memory/copy/emit.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    REX = 0x40,
    REX_W = 8,
    REX_R = 4,
    REX_X = 2,
    REX_B = 1,
    SIB = 4,
    FS = 0x64,
    OPERAND_16 = 0x66,
    ADDRESS_32 = 0x67
};

void *emit_more(void *p, size_t bytes)
{
    p = realloc(p, bytes);
    if (p == NULL) {
        (void)fprintf(stderr, "regtrace-isa: no memory left\n");
        exit(1);
    }
    return p;
}

void emit_bytes(struct emit *e, const void *bytes, size_t n)
{
    if (e->bytes + n > e->room) {
        e->room = 2 * e->room + n + 4096;
        e->code = emit_more(e->code, e->room);
    }
    memcpy(e->code + e->bytes, bytes, n);
    e->bytes += n;
}

void emit_byte(struct emit *e, unsigned byte)
{
    uint8_t b = (uint8_t)byte;
    emit_bytes(e, &b, 1);
}

static void emit_number(struct emit *e, uint32_t n, unsigned bytes)
{
    emit_bytes(e, &n, bytes);
}

static void note_fixup(struct emit *e, struct copy_fixup f)
{
    if (e->fixup_count == e->fixup_room) {
        e->fixup_room = 2 * e->fixup_room + 64;
        e->fixups = emit_more(e->fixups, e->fixup_room * sizeof *e->fixups);
    }
    e->fixups[e->fixup_count++] = f;
}

void emit_fixup(struct emit *e, enum copy_fixup_kind kind, uint64_t target, unsigned after)
{
    note_fixup(e, (struct copy_fixup){
                      .target = target, .at = e->bytes, .kind = (uint32_t)kind, .after = after});
    emit_number(e, 0, 4);
}

void emit_fixup_at(struct emit *e, enum copy_fixup_kind kind, uint64_t target, size_t at)
{
    note_fixup(e, (struct copy_fixup){.target = target, .at = at, .kind = (uint32_t)kind});
}

void emit_call(struct emit *e, uint64_t target)
{
    if (e->call_count == e->call_room) {
        e->call_room = 2 * e->call_room + 64;
        e->calls = emit_more(e->calls, e->call_room * sizeof *e->calls);
    }
    e->calls[e->call_count++] = (struct emit_call){.target = target, .at = e->bytes};
    emit_number(e, 0, 4);
}

void emit_link(struct emit *e, size_t at, size_t to)
{
    int32_t distance = (int32_t)((int64_t)to - (int64_t)(at + 4));
    memcpy(e->code + at, &distance, sizeof distance);
}

void emit_distance(struct emit *e, size_t at, size_t from, size_t to)
{
    emit_link(e, at, at + 4 + to - from);
}

void emit_stands_for(struct emit *e, uint64_t address, unsigned flags)
{
    if (e->place_count == e->place_room) {
        e->place_room = 2 * e->place_room + 256;
        e->places = emit_more(e->places, e->place_room * sizeof *e->places);
    }
    e->places[e->place_count++] =
        (struct copy_place){.address = address, .code = (uint32_t)e->bytes, .flags = flags};
}

static unsigned rex(bool wide, unsigned reg, unsigned index, unsigned base)
{
    return REX | (wide ? REX_W : 0u) | (reg > 7 ? REX_R : 0u) | (index > 7 ? REX_X : 0u) |
           (base > 7 ? REX_B : 0u);
}

static void slot(struct emit *e, unsigned opcode, enum copy_slot s, unsigned reg)
{
    emit_byte(e, FS);
    emit_byte(e, rex(true, reg, 0, 0));
    emit_byte(e, opcode);
    emit_byte(e, (reg & 7) << 3 | SIB);
    emit_byte(e, 0x25); /* neither base nor index */
    emit_fixup(e, COPY_THREAD, s, 0);
}

void emit_slot_load(struct emit *e, enum copy_slot s, unsigned reg)
{
    slot(e, 0x8b, s, reg);
}

void emit_slot_store(struct emit *e, enum copy_slot s, unsigned reg)
{
    slot(e, 0x89, s, reg);
}

/* Emits ModRM and what follows for base + index * 2^scale + offset. */
static void operand(struct emit *e, unsigned reg, unsigned base, unsigned index, unsigned scale,
                    int32_t offset)
{
    bool sib = index != EMIT_NONE || (base & 7) == SIB;
    unsigned mod = offset == 0 && (base & 7) != 5 ? 0u : offset >= -128 && offset < 128 ? 1u : 2u;
    emit_byte(e, mod << 6 | (reg & 7) << 3 | (sib ? SIB : base & 7));
    if (sib)
        emit_byte(e, scale << 6 | (index != EMIT_NONE ? index & 7 : 4u) << 3 | (base & 7));
    if (mod != 0)
        emit_number(e, (uint32_t)offset, mod == 1 ? 1 : 4);
}

void emit_store(struct emit *e, unsigned base, unsigned offset, unsigned reg, unsigned bytes)
{
    if (bytes == 2)
        emit_byte(e, OPERAND_16);
    emit_byte(e, rex(bytes == 8, reg, 0, base)); /* always: without it, sil would be dh */
    emit_byte(e, bytes == 1 ? 0x88 : 0x89);
    operand(e, reg, base, EMIT_NONE, 0, (int32_t)offset);
}

void emit_store_number(struct emit *e, unsigned base, unsigned offset, uint32_t n, unsigned bytes)
{
    if (bytes == 2)
        emit_byte(e, OPERAND_16);
    emit_byte(e, rex(false, 0, 0, base));
    emit_byte(e, bytes == 1 ? 0xc6 : 0xc7);
    operand(e, 0, base, EMIT_NONE, 0, (int32_t)offset);
    emit_number(e, n, bytes);
}

static unsigned extension(unsigned index)
{
    return index != EMIT_NONE ? index : 0;
}

void emit_lea(struct emit *e, unsigned to, unsigned base, unsigned index, int32_t offset)
{
    emit_byte(e, rex(true, to, extension(index), base));
    emit_byte(e, 0x8d);
    operand(e, to, base, index, 0, offset);
}

void emit_lea_of(struct emit *e, unsigned to, const struct emit_memory *m)
{
    unsigned index = extension(m->index),
             scale = m->scale > 1 ? (unsigned)__builtin_ctz(m->scale) : 0;
    if (m->narrow)
        emit_byte(e, ADDRESS_32);
    emit_byte(e, rex(true, to, index, extension(m->base)));
    emit_byte(e, 0x8d);
    if (m->base != EMIT_NONE) {
        operand(e, to, m->base, m->index, scale, (int32_t)m->offset);
        return;
    }
    emit_byte(e, (to & 7) << 3 | SIB);
    emit_byte(e, scale << 6 | (m->index != EMIT_NONE ? index & 7 : 4u) << 3 | 5);
    emit_number(e, (uint32_t)m->offset, 4);
}

void emit_low_byte(struct emit *e, unsigned to, unsigned from)
{
    emit_byte(e, rex(true, to, 0, from));
    emit_bytes(e, (const uint8_t[]){0x0f, 0xb6}, 2);
    emit_byte(e, 0xc0 | (to & 7) << 3 | (from & 7));
}

void emit_move_number(struct emit *e, unsigned to, uint64_t n)
{
    emit_byte(e, rex(true, 0, 0, to));
    emit_byte(e, 0xb8 | (to & 7));
    emit_bytes(e, &n, sizeof n);
}

void emit_address(struct emit *e, unsigned to, uint64_t target)
{
    emit_byte(e, rex(true, to, 0, 0));
    emit_byte(e, 0x8d);
    emit_byte(e, (to & 7) << 3 | 5);
    emit_fixup(e, COPY_IMAGE, target, 0);
}

size_t emit_place(struct emit *e, unsigned to)
{
    emit_byte(e, rex(true, to, 0, 0));
    emit_byte(e, 0x8d);
    emit_byte(e, (to & 7) << 3 | 5);
    emit_number(e, 0, 4);
    return e->bytes - 4;
}

void emit_load_indexed(struct emit *e, unsigned to, unsigned base, unsigned index)
{
    emit_byte(e, rex(true, to, index, base));
    emit_byte(e, 0x63);
    operand(e, to, base, index, 2, 0);
}

void emit_not(struct emit *e, unsigned reg)
{
    emit_byte(e, rex(true, 0, 0, reg));
    emit_byte(e, 0xf7);
    emit_byte(e, 0xd0 | (reg & 7));
}

void emit_swap(struct emit *e, unsigned reg)
{
    emit_byte(e, rex(true, 0, 0, reg));
    emit_bytes(e, (const uint8_t[]){0x0f, (uint8_t)(0xc8 | (reg & 7))}, 2);
}

size_t emit_unless_below(struct emit *e, unsigned reg, uint32_t n)
{
    emit_byte(e, rex(true, 0, 0, reg));
    emit_bytes(e, (const uint8_t[]){0x81, (uint8_t)(0xf8 | (reg & 7))}, 2); /* cmp */
    emit_number(e, n, 4);
    emit_bytes(e, (const uint8_t[]){0x0f, 0x83, 0, 0, 0, 0}, 6); /* jae */
    return e->bytes - 4;
}

void emit_move(struct emit *e, unsigned to, unsigned from)
{
    emit_byte(e, rex(true, from, 0, to));
    emit_byte(e, 0x89);
    emit_byte(e, 0xc0 | (from & 7) << 3 | (to & 7));
}

void emit_jump_register(struct emit *e, unsigned reg)
{
    if (reg > 7)
        emit_byte(e, REX | REX_B);
    emit_byte(e, 0xff);
    emit_byte(e, 0xe0 | (reg & 7));
}

void emit_push(struct emit *e, unsigned reg)
{
    if (reg > 7)
        emit_byte(e, REX | REX_B);
    emit_byte(e, 0x50 | (reg & 7));
}

void emit_jump_slot(struct emit *e, enum copy_slot s)
{
    emit_bytes(e, (const uint8_t[]){FS, 0xff, 0x24, 0x25}, 4);
    emit_fixup(e, COPY_THREAD, s, 0);
}

void emit_copy(struct emit *e, const struct instruction *i)
{
    unsigned at = i->form.disp_offset, after = i->form.length - at - 4u;
    if (!i->form.relative) {
        emit_bytes(e, i->bytes, i->form.length);
        return;
    }
    emit_bytes(e, i->bytes, at);
    emit_fixup(e, COPY_IMAGE, i->memory, after);
    emit_bytes(e, i->bytes + at + 4, after);
}

void emit_with_memory(struct emit *e, const struct instruction *i, unsigned opcode, unsigned reg,
                      bool high_index, bool high_base)
{
    if (i->form.address_width == 32)
        emit_byte(e, 0x67);
    emit_byte(e, REX | REX_W | (reg > 7 ? REX_R : 0u) | (high_index ? REX_X : 0u) |
                     (high_base ? REX_B : 0u));
    emit_byte(e, opcode);
    emit_byte(e, (i->bytes[i->form.modrm_offset] & 0xc7u) | (reg & 7) << 3);
    if (i->form.has_sib)
        emit_byte(e, i->bytes[i->form.modrm_offset + 1]);
    if (i->form.relative)
        emit_fixup(e, COPY_IMAGE, i->memory, 0);
    else
        emit_bytes(e, i->bytes + i->form.disp_offset, i->form.disp_size / 8);
}
