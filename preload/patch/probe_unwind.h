/* SPDX-License-Identifier: BSD-3-Clause
 * What unwinders and debuggers are told about the code that stands for the program's own (blocks, copies, what jumps lead to): to them it is a
 * frame without a size, whose caller is the place that it stands for, with all registers as they are there. Of preload/probe*.c alone.
 *
 * One stretch of code at a time, before it can run; nobody else meanwhile. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_UNWIND_H
#define REGTRACE_PRELOAD_PATCH_PROBE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Begins a stretch that stands for what is at `place`. call: it stands for a call, and is entered with the return address pushed. */
void probe_unwind_begin(uintptr_t from, uintptr_t place, bool call);
/* From `at` on so many bytes of ours are on the stack. */
void probe_unwind_pushed(uintptr_t at, unsigned bytes);
/* From `at` on it stands for what is at `place`. */
void probe_unwind_place(uintptr_t at, uintptr_t place);
void probe_unwind_end(uintptr_t to);
/* What has been told since the last time holds from now on. */
void probe_unwind_seal(void);
/* Around one that is told while others may be: from handlers too, one thread at a time. It holds from the end on. */
void probe_unwind_late_begin(void);
void probe_unwind_late_end(void);

/* What debuggers are told of a file: struct jit_code_entry of their interface. */
struct probe_gdb_entry {
    struct probe_gdb_entry *next, *previous;
    const uint8_t *file;
    uint64_t bytes;
};

/* One table of stretches that lie within 2 GiB of it: an ELF file in memory, so that debuggers can take it as it is. */
struct probe_unwind_table {
    const struct probe_unwind_table *next;
    const uint8_t *header; /* .eh_frame_hdr: ends in pairs of a stretch and its entry, by address */
    size_t count;
    struct probe_gdb_entry gdb;
};

/* The file's parts: where they lie and how long they are. `file` has room for its header, and behind `at_end` for the rest. */
struct probe_unwind_file {
    uint8_t *file, *at_end;
    uintptr_t text, text_bytes;
    const uint8_t *frames;
    size_t frame_bytes;
};
#define PROBE_UNWIND_FILE_HEAD 64u  /* bytes before */
#define PROBE_UNWIND_FILE_TAIL 576u /* and behind */
/* probe_gdb.c: completes the file. Its bytes. */
size_t probe_gdb_fill(const struct probe_unwind_file *f);
/* A debugger that is there, or comes, takes it. The entry stays where it is. */
void probe_gdb_tell(struct probe_gdb_entry *entry);

#endif
