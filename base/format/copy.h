/* SPDX-License-Identifier: BSD-3-Clause
 * Instrumented copies of functions. As it runs, a copy writes what its plan records to the thread's
 * recording (isa/memory/replay/recording_format.h). Calls and jumps out of the function lead to the
 * same places as those of the original.
 *
 * A mid-function entry lets a thread that is already within a function continue in a copy. It
 * begins after a call that may open a window, or at any other place.
 *
 * If an alarm stands within a function, its copy jumps to the function itself there; after the
 * alarm the thread continues in the copy that begins at that site.
 *
 * A file of instrumented copies holds, in the machine's byte order: this header, the functions, the
 * mid-function entries, the entries at sites, fixups, places, code. Addresses are those of the
 * image's file. After its fixups the code runs at any address within 2 GiB of the image.
 *
 * If the file lacks a mid-function entry, the process asks for it at run time (regtrace-isa
 * skel --serve); the answer is such a file with one mid-function entry. */
#ifndef REGTRACE_BASE_FORMAT_COPY_H
#define REGTRACE_BASE_FORMAT_COPY_H

#include <stddef.h>
#include <stdint.h>

#define COPY_PATTERN_ROOM 1024u
#define COPY_SITES_MAX 256u
#define COPIES_MAGIC "rtcopy_"
#define COPIES_VERSION 14

struct copies_head {
    char magic[8];
    uint32_t version, function_count, late_count;
    uint32_t number_count; /* number of skeletons; some have no copy */
    uint32_t site_count, zero;
    uint64_t fixup_count, place_count, code_bytes;
};

/* One instrumented copy. Each of the three lists is sorted by address. */
struct copy_function {
    uint64_t address; /* of a mid-function entry after a call: the return address */
    /* Offset of the copy. A thread comes to a mid-function entry after a call at COPY_LATE_BEGIN
     * bytes beyond it, as if the call returned there. */
    uint64_t code;
    uint32_t bytes;  /* length of the copy; 0: the site can have no copy */
    uint32_t number; /* number of its skeleton */
    /* Offset in its code at which direct calls from other copies enter; 0: there are none. */
    uint32_t direct;
    uint32_t zero;
};

#define COPY_LATE_BEGIN 1 /* for mid-function entries after a call */

enum copy_fixup_kind {
    /* 32-bit distance from the instruction's end, `after` bytes after the fixup, to address
     * `target` of the image. */
    COPY_IMAGE,
    COPY_THREAD, /* 32-bit offset of the slot `target` (enum copy_slot) from fs */
    /* 32-bit distance to the hook that mid-function entries call before they return; the return
     * address is on top of the stack. */
    COPY_RETURNS,
    /* 32-bit distance to the hook called before a jump to COPY_TARGET, which the hook may
     * change. */
    COPY_JUMPS,
    /* 32-bit distance to the hook that a mid-function entry calls before it leaves for
     * COPY_TARGET, within a function. */
    COPY_LEAVES,
    /* 32-bit distance to the hook called before a jump to COPY_TARGET that no skeleton follows. */
    COPY_LOST,
    /* 32-bit distance to that function of the image, or to its copy, if a call may go there at
     * once. */
    COPY_FUNCTION,
    /* 32 bits: number of a function in recordings. The code holds the skeleton's number; add the
     * first number of the image. */
    COPY_NUMBER,
};

/* Slots of each thread, 8 bytes each. */
enum copy_slot {
    COPY_RECORDING, /* address of the next byte of its recording */
    COPY_SPILL,     /* contents of registers that the copy uses */
    COPY_SPILL_2,
    COPY_TARGET, /* target of the next jump */
    /* Not 0: functions that the thread enters run as their copies. The code at their entries tests
     * it. */
    COPY_ENTER,
    COPY_SLOTS,
};

struct copy_fixup {
    uint64_t target, at;
    uint32_t kind, after;
};

/* Tokens in a recording between functions: isa/memory/replay/recording_format.h. */
enum skel_token {
    TOKEN_END, /* the window ends; the thread is between functions */
    /* Followed by the function's number (4 bytes) and the values that its plan records, up to its
     * return, a jump out of it, or TOKEN_END. */
    TOKEN_ENTER,
    TOKEN_RESUME, /* a call has returned to its caller */
    /* An access of a function without a plan: pc, address (8 bytes each), bytes (2), kind (1). */
    TOKEN_ACCESS,
    /* Then an address (8 bytes): the code from there on has no plan and is not recorded, until the
     * thread enters a function or returns to one. */
    TOKEN_MISSING,
};

/* From byte `code` of the code on, the copy stands for `address` of the image: for the state before
 * that instruction, or, if a call has returned there, for the state after the call. Sorted by
 * `code`. */
struct copy_place {
    uint64_t address;
    uint32_t code;
    uint32_t flags; /* enum copy_place_flag */
};

enum copy_place_flag {
    COPY_PLACE_RETURNED = 1, /* a call of the copy returns here */
    /* A thread that stands here may continue in the image instead: all registers that matter have
     * the same contents. */
    COPY_PLACE_SAME = 2,
};

enum copy_question_kind {
    /* Names the file of image number `image`, its selected functions, and the sites of its alarms.
     * No answer. */
    COPY_ASK_IMAGE,
    /* Names the file to which the helper appends skeletons; the first skeleton creates it. No
     * answer. */
    COPY_ASK_FILE,
    COPY_ASK_BEHIND, /* a copy that begins after the call with this return address */
    COPY_ASK_AT,     /* a copy that begins at this address, wherever threads come from */
};

/* A process asks one question at a time. An answer of 0 bytes means that the function at the
 * address is not selected. */
struct copy_question {
    uint32_t kind, image;
    uint64_t address; /* of the image's file */
    /* Number of its skeleton in recordings. The skeleton is written before the answer comes. */
    uint32_t number;
    uint32_t site_count;
    char path[4096];
    char functions[COPY_PATTERN_ROOM]; /* extended regular expression for their names */
    uint64_t sites[COPY_SITES_MAX];    /* of the image's file */
};

struct copy_answer {
    uint64_t address;
    uint32_t bytes; /* bytes that follow: a file, or a text if `none` is set */
    /* Not 0: the text names the place and says why it can have no copy; it ends in a NUL. */
    uint32_t none;
};

#endif
