/* SPDX-License-Identifier: BSD-3-Clause
 * Clones: functions once more, with what their plan records written to the thread's recording (isa/memory/replay/stream.h) as they run. What is called
 * and jumped to outside of a function is where it was.
 *
 * A late one begins in mid-function, behind a call that may open a window, or anywhere, and is for what has been entered before.
 *
 * Where an alarm stands in mid-function clones leave for the function itself, and behind the alarm one goes on in the clone of that site.
 *
 * A file of clones is this header, functions, late ones, those of sites, fixups, places, code; in the machine's own byte order. Addresses are those of the image's file.
 * Code runs wherever it is put, at most 2 GiB from the image, when its fixups are done.
 *
 * What is not in it is asked for as a program runs (regtrace-skel --serve): an answer is such a file with one late clone. */
#ifndef REGTRACE_BASE_FORMAT_CLONE_H
#define REGTRACE_BASE_FORMAT_CLONE_H

#include <stddef.h>
#include <stdint.h>

#define CLONE_PATTERN_ROOM 1024u
#define CLONE_SITES_MAX 256u
#define CLONES_MAGIC "rtclone"
#define CLONES_VERSION 14

struct clones_head {
    char magic[8];
    uint32_t version, function_count, late_count;
    uint32_t number_count; /* of skeletons: some have no clone */
    uint32_t site_count, zero;
    uint64_t fixup_count, place_count, code_bytes;
};

/* By address. */
struct clone_function {
    uint64_t address; /* of late ones, that behind the call */
    uint64_t
        code; /* offset of its clone; threads come to late ones CLONE_LATE_BEGIN further, as if from the call */
    uint32_t bytes;  /* of that; 0: of a site that there can be none of */
    uint32_t number; /* its skeleton's */
    uint32_t
        direct; /* offset, in its code, of where direct calls of other clones come to; 0: there are none */
    uint32_t zero;
};

#define CLONE_LATE_BEGIN 1 /* of those that a call returns to */

enum clone_fixup_kind {
    CLONE_IMAGE, /* the 32-bit distance from the instruction's end, `behind` bytes further, to that address of the image */
    CLONE_THREAD,  /* 32 bits: enum clone_slot `target`, from fs */
    CLONE_RETURNS, /* the 32-bit distance to what late clones call as they return: the stack's top is where they return to */
    CLONE_JUMPS, /* ... to what is called before a jump to CLONE_TARGET, which may go elsewhere then */
    CLONE_LEAVES, /* ... to what late clones call before they leave for CLONE_TARGET, in mid-function */
    CLONE_LOST, /* ... to what is called before a jump to CLONE_TARGET that no skeleton follows */
    CLONE_FUNCTION, /* ... to that function of the image, or to its clone, if it has one that may be gone to at once */
    CLONE_NUMBER, /* 32 bits, the number of a function in recordings: its skeleton's, which is there, and what the image's begin with */
};

/* Of each thread, 8 bytes each. */
enum clone_slot {
    CLONE_RECORDING, /* where the next byte of its recording goes */
    CLONE_SPILL,     /* registers that had to be used */
    CLONE_SPILL_2,
    CLONE_TARGET, /* where a jump is about to lead */
    CLONE_ENTER, /* for whoever puts clones in: functions that are entered go to theirs where it is not 0 */
    CLONE_SLOTS,
};

struct clone_fixup {
    uint64_t target, at;
    uint32_t kind, behind;
};

/* What stands in a recording between functions: isa/memory/replay/stream.h. */
enum skel_token {
    TOKEN_END,   /* the window's end, wherever the thread stood between functions */
    TOKEN_ENTER, /* and the function's number, 4 bytes; what its plan says, up to its return, a jump out of it, or TOKEN_END */
    TOKEN_RESUME,  /* a call has come back to who called */
    TOKEN_ACCESS,  /* by a function without a plan: pc, address (8 each), bytes (2), kind (1) */
    TOKEN_MISSING, /* what runs from that place on (8) has no plan, and is not recorded, up to what is entered or returned to */
};

/* From a byte of the code on it stands for what is at that address of the image: before that instruction, or, where a call has come
 * back, behind it. Sorted by `code`. */
struct clone_place {
    uint64_t address;
    uint32_t code;
    uint32_t flags; /* enum clone_place_flag */
};

enum clone_place_flag {
    CLONE_PLACE_RETURNED = 1, /* this is where a call of the clone's returns to */
    CLONE_PLACE_SAME =
        2, /* whoever stands here may go on in the image instead: registers that matter are as they are there */
};

enum clone_question_kind {
    CLONE_ASK_IMAGE, /* no answer: of image number `image` that path and these functions are meant from now on, and alarms stand at these sites */
    CLONE_ASK_FILE, /* no answer: skeletons are added to the file of that path, which is made when there is one */
    CLONE_ASK_BEHIND, /* a clone of what stands behind the call that returns to that address */
    CLONE_ASK_AT,     /* of what stands there, wherever one comes from */
};

/* Whoever asks one at a time; 0 bytes are an answer too: what is there is not meant. */
struct clone_question {
    uint32_t kind, image;
    uint64_t address; /* of the image's file */
    uint32_t
        number; /* of its skeleton, in recordings; the skeleton has been written when the answer comes */
    uint32_t site_count;
    char path[4096];
    char functions[CLONE_PATTERN_ROOM]; /* an extended regular expression for their names */
    uint64_t sites[CLONE_SITES_MAX];    /* of the image's file */
};

struct clone_answer {
    uint64_t address;
    uint32_t bytes; /* of what follows: the file, or ... */
    uint32_t
        none; /* not 0: ... in words, with a NUL, what it would be of, and why there can be none */
};

#endif
