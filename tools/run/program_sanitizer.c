/* SPDX-License-Identifier: BSD-3-Clause
 * Programs compiled with -fsanitize=: finds the runtime that must precede libregtrace.so, and
 * refuses sanitizers that do not work with it. */
#include "base/toolkit/map.h"
#include "base/toolkit/sanitizer.h"
#include "tools/run/run.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct elf_file {
    const char *bytes;
    size_t size;
};

/* Returns the bytes of the file that are loaded at that address, or NULL if fewer than n are there.
 * Sets *left to how many there are. */
static const char *at_address(const struct elf_file *f, uint64_t address, size_t n, size_t *left)
{
    const Elf64_Ehdr *h = (const void *)f->bytes;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        const Elf64_Phdr *p = (const void *)(f->bytes + h->e_phoff + i * sizeof *p);
        if (p->p_type != PT_LOAD || address < p->p_vaddr || address - p->p_vaddr >= p->p_filesz ||
            p->p_offset > f->size || p->p_filesz > f->size - p->p_offset)
            continue;
        *left = p->p_filesz - (address - p->p_vaddr);
        return *left >= n ? f->bytes + p->p_offset + (address - p->p_vaddr) : NULL;
    }
    return NULL;
}

/* The dynamic section. */
struct dynamic_section {
    const Elf64_Dyn *entries;
    size_t count;
    const char *strings;
    size_t bytes; /* size of `strings`, which ends with a NUL */
};

static uint64_t value_of(const struct dynamic_section *d, int64_t tag)
{
    for (size_t i = 0; i < d->count; i++)
        if (d->entries[i].d_tag == tag)
            return d->entries[i].d_un.d_val;
    return 0;
}

static bool read_dynamic(const struct elf_file *f, struct dynamic_section *d)
{
    const Elf64_Ehdr *h = (const void *)f->bytes;
    *d = (struct dynamic_section){.count = 0};
    if (f->size < sizeof *h || h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phoff > f->size ||
        h->e_phnum > (f->size - h->e_phoff) / sizeof(Elf64_Phdr) || h->e_phoff % 8 != 0)
        return false;
    for (unsigned i = 0; i < h->e_phnum; i++) {
        const Elf64_Phdr *p = (const void *)(f->bytes + h->e_phoff + i * sizeof *p);
        if (p->p_type == PT_DYNAMIC && p->p_offset <= f->size && p->p_offset % 8 == 0 &&
            p->p_filesz <= f->size - p->p_offset) {
            d->entries = (const void *)(f->bytes + p->p_offset);
            d->count = p->p_filesz / sizeof *d->entries;
        }
    }
    size_t left = 0;
    d->bytes = value_of(d, DT_STRSZ);
    d->strings = at_address(f, value_of(d, DT_STRTAB), d->bytes, &left);
    return d->strings != NULL && d->bytes != 0 && d->strings[d->bytes - 1] == '\0';
}

static bool is_asan(const char *name)
{
    return strncmp(name, "libasan.so", 10) == 0 || strncmp(name, "libclang_rt.asan", 16) == 0;
}

/* Looks for the runtime in the program's DT_RUNPATH or DT_RPATH, since the loader does not use them
 * for LD_PRELOAD. If it is not there, returns its name, which the loader then finds as it does for
 * the program. */
static void find_runtime(const struct dynamic_section *d, const char *program, const char *name,
                         char out[PATH_MAX])
{
    uint64_t offset =
        value_of(d, DT_RUNPATH) != 0 ? value_of(d, DT_RUNPATH) : value_of(d, DT_RPATH);
    const char *p = offset != 0 && offset < d->bytes ? d->strings + offset : "";
    int folder = (int)(strrchr(program, '/') != NULL ? strrchr(program, '/') - program : 0);
    while (*p != '\0') {
        size_t n = strcspn(p, ":");
        bool origin = strncmp(p, "$ORIGIN", 7) == 0;
        int length = origin ? snprintf(out, PATH_MAX, "%.*s%.*s/%s", folder, program, (int)n - 7,
                                       p + 7, name)
                            : snprintf(out, PATH_MAX, "%.*s/%s", (int)n, p, name);
        if (length > 0 && length < PATH_MAX && access(out, R_OK) == 0)
            return;
        p += n + (p[n] == ':');
    }
    (void)snprintf(out, PATH_MAX, "%s", name);
}

static int look(const struct elf_file *f, const char *path, char runtime[PATH_MAX],
                struct rt_error *e)
{
    struct dynamic_section d;
    if (!read_dynamic(f, &d))
        return 0;
    for (const struct sanitizer *s = sanitizers_refused; s->symbol != NULL; s++)
        if (memmem(d.strings, d.bytes, s->symbol, strlen(s->symbol) + 1) != NULL) {
            rt_error_set(e, SANITIZER_REFUSED, s->name, s->option, s->option);
            return -ENOEXEC;
        }
    for (size_t i = 0; i < d.count && d.entries[i].d_tag != DT_NULL; i++)
        if (d.entries[i].d_tag == DT_NEEDED && d.entries[i].d_un.d_val < d.bytes &&
            is_asan(d.strings + d.entries[i].d_un.d_val))
            find_runtime(&d, path, d.strings + d.entries[i].d_un.d_val, runtime);
    return 0;
}

int program_look_sanitizer(const char *path, char runtime[PATH_MAX], struct rt_error *e)
{
    struct elf_file f;
    runtime[0] = '\0';
    f.bytes = map_path(path, &f.size);
    if (f.bytes == NULL)
        return 0; /* executable, but not readable */
    int rc = look(&f, path, runtime, e);
    (void)munmap((void *)(uintptr_t)f.bytes, f.size);
    return rc;
}
