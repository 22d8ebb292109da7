/* SPDX-License-Identifier: BSD-3-Clause
 * Opens an image: maps its file, reads its segments and its build id. */
#include "isa/image/image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int image_grow(void **array, size_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return 0;
    void *more = realloc(*array, (count == 0 ? 1 : 2 * count) * size);
    if (more == NULL)
        return -ENOMEM;
    *array = more;
    return 0;
}

const struct image_segment *image_segment_of(const struct image *m, uint64_t address)
{
    for (size_t i = 0; i < m->segment_count; i++)
        if (address - m->segments[i].address < m->segments[i].size)
            return &m->segments[i];
    return NULL;
}

const uint8_t *image_at(const struct image *m, uint64_t address, size_t n)
{
    const struct image_segment *s = image_segment_of(m, address);
    if (s == NULL || n > s->size - (address - s->address))
        return NULL;
    return s->bytes + (address - s->address);
}

static int map_file(struct image *m, struct rt_error *e)
{
    struct stat st;
    int fd = open(m->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* do not block on a FIFO */
    if (fd < 0 || fstat(fd, &st) != 0) {
        int error = errno;
        rt_error_set(e, "%s: %s", m->path, strerror(error));
        if (fd >= 0)
            (void)close(fd);
        return -error;
    }
    void *bytes = MAP_FAILED;
    if (S_ISREG(st.st_mode) && (size_t)st.st_size >= sizeof(Elf64_Ehdr))
        bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    (void)close(fd);
    if (bytes == MAP_FAILED) {
        rt_error_set(e, "%s: is no ELF file", m->path);
        return -ENOEXEC;
    }
    m->file = bytes;
    m->bytes = (size_t)st.st_size;
    cache_id_of(&st, m->file_id);
    return 0;
}

bool image_is_constant(const struct image *m, uint64_t address, size_t n)
{
    const struct image_segment *s = image_segment_of(m, address);
    return s != NULL && !s->writable && !m->text_relocations && image_at(m, address, n) != NULL;
}

bool image_is_set_once(const struct image *m, uint64_t address, size_t n)
{
    return address >= m->relro && address < m->relro_end && n <= m->relro_end - address;
}

/* Reads the GNU build id; other notes do not matter. Notes are padded to 4 bytes, or to 8 in
 * segments that are aligned to 8. */
static void read_notes(struct image *m, const Elf64_Phdr *p)
{
    size_t align = p->p_align == 8 ? 8 : 4, at = 0;
    const uint8_t *notes = m->file + p->p_offset;
    while (p->p_filesz - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n;
        memcpy(&n, notes + at, sizeof n);
        size_t name = at + sizeof n,
               desc = name + (((size_t)n.n_namesz + align - 1) & ~(align - 1)),
               next = desc + (((size_t)n.n_descsz + align - 1) & ~(align - 1));
        if (desc + n.n_descsz > p->p_filesz)
            return;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            n.n_descsz <= sizeof m->build_id) {
            memcpy(m->build_id, notes + desc, n.n_descsz);
            m->build_id_bytes = n.n_descsz;
        }
        if (next > p->p_filesz)
            return;
        at = next;
    }
}

static int take_segment(struct image *m, const Elf64_Phdr *p)
{
    int rc = image_grow((void **)&m->segments, m->segment_count, sizeof *m->segments);
    if (rc != 0)
        return rc;
    m->segments[m->segment_count++] = (struct image_segment){
        .address = p->p_vaddr,
        .size = p->p_filesz,
        .bytes = m->file + p->p_offset,
        .code = (p->p_flags & PF_X) != 0,
        .writable = (p->p_flags & PF_W) != 0,
    };
    uint64_t page = p->p_vaddr & ~UINT64_C(4095);
    m->base = m->segment_count == 1 || page < m->base ? page : m->base;
    return 0;
}

/* Rounds as ld.so does when it protects RELRO pages. */
static void take_relro(struct image *m, const Elf64_Phdr *p)
{
    m->relro = p->p_vaddr & ~UINT64_C(4095);
    m->relro_end = (p->p_vaddr + p->p_memsz) & ~UINT64_C(4095);
}

static int read_headers(struct image *m, struct rt_error *e)
{
    Elf64_Ehdr h;
    memcpy(&h, m->file, sizeof h);
    if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_ident[EI_CLASS] != ELFCLASS64 ||
        h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_machine != EM_X86_64 ||
        (h.e_type != ET_EXEC && h.e_type != ET_DYN)) {
        rt_error_set(e, "%s: is no program or library for x86-64", m->path);
        return -ENOEXEC;
    }
    m->dynamic_type = h.e_type == ET_DYN;
    m->entry = h.e_entry;
    if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phoff > m->bytes ||
        h.e_phnum > (m->bytes - h.e_phoff) / sizeof(Elf64_Phdr)) {
        rt_error_set(e, "%s: is damaged: its program headers lie outside of it", m->path);
        return -ENOEXEC;
    }
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, m->file + h.e_phoff + i * sizeof p, sizeof p);
        if (p.p_type == PT_GNU_RELRO)
            take_relro(m, &p);
        if (p.p_type != PT_LOAD && p.p_type != PT_NOTE)
            continue;
        if (p.p_offset > m->bytes || p.p_filesz > m->bytes - p.p_offset ||
            p.p_vaddr + p.p_filesz < p.p_vaddr) {
            rt_error_set(e, "%s: is damaged: a segment lies outside of it", m->path);
            return -ENOEXEC;
        }
        if (p.p_type == PT_NOTE)
            read_notes(m, &p);
        else if (p.p_filesz != 0 && take_segment(m, &p) != 0)
            return -ENOMEM;
    }
    return 0;
}

struct image *image_peek(const char *path, struct rt_error *e)
{
    struct image *m = calloc(1, sizeof *m);
    if (m == NULL)
        return NULL;
    m->path = path;
    int rc = map_file(m, e);
    if (rc == 0)
        rc = read_headers(m, e);
    if (rc == 0)
        return m;
    image_close(m);
    errno = -rc;
    return NULL;
}

int image_read(struct image *m, struct rt_error *e)
{
    int rc = image_read_dynamic(m, e);
    if (rc == 0)
        rc = image_read_symbols(m, e);
    if (rc == 0)
        rc = image_read_frames(m, e);
    if (rc == -ENOMEM)
        rt_error_set(e, "%s: no memory", m->path);
    return rc;
}

struct image *image_open(const char *path, struct rt_error *e)
{
    struct image *m = image_peek(path, e);
    int rc = m != NULL ? image_read(m, e) : 0;
    if (rc == 0)
        return m;
    image_close(m);
    errno = -rc;
    return NULL;
}

void image_close(struct image *m)
{
    if (m == NULL)
        return;
    int error = errno;
    image_free_symbols(m);
    image_free_dynamic(m);
    free(m->segments);
    free(m->ranges);
    free(m->landing_pads);
    if (m->file != NULL)
        (void)munmap((void *)(uintptr_t)m->file, m->bytes);
    free(m);
    errno = error;
}
