/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the log of a recording (base/format/memory_recording.h), even while its thread writes it,
 * and the bytes of its segments: closed, left open by a process that ended, or growing. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_SEGMENT_H
#define REGTRACE_ISA_MEMORY_REPLAY_SEGMENT_H

#include "base/error.h"
#include "base/format/memory_recording.h"

#include <stdbool.h>

struct segment_file {
    const char *path;
    int fd;
    struct memory_head head; /* as last read */
};

/* Open a recording, and read its head again. Return 0, or -errno with the text: -EINVAL if it is no
 * recording or too short. */
RT_MUST_CHECK int segment_file_open(struct segment_file *f, const char *path, struct rt_error *e);
RT_MUST_CHECK int segment_file_head(struct segment_file *f, struct rt_error *e);
void segment_file_close(struct segment_file *f);
/* Returns -EINVAL, with a text that says what is damaged. */
int segment_file_damaged(const struct segment_file *f, const char *what, struct rt_error *e);

/* A segment. Places are offsets in the log. */
struct segment {
    struct segment_file *file;
    uint64_t place;   /* of the struct memory_segment */
    uint64_t at, end; /* next byte to read; end of the bytes that are known to be there */
    bool whole;       /* no more bytes come */
    uint32_t how;     /* if whole: enum memory_end, or ACCESSES_OPEN */
    int32_t window;
    uint32_t signal; /* signal whose handler recorded it; 0: none */
};

/* Sets *there to whether a segment begins at `place`. Valid as long as it is not known that the log
 * ends there. */
RT_MUST_CHECK int segment_begins(const struct segment_file *f, uint64_t place, bool *there,
                                 struct rt_error *e);
/* Returns 0, or -errno with the text: -EINVAL if no segment is there. */
RT_MUST_CHECK int segment_open(struct segment *s, struct segment_file *f, uint64_t place,
                               struct rt_error *e);
/* Finds bytes that have come since. grows: the process may be alive, so an open segment may go on,
 * and only bytes that were moved from the buffer to the file are sure. (An exception that is caught
 * may drop some of these again: `end` may be below `at` then.) Otherwise the segment ends with the
 * contents of the buffer. */
RT_MUST_CHECK int segment_look(struct segment *s, bool grows, struct rt_error *e);
/* Reads the next bytes that are known to be there; *got is 0 if there are none. */
RT_MUST_CHECK int segment_read(struct segment *s, uint8_t *to, size_t room, size_t *got,
                               struct rt_error *e);
/* Both are valid if `whole`: the length, and the place of the next segment, if there is one. */
uint64_t segment_bytes(const struct segment *s);
uint64_t segment_next(const struct segment *s);

#endif
