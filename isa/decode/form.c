/* SPDX-License-Identifier: BSD-3-Clause
 * Caches decoded instruction heads in a trie. */
#include "isa/decode/form.h"

#include "isa/image/image.h"

#include <stdlib.h>
#include <string.h>

/* Nodes take up to 16 MB; forms up to 8 MB, twice what libLLVM needs. What exceeds this is decoded
 * each time. */
enum { MOST = 1 << 14, MOST_FORMS = 1 << 18 };

_Static_assert(ZYDIS_CATEGORY_MAX_VALUE < 256 && ZYDIS_ISA_EXT_MAX_VALUE < 256, "in a byte");

/* --- decoding ----------------------------------------------------------------------------- */

/* By opcode (Intel's manual, volume 2, appendix A): the quick mode of the decoder does not say
 * where control flow continues. */
static enum flow flow_plain(const ZydisDecodedInstruction *z)
{
    uint8_t op = z->opcode;
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3))
        return FLOW_BRANCH;
    if (op == 0xff && z->raw.modrm.reg >= 2 && z->raw.modrm.reg <= 5)
        return z->raw.modrm.reg <= 3 ? FLOW_CALL_POINTER : FLOW_JUMP_POINTER;
    if (op == 0xc7 && z->raw.modrm.reg == 7) /* xbegin continues, or jumps when it aborts */
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

/* --- caching ------------------------------------------------------------------------------ */

/* Returns the index of the new node's first entry; 0 if there is no room. */
static uint32_t add_node(struct forms *f)
{
    const size_t entries = 256, bytes = entries * sizeof *f->next;
    if (f->node_count == MOST || image_grow((void **)&f->next, f->node_count, bytes) != 0)
        return 0;
    size_t begin = f->node_count++ * entries;
    memset(f->next + begin, 0, bytes);
    return (uint32_t)begin;
}

struct forms *forms_open(void)
{
    struct forms *f = calloc(1, sizeof *f);
    if (f == NULL)
        return NULL;
    (void)add_node(f);
    if (f->node_count == 0 || image_grow((void **)&f->forms, 0, sizeof *f->forms) != 0) {
        forms_close(f);
        return NULL;
    }
    f->form_count = 1;
    (void)ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    (void)ZydisDecoderEnableMode(&f->decoder, ZYDIS_DECODER_MODE_MINIMAL, ZYAN_TRUE);
    return f;
}

void forms_close(struct forms *f)
{
    if (f == NULL)
        return;
    free(f->next);
    free(f->forms);
    free(f);
}

bool forms_may_have(const struct forms *f, bool category, uint64_t number)
{
    return number < 256 && (category ? f->categories[number] : f->extensions[number]);
}

/* Returns the length of the head; 0 if the first bytes alone do not determine the form. */
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

/* Caches `found` for instructions that begin with the first `head` bytes. */
static void keep(struct forms *f, const uint8_t *bytes, unsigned head, uint32_t found)
{
    uint32_t at = 0;
    for (unsigned k = 0; k + 1 < head; k++) {
        uint32_t next = f->next[at + bytes[k]];
        if (next == 0 && (next = add_node(f)) != 0)
            f->next[at + bytes[k]] = next;
        if (next == 0 || (next & FORM_FOUND) != 0)
            return;
        at = next;
    }
    if (head != 0 && f->next[at + bytes[head - 1]] == 0)
        f->next[at + bytes[head - 1]] = found;
}

/* Data is decoded where nothing tells it from code, and is mostly no instruction. Caches that
 * result for the fewest bytes from which the decoder knows. */
static void keep_none(struct forms *f, const uint8_t *bytes)
{
    ZydisDecodedInstruction z;
    unsigned n = 1;
    while (n < FORM_LONGEST && ZydisDecoderDecodeInstruction(&f->decoder, NULL, bytes, n, &z) ==
                                   ZYDIS_STATUS_NO_MORE_DATA)
        n++;
    keep(f, bytes, n, FORM_FOUND);
}

uint32_t form_ask(struct forms *f, const uint8_t *bytes)
{
    ZydisDecodedInstruction z;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, NULL, bytes, FORM_LONGEST, &z))) {
        if (f->node_count + FORM_LONGEST <= MOST)
            keep_none(f, bytes);
        return FORM_FOUND;
    }
    const struct form form = form_of(&z);
    uint32_t found = FORM_FOUND | (uint32_t)form.length << FORM_NUMBER_BITS, number = 0;
    unsigned head = head_of(&form);
    if (!f->guessing) {
        f->categories[form.category] = true;
        f->extensions[form.extension] = true;
    }
    if (head != 0 && f->node_count + head <= MOST && f->form_count < MOST_FORMS &&
        image_grow((void **)&f->forms, f->form_count, sizeof *f->forms) == 0) {
        number = (uint32_t)f->form_count++;
        found |= number;
        keep(f, bytes, head, found);
    }
    f->forms[number] = form;
    return found;
}

uint32_t form_find_end(struct forms *f, const uint8_t *bytes, size_t n)
{
    uint8_t some[FORM_LONGEST] = {0};
    memcpy(some, bytes, n < sizeof some ? n : sizeof some);
    /* The zeros do not change an instruction that ends before them. */
    uint32_t found = form_find(f, some, sizeof some);
    return form_length(found) <= n ? found : FORM_FOUND;
}
