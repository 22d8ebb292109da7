/* SPDX-License-Identifier: BSD-3-Clause
 * Recordings for memory traces (Ketterlin and Clauss, "Efficient Memory Tracing by Program
 * Skeletonization", ISPASS 2011): one file per thread, memory/PID-TID.N.rec in the run's folder.
 * Beside it are the skeletons that compute accesses from recordings: memory/ID.c for an image, and
 * memory/PID-N.late.c for mid-function entries that the process needed as it ran.
 *
 * Layout of the file: a page with struct memory_head, a buffer of MEMORY_BUFFER bytes, and the log,
 * whose last bytes are in the buffer. The traced thread writes into the buffer; when it is full,
 * the thread appends it to the file. A window's recording is one segment or several: struct
 * memory_segment at a multiple of 64 of the log, then the segment's bytes
 * (isa/memory/replay/recording_format.h). In the buffer, zeros follow an open segment. Host byte
 * order.
 *
 * Signal handlers record into another file of the thread, because they may interrupt the thread at
 * any point of its own recording. */
#ifndef REGTRACE_BASE_FORMAT_MEMORY_RECORDING_H
#define REGTRACE_BASE_FORMAT_MEMORY_RECORDING_H

#include "base/format/enums.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_FOLDER "memory"
#define MEMORY_MAGIC "RTMEM2\n"
#define MEMORY_SEGMENT_MAGIC UINT32_C(0x54534d52)
#define MEMORY_OPEN UINT64_MAX
#define MEMORY_BUFFER ((size_t)1 << 20)
#define MEMORY_PAGE ((size_t)4096)
#define MEMORY_LOG (MEMORY_PAGE + MEMORY_BUFFER) /* offset of the log's first byte in the file */
#define MEMORY_MOVED (UINT64_C(1) << 63)

/* An executable or library. Its functions have numbers from `first` on in recordings. */
struct memory_image {
    uint64_t bias; /* loaded address minus address in the file */
    uint32_t first, count;
    char skeleton[24]; /* name of a file beside this one */
};

enum { MEMORY_IMAGES = 64, MEMORY_PROGRAM = 500 /* bytes kept of a program's path */ };

struct memory_head {
    char magic[8];
    uint32_t head_bytes;
    uint32_t pid, tid; /* number of the thread, as in /threads */
    int32_t rank;      /* as last known; -1: none */
    /* Bytes of the log that stand after the buffer in the file. With MEMORY_MOVED, they include the
     * buffer's contents: readers skip the buffer. */
    _Atomic uint64_t tail;
    /* Offset in the log at which the last segment ends; MEMORY_OPEN: that segment is open. Bytes
     * after it mean nothing. */
    _Atomic uint64_t closed;
    uint64_t fs; /* base address of the thread's fs segment */
    uint32_t image_count;
    /* 0: outside signal handlers; 1: in handlers that interrupt level 0, and so on. Each level has
     * its own file. */
    uint32_t level;
    /* Name of a file beside this one, if it exists: further functions, with their own numbers. */
    char late[48];
    char program[512]; /* path */
    struct memory_image images[MEMORY_IMAGES];
};
_Static_assert(sizeof(struct memory_head) <= MEMORY_PAGE, "the head is a page");

struct memory_segment {
    uint32_t magic;
    int32_t window;
    /* MEMORY_OPEN: the thread or process ended before the segment did. The segment then extends to
     * the last byte that is not 0. */
    uint64_t bytes;
    uint32_t end;    /* enum memory_end */
    uint32_t signal; /* signal whose handler recorded it; 0: none */
    uint64_t outer;  /* offset in the interrupted level's log at which that began */
    uint32_t zero[8];
};
_Static_assert(sizeof(struct memory_segment) == 64, "segments begin at multiples of it");

#endif
