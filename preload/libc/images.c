/* SPDX-License-Identifier: BSD-3-Clause
 * Notes and records loaded images: the path, the load address, and the build id that tells an image
 * from another one of that name. */
#include "preload/libc/images.h"

#include "base/log.h"
#include "base/spin.h"
#include "base/sys.h"
#include "preload/count/sampling.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

#define IMAGES_MAX 512
#define IMAGE_PATH 455

/* Written in the constructor and after each dlopen(). Signal handlers read it, so image_count is
 * stored last. */
static struct image {
    uintptr_t base;
    char build_id[IMAGE_ID_TEXT];
    char path[IMAGE_PATH];
} images[IMAGES_MAX];
static _Atomic uint32_t image_count;
static spin_lock image_lock;
/* number of images that this process's stream has */
static _Atomic uint32_t images_recorded;

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

/* Entries of the dynamic table, as addresses in this process. 0 or NULL if the entry is absent. */
struct dynamic {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
    const ElfW(Rela) * tables[2]; /* relocation tables */
    size_t bytes[2];
};

static struct dynamic read_dynamic(const ElfW(Dyn) * d, uintptr_t bias)
{
    struct dynamic out = {0};
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
static size_t imported_end(const struct dynamic *d)
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

static bool imports(const struct dynamic *d, const char *name)
{
    if (d->symbols == NULL || d->strings == NULL)
        return false;
    for (size_t i = 1, end = imported_end(d); i < end; i++)
        if (d->symbols[i].st_shndx == SHN_UNDEF &&
            strcmp(d->strings + d->symbols[i].st_name, name) == 0)
            return true;
    return false;
}

bool image_is_instrumented(const struct dl_phdr_info *info)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        struct dynamic d =
            read_dynamic((const ElfW(Dyn) *)(info->dlpi_addr + p->p_vaddr), /* NOLINT */
                         info->dlpi_addr);
        if (imports(&d, "__cyg_profile_func_enter"))
            return true;
    }
    return false;
}

static void record_one(struct recorder_thread *t, const char *path, uintptr_t base,
                       const char *build_id)
{
    uint64_t more[3] = {
        build_id[0] != '\0' ? stream_string_id(&recorder_stream, build_id) : 0,
    };
    (void)recorder_emit_long(t, EV_IMAGE, stream_string_id(&recorder_stream, path), base, more, 1);
}

struct own_code {
    uintptr_t from, to;
};

static int visit_own_code(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct own_code *own = context;
    uintptr_t ours = (uintptr_t)&visit_own_code;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0 && ours >= from &&
            ours - from < p->p_memsz) {
            *own = (struct own_code){from, from + p->p_memsz};
            return 1;
        }
    }
    return 0;
}

bool images_own_code(uintptr_t *from, uintptr_t *to)
{
    struct own_code own = {0, 0};
    bool found = dl_iterate_phdr(visit_own_code, &own) != 0;
    *from = own.from;
    *to = own.to;
    return found;
}

bool images_are_noted(void)
{
    return sampling_is_on() || process.options.number[OPT_functions] != 0;
}

/* Copies the path. Readers of the names run in another folder, so this makes a path absolute that
 * dlopen() got relative to this folder. Returns false if the result does not fit. */
static bool copy_path(char out[IMAGE_PATH], const char *path)
{
    size_t n = 0;
    out[0] = '\0';
    if (path[0] != '/' && strchr(path, '/') != NULL && getcwd(out, IMAGE_PATH) == out &&
        out[0] == '/') {
        n = strlen(out);
        n -= n == 1; /* the folder is "/" */
        out[n++] = '/';
        while (path[0] == '.' && path[1] == '/')
            for (path++; path[0] == '/';)
                path++;
    }
    bool fits = n + strlen(path) < IMAGE_PATH;
    if (fits)
        memcpy(out + n, path, strlen(path) + 1);
    return fits;
}

void image_note(const char *path, uintptr_t base, const char *build_id)
{
    if (!images_are_noted() || path == NULL || path[0] == '\0')
        return;
    uint64_t mask = sys_block_signals();
    spin_take(&image_lock);
    uint32_t n = atomic_load(&image_count);
    bool fits = n < IMAGES_MAX && copy_path(images[n].path, path);
    if (fits) {
        images[n].base = base;
        memcpy(images[n].build_id, build_id, strlen(build_id) + 1);
        atomic_store_explicit(&image_count, n + 1, memory_order_release);
    }
    spin_give(&image_lock);
    sys_restore_signals(mask);
    if (!fits)
        log_detail(LOG_WARNING,
                   "samples and functions in this image will have no names: it is one too many, or "
                   "its path is too long",
                   path);
}

static int visit_image(struct dl_phdr_info *info, size_t size, void *ctx)
{
    (void)size;
    bool *first = ctx;
    /* The program itself comes first and has no name. */
    char build_id[IMAGE_ID_TEXT];
    image_build_id(info, build_id);
    image_note(*first ? process.id.executable : info->dlpi_name, info->dlpi_addr, build_id);
    *first = false;
    return 0;
}

void images_note_all(void)
{
    bool first = true;
    if (images_are_noted())
        (void)dl_iterate_phdr(visit_image, &first);
}

void image_record(struct recorder_thread *t, const char *path, uintptr_t base, const char *build_id)
{
    if (!recorder_is_on() || !recorder_active(t))
        return;
    if (images_are_noted())
        images_record(t);
    else
        record_one(t, path, base, build_id);
}

void images_record(struct recorder_thread *t)
{
    uint32_t n = atomic_load_explicit(&image_count, memory_order_acquire);
    for (;;) {
        uint32_t i = atomic_load(&images_recorded);
        if (i >= n)
            return;
        if (atomic_compare_exchange_strong(&images_recorded, &i, i + 1))
            record_one(t, images[i].path, images[i].base, images[i].build_id);
    }
}

void images_window_opened(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    images_record(t);
}

void images_forked(void)
{
    atomic_store(&image_lock, 0);
    atomic_store(&images_recorded, 0);
}
