/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions by what the decoder once said of their first bytes. */
#include "isa/form.h"

#include <stdlib.h>
#include <string.h>

/* Nodes: 16 MB. What is beyond is decoded each time. */
enum { MOST = 1 << 14 };

_Static_assert(ZYDIS_CATEGORY_MAX_VALUE < 256 && ZYDIS_ISA_EXT_MAX_VALUE < 256, "in a byte");

/* --- what the decoder says -------------------------------------------------------------------------------------------------- */

/* By opcode (Intel's manual, volume 2, appendix A): the quick decoder does not say where an instruction goes on. */
static enum flow flow_plain(const ZydisDecodedInstruction *z)
{
    uint8_t op = z->opcode;
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
        return FLOW_BRANCH;
    if (op == 0xff && z->raw.modrm.reg >= 2 && z->raw.modrm.reg <= 5)
        return z->raw.modrm.reg <= 3 ? FLOW_CALL_POINTER : FLOW_JUMP_POINTER;
    if (op == 0xc7 && z->raw.modrm.reg == 7) /* xbegin: on, or to where it aborts */
        return FLOW_BRANCH;
    switch (op) {
    case 0xe8: return FLOW_CALL;
    case 0xe9:
    case 0xeb: return FLOW_JUMP;
    case 0xc2:
    case 0xc3:
    case 0xca:
    case 0xcb:
    case 0xcf: return FLOW_RETURN;
    case 0xf4: return FLOW_END;
    default: return FLOW_NEXT;
    }
}

static enum flow flow_of(const ZydisDecodedInstruction *z)
{
    if (z->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY)
        return FLOW_NEXT;
    if (z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT)
        return flow_plain(z);
    if (z->opcode_map != ZYDIS_OPCODE_MAP_0F)
        return FLOW_NEXT;
    if (z->opcode >= 0x80 && z->opcode <= 0x8f)
        return FLOW_BRANCH;
    return z->opcode == 0x0b || z->opcode == 0xb9 || z->opcode == 0xff ? FLOW_END : FLOW_NEXT;
}

static bool has_prefix(const ZydisDecodedInstruction *z, uint8_t prefix)
{
    for (unsigned n = 0; n < z->raw.prefix_count; n++)
        if (z->raw.prefixes[n].value == prefix)
            return true;
    return false;
}

static struct form form_of(const ZydisDecodedInstruction *z)
{
    bool modrm = (z->attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0;
    return (struct form){
        .length = z->length,
        .flow = (uint8_t)flow_of(z),
        .encoding = (uint8_t)z->encoding,
        .map = (uint8_t)z->opcode_map,
        .opcode = z->opcode,
        .category = (uint8_t)z->meta.category,
        .extension = (uint8_t)z->meta.isa_ext,
        .address_width = z->address_width,
        .mod = z->raw.modrm.mod,
        .reg = z->raw.modrm.reg,
        .rm = z->raw.modrm.rm,
        .modrm_offset = z->raw.modrm.offset,
        .scale = z->raw.sib.scale,
        .index = z->raw.sib.index,
        .base = z->raw.sib.base,
        .rex_r = z->raw.rex.R,
        .rex_b = z->raw.rex.B,
        .disp_size = z->raw.disp.size,
        .disp_offset = z->raw.disp.offset,
        .imm_size = z->raw.imm[0].size,
        .imm_offset = z->raw.imm[0].offset,
        .imm_signed = z->raw.imm[0].is_signed,
        .imm_relative = z->raw.imm[0].is_relative,
        .has_sib = (z->attributes & ZYDIS_ATTRIB_HAS_SIB) != 0,
        .has_66 = has_prefix(z, 0x66),
        .relative =
            modrm && z->raw.modrm.mod == 0 && z->raw.modrm.rm == 5 && z->raw.disp.size == 32,
        .lea = z->opcode == 0x8d && z->opcode_map == ZYDIS_OPCODE_MAP_DEFAULT &&
               z->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY,
    };
}

/* --- what is kept of it ----------------------------------------------------------------------------------------------------- */

/* Room for so many more. */
static bool grow(void **array, size_t count, size_t more, size_t *room, size_t size)
{
    if (count + more <= *room)
        return true;
    size_t wanted = 2 * (count + more);
    void *larger = realloc(*array, wanted * size);
    if (larger == NULL)
        return false;
    *array = larger;
    *room = wanted;
    return true;
}

struct forms *forms_open(void)
{
    struct forms *f = calloc(1, sizeof *f);
    if (f == NULL || !grow((void **)&f->nodes, 0, 32, &f->node_room, sizeof *f->nodes)) {
        free(f);
        return NULL;
    }
    (void)ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    (void)ZydisDecoderEnableMode(&f->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    f->nodes[f->node_count++] = (struct form_node){{0}};
    return f;
}

void forms_close(struct forms *f)
{
    if (f == NULL)
        return;
    free(f->nodes);
    free(f->forms);
    free(f);
}

bool forms_may_have(const struct forms *f, bool category, uint64_t number)
{
    return number < 256 && (category ? f->categories[number] : f->extensions[number]);
}

/* The bytes that make it what it is; 0: not the first ones alone. */
static unsigned head_of(const struct form *form)
{
    unsigned head = form->length;
    if (form->encoding == ZYDIS_INSTRUCTION_ENCODING_3DNOW)
        return 0;
    if (form->disp_size != 0 && form->disp_offset < head)
        head = form->disp_offset;
    if (form->imm_size != 0 && form->imm_offset < head)
        head = form->imm_offset;
    return head;
}

/* What begins with these bytes, head at most, is that. */
static void keep(struct forms *f, const uint8_t *bytes, unsigned head, const struct form *form)
{
    unsigned at = 0;
    if (head == 0 || f->node_count + head > MOST ||
        !grow((void **)&f->nodes, f->node_count, head, &f->node_room, sizeof *f->nodes) ||
        !grow((void **)&f->forms, f->form_count, 1, &f->form_room, sizeof *f->forms))
        return;
    for (unsigned k = 0; k + 1 < head; k++) {
        int32_t *next = &f->nodes[at].next[bytes[k]];
        if (*next < 0)
            return;
        if (*next == 0) {
            *next = (int32_t)f->node_count;
            f->nodes[f->node_count++] = (struct form_node){{0}};
        }
        at = (unsigned)*next;
    }
    if (f->nodes[at].next[bytes[head - 1]] == 0) {
        f->nodes[at].next[bytes[head - 1]] = INT32_MIN + (int32_t)f->form_count;
        f->forms[f->form_count++] = *form;
    }
}

/* Data, which is decoded where nothing tells it from code, is mostly no instruction. The fewest bytes by which the decoder knows. */
static void keep_none(struct forms *f, const uint8_t *bytes)
{
    static const struct form none;
    ZydisDecodedInstruction z;
    unsigned n = 1;
    while (n < FORM_LONGEST && ZydisDecoderDecodeInstruction(&f->decoder, NULL, bytes, n, &z) ==
                                   ZYDIS_STATUS_NO_MORE_DATA)
        n++;
    keep(f, bytes, n, &none);
}

const struct form *form_ask(struct forms *f, const uint8_t *bytes)
{
    ZydisDecodedInstruction z;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, NULL, bytes, FORM_LONGEST, &z))) {
        if (f->node_count + FORM_LONGEST <= MOST)
            keep_none(f, bytes);
        return NULL;
    }
    f->last = form_of(&z);
    if (!f->guessing) {
        f->categories[f->last.category] = true;
        f->extensions[f->last.extension] = true;
    }
    keep(f, bytes, head_of(&f->last), &f->last);
    return &f->last;
}

const struct form *form_read_end(struct forms *f, const uint8_t *bytes, size_t n)
{
    uint8_t some[FORM_LONGEST] = {0};
    memcpy(some, bytes, n < sizeof some ? n : sizeof some);
    /* An instruction that ends before the zeros is what it is without them. */
    const struct form *form = form_read(f, some, sizeof some);
    return form != NULL && form->length <= n ? form : NULL;
}
