/* SPDX-License-Identifier: BSD-3-Clause
 * Sets of images that a part of the library has seen, so that it acts once on each. An image is
 * known by its load address and its lowest address. */
#ifndef REGTRACE_PRELOAD_IMAGES_SEEN_IMAGES_H
#define REGTRACE_PRELOAD_IMAGES_SEEN_IMAGES_H

#include "preload/images/loaded_images.h"

#define SEEN_IMAGES_MAX 4096u

/* All zero: the empty set. */
struct seen_images {
    struct seen_image {
        uintptr_t bias, from;
        bool loaded; /* of use to seen_images_forget() alone */
    } rows[SEEN_IMAGES_MAX];
    unsigned count;
    unsigned long long subs; /* dl_iterate_phdr(3): how many images had been unloaded */
};

/* Both are for visits of images_each(): the loader's lock serializes them. */
bool seen_images_have(const struct seen_images *s, const struct loaded_image *m);
/* Returns false, and adds nothing, if the set is full. */
bool seen_images_add(struct seen_images *s, const struct loaded_image *m);

/* Removes images that are not loaded any more, because another image may be loaded at their
 * addresses. Returns false if no image was unloaded since the last call. Not for signal handlers,
 * nor for visits. */
bool seen_images_forget(struct seen_images *s);

#endif
