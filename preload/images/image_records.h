/* SPDX-License-Identifier: BSD-3-Clause
 * Records of the loaded images, so that readers can resolve addresses. */
#ifndef REGTRACE_PRELOAD_IMAGES_IMAGE_RECORDS_H
#define REGTRACE_PRELOAD_IMAGES_IMAGE_RECORDS_H

#include "preload/images/loaded_images.h"
#include "preload/thread.h"

/* Finds the segment of our code, which includes the PLT of our calls. Returns false if there is
 * none. */
bool images_own_code(uintptr_t *from, uintptr_t *to);

/* Facts about an image that outlive the walk over the images. */
struct image_facts {
    uintptr_t base, from, to; /* from, to: all its segments */
    const char *path, *build_id;
};

/* Notes the images that are loaded now. The constructor calls it once the options are known. */
void images_note_all(void);
/* Does the run record addresses of samples or functions? Then it records images. */
bool images_are_recorded(void);
/* Notes an image that was loaded later. Not for signal handlers. */
void image_note(const struct image_facts *m);
/* Notes images whose load nobody has noticed, and makes the stream forget call paths that lie in
 * them, which have no image. Returns false if there are none. Not for signal handlers. */
bool images_note_missed(void);
/* Some image has been unloaded: its addresses mean nothing any more. Calls forget() with a function
 * that knows them. Not for signal handlers. */
void images_end_gone(void (*forget)(bool (*gone)(uintptr_t address)));
/* Returns true and facts about the image that has this address. Async-signal-safe. */
bool image_of(uintptr_t address, struct image_facts *out);
/* Emits EV_IMAGE for this image, if the thread records. If images are recorded, this one has been
 * noted before. Takes no lock. */
void image_record(struct recorder_thread *t, const struct image_facts *m);
/* If images are recorded, emits EV_IMAGE for the noted images that this process's stream does not
 * have yet. Takes no lock. */
void images_record(struct recorder_thread *t);
/* Called when a window of the thread has opened. */
void images_window_opened(struct recorder_thread *t, struct preload_thread *pt);
/* In the child of fork: its stream has no images. */
void images_forked(void);

#endif
