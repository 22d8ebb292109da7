/* SPDX-License-Identifier: BSD-3-Clause
 * Tests the cache of instruction forms (isa/decode/form.c) against the decoder itself, which is
 * asked anew each time: with random bytes; with the code of libraries, also with the bytes after
 * the first ones changed; and at the end of the code. */
#include "isa/decode/code_map.h"

#include "t/tap.h"

#include <inttypes.h>
#include <limits.h>
#include <link.h>

/* This decoder reports what an instruction does; that of isa/decode/form.c does not. */
static ZydisDecoder full;
static struct forms *forms;
static uint64_t seed = 88172645463325252u;

static uint64_t random_word(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t prefix)
{
    bool has = false;
    for (unsigned n = 0; n < z->raw.prefix_count; n++)
        has = has || z->raw.prefixes[n].value == prefix;
    return has;
}

/* Compares all fields of the form but the control flow, which the decoder reports in other
 * terms. */
static bool is_that(const struct instruction *i, const ZydisDecodedInstruction *z)
{
    const struct form *f = &i->form;
    bool modrm = (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0,
         sib = (z->attributes & ZYDIS_ATTRIB_HAS_SIB) != 0;
    bool relative =
        modrm && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5 && z->raw.disp.size == 32;
    return i->next - i->at == z->length && f->encoding == z->encoding && f->map == z->opcode_map &&
           f->opcode == z->opcode && f->category == z->meta.category &&
           f->extension == z->meta.isa_ext && f->address_width == z->address_width &&
           f->mod == z->raw.modrm.mod && f->reg == z->raw.modrm.reg && f->rm == z->raw.modrm.rm &&
           f->modrm_offset == z->raw.modrm.offset && f->scale == z->raw.sib.scale &&
           f->index == z->raw.sib.index && f->base == z->raw.sib.base && f->rex_r == z->raw.rex.R &&
           f->rex_b == z->raw.rex.B && f->has_sib == sib && f->has_66 == has_prefix(z, 0x66) &&
           f->relative == relative && f->disp_size == z->raw.disp.size &&
           f->disp_offset == z->raw.disp.offset && f->imm_size == z->raw.imm[0].size &&
           f->imm_relative == z->raw.imm[0].is_relative &&
           instruction_displacement(i) == (uint64_t)z->raw.disp.value &&
           instruction_immediate(i) == z->raw.imm[0].value.u &&
           (!relative || i->memory == i->next + (uint64_t)z->raw.disp.value);
}

/* Compares the control flow with the decoder's own class of branches. The decoder knows some
 * branches with a VEX prefix, of a coprocessor that is gone (Knights Corner). */
static bool goes_there(const struct instruction *i, const ZydisDecodedInstruction *z)
{
    if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return i->form.flow == FLOW_NEXT;
    uint64_t target = z->raw.imm[0].is_relative ? i->next + z->raw.imm[0].value.u : 0;
    switch (z->meta.category) {
    case ZYDIS_CATEGORY_COND_BR: /* xend too, after which execution continues */
        return i->form.flow == (target != 0 ? FLOW_BRANCH : FLOW_NEXT) && i->target == target;
    case ZYDIS_CATEGORY_RET: return i->form.flow == FLOW_RETURN;
    case ZYDIS_CATEGORY_CALL:
        return i->form.flow == (target != 0 ? FLOW_CALL : FLOW_CALL_POINTER) && i->target == target;
    case ZYDIS_CATEGORY_UNCOND_BR:
        /* xabort does nothing outside of a transaction. */
        if (z->opcode == 0xc6)
            return i->form.flow == FLOW_NEXT;
        return i->form.flow == (target != 0 ? FLOW_JUMP : FLOW_JUMP_POINTER) && i->target == target;
    default: return i->form.flow != FLOW_CALL && i->form.flow != FLOW_JUMP;
    }
}

/* Returns true if both give the same answer for these bytes; otherwise prints the difference. */
static bool agrees(const uint8_t *bytes, size_t n)
{
    ZydisDecodedInstruction z;
    struct instruction i;
    bool theirs = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&full, NULL, bytes, n, &z)),
         ours = instruction_read(forms, bytes, n, 0x400000, &i);
    if (theirs == ours && (!ours || (is_that(&i, &z) && goes_there(&i, &z))))
        return true;
    char text[64] = "";
    for (size_t k = 0; k < n && k < 15; k++)
        (void)snprintf(text + 3 * k, 4, " %02x", bytes[k]);
    diag("%zu bytes%s: they %d, we %d, category %d, flow %d", n, text, theirs, ours,
         theirs ? (int)z.meta.category : -1, ours ? i.form.flow : -1);
    return false;
}

/* Makes random bytes. Most begin as code does: with prefixes, or with one of the opcode maps. */
static void make(uint8_t bytes[15])
{
    static const uint8_t begins[] = {0x66, 0xf2, 0xf3, 0x48, 0x4c, 0x41, 0x0f, 0xc4,
                                     0xc5, 0x62, 0x8f, 0x67, 0x64, 0x2e, 0xf0, 0x40};
    for (unsigned k = 0; k < 15; k++)
        bytes[k] = (uint8_t)random_word();
    for (unsigned k = 0; k < 4 && (random_word() & 1) != 0; k++)
        bytes[k] = begins[random_word() % sizeof begins];
}

static void compare_random(unsigned count)
{
    unsigned wrong = 0;
    for (unsigned k = 0; k < count && wrong < 5; k++) {
        uint8_t bytes[15];
        make(bytes);
        wrong += !agrees(bytes, random_word() % 8 == 0 ? 1 + random_word() % 15 : 15);
    }
    ok(wrong == 0, "%u sequences of bytes are what the decoder says they are", count);
}

/* Compares at every fifth byte of the code, each time also with changes of the bytes that may be a
 * displacement or an immediate. */
static void compare_code(const char *path)
{
    struct rt_error e = {""};
    struct image *m = image_peek(path, &e);
    uint64_t count = 0, wrong = 0;
    for (size_t k = 0; m != NULL && k < m->segment_count; k++) {
        const struct image_segment *s = &m->segments[k];
        for (uint64_t at = 0; s->code && at < s->size && wrong < 5; at += 5, count++) {
            uint64_t left = s->size - at, n = left < 15 ? left : 15;
            uint8_t bytes[15];
            memcpy(bytes, s->bytes + at, n);
            wrong += !agrees(s->bytes + at, n);
            for (uint64_t b = 1 + random_word() % 4; b < n; b++)
                bytes[b] = (uint8_t)random_word();
            wrong += !agrees(bytes, n);
        }
    }
    ok(m != NULL && wrong == 0 && count > 100, "%s: so are those at %" PRIu64 " places of it", path,
       count);
    image_close(m);
}

/* Writes the path of the C library to `path`. */
static int find_libc(struct dl_phdr_info *o, size_t size, void *path)
{
    (void)size;
    if (strstr(o->dlpi_name, "/libc.so") != NULL)
        (void)snprintf(path, PATH_MAX, "%s", o->dlpi_name);
    return 0;
}

int main(int argc, char **argv)
{
    (void)ZydisDecoderInit(&full, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    forms = forms_open();
    if (!ok(forms != NULL, "there is a decoder"))
        return done_testing();
    static char libc[PATH_MAX];
    (void)dl_iterate_phdr(find_libc, libc);
    compare_code("/proc/self/exe");
    if (libc[0] != '\0')
        compare_code(libc);
    for (int k = 1; k < argc; k++)
        compare_code(argv[k]);
    compare_random(1000000);
    /* The cache is full now, or soon: it asks the decoder for each further form. */
    compare_random(1000000);
    ok(forms->node_count <= 1 << 14, "they take %zu KB of nodes", forms->node_count);
    forms_close(forms);
    return done_testing();
}
