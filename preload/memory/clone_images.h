/* SPDX-License-Identifier: BSD-3-Clause
 * Images with instrumented copies: probe_clones.c looks copies up, probe_clones_make.c makes those
 * of whole images, probe_clones_late.c adds mid-function entries as the process runs. Only these
 * files include this header. */
#ifndef REGTRACE_PRELOAD_MEMORY_CLONE_IMAGES_H
#define REGTRACE_PRELOAD_MEMORY_CLONE_IMAGES_H

#include "preload/memory/probe_clones.h"

/* A mid-function entry that was asked for, by its place in the image and the kind of question.
 * Never removed. */
struct late_slot {
    _Atomic uint64_t key; /* the address and the kind of question; 0: free */
    uintptr_t code;       /* address at which threads enter; 0: there is none */
    /* Process whose recordings know its number: a forked child asks again. */
    uint32_t process;
    bool refused; /* its function is selected, but not recorded from there on */
};

struct late_clones {
    size_t code_used;
    size_t place_count;
    _Atomic size_t places_known;
    struct clone_place *places; /* sorted by `code` */
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

struct clones_image {
    uintptr_t from, bias;
    _Atomic uintptr_t to; /* 0: the image is not loaded any more */
    const struct clones_head *head;
    const struct clone_function *functions;
    const struct clone_fixup *fixups;
    const struct clone_place *places;
    const uint8_t *file_code;
    uint8_t *code;         /* code of the file, the hooks, then room for mid-function entries */
    size_t own_bytes;      /* bytes of `code` without that room */
    uint32_t first, count; /* numbers of its functions */
    bool linked;           /* calls lead from copy to copy */
    const char *skeleton;
    size_t skeleton_bytes;
    char name[24];
    char *path, *functions_meant;
    uint64_t sites[CLONE_SITES_MAX]; /* sites of alarms, as addresses in the file */
    uint32_t site_count;
    struct late_clones late;
};

extern struct clones_image clones_images[MEMORY_IMAGES];
extern _Atomic uint32_t clones_image_count;

/* Returns the image whose text holds that address, or NULL. */
struct clones_image *clones_image_of(uintptr_t at);
/* Returns the slot of that place and question, or the free slot where it belongs. */
struct late_slot *clones_late_slot(const struct clones_image *m, uint64_t address,
                                   enum clone_question_kind kind);
/* Finds the helper program. Call it before main, or when an image is loaded. Returns 0, or -errno
 * with the text. */
RT_MUST_CHECK int clones_late_prepare(struct rt_error *e);
/* Takes the next `count` numbers of functions; returns the first one. */
uint32_t clones_take_numbers(uint32_t count);

/* Validates a complete copy file in memory and fills in *out. */
bool clones_parse(const void *file, size_t bytes, struct clones_image *out);
/* Applies the fixups to `code`, which will run at `at`. Returns false if a target is out of
 * reach. */
bool clones_settle(const struct clones_image *m, const struct clones_image *file, uint8_t *code,
                   uintptr_t at, uint32_t first);
/* Returns the offset, after the file's code, of the jumps to the hooks that copies call. */
size_t clones_hooks_at(const struct clones_image *m);
#define CLONES_HOOK_BYTES 16u /* bytes of each jump */
#define CLONES_HOOKS 4u

/* Hooks that copies call (probe_clones_hooks.c): CLONE_RETURNS, CLONE_JUMPS, CLONE_LEAVES,
 * CLONE_LOST. */
void probe_clone_returning(void) RT_HIDDEN;
void probe_clone_jumping(void) RT_HIDDEN;
void probe_clone_leaving(void) RT_HIDDEN;
void probe_clone_losing(void) RT_HIDDEN;
/* Labels in the hooks:
 * - _again: the hook begins to decide whether there is more to do; it may begin here once more
 * - _decided: it has decided
 * - _end: end of its code */
void probe_clone_returning_again(void) RT_HIDDEN;
void probe_clone_jumping_again(void) RT_HIDDEN;
void probe_clone_returning_decided(void) RT_HIDDEN;
void probe_clone_jumping_decided(void) RT_HIDDEN;
void probe_clone_returning_end(void) RT_HIDDEN;
void probe_clone_jumping_end(void) RT_HIDDEN;
void probe_clone_leaving_end(void) RT_HIDDEN;
void probe_clone_losing_end(void) RT_HIDDEN;

#endif
