/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the symbols of an image: those of .symtab, .gnu_debugdata or the debug file of its build id
 * (by libdwfl), and the stubs of the PLT. */
#include "isa/image/image.h"

#include "base/toolkit/debug_file.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

int image_add_symbol(struct image *m, const struct image_symbol *s)
{
    int rc = image_grow((void **)&m->symbols, m->symbol_count, sizeof *m->symbols);
    if (rc == 0)
        m->symbols[m->symbol_count++] = *s;
    /* Functions end with their segment at the latest, even if a damaged file claims otherwise. */
    const struct image_segment *segment = image_segment_of(m, s->address);
    uint64_t most = segment != NULL ? segment->size - (s->address - segment->address) : 0;
    if (rc == 0 && image_is_function(s) && s->size > most)
        m->symbols[m->symbol_count - 1].size = most;
    return rc;
}

static int take_symbol(struct image *m, Dwfl_Module *module, int index, GElf_Addr bias)
{
    GElf_Sym s;
    GElf_Addr address;
    GElf_Word section;
    const char *name = dwfl_module_getsym_info(module, index, &s, &address, &section, NULL, NULL);
    unsigned type = GELF_ST_TYPE(s.st_info);
    if (name == NULL || name[0] == '\0' || section == SHN_UNDEF || section == SHN_ABS ||
        (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE && type != STT_OBJECT))
        return 0;
    struct image_symbol new = {
        .address = address - bias,
        .size = s.st_size,
        .name = name,
        .version = "",
        .type = (uint8_t)type,
        .origin = IMAGE_SYMTAB,
    };
    return image_add_symbol(m, &new);
}

/* Removes DEBUGINFOD_URLS, so that libdwfl asks no server for any image, even if the user has
 * configured debuginfod: this runs before main of each rank. */
static Dwfl_Module *open_module(struct image *m)
{
    static char *debuginfo_path;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_build_id_find_elf,
        .find_debuginfo = debug_file_find,
        .section_address = dwfl_offline_section_address,
        .debuginfo_path = &debuginfo_path,
    };
    (void)unsetenv("DEBUGINFOD_URLS");
    m->dwfl = dwfl_begin(&callbacks);
    if (m->dwfl == NULL)
        return NULL;
    dwfl_report_begin(m->dwfl);
    Dwfl_Module *module = dwfl_report_offline(m->dwfl, m->path, m->path, -1);
    (void)dwfl_report_end(m->dwfl, NULL, NULL);
    return module;
}

static int by_name(const void *a, const void *b)
{
    const struct image_symbol *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    /* The symbol with a version comes first: merge() keeps it rather than its duplicate. */
    return order != 0 ? order : (int)(y->version[0] != '\0') - (int)(x->version[0] != '\0');
}

/* Sorts by address, then by name. */
static void sort(const struct image *m)
{
    image_sort(m->symbols, m->symbol_count, sizeof *m->symbols,
               offsetof(struct image_symbol, address));
    for (size_t i = 0, next; i < m->symbol_count; i = next) {
        for (next = i + 1;
             next < m->symbol_count && m->symbols[next].address == m->symbols[i].address; next++)
            continue;
        if (next - i > 1)
            qsort(&m->symbols[i], next - i, sizeof *m->symbols, by_name);
    }
}

/* Drops duplicates: a symbol may be in both tables. */
static void merge(struct image *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < m->symbol_count; i++) {
        struct image_symbol *s = &m->symbols[i], *last = kept > 0 ? &m->symbols[kept - 1] : NULL;
        if (last != NULL && last->address == s->address && strcmp(last->name, s->name) == 0 &&
            (s->version[0] == '\0' || strcmp(last->version, s->version) == 0))
            continue;
        m->symbols[kept++] = *s;
    }
    m->symbol_count = kept;
}

/* In .symtab of programs the version is part of the name. */
static int split_versions(struct image *m)
{
    for (size_t i = 0; i < m->symbol_count; i++) {
        struct image_symbol *s = &m->symbols[i];
        const char *at = s->origin == IMAGE_SYMTAB ? strchr(s->name, '@') : NULL;
        if (at == NULL || at == s->name)
            continue;
        char *copy = strndup(s->name, (size_t)(at - s->name));
        if (copy == NULL || image_grow((void **)&m->copies, m->copy_count, sizeof copy) != 0) {
            free(copy);
            return -ENOMEM;
        }
        m->copies[m->copy_count++] = copy;
        s->name = copy;
        s->hidden_version = at[1] != '@';
        s->version = at + (s->hidden_version ? 1 : 2);
    }
    return 0;
}

/* Notes the block of a sanitizer's runtime. Programs define functions that it calls, such as
 * __asan_default_options, but no functions of these namespaces, nor interceptors. */
static void note_sanitizer(struct image *m)
{
    static const char *const names[] = {"_ZN6__asan", "_ZN11__sanitizer", "_ZN6__lsan",
                                        "_ZN7__ubsan", "__interceptor_"};
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        bool is_its = false;
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            is_its = is_its || strncmp(s->name, names[k], strlen(names[k])) == 0;
        if (!is_its || s->origin == IMAGE_PLT || !image_is_function(s))
            continue;
        if (m->sanitizer_end == 0)
            m->sanitizer = s->address;
        m->sanitizer_end = s->address + (s->size != 0 ? s->size : 1);
    }
}

/* If libdwfl cannot read a library, its exported symbols are still there. */
int image_read_symbols(struct image *m, struct rt_error *e)
{
    (void)e;
    GElf_Addr bias = 0;
    Dwfl_Module *module = open_module(m);
    if (module != NULL && dwfl_module_getelf(module, &bias) != NULL) {
        int n = dwfl_module_getsymtab(module);
        for (int i = 1; i < n; i++)
            if (take_symbol(m, module, i, bias) != 0)
                return -ENOMEM;
    }
    int rc = split_versions(m);
    if (rc == 0)
        rc = image_read_plt(m);
    sort(m);
    merge(m);
    note_sanitizer(m);
    return rc;
}

/* Adds a stub: [endbr64] [bnd] jmp *slot(%rip), in .plt, .plt.sec or .plt.got. The slot, which is
 * one of the dynamic linker's, tells a stub from other code, so section headers are not needed. */
static int take_stub(struct image *m, const struct image_segment *s, uint64_t at)
{
    static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
    const uint8_t *p = s->bytes + at;
    size_t left = s->size - at, n = 0;
    int32_t disp;
    if (left >= 4 && memcmp(p, endbr64, 4) == 0)
        n = 4;
    if (left > n && p[n] == 0xf2)
        n++;
    if (left < n + 6 || p[n] != 0xff || p[n + 1] != 0x25)
        return 0;
    memcpy(&disp, p + n + 2, 4);
    const char *name = image_slot_name(m, s->address + at + n + 6 + (uint64_t)(int64_t)disp);
    if (name == NULL || name[0] == '\0')
        return 0;
    struct image_symbol stub = {
        .address = s->address + at,
        .size = n + 6,
        .name = name,
        .version = "",
        .type = STT_FUNC,
        .origin = IMAGE_PLT,
    };
    return image_add_symbol(m, &stub);
}

static int take_stubs(struct image *m, const struct image_segment *s, uint64_t from, uint64_t to)
{
    for (uint64_t at = (from + 7) & ~UINT64_C(7); at < to; at += 8)
        if (take_stub(m, s, at - s->address) != 0)
            return -ENOMEM;
    return 0;
}

/* If sections have names, looks only at those of the PLT: compiled code has such jumps too
 * (-fno-plt). */
static int take_plt_sections(struct image *m, Elf *elf, bool *found)
{
    size_t names;
    if (elf == NULL || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    for (Elf_Scn *scn = elf_nextscn(elf, NULL); scn != NULL; scn = elf_nextscn(elf, scn)) {
        GElf_Shdr h;
        const char *name = gelf_getshdr(scn, &h) != NULL ? elf_strptr(elf, names, h.sh_name) : NULL;
        const struct image_segment *s = image_segment_of(m, h.sh_addr);
        *found = *found || name != NULL;
        if (name == NULL || strncmp(name, ".plt", 4) != 0 || s == NULL || !s->code ||
            h.sh_size > s->size - (h.sh_addr - s->address))
            continue;
        if (take_stubs(m, s, h.sh_addr, h.sh_addr + h.sh_size) != 0)
            return -ENOMEM;
    }
    return 0;
}

int image_read_plt(struct image *m)
{
    Elf *elf = elf_memory((char *)(uintptr_t)m->file, m->bytes);
    bool found = false;
    int rc = take_plt_sections(m, elf, &found);
    if (elf != NULL)
        (void)elf_end(elf);
    for (size_t i = 0; rc == 0 && !found && i < m->segment_count; i++)
        if (m->segments[i].code)
            rc = take_stubs(m, &m->segments[i], m->segments[i].address,
                            m->segments[i].address + m->segments[i].size);
    return rc;
}

void image_free_symbols(struct image *m)
{
    for (size_t i = 0; i < m->copy_count; i++)
        free(m->copies[i]);
    free(m->copies);
    free(m->symbols);
    if (m->dwfl != NULL)
        dwfl_end(m->dwfl);
}
