/* SPDX-License-Identifier: BSD-3-Clause
 * A thread's file of what its instrumented copies record (base/format/memory_recording.h): a buffer
 * that they write to, followed by memory without write access, where the fault empties the buffer
 * into the file. Async-signal-safe. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_FILE_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_FILE_H

#include "base/format/memory_recording.h"

#include <stdbool.h>
#include <stddef.h>

struct memory_file;

/* Origin of a segment: a handler of `signal`, at nesting `level`, that interrupted the log of
 * another file at offset `outer`; or all 0. */
struct memory_origin {
    uint32_t level, signal;
    uint64_t outer;
};

/* Creates the state of a thread's file. *pointer is the address of the thread's next byte. Returns
 * NULL if there is no memory. The first segment creates the file itself. */
struct memory_file *memory_file_make(uint32_t tid, uint64_t *pointer);
/* Lets another file use the pointer; uses it again. */
void memory_file_suspend(struct memory_file *f);
void memory_file_resume(struct memory_file *f, uint64_t *pointer);
/* Begins a segment. Returns false if it cannot, and logs that once. */
bool memory_file_begin(struct memory_file *f, int32_t window, const struct memory_origin *of);
/* Names images that were loaded in the meantime: what is recorded from now on may enter their
 * functions. */
void memory_file_name_images(struct memory_file *f);
bool memory_file_has_failed(const struct memory_file *f);
bool memory_file_is_open(const struct memory_file *f);
/* Returns how much has been written, as an offset of the log. */
uint64_t memory_file_at(const struct memory_file *f);
/* Ends the open segment at offset `at`. `whole`: it does not end within a function's own
 * instructions; the recording says so. Returns the segment's bytes. */
uint64_t memory_file_end(struct memory_file *f, enum memory_end how, uint64_t at, bool whole);
/* Returns the bytes of the segment that ended for lack of room. */
uint64_t memory_file_cut(const struct memory_file *f);
/* Returns true if `at` is in the buffer or in the memory after it. */
bool memory_file_has(const struct memory_file *f, uintptr_t at);
/* Records these bytes (fewer than 64). Do not call it while a copy writes. */
void memory_file_put(struct memory_file *f, const void *bytes, size_t n);
/* Makes room when there is none left at `pointer`. Returns the address at which to continue. */
uintptr_t memory_file_more(struct memory_file *f, uintptr_t pointer);
/* Frees everything when the thread ends. */
void memory_file_close(struct memory_file *f);
/* Detaches a child of fork from its parent's pages: the child's next segment creates another
 * file. */
void memory_file_forget(struct memory_file *f);

#endif
