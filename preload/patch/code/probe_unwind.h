/* SPDX-License-Identifier: BSD-3-Clause
 * Tables that describe our code (blocks, copies, targets of jumps) to unwinders and debuggers. To
 * them such code is a frame without a size. Its caller is the site for which the code stands, with
 * all registers as they are there. Used within preload/ only.
 *
 * The caller describes one range of code at a time, before the code can run, and nobody else
 * describes code meanwhile. */
#ifndef REGTRACE_PRELOAD_PATCH_CODE_PROBE_UNWIND_H
#define REGTRACE_PRELOAD_PATCH_CODE_PROBE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a range of code that stands for the instruction at `place`. call: the instruction is a
 * call, and the thread has pushed the return address when it enters the range. */
void probe_unwind_begin(uintptr_t from, uintptr_t place, bool call);
/* From `at` on, this many bytes of ours are on the stack. */
void probe_unwind_pushed(uintptr_t at, unsigned bytes);
/* From `at` on, the code stands for the instruction at `place`. */
void probe_unwind_place(uintptr_t at, uintptr_t place);
void probe_unwind_end(uintptr_t to);
/* Makes effective all descriptions since the last call. */
void probe_unwind_seal(void);
/* Enclose a description that is made while others may be in progress: callable in handlers, by one
 * thread at a time. probe_unwind_late_end() makes it effective. */
void probe_unwind_late_begin(void);
void probe_unwind_late_end(void);

/* A file for debuggers: struct jit_code_entry of their interface. */
struct probe_gdb_entry {
    struct probe_gdb_entry *next, *previous;
    const uint8_t *file;
    uint64_t bytes;
};

/* A table of ranges that lie within 2 GiB of it. It is an ELF file in memory, so that debuggers can
 * read it as it is. */
struct probe_unwind_table {
    const struct probe_unwind_table *next;
    /* .eh_frame_hdr: ends in pairs of a range and its entry, sorted by address */
    const uint8_t *header;
    size_t count;
    struct probe_gdb_entry gdb;
};

/* The parts of the file: addresses and sizes. There is room for the header at `file`, and for the
 * remaining parts at `at_end`. */
struct probe_unwind_file {
    uint8_t *file, *at_end;
    uintptr_t text, text_bytes;
    const uint8_t *frames;
    size_t frame_bytes;
};
#define PROBE_UNWIND_FILE_HEAD 64u  /* bytes before the tables */
#define PROBE_UNWIND_FILE_TAIL 576u /* bytes after them */
/* Completes the file; returns its size in bytes. probe_gdb.c */
size_t probe_gdb_fill(const struct probe_unwind_file *f);
/* Gives the file to a debugger, whether it is there already or comes later. The entry must stay
 * where it is. */
void probe_gdb_tell(struct probe_gdb_entry *entry);

#endif
