/* SPDX-License-Identifier: BSD-3-Clause
 * Memory accesses as records of 24 bytes, which regtrace-skel makes of recordings (base/format/memory.h): `regtrace skel replay -format binary`,
 * and what it hands on within the toolkit. share/doc/memory.md has the same in words. Host byte order.
 *
 * First a head. Then stretches: a record that says whose, accesses, and a record of the end; where the last one is missing something
 * went wrong. When several threads are followed at once, stretches are continued behind those of others. */
#ifndef REGTRACE_BASE_FORMAT_ACCESSES_H
#define REGTRACE_BASE_FORMAT_ACCESSES_H

#include "base/format/memory.h"

#define ACCESSES_MAGIC "RTACCESS" /* 8 bytes, without their NUL */
#define ACCESSES_VERSION 1

enum accesses_kind {
    ACCESSES_READ = 'R',
    ACCESSES_WRITE = 'W',
    ACCESSES_BOTH = 'M',      /* read, then written */
    ACCESSES_HEAD = 'H',      /* pc: the magic; address: the version; bytes: of a record */
    ACCESSES_STRETCH = 'S',   /* pc, address, bytes: struct accesses_whose */
    ACCESSES_CONTINUED = 'C', /* likewise, where another's accesses stood between */
    ACCESSES_END =
        'E', /* pc: accesses of the stretch; address: functions entered in it; bytes: enum memory_end, ACCESSES_MISSING or ACCESSES_OPEN */
};

#define ACCESSES_MISSING                                                                           \
    254u /* with its window, but in it places of functions could not be recorded */
#define ACCESSES_OPEN 255u /* the thread or process ended before the stretch did */

struct accesses_record {
    uint64_t pc, address;
    uint32_t bytes;
    uint8_t kind; /* enum accesses_kind */
    uint8_t zero[3];
};
_Static_assert(sizeof(struct accesses_record) == 24, "as programs of others read them");

/* In the place of pc, address and bytes. */
struct accesses_whose {
    int32_t rank; /* -1: none */
    uint32_t pid, thread;
    int32_t window;
    uint32_t signal; /* whose handler, 0: none */
};
_Static_assert(sizeof(struct accesses_whose) == offsetof(struct accesses_record, kind),
               "it takes the place of what stands before");

/* What regtrace-skel ends with. */
enum accesses_exit {
    ACCESSES_DONE,
    ACCESSES_FAILED, /* the recording is damaged, or no skeleton fits: said on standard error */
    ACCESSES_USAGE,
    ACCESSES_UNREAD,    /* nobody reads what it writes any more */
    ACCESSES_UNWRITTEN, /* what it writes cannot be written: said on standard error */
    ACCESSES_NOTHING    /* done, but the recording has nothing of what was wished for */
};

#endif
