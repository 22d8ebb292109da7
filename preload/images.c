/* SPDX-License-Identifier: BSD-3-Clause
 * What is recorded of a loaded image: its path, where it lies, and the build id that tells it from another of that name. */
#include "preload/images.h"

#include <elf.h>
#include <string.h>

/* The notes of one segment, as the program has them in memory. */
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

/* Are these bytes of a segment that is mapped to be read? */
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
        /* Notes that are aligned to 8 (.note.gnu.property) are laid out otherwise, and hold no build id. */
        if (p->p_type == PT_NOTE && p->p_align <= 4 && is_mapped(info, p) &&
            find_id((const unsigned char *)(info->dlpi_addr + p->p_vaddr), p->p_filesz, out))
            return;
    }
}

void image_record(struct recorder_thread *t, const char *path, uintptr_t base, const char *build_id)
{
    uint64_t more[3] = {
        build_id[0] != '\0' ? stream_string_id(&recorder_stream, build_id) : 0,
    };
    (void)recorder_emit_long(t, EV_IMAGE, stream_string_id(&recorder_stream, path), base, more, 1);
}
