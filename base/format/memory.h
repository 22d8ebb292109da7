/* SPDX-License-Identifier: BSD-3-Clause
 * Recordings for memory traces (seed 004): a file for each thread, memory/PID-TID.N.rec in the run's folder, and beside it the skeletons
 * that make accesses of them: memory/ID.c of an image, memory/PID-N.late.c of what was met as the process ran.
 *
 * The file begins with a page that has struct memory_head, then comes a buffer of MEMORY_BUFFER bytes, then the log, whose last bytes are in the
 * buffer: the traced thread writes into these pages, and when they are full behind what is in the file. What was recorded in a window
 * is one stretch or several: struct memory_stretch at a multiple of 64 of the log, and behind it its bytes, as isa/memory/replay/stream.h has them;
 * then the next one. In a buffer there are zeros behind an open one. Host byte order.
 *
 * Handlers of signals record into another file of the thread's, since what they interrupt may be amid anything. */
#ifndef REGTRACE_BASE_FORMAT_MEMORY_H
#define REGTRACE_BASE_FORMAT_MEMORY_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define MEMORY_FOLDER "memory"
#define MEMORY_MAGIC "RTMEM2\n"
#define MEMORY_STRETCH_MAGIC UINT32_C(0x54534d52)
#define MEMORY_OPEN UINT64_MAX
#define MEMORY_BUFFER ((size_t)1 << 20)
#define MEMORY_PAGE ((size_t)4096)
#define MEMORY_LOG (MEMORY_PAGE + MEMORY_BUFFER) /* offset of the log's bytes in the file */
#define MEMORY_MOVED (UINT64_C(1) << 63)

/* An executable or library. Its functions have the numbers from `first` on in recordings. */
struct memory_image {
    uint64_t bias; /* what addresses of its file are off by */
    uint32_t first, count;
    char skeleton[24]; /* file beside this one */
};

enum { MEMORY_IMAGES = 64 };

struct memory_head {
    char magic[8];
    uint32_t head_bytes;
    uint32_t pid, tid; /* the thread's number, as in /threads */
    int32_t rank;      /* as last known, -1: none */
    /* Bytes of the log that are behind the buffer; MEMORY_MOVED: what the buffer holds is among them, and to be passed over. */
    _Atomic uint64_t tail;
    /* Where in the log the last stretch ends; MEMORY_OPEN: it is open. What is behind is nothing. */
    _Atomic uint64_t closed;
    uint64_t fs; /* the thread's segment base */
    uint32_t image_count;
    uint32_t level; /* 0; 1 what handlers of signals do that interrupt 0, and so on: a file each */
    char late
        [48]; /* file beside this one, if there is one: further functions, with numbers of their own */
    char program[512]; /* path */
    struct memory_image images[MEMORY_IMAGES];
};
_Static_assert(sizeof(struct memory_head) <= MEMORY_PAGE, "the head is a page");

enum memory_end {
    MEMORY_CLOSED,  /* with its window */
    MEMORY_JUMPED,  /* longjmp(3) or an exception left functions that were being recorded */
    MEMORY_NO_ROOM, /* the file could not become larger */
    MEMORY_AMID, /* with its window, within a function: what it has done since it last recorded something is missing */
    MEMORY_NEVER, /* of EV_MEMORY: there is no stretch */
};

struct memory_stretch {
    uint32_t magic;
    int32_t window;
    /* MEMORY_OPEN: the thread or process ended before it did: up to the last byte that is not 0. */
    uint64_t bytes;
    uint32_t end;    /* enum memory_end */
    uint32_t signal; /* whose handler has recorded it, 0: none */
    uint64_t outer;  /* and where in the interrupted functions' log that has begun */
    uint32_t zero[8];
};
_Static_assert(sizeof(struct memory_stretch) == 64, "stretches begin at multiples of it");

#endif
