/* SPDX-License-Identifier: BSD-3-Clause
 * Finds out from the string tables of an image whether it can have a function with a given name.
 * Most images of a process cannot, so we need not ask regtrace-isa about them. */
#include "preload/patch/plans/probe_plans.h"

#include "base/identity.h"
#include "base/names/name.h"
#include "base/toolkit/map.h"

#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* To search more than this takes longer than to ask regtrace-isa once and cache the answer. */
#define SEARCHED_MAX ((size_t)64 << 20)

static const ElfW(Shdr) * sections(const struct probe_names *n, size_t *count)
{
    const ElfW(Ehdr) *h = (const void *)n->file;
    *count = 0;
    if (n->bytes < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 ||
        h->e_shentsize != sizeof(ElfW(Shdr)) || h->e_shoff > n->bytes ||
        h->e_shnum > (n->bytes - h->e_shoff) / sizeof(ElfW(Shdr)))
        return NULL;
    *count = h->e_shnum;
    return (const void *)(n->file + h->e_shoff);
}

static bool lies_inside(const struct probe_names *n, const ElfW(Shdr) * s)
{
    return s->sh_type != SHT_NOBITS && s->sh_offset <= n->bytes &&
           s->sh_size <= n->bytes - s->sh_offset;
}

static const char *section_name(const struct probe_names *n, const ElfW(Shdr) * s,
                                const ElfW(Shdr) * names)
{
    return s->sh_name < names->sh_size && memchr(n->file + names->sh_offset + s->sh_name, 0,
                                                 names->sh_size - s->sh_name) != NULL
               ? n->file + names->sh_offset + s->sh_name
               : "";
}

static bool exists(const char *folder, const char *path, int length, const char *name)
{
    static char text[PATH_MAX]; /* static: the program's stack may be small; callers take turns */
    int n = snprintf(text, sizeof text, "%s%.*s/%s", folder, length, path, name);
    return n > 0 && n < (int)sizeof text && access(text, F_OK) == 0;
}

/* Does the image have a separate debug file, whose symbols count as its own? Looks where libdwfl
 * does: by build id, and by the name in .gnu_debuglink. */
static bool has_debug_file(const struct probe_image *m, const char *link)
{
    char id[IMAGE_ID_TEXT + 8], below[NAME_MAX + 16];
    int folder = (int)(identity_base_name(m->path) - m->path) - 1;
    (void)snprintf(id, sizeof id, "%.2s/%s.debug", m->id, m->id + 2);
    if (m->id[0] != '\0' && exists("/usr/lib/debug/.build-id", "", 0, id))
        return true;
    if (link[0] == '\0' || folder < 0)
        return false;
    (void)snprintf(below, sizeof below, ".debug/%s", link);
    return exists("", m->path, folder, link) || exists("", m->path, folder, below) ||
           exists("/usr/lib/debug", m->path, folder, link);
}

/* Collects the string tables. Sets n->elsewhere if names may be in another place; then the image
 * may have any name. */
static void take_tables(struct probe_names *n, const struct probe_image *m)
{
    size_t count;
    const ElfW(Shdr) *s = sections(n, &count);
    const ElfW(Ehdr) *h = (const void *)n->file;
    bool symtab = false;
    const char *link = "";
    n->elsewhere = count == 0 || h->e_shstrndx >= count || !lies_inside(n, &s[h->e_shstrndx]);
    for (size_t i = 0; i < count && !n->elsewhere; i++) {
        const char *name = section_name(n, &s[i], &s[h->e_shstrndx]);
        bool table = s[i].sh_type == SHT_SYMTAB || s[i].sh_type == SHT_DYNSYM;
        symtab |= s[i].sh_type == SHT_SYMTAB;
        if (strcmp(name, ".gnu_debugdata") == 0)
            n->elsewhere = true;
        if (strcmp(name, ".gnu_debuglink") == 0 && lies_inside(n, &s[i]) &&
            memchr(n->file + s[i].sh_offset, 0, s[i].sh_size) != NULL)
            link = n->file + s[i].sh_offset;
        if (strcmp(name, ".debug_str") == 0 && lies_inside(n, &s[i])) {
            n->debug = (struct probe_strings){n->file + s[i].sh_offset, s[i].sh_size};
            n->packed = (s[i].sh_flags & SHF_COMPRESSED) != 0;
        }
        if (!table)
            continue;
        if (s[i].sh_link >= count || !lies_inside(n, &s[s[i].sh_link]) ||
            n->count == sizeof n->tables / sizeof *n->tables)
            n->elsewhere = true;
        else
            n->tables[n->count++] = (struct probe_strings){n->file + s[s[i].sh_link].sh_offset,
                                                           s[s[i].sh_link].sh_size};
    }
    if (!n->elsewhere && !symtab)
        n->elsewhere = has_debug_file(m, link);
}

void probe_names_open(struct probe_names *n, const struct probe_image *m)
{
    *n = (struct probe_names){.elsewhere = true};
    n->file = map_path(m->path, &n->bytes);
    if (n->file == NULL)
        return;
    take_tables(n, m);
}

bool probe_names_may_have(struct probe_names *n, const char *name)
{
    const char *word;
    size_t length = name_last_word(name, &word);
    if (n->elsewhere || length == 0)
        return true;
    for (unsigned i = 0; i < n->count; i++) {
        n->searched += n->tables[i].bytes;
        if (n->searched > SEARCHED_MAX ||
            memmem(n->tables[i].text, n->tables[i].bytes, word, length) != NULL)
            return true;
    }
    return false;
}

bool probe_names_may_inline(const struct probe_names *n, const char *name)
{
    enum { SHORT = 4 };                     /* DWARF has shorter strings within the entries */
    static const char elsewhere[] = ".dwo"; /* file with the names of a -gsplit-dwarf unit */
    const char *word;
    size_t length = name_last_word(name, &word);
    if (n->elsewhere || n->packed || n->debug.bytes > SEARCHED_MAX)
        return true;
    return n->debug.bytes != 0 &&
           (length < SHORT || memmem(n->debug.text, n->debug.bytes, word, length) != NULL ||
            memmem(n->debug.text, n->debug.bytes, elsewhere, sizeof elsewhere) != NULL);
}

void probe_names_close(struct probe_names *n)
{
    if (n->file != NULL)
        (void)munmap((void *)(uintptr_t)n->file, n->bytes);
    n->file = NULL;
}
