/* SPDX-License-Identifier: BSD-3-Clause
 * The log of a recording (base/format/memory.h) as it may be while its thread writes it, and the bytes of a stretch in it: closed, left open by a process that
 * ended, or growing. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_STRETCH_H
#define REGTRACE_ISA_MEMORY_REPLAY_STRETCH_H

#include "base/error.h"
#include "base/format/memory.h"

#include <stdbool.h>

struct stretch_file {
    const char *path;
    int fd;
    struct memory_head head; /* as read last */
};

/* -EINVAL: it is no recording, or too short; -errno: it cannot be read. */
RT_MUST_CHECK int stretch_file_open(struct stretch_file *f, const char *path, struct rt_error *e);
RT_MUST_CHECK int stretch_file_head(struct stretch_file *f, struct rt_error *e);
void stretch_file_close(struct stretch_file *f);
/* -EINVAL, with what is damaged. */
int stretch_file_damaged(const struct stretch_file *f, const char *what, struct rt_error *e);

/* Places are offsets in the log. */
struct stretch {
    struct stretch_file *file;
    uint64_t place;   /* of its struct memory_stretch */
    uint64_t at, end; /* of the next byte to read; behind the last that is known to be there */
    bool whole;       /* no more come */
    uint32_t how;     /* if whole: enum memory_end, or ACCESSES_OPEN */
    int32_t window;
    uint32_t signal; /* whose handler it is of, 0: of none */
};

/* Is there one at that place, as long as it is not known that the log ends there? */
RT_MUST_CHECK int stretch_begins(const struct stretch_file *f, uint64_t place, bool *there,
                                 struct rt_error *e);
/* -EINVAL: there is none. */
RT_MUST_CHECK int stretch_open(struct stretch *s, struct stretch_file *f, uint64_t place,
                               struct rt_error *e);
/* What has come since. grows: the process may live, so that one that is open may go on, and only what it has written behind its buffer is
 * sure (but for what an exception that is caught drops again: then `end` may be before `at`); else it ends with what the buffer holds. */
RT_MUST_CHECK int stretch_look(struct stretch *s, bool grows, struct rt_error *e);
/* The next bytes that are known to be there: 0 where there are none. */
RT_MUST_CHECK int stretch_read(struct stretch *s, uint8_t *to, size_t room, size_t *got,
                               struct rt_error *e);
/* If whole. */
uint64_t stretch_bytes(const struct stretch *s);
uint64_t stretch_next(const struct stretch *s); /* the place of the next one, if there is one */

#endif
