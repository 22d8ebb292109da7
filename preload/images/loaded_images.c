/* SPDX-License-Identifier: BSD-3-Clause
 * Walks the loaded images, and reads what their headers and dynamic tables say in memory. */
#include "preload/images/loaded_images.h"

#include "preload/process.h"

#include <elf.h>
#include <string.h>

struct walk_of_images {
    image_visitor *visit;
    void *context;
    bool began;
};

static int visit_one(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct walk_of_images *w = context;
    /* The program comes first, and has no name. */
    const char *path = !w->began ? process.id.executable : info->dlpi_name;
    struct loaded_image m = {.path = path != NULL ? path : "",
                             .bias = info->dlpi_addr,
                             .from = UINTPTR_MAX,
                             .is_program = !w->began,
                             .info = info};
    w->began = true;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        m.from = at < m.from ? at : m.from;
        m.to = at + p->p_memsz > m.to ? at + p->p_memsz : m.to;
    }
    return w->visit(&m, w->context);
}

bool images_each(image_visitor *visit, void *context)
{
    struct walk_of_images w = {.visit = visit, .context = context};
    return dl_iterate_phdr(visit_one, &w) != 0;
}

bool image_has(const struct loaded_image *m, uintptr_t address)
{
    for (int i = 0; i < m->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &m->info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && address - (m->bias + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

bool image_code(const struct loaded_image *m, int *next, uintptr_t *from, uintptr_t *to)
{
    while (*next < m->info->dlpi_phnum) {
        const ElfW(Phdr) *p = &m->info->dlpi_phdr[(*next)++];
        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0)
            continue;
        *from = m->bias + p->p_vaddr;
        *to = *from + p->p_memsz;
        return true;
    }
    return false;
}

/* Finds the build id in the notes of one segment, as the program has them in memory. Returns false
 * if it is not there. */
static bool find_id(const unsigned char *at, size_t left, char out[IMAGE_ID_TEXT])
{
    static const char digits[] = "0123456789abcdef";
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) note;
        memcpy(&note, at, sizeof note);
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
        size_t value = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        if (left - sizeof note < name || left - sizeof note - name < value)
            return false;
        const unsigned char *id = at + sizeof note + name;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at + sizeof note, "GNU", 4) == 0) {
            size_t n = note.n_descsz < IMAGE_ID_TEXT / 2 ? note.n_descsz : IMAGE_ID_TEXT / 2;
            for (size_t i = 0; i < n; i++) {
                out[2 * i] = digits[id[i] >> 4];
                out[2 * i + 1] = digits[id[i] & 15];
            }
            out[2 * n] = '\0';
            return true;
        }
        at += sizeof note + name + value;
        left -= sizeof note + name + value;
    }
    return false;
}

/* Do these bytes lie in a segment that is mapped for reading? */
static bool is_mapped(const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *load = &info->dlpi_phdr[i];
        if (load->p_type == PT_LOAD && (load->p_flags & PF_R) != 0 && p->p_vaddr >= load->p_vaddr &&
            p->p_vaddr - load->p_vaddr <= load->p_filesz &&
            p->p_filesz <= load->p_filesz - (p->p_vaddr - load->p_vaddr))
            return true;
    }
    return false;
}

void image_build_id(const struct dl_phdr_info *info, char out[IMAGE_ID_TEXT])
{
    out[0] = '\0';
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        /* Notes that are aligned to 8 (.note.gnu.property) have another layout and hold no build
         * id. */
        if (p->p_type == PT_NOTE && p->p_align <= 4 && is_mapped(info, p) &&
            find_id((const unsigned char *)(info->dlpi_addr + p->p_vaddr), p->p_filesz, out))
            return;
    }
}

static struct loaded_dynamic read_dynamic(const ElfW(Dyn) * d, uintptr_t bias)
{
    struct loaded_dynamic out = {0};
    for (; d->d_tag != DT_NULL; d++) {
        /* The dynamic linker has already added the bias to most addresses. */
        uintptr_t at = d->d_un.d_ptr + (d->d_un.d_ptr < bias ? bias : 0);
        switch (d->d_tag) {
        case DT_SYMTAB: out.symbols = (const ElfW(Sym) *)at; break;    /* NOLINT */
        case DT_STRTAB: out.strings = (const char *)at; break;         /* NOLINT */
        case DT_HASH: out.hash = (const uint32_t *)at; break;          /* NOLINT */
        case DT_GNU_HASH: out.gnu_hash = (const uint32_t *)at; break;  /* NOLINT */
        case DT_JMPREL: out.tables[0] = (const ElfW(Rela) *)at; break; /* NOLINT */
        case DT_RELA: out.tables[1] = (const ElfW(Rela) *)at; break;   /* NOLINT */
        case DT_PLTRELSZ: out.bytes[0] = d->d_un.d_val; break;
        case DT_RELASZ: out.bytes[1] = d->d_un.d_val; break;
        default: break;
        }
    }
    return out;
}

/* Returns an index that is larger than the index of every imported symbol. Imported symbols precede
 * the exported ones, and DT_GNU_HASH holds the index of the first exported symbol. An image without
 * exported symbols has an empty hash with the index 1, so this takes the imported symbols from its
 * relocations. */
static size_t imported_end(const struct loaded_dynamic *d)
{
    size_t end = 0;
    if (d->hash != NULL)
        return d->hash[1];
    if (d->gnu_hash == NULL)
        return 0;
    const uint32_t *buckets = d->gnu_hash + 4 + (size_t)2 * d->gnu_hash[2];
    for (uint32_t i = 0; i < d->gnu_hash[0]; i++)
        if (buckets[i] != 0)
            return d->gnu_hash[1];
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; d->tables[k] != NULL && i < d->bytes[k] / sizeof(ElfW(Rela)); i++) {
            size_t index = ELF64_R_SYM(d->tables[k][i].r_info);
            end = index >= end ? index + 1 : end;
        }
    return end;
}

/* Does the image import a symbol whose name begins with these n bytes? */
static bool imports(const struct loaded_dynamic *d, const char *name, size_t n)
{
    if (d->symbols == NULL || d->strings == NULL)
        return false;
    for (size_t i = 1, end = imported_end(d); i < end; i++)
        if (d->symbols[i].st_shndx == SHN_UNDEF &&
            strncmp(d->strings + d->symbols[i].st_name, name, n) == 0)
            return true;
    return false;
}

bool image_read_dynamic(const struct dl_phdr_info *info, struct loaded_dynamic *out)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        *out = read_dynamic((const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr), /* NOLINT */
                            info->dlpi_addr);
        return out->symbols != NULL && out->strings != NULL;
    }
    return false;
}

/* DT_GNU_HASH has a chain for each bucket that has symbols; an odd hash ends it. */
size_t image_symbols_end(const struct loaded_dynamic *d)
{
    if (d->hash != NULL)
        return d->hash[1];
    if (d->gnu_hash == NULL)
        return 0;
    const uint32_t *buckets = d->gnu_hash + 4 + (size_t)2 * d->gnu_hash[2];
    const uint32_t *chains = buckets + d->gnu_hash[0];
    size_t first = d->gnu_hash[1], last = 0;
    for (uint32_t i = 0; i < d->gnu_hash[0]; i++)
        last = buckets[i] > last ? buckets[i] : last;
    if (last < first)
        return imported_end(d);
    while ((chains[last - first] & 1) == 0)
        last++;
    return last + 1;
}

bool image_is_instrumented(const struct dl_phdr_info *info)
{
    static const char name[] = "__cyg_profile_func_enter";
    struct loaded_dynamic d;
    return image_read_dynamic(info, &d) && imports(&d, name, sizeof name);
}

bool image_has_named_calls(const struct dl_phdr_info *info)
{
    static const char name[] = "regtrace_";
    struct loaded_dynamic d;
    return image_read_dynamic(info, &d) && imports(&d, name, sizeof name - 1);
}
