/* SPDX-License-Identifier: BSD-3-Clause
 * Walks the symbol tables of the loaded ELF images by mapping their files. */
#include "preload/window/instrumented_symbols.h"

#include "base/toolkit/map.h"
#include "preload/images/loaded_images.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

struct symbol_walk {
    void (*visit)(void *ctx, const char *name, uintptr_t address);
    void *ctx;
};

/* Turns a simple nested name into a plain one: "_ZN2ns5Class5solveEid" into "ns::Class::solve".
 * Stops at the first construct that is not a length-prefixed name. Returns false if there is no
 * such name, or no room. */
static bool demangle_simple(const char *mangled, char *out, size_t room)
{
    const char *p = mangled + 2;
    bool nested = *p == 'N';
    size_t n = 0;
    if (nested)
        for (p++; *p == 'K' || *p == 'V' || *p == 'r';)
            p++;
    if (p[0] == 'S' && p[1] == 't') {
        n = (size_t)snprintf(out, room, "std");
        p += 2;
    } else if (p[0] == 'L') {
        p++; /* internal linkage */
    }
    do {
        size_t length = 0;
        if (*p < '1' || *p > '9')
            break;
        for (; *p >= '0' && *p <= '9' && length < 4096; p++)
            length = length * 10 + (size_t)(*p - '0');
        if (strnlen(p, length) < length || n + length + 3 >= room)
            return false;
        if (n != 0) {
            memcpy(out + n, "::", 2);
            n += 2;
        }
        memcpy(out + n, p, length);
        n += length;
        p += length;
    } while (nested && *p != 'E');
    out[n] = '\0';
    return n != 0;
}

static void visit_table(const struct symbol_walk *w, const char *file, size_t bytes,
                        const Elf64_Shdr *table, const Elf64_Shdr *sections, size_t section_count,
                        uintptr_t base)
{
    if (table->sh_link >= section_count || table->sh_entsize != sizeof(Elf64_Sym))
        return;
    const Elf64_Shdr *names = &sections[table->sh_link];
    if (table->sh_offset > bytes || table->sh_size > bytes - table->sh_offset ||
        names->sh_offset > bytes || names->sh_size > bytes - names->sh_offset ||
        names->sh_size == 0)
        return;
    const Elf64_Sym *symbols = (const void *)(file + table->sh_offset);
    const char *text = file + names->sh_offset;
    if (text[names->sh_size - 1] != '\0')
        return;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *s = &symbols[i];
        if (ELF64_ST_TYPE(s->st_info) != STT_FUNC || s->st_shndx == SHN_UNDEF ||
            s->st_name >= names->sh_size)
            continue;
        const char *name = text + s->st_name;
        char plain[1024];
        bool cxx = name[0] == '_' && name[1] == 'Z' && demangle_simple(name, plain, sizeof plain);
        w->visit(w->ctx, cxx ? plain : name, base + s->st_value);
    }
}

static void visit_file(const struct symbol_walk *w, const char *path, uintptr_t base)
{
    size_t bytes;
    const char *file = map_path(path, &bytes);
    const Elf64_Ehdr *head = (const void *)file;
    if (file == NULL)
        return;
    if (bytes >= sizeof *head && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 &&
        head->e_ident[EI_CLASS] == ELFCLASS64 && head->e_shentsize == sizeof(Elf64_Shdr) &&
        head->e_shoff <= bytes && head->e_shnum <= (bytes - head->e_shoff) / sizeof(Elf64_Shdr)) {
        const Elf64_Shdr *sections = (const void *)(file + head->e_shoff);
        const Elf64_Shdr *best = NULL;
        for (size_t i = 0; i < head->e_shnum; i++)
            if (sections[i].sh_type == SHT_SYMTAB ||
                (sections[i].sh_type == SHT_DYNSYM && best == NULL))
                best = &sections[i];
        if (best != NULL)
            visit_table(w, file, bytes, best, sections, head->e_shnum, base);
    }
    (void)munmap((void *)(uintptr_t)file, bytes);
}

static bool visit_image(const struct loaded_image *m, void *context)
{
    if (m->path[0] == '/' && image_is_instrumented(m->info))
        visit_file(context, m->path, m->bias);
    return false;
}

void symbols_each_instrumented(void (*visit)(void *ctx, const char *name, uintptr_t address),
                               void *ctx)
{
    struct symbol_walk w = {visit, ctx};
    (void)images_each(visit_image, &w);
}
