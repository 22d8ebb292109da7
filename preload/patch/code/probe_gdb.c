/* SPDX-License-Identifier: BSD-3-Clause
 * Hands the tables for unwinders to debuggers: each is an ELF file in memory, in a list that GDB
 * and LLDB know by its name ("JIT Compilation Interface" of GDB's manual). The names are local to
 * this library: a program that compiles at run time has its own list.
 *
 * Format: System V ABI, "Object Files". */
#include "preload/patch/code/probe_unwind.h"

#include "base/error.h"
#include "preload/patch/probe_sites.h"

#include <elf.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct jit_descriptor {
    uint32_t version, action; /* 0: nothing; 1: a new file */
    struct probe_gdb_entry *relevant, *first;
};

/* Debuggers read these. Their names are part of the interface. */
RT_HIDDEN extern struct jit_descriptor
    __jit_debug_descriptor; /* NOLINT(bugprone-reserved-identifier) */
struct jit_descriptor __jit_debug_descriptor = {.version =
                                                    1}; /* NOLINT(bugprone-reserved-identifier) */
RT_HIDDEN void __jit_debug_register_code(void);         /* NOLINT(bugprone-reserved-identifier) */

/* A debugger has a breakpoint here. */
__attribute__((noinline)) void
__jit_debug_register_code(void) /* NOLINT(bugprone-reserved-identifier) */
{
    __asm__ volatile("" ::: "memory");
}

enum { NONE, TEXT, FRAMES, SYMBOLS, STRINGS, SECTIONS };

static const char names[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0regtrace_probe";
enum { NAME_TEXT = 1, NAME_FRAMES = 7, NAME_SYMBOLS = 17, NAME_STRINGS = 25, NAME_PROBE = 33 };

/* Offsets of the parts in the file. */
struct symbol_file_parts {
    size_t symbols, names, sections;
};

enum { SYMBOL_COUNT = 2 };

static void put_symbols(const struct probe_unwind_file *f, const struct symbol_file_parts *at)
{
    const Elf64_Sym symbols[SYMBOL_COUNT] = {
        {0},
        {.st_name = NAME_PROBE,
         .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
         .st_shndx = TEXT,
         .st_value = f->text,
         .st_size = f->text_bytes},
    };
    memcpy(f->file + at->symbols, symbols, sizeof symbols);
    memcpy(f->file + at->names, names, sizeof names);
}

static void put_sections(const struct probe_unwind_file *f, const struct symbol_file_parts *at)
{
    const Elf64_Shdr sections[SECTIONS] = {
        [TEXT] = {.sh_name = NAME_TEXT,
                  .sh_type = SHT_NOBITS,
                  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                  .sh_addr = f->text,
                  .sh_size = f->text_bytes,
                  .sh_addralign = 1},
        [FRAMES] = {.sh_name = NAME_FRAMES,
                    .sh_type = SHT_PROGBITS,
                    .sh_flags = SHF_ALLOC,
                    .sh_addr = (uintptr_t)f->frames,
                    .sh_offset = (size_t)(f->frames - f->file),
                    .sh_size = f->frame_bytes,
                    .sh_addralign = 8},
        [SYMBOLS] = {.sh_name = NAME_SYMBOLS,
                     .sh_type = SHT_SYMTAB,
                     .sh_offset = at->symbols,
                     .sh_size = SYMBOL_COUNT * sizeof(Elf64_Sym),
                     .sh_link = STRINGS,
                     .sh_info = 1,
                     .sh_addralign = 8,
                     .sh_entsize = sizeof(Elf64_Sym)},
        [STRINGS] = {.sh_name = NAME_STRINGS,
                     .sh_type = SHT_STRTAB,
                     .sh_offset = at->names,
                     .sh_size = sizeof names,
                     .sh_addralign = 1},
    };
    memcpy(f->file + at->sections, sections, sizeof sections);
}

size_t probe_gdb_fill(const struct probe_unwind_file *f)
{
    enum { ALIGN = 8 };
    struct symbol_file_parts at = {.symbols = ((size_t)(f->at_end - f->file) + ALIGN - 1) &
                                              ~(ALIGN - 1ul)};
    at.names = at.symbols + SYMBOL_COUNT * sizeof(Elf64_Sym);
    at.sections = (at.names + sizeof names + ALIGN - 1) & ~(ALIGN - 1ul);
    const Elf64_Ehdr header = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
        .e_type = ET_EXEC,
        .e_machine = EM_X86_64,
        .e_version = EV_CURRENT,
        .e_shoff = at.sections,
        .e_ehsize = sizeof header,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = SECTIONS,
        .e_shstrndx = STRINGS,
    };
    _Static_assert(sizeof header <= PROBE_UNWIND_FILE_HEAD, "room for the header");
    _Static_assert(2 * ALIGN + SYMBOL_COUNT * sizeof(Elf64_Sym) + sizeof names +
                           SECTIONS * sizeof(Elf64_Shdr) <=
                       PROBE_UNWIND_FILE_TAIL,
                   "room for the rest");
    memcpy(f->file, &header, sizeof header);
    put_symbols(f, &at);
    put_sections(f, &at);
    return at.sections + SECTIONS * sizeof(Elf64_Shdr);
}

void probe_gdb_tell(struct probe_gdb_entry *entry)
{
    static struct probe_lock telling;
    struct probe_locked locked = probe_lock(&telling);
    entry->next = __jit_debug_descriptor.first;
    if (entry->next != NULL)
        entry->next->previous = entry;
    __jit_debug_descriptor.first = entry;
    __jit_debug_descriptor.relevant = entry;
    __jit_debug_descriptor.action = 1;
    __jit_debug_register_code();
    __jit_debug_descriptor.action = 0;
    probe_unlock(&telling, locked);
}
