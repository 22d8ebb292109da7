/* SPDX-License-Identifier: BSD-3-Clause
 * Images with clones: probe_clones.c looks them up, probe_clones_make.c makes those of whole images, probe_clones_late.c adds to them as the
 * process runs. Of these alone. */
#ifndef REGTRACE_PRELOAD_MEMORY_CLONE_IMAGES_H
#define REGTRACE_PRELOAD_MEMORY_CLONE_IMAGES_H

#include "preload/memory/probe_clones.h"

/* Late ones that were asked for: places of the image, by what was asked. Never taken away. */
struct late_slot {
    _Atomic uint64_t key; /* the address and what was asked; 0: free */
    uintptr_t code;       /* where to go; 0: there is none */
    uint32_t process;     /* whose recordings know its number: a forked child asks anew */
    bool refused;         /* its function is meant, and is not recorded from there on */
};

struct late_clones {
    size_t code_used;
    size_t place_count;
    _Atomic size_t places_known;
    struct clone_place *places; /* by code */
    struct late_slot *slots;
    size_t slots_used;
    bool told; /* the helper knows the image */
};

/* Each has the rest of its function, with a table for each jump of which little is known: megabytes of one that has many. */
#define LATE_CODE ((size_t)64 << 20)
#define LATE_PLACES ((size_t)1 << 20)
#define LATE_SLOTS ((size_t)1 << 16) /* a power of two */
#define LATE_MOST (LATE_SLOTS / 2)

struct clones_image {
    uintptr_t from, bias;
    _Atomic uintptr_t to; /* 0: it has gone */
    const struct clones_head *head;
    const struct clone_function *functions;
    const struct clone_fixup *fixups;
    const struct clone_place *places;
    const uint8_t *file_code;
    uint8_t *code;         /* that of the file, what hooks lead to, then room for late ones */
    size_t own_bytes;      /* without the room */
    uint32_t first, count; /* its functions' numbers */
    bool linked;           /* calls lead from clone to clone */
    const char *skeleton;
    size_t skeleton_bytes;
    char name[24];
    char *path, *functions_meant;
    uint64_t sites[CLONE_SITES_MAX]; /* of alarms, in the file */
    uint32_t site_count;
    struct late_clones late;
};

extern struct clones_image clones_images[MEMORY_IMAGES];
extern _Atomic uint32_t clones_image_count;

/* The image that has that address in its text; NULL: none. */
struct clones_image *clones_image_of(uintptr_t at);
/* Where that place is, or would be, among those that were asked for. */
struct late_slot *clones_late_slot(const struct clones_image *m, uint64_t address,
                                   enum clone_question_kind kind);
/* Before main, or where images are loaded. 0, or -errno with the text. */
RT_MUST_CHECK int clones_late_prepare(struct rt_error *e);
/* The next `count` numbers of functions. */
uint32_t clones_take_numbers(uint32_t count);

/* One that is in memory, whole, is it one? Sets what the image has of it. */
bool clones_parse(const void *file, size_t bytes, struct clones_image *out);
/* Does the fixups in `code`, which is to run at `at`. False: something is out of reach. */
bool clones_settle(const struct clones_image *m, const struct clones_image *file, uint8_t *code,
                   uintptr_t at, uint32_t first);
/* Behind the code of the file: what leads to what clones call. */
size_t clones_hooks_at(const struct clones_image *m);
#define CLONES_HOOK_BYTES 16u /* of each */
#define CLONES_HOOKS 4u

/* Called by clones (probe_clones_hooks.c): CLONE_RETURNS, CLONE_JUMPS, CLONE_LEAVES, CLONE_LOST. */
void probe_clone_returning(void) RT_HIDDEN;
void probe_clone_jumping(void) RT_HIDDEN;
void probe_clone_leaving(void) RT_HIDDEN;
void probe_clone_losing(void) RT_HIDDEN;
/* Where they ask whether there is more to do, in what may be done once more; and have done so; where their code ends. */
void probe_clone_returning_again(void) RT_HIDDEN;
void probe_clone_jumping_again(void) RT_HIDDEN;
void probe_clone_returning_decided(void) RT_HIDDEN;
void probe_clone_jumping_decided(void) RT_HIDDEN;
void probe_clone_returning_end(void) RT_HIDDEN;
void probe_clone_jumping_end(void) RT_HIDDEN;
void probe_clone_leaving_end(void) RT_HIDDEN;
void probe_clone_losing_end(void) RT_HIDDEN;

#endif
