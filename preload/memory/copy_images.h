/* SPDX-License-Identifier: BSD-3-Clause
 * Images with instrumented copies: memory_copies.c looks copies up, memory_copies_make.c makes
 * those of whole images, memory_copies_late.c adds mid-function entries as the process runs. Only
 * these files include this header. */
#ifndef REGTRACE_PRELOAD_MEMORY_COPY_IMAGES_H
#define REGTRACE_PRELOAD_MEMORY_COPY_IMAGES_H

#include "preload/memory/memory_copies.h"

/* A mid-function entry that was asked for, by its place in the image and the kind of question.
 * Never removed. */
struct late_slot {
    _Atomic uint64_t key; /* the address and the kind of question; 0: free */
    uintptr_t code;       /* address at which threads enter; 0: there is none */
    /* Pid of the process that asked. The entry's number is valid in the recordings of that process
     * alone, so a forked child asks again. */
    uint32_t process;
    bool refused; /* its function is selected, but not recorded from there on */
};

struct late_copies {
    size_t code_used;
    size_t place_count;
    _Atomic size_t places_known;
    struct copy_place *places; /* sorted by `code` */
    struct late_slot *slots;
    size_t slots_used;
    bool told; /* the helper knows the image */
};

/* Each mid-function entry copies the rest of its function, with a table for each jump whose targets
 * are hardly known. A function with many such jumps takes megabytes. */
#define LATE_CODE ((size_t)64 << 20)
#define LATE_PLACES ((size_t)1 << 20)
#define LATE_SLOTS ((size_t)1 << 16) /* a power of two */
#define LATE_MOST (LATE_SLOTS / 2)

struct copies_image {
    uintptr_t from, bias;
    _Atomic uintptr_t to; /* 0: the image is not loaded any more */
    const struct copies_head *head;
    const struct copy_function *functions;
    const struct copy_fixup *fixups;
    const struct copy_place *places;
    const uint8_t *file_code;
    uint8_t *code;         /* code of the file, the hooks, then room for mid-function entries */
    size_t own_bytes;      /* bytes of `code` without that room */
    uint32_t first, count; /* numbers of its functions */
    bool linked;           /* calls lead from copy to copy */
    const char *skeleton;
    size_t skeleton_bytes;
    char name[24];
    char *path, *functions_meant;
    uint64_t sites[COPY_SITES_MAX]; /* sites of alarms, as addresses in the file */
    uint32_t site_count;
    struct late_copies late;
};

extern struct copies_image copies_images[MEMORY_IMAGES];
extern _Atomic uint32_t copies_image_count;

/* Returns the image whose text holds that address, or NULL. */
struct copies_image *copies_image_of(uintptr_t at);
/* Returns the slot of that place and question, or the free slot where it belongs. */
struct late_slot *copies_late_slot(const struct copies_image *m, uint64_t address,
                                   enum copy_question_kind kind);
/* Finds the helper program. Call it before main, or when an image is loaded. Returns 0, or -errno
 * with the text. */
RT_MUST_CHECK int copies_late_prepare(struct rt_error *e);
/* Takes the next `count` numbers of functions; returns the first one. */
uint32_t copies_take_numbers(uint32_t count);

/* Validates a complete copy file in memory and fills in *out. */
bool copies_parse(const void *file, size_t bytes, struct copies_image *out);
/* Applies the fixups to `code`, which will run at `at`. Returns false if a target is out of
 * reach. */
bool copies_settle(const struct copies_image *m, const struct copies_image *file, uint8_t *code,
                   uintptr_t at, uint32_t first);
/* Returns the offset, after the file's code, of the jumps to the hooks that copies call. */
size_t copies_hooks_at(const struct copies_image *m);
#define COPIES_HOOK_BYTES 16u /* bytes of each jump */
#define COPIES_HOOKS 4u

/* Hooks that copies call (memory_copies_hooks.c): COPY_RETURNS, COPY_JUMPS, COPY_LEAVES,
 * COPY_LOST. */
void memory_copy_returning(void) RT_HIDDEN;
void memory_copy_jumping(void) RT_HIDDEN;
void memory_copy_leaving(void) RT_HIDDEN;
void memory_copy_losing(void) RT_HIDDEN;
/* Labels in the hooks:
 * - _again: the hook begins to decide whether there is more to do; it may begin here once more
 * - _decided: it has decided
 * - _end: end of its code */
void memory_copy_returning_again(void) RT_HIDDEN;
void memory_copy_jumping_again(void) RT_HIDDEN;
void memory_copy_returning_decided(void) RT_HIDDEN;
void memory_copy_jumping_decided(void) RT_HIDDEN;
void memory_copy_returning_end(void) RT_HIDDEN;
void memory_copy_jumping_end(void) RT_HIDDEN;
void memory_copy_leaving_end(void) RT_HIDDEN;
void memory_copy_losing_end(void) RT_HIDDEN;

#endif
