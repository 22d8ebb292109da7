/* SPDX-License-Identifier: BSD-3-Clause
 * A thread's file of what its clones record (base/format/memory.h): a piece of memory that they write to, and behind it memory that nobody may
 * write to: the fault there empties the piece into the file. Async-signal-safe. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_FILE_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_FILE_H

#include "base/format/memory.h"

#include <stdbool.h>
#include <stddef.h>

struct memory_file;

/* What a stretch is of: a handler of that signal that has interrupted the log of another file there; or all 0. */
struct memory_origin {
    uint32_t level, signal;
    uint64_t outer;
};

/* pointer: where the thread's next byte goes is kept there. NULL: no memory. The file itself is made with the first stretch. */
struct memory_file *memory_file_make(uint32_t tid, uint64_t *pointer);
/* Another file has the pointer; and this one again. */
void memory_file_suspend(struct memory_file *f);
void memory_file_resume(struct memory_file *f, uint64_t *pointer);
/* A stretch begins. False: it cannot (said once). */
bool memory_file_begin(struct memory_file *f, int32_t window, const struct memory_origin *of);
/* Those that have come since: what is recorded from now on may enter their functions. */
void memory_file_name_images(struct memory_file *f);
bool memory_file_has_failed(const struct memory_file *f);
bool memory_file_is_open(const struct memory_file *f);
/* How much has been written: an offset of the log. */
uint64_t memory_file_at(const struct memory_file *f);
/* The open stretch ends there; whole: not within a function's own instructions, which is recorded. Its bytes. */
uint64_t memory_file_end(struct memory_file *f, enum memory_end how, uint64_t at, bool whole);
/* Those of the stretch that has ended where there was no more room. */
uint64_t memory_file_cut(const struct memory_file *f);
/* Is that where its bytes are written, or behind? */
bool memory_file_has(const struct memory_file *f, uintptr_t at);
/* These bytes are recorded too, fewer than 64; not while a clone writes. */
void memory_file_put(struct memory_file *f, const void *bytes, size_t n);
/* There is no more room at `pointer`: where to go on instead. */
uintptr_t memory_file_more(struct memory_file *f, uintptr_t pointer);
/* The thread ends: it is gone. */
void memory_file_close(struct memory_file *f);
/* In a child, which shares the parent's pages: it gets its own file with its next stretch. */
void memory_file_forget(struct memory_file *f);

#endif
