/* SPDX-License-Identifier: BSD-3-Clause
 * Hides our MPI functions that the program's MPI library does not have. A program may ask by a weak
 * symbol or by dlsym() whether its library has an optional function: the answer must be the
 * library's. Source: the gABI's "Symbol Table" and "Relocation", elf(5).
 *
 * The dynamic linker has bound the program's weak symbols before our first instruction runs. So
 * those that lead to such a function get the address 0 that they would have without us. For all
 * later look-ups the symbol is marked undefined in our own symbol table, in memory. */
#include "preload/libc/interpose.h"
#include "preload/life.h"

#include "preload/images/loaded_images.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __aarch64__
enum { SLOT = R_AARCH64_GLOB_DAT, CALL = R_AARCH64_JUMP_SLOT, WORD = R_AARCH64_ABS64 };
#else
enum { SLOT = R_X86_64_GLOB_DAT, CALL = R_X86_64_JUMP_SLOT, WORD = R_X86_64_64 };
#endif

/* Our image, with the table of its symbols. */
struct own_image {
    struct loaded_dynamic d;
    uintptr_t bias;
    size_t end;
    int protection; /* of the table's pages */
};

static bool protect(uintptr_t at, size_t bytes, int protection)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = at & -page;
    return mprotect((void *)from, at + bytes - from, protection) == 0; /* NOLINT: whole pages */
}

/* Is this the C name of an MPI function? Names for Fortran, which has no weak symbols, are in upper
 * case or in lower case throughout. */
static bool is_mpi_name(const char *name)
{
    return (strncmp(name, "MPI_", 4) == 0 || strncmp(name, "MPIX_", 5) == 0) &&
           strpbrk(name, "abcdefghijklmnopqrstuvwxyz") != NULL;
}

/* Returns our function of that name, or 0, whether it is hidden or not. */
static uintptr_t own_function(const struct own_image *own, const char *name, bool *hidden)
{
    for (size_t i = 1; i < own->end; i++) {
        const ElfW(Sym) *s = &own->d.symbols[i];
        if (s->st_size == 0 || strcmp(own->d.strings + s->st_name, name) != 0)
            continue;
        *hidden = s->st_shndx == SHN_UNDEF;
        return own->bias + s->st_value;
    }
    return 0;
}

/* Is the address within a part that the dynamic linker has made unwritable after relocation? */
static bool is_sealed(const struct dl_phdr_info *info, uintptr_t at)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_GNU_RELRO && at - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
            return true;
    }
    return false;
}

static void unbind(const struct loaded_image *m, uintptr_t at)
{
    bool sealed = is_sealed(m->info, at);
    if (sealed && !protect(at, sizeof(uintptr_t), PROT_READ | PROT_WRITE))
        return;
    *(uintptr_t *)at = 0; /* NOLINT: the slot of a relocation */
    if (sealed)
        (void)protect(at, sizeof(uintptr_t), PROT_READ);
}

static bool unbind_weak(const struct loaded_image *m, void *context)
{
    const struct own_image *own = context;
    struct loaded_dynamic d;
    if (m->bias == own->bias || !image_read_dynamic(m->info, &d))
        return false;
    for (unsigned k = 0; k < 2; k++)
        for (size_t i = 0; d.tables[k] != NULL && i < d.bytes[k] / sizeof(ElfW(Rela)); i++) {
            const ElfW(Rela) *r = &d.tables[k][i];
            const ElfW(Sym) *s = &d.symbols[ELF64_R_SYM(r->r_info)];
            uint64_t type = ELF64_R_TYPE(r->r_info);
            const char *name = d.strings + s->st_name;
            bool hidden = false;
            if ((type != SLOT && type != CALL && type != WORD) || s->st_shndx != SHN_UNDEF ||
                ELF64_ST_BIND(s->st_info) != STB_WEAK || !is_mpi_name(name))
                continue;
            uintptr_t at = m->bias + r->r_offset, ours = own_function(own, name, &hidden);
            if (hidden && *(uintptr_t *)at == ours) /* NOLINT: the slot of a relocation */
                unbind(m, at);
        }
    return false;
}

static bool find_own(const struct loaded_image *m, void *context)
{
    struct own_image *own = context;
    if (!image_has(m, (uintptr_t)&absent_functions_hide))
        return false;
    own->bias = m->bias;
    if (image_read_dynamic(m->info, &own->d))
        own->end = image_symbols_end(&own->d);
    for (int i = 0; i < m->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &m->info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (uintptr_t)own->d.symbols - (m->bias + p->p_vaddr) < p->p_memsz)
            own->protection = PROT_READ | ((p->p_flags & PF_X) != 0 ? PROT_EXEC : 0);
    }
    return true;
}

void absent_functions_hide(void)
{
    struct own_image own = {.end = 0};
    if (!process_links_mpi() || !images_each(find_own, &own) || own.end == 0)
        goto out;
    uintptr_t table = (uintptr_t)own.d.symbols;
    size_t bytes = own.end * sizeof(ElfW(Sym));
    if (!protect(table, bytes, PROT_READ | PROT_WRITE))
        goto out;
    ElfW(Sym) *symbols = (ElfW(Sym) *)table; /* NOLINT: the table that the loader has mapped */
    unsigned hidden = 0;
    for (size_t i = 1; i < own.end; i++) {
        const char *name = own.d.strings + symbols[i].st_name;
        if (symbols[i].st_shndx == SHN_UNDEF || !is_mpi_name(name) ||
            dlsym(RTLD_NEXT, name) != NULL)
            continue;
        symbols[i].st_shndx = SHN_UNDEF;
        hidden++;
    }
    if (hidden > 0)
        (void)images_each(unbind_weak, &own);
    for (size_t i = 1; i < own.end; i++)
        if (symbols[i].st_shndx == SHN_UNDEF)
            symbols[i].st_value = 0;
    (void)protect(table, bytes, own.protection);
out:
    (void)dlerror(); /* the program must not see the errors of our dlsym() */
}
