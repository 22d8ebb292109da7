/* SPDX-License-Identifier: BSD-3-Clause
 * The chunk that a thread of the recorder fills: recorder_chunks.c, for recorder.c alone. Signals
 * are blocked. */
#ifndef REGTRACE_BASE_FORMAT_RECORDER_CHUNKS_H
#define REGTRACE_BASE_FORMAT_RECORDER_CHUNKS_H

#include "base/format/recorder.h"

#include "base/sys.h"

/* The kernel cannot wipe pages in children (recorder_watch_forks()). */
extern bool recorder_forks_are_unseen RT_HIDDEN;

/* Detects a fork by the pid if the kernel cannot wipe pages; checked once per chunk. Events in the
 * parent's open chunk are lost in that case. */
static inline bool recorder_is_other_process(void)
{
    return RT_UNLIKELY(recorder_forks_are_unseen) &&
           (uint32_t)sys_getpid() != recorder_stream.header->pid;
}

static inline bool recorder_chunk_has(const struct recorder_thread *t, unsigned slots)
{
    return t->chunk != NULL &&
           t->end - atomic_load_explicit(&t->cursor, memory_order_relaxed) >= (ptrdiff_t)slots;
}

/* Makes sure that the thread has at least `slots` free slots; returns false if it cannot. control:
 * of a control record, for which it waits even if others are dropped. mask: from before signals
 * were blocked. */
bool recorder_chunk_refill(struct recorder_thread *t, unsigned slots, bool control,
                           uint64_t mask) RT_HIDDEN;

/* Hands the chunk to the writer, if the thread has one. */
void recorder_chunk_close(struct recorder_thread *t) RT_HIDDEN;

/* Counts an event that is not recorded. */
void recorder_count_drop(struct recorder_thread *t) RT_HIDDEN;

/* A new stream: forgets the last one's chunks, and that its writer made no progress. */
void recorder_chunks_begin(void) RT_HIDDEN;

#endif
