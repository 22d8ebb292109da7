/* SPDX-License-Identifier: BSD-3-Clause
 * Memory accesses as records of 24 bytes, which regtrace-isa computes from recordings
 * (base/format/memory_recording.h): the output of `regtrace skel replay -format binary`, and the
 * toolkit's internal format. share/doc/memory.md describes it in words. Host byte order.
 *
 * A file begins with a head record. Segments follow: a record that says whose segment it is, its
 * accesses, and an end record. If the last end record is missing, something went wrong. When
 * several threads are followed at once, a segment may continue after accesses of other segments. */
#ifndef REGTRACE_BASE_FORMAT_ACCESSES_H
#define REGTRACE_BASE_FORMAT_ACCESSES_H

#include "base/format/memory_recording.h"

#define ACCESSES_MAGIC "RTACCESS" /* 8 bytes, without the NUL */
#define ACCESSES_VERSION 1

enum accesses_kind {
    ACCESSES_READ = 'R',
    ACCESSES_WRITE = 'W',
    ACCESSES_BOTH = 'M',      /* read, then written */
    ACCESSES_HEAD = 'H',      /* pc: the magic; address: the version; bytes: size of a record */
    ACCESSES_SEGMENT = 'S',   /* pc, address, bytes: struct accesses_whose */
    ACCESSES_CONTINUED = 'C', /* the same; the segment continues after another one's accesses */
    /* pc: accesses of the segment; address: functions entered in it; bytes: enum memory_end,
     * ACCESSES_MISSING or ACCESSES_OPEN. */
    ACCESSES_END = 'E',
};

#define ACCESSES_MISSING                                                                           \
    254u /* ended with its window, but parts of some functions could not be recorded */
#define ACCESSES_OPEN 255u /* the thread or process ended before the segment did */

struct accesses_record {
    uint64_t pc, address;
    uint32_t bytes;
    uint8_t kind; /* enum accesses_kind */
    uint8_t zero[3];
};
_Static_assert(sizeof(struct accesses_record) == 24, "as programs of others read them");

/* Stands in the place of pc, address and bytes of a record. */
struct accesses_whose {
    int32_t rank; /* -1: none */
    uint32_t pid, thread;
    int32_t window;
    uint32_t signal; /* signal whose handler it was; 0: no handler */
};
_Static_assert(sizeof(struct accesses_whose) == offsetof(struct accesses_record, kind),
               "it takes the place of what stands before");

/* Exit status of regtrace-isa. */
enum accesses_exit {
    ACCESSES_DONE,
    ACCESSES_FAILED, /* recording damaged, or no skeleton fits; message on stderr */
    ACCESSES_USAGE,
    ACCESSES_UNREAD,    /* nobody reads its output any more */
    ACCESSES_UNWRITTEN, /* its output cannot be written; message on stderr */
    ACCESSES_NOTHING    /* done, but the recording holds nothing that was asked for */
};

#endif
