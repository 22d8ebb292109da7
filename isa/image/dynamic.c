/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the dynamic table of an image: its exported symbols with their versions, and the words that
 * the dynamic linker will store. */
#include "isa/image/image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct image_dynamic {
    /* Values of the tags below 64 (DT_NULL to DT_JMPREL and others), by tag; 0: absent. */
    uint64_t tag[64];
    uint64_t versym, verdef, verdef_count, verneed, verneed_count, gnu_hash;
    size_t symbols;
};

/* Returns the text at `offset` of the string table, or "" if it does not end inside its segment. */
static const char *string_at(const struct image *m, uint64_t offset)
{
    uint64_t address = m->dynamic->tag[DT_STRTAB] + offset;
    const struct image_segment *s = image_segment_of(m, address);
    if (m->dynamic->tag[DT_STRTAB] == 0 || s == NULL)
        return "";
    const char *text = (const char *)s->bytes + (address - s->address);
    return memchr(text, 0, s->size - (address - s->address)) != NULL ? text : "";
}

static bool read_word(const struct image *m, uint64_t address, void *out, size_t n)
{
    const uint8_t *p = image_at(m, address, n);
    if (p != NULL)
        memcpy(out, p, n);
    return p != NULL;
}

static void read_tags(struct image *m, uint64_t table)
{
    struct image_dynamic *d = m->dynamic;
    Elf64_Dyn entry;
    for (; read_word(m, table, &entry, sizeof entry) && entry.d_tag != DT_NULL;
         table += sizeof entry) {
        uint64_t v = entry.d_un.d_val;
        switch (entry.d_tag) {
        case DT_VERSYM: d->versym = v; break;
        case DT_VERDEF: d->verdef = v; break;
        case DT_VERDEFNUM: d->verdef_count = v; break;
        case DT_VERNEED: d->verneed = v; break;
        case DT_VERNEEDNUM: d->verneed_count = v; break;
        case DT_GNU_HASH: d->gnu_hash = v; break;
        case DT_FLAGS: m->text_relocations |= (v & DF_TEXTREL) != 0; break;
        case DT_TEXTREL: m->text_relocations = true; break;
        default:
            if (entry.d_tag > 0 && entry.d_tag < 64)
                d->tag[entry.d_tag] = v;
        }
    }
}

/* DT_GNU_HASH has no count: the chain of the highest bucket ends with the last symbol. */
static size_t count_symbols(const struct image *m)
{
    const struct image_dynamic *d = m->dynamic;
    uint32_t head[4], last = 0, word = 0;
    if (d->tag[DT_HASH] != 0 && read_word(m, d->tag[DT_HASH], head, 8))
        return head[1];
    if (d->gnu_hash == 0 || !read_word(m, d->gnu_hash, head, sizeof head))
        return 0;
    uint64_t buckets = d->gnu_hash + 16 + UINT64_C(8) * head[2],
             chains = buckets + UINT64_C(4) * head[0];
    for (uint32_t i = 0; i < head[0] && read_word(m, buckets + UINT64_C(4) * i, &word, 4); i++)
        last = word > last ? word : last;
    if (last < head[1])
        return 0;
    while (read_word(m, chains + UINT64_C(4) * (last - head[1]), &word, 4)) {
        last++;
        if ((word & 1) != 0)
            return last;
    }
    return 0;
}

static const char *defined_version(const struct image *m, unsigned index)
{
    uint64_t at = m->dynamic->verdef;
    for (uint64_t i = 0; i < m->dynamic->verdef_count; i++) {
        Elf64_Verdef def;
        Elf64_Verdaux aux;
        if (!read_word(m, at, &def, sizeof def))
            return "";
        if (def.vd_ndx == index)
            return read_word(m, at + def.vd_aux, &aux, sizeof aux) ? string_at(m, aux.vda_name)
                                                                   : "";
        if (def.vd_next == 0)
            return "";
        at += def.vd_next;
    }
    return "";
}

static int take_symbols(struct image *m)
{
    const struct image_dynamic *d = m->dynamic;
    for (size_t i = 1; i < d->symbols; i++) {
        Elf64_Sym s;
        uint16_t version = 0;
        if (!read_word(m, d->tag[DT_SYMTAB] + i * sizeof s, &s, sizeof s))
            break;
        unsigned type = ELF64_ST_TYPE(s.st_info);
        if (s.st_shndx == SHN_UNDEF || s.st_shndx == SHN_ABS || type == STT_TLS)
            continue;
        if (d->versym != 0)
            (void)read_word(m, d->versym + 2 * i, &version, sizeof version);
        struct image_symbol new = {
            .address = s.st_value,
            .size = s.st_size,
            .name = string_at(m, s.st_name),
            .version = (version & 0x7fff) > 1 ? defined_version(m, version & 0x7fff) : "",
            .type = (uint8_t)type,
            .origin = IMAGE_DYNSYM,
            .hidden_version = (version & 0x8000) != 0,
        };
        if (new.name[0] != '\0' && image_add_symbol(m, &new) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int take_relocation(struct image *m, const Elf64_Rela *r)
{
    uint64_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
    bool relative = type == R_X86_64_RELATIVE || type == R_X86_64_IRELATIVE;
    Elf64_Sym s = {0};
    if (!relative && type != R_X86_64_64 && type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
        return 0;
    if (!relative && !read_word(m, m->dynamic->tag[DT_SYMTAB] + index * sizeof s, &s, sizeof s))
        return 0;
    if (type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT) {
        if (image_grow((void **)&m->slots, m->slot_count, sizeof *m->slots) != 0)
            return -ENOMEM;
        m->slots[m->slot_count++] =
            (struct image_slot){.place = r->r_offset, .name = string_at(m, s.st_name)};
    }
    uint64_t value = s.st_value + (uint64_t)r->r_addend;
    if (value == 0 || (!relative && s.st_shndx == SHN_UNDEF))
        return 0;
    if (image_grow((void **)&m->pointers, m->pointer_count, sizeof *m->pointers) != 0)
        return -ENOMEM;
    m->pointers[m->pointer_count++] = (struct image_pointer){
        .place = r->r_offset, .value = value, .relative = type == R_X86_64_RELATIVE};
    return 0;
}

static int take_relocations(struct image *m, uint64_t table, uint64_t bytes)
{
    Elf64_Rela r;
    for (uint64_t at = 0; at + sizeof r <= bytes && read_word(m, table + at, &r, sizeof r);
         at += sizeof r)
        if (take_relocation(m, &r) != 0)
            return -ENOMEM;
    return 0;
}

static int add_pointer(struct image *m, uint64_t place, uint64_t value)
{
    if (value == 0)
        return 0;
    if (image_grow((void **)&m->pointers, m->pointer_count, sizeof *m->pointers) != 0)
        return -ENOMEM;
    m->pointers[m->pointer_count++] =
        (struct image_pointer){.place = place, .value = value, .relative = m->dynamic_type};
    return 0;
}

/* DT_RELR: an address, then bit maps of the 63 words after it. The words themselves hold the
 * values. */
static int take_relr(struct image *m, uint64_t table, uint64_t bytes)
{
    uint64_t where = 0, word, value;
    for (uint64_t at = 0; at + 8 <= bytes && read_word(m, table + at, &word, 8); at += 8) {
        if ((word & 1) == 0) {
            where = word + 8;
            if (read_word(m, word, &value, 8) && add_pointer(m, word, value) != 0)
                return -ENOMEM;
            continue;
        }
        for (unsigned bit = 1; bit < 64; bit++)
            if ((word >> bit & 1) != 0 && read_word(m, where + 8 * (bit - 1), &value, 8) &&
                add_pointer(m, where + 8 * (bit - 1), value) != 0)
                return -ENOMEM;
        where += UINT64_C(8) * 63;
    }
    return 0;
}

static int by_place(const void *a, const void *b)
{
    const struct image_slot *x = a, *y = b;
    return x->place < y->place ? -1 : x->place > y->place;
}

const char *image_slot_name(const struct image *m, uint64_t place)
{
    const struct image_slot key = {.place = place};
    if (m->slot_count == 0)
        return NULL;
    const struct image_slot *s = bsearch(&key, m->slots, m->slot_count, sizeof *m->slots, by_place);
    return s != NULL ? s->name : NULL;
}

size_t image_pointers_from(const struct image *m, uint64_t value)
{
    return image_search(m->pointers, m->pointer_count, sizeof *m->pointers,
                        offsetof(struct image_pointer, value), value);
}

static uint64_t dynamic_table(const struct image *m)
{
    Elf64_Ehdr h;
    memcpy(&h, m->file, sizeof h);
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, m->file + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_DYNAMIC)
            return p.p_vaddr;
    }
    return 0;
}

int image_read_dynamic(struct image *m, struct rt_error *e)
{
    (void)e;
    m->dynamic = calloc(1, sizeof *m->dynamic);
    if (m->dynamic == NULL)
        return -ENOMEM;
    uint64_t table = dynamic_table(m);
    if (table != 0)
        read_tags(m, table);
    const uint64_t *tag = m->dynamic->tag;
    m->dynamic->symbols = count_symbols(m);
    int rc = take_symbols(m);
    if (rc == 0)
        rc = take_relocations(m, tag[DT_RELA], tag[DT_RELASZ]);
    if (rc == 0)
        rc = take_relocations(m, tag[DT_JMPREL], tag[DT_PLTRELSZ]);
    if (rc == 0)
        rc = take_relr(m, tag[DT_RELR], tag[DT_RELRSZ]);
    /* The dynamic linker calls these functions. Images at fixed addresses have no relocations for
     * the words of DT_INIT_ARRAY, whose functions run before main. */
    uint64_t value = 0;
    for (uint64_t at = 0; rc == 0 && !m->dynamic_type && at + 8 <= tag[DT_INIT_ARRAYSZ] &&
                          read_word(m, tag[DT_INIT_ARRAY] + at, &value, 8);
         at += 8)
        rc = add_pointer(m, tag[DT_INIT_ARRAY] + at, value);
    if (rc == 0)
        rc = add_pointer(m, 0, tag[DT_INIT]);
    if (rc == 0)
        rc = add_pointer(m, 0, tag[DT_FINI]);
    image_sort(m->pointers, m->pointer_count, sizeof *m->pointers,
               offsetof(struct image_pointer, value));
    image_sort(m->slots, m->slot_count, sizeof *m->slots, offsetof(struct image_slot, place));
    return rc;
}

void image_free_dynamic(struct image *m)
{
    free(m->dynamic);
    free(m->pointers);
    free(m->slots);
}
