/* SPDX-License-Identifier: BSD-3-Clause
 * Records of the loaded images, so that readers can resolve addresses. */
#ifndef REGTRACE_PRELOAD_IMAGES_IMAGE_RECORDS_H
#define REGTRACE_PRELOAD_IMAGES_IMAGE_RECORDS_H

#include "preload/images/loaded_images.h"
#include "preload/thread.h"

/* Finds the segment of our code, which includes the PLT of our calls. Returns false if there is
 * none. */
bool images_own_code(uintptr_t *from, uintptr_t *to);

/* Notes the images that are loaded now, if the run records addresses (of samples or functions). The
 * constructor calls it once the options are known. */
void images_note_all(void);
/* Does the run record addresses? Then images are noted, and later ones must not be missed. */
bool images_are_noted(void);
/* Notes an image that was loaded later, if the run records addresses. Not for signal handlers. */
void image_note(const char *path, uintptr_t base, const char *build_id);
/* Emits EV_IMAGE for this image, if the thread records. If images are noted, this one has been
 * noted before. Takes no lock. */
void image_record(struct recorder_thread *t, const char *path, uintptr_t base,
                  const char *build_id);
/* Emits EV_IMAGE for the noted images that this process's stream does not have yet. Called when a
 * window of the thread has opened. Takes no lock. */
void images_record(struct recorder_thread *t);
void images_window_opened(struct recorder_thread *t, struct preload_thread *pt);
/* In the child of fork: its stream has no images. */
void images_forked(void);

#endif
