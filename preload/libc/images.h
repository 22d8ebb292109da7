/* SPDX-License-Identifier: BSD-3-Clause
 * What is recorded of loaded images. */
#ifndef REGTRACE_PRELOAD_LIBC_IMAGES_H
#define REGTRACE_PRELOAD_LIBC_IMAGES_H

#include "preload/internal.h"

#include <link.h>

#define IMAGE_ID_TEXT 41 /* 20 bytes in hexadecimal digits */

/* Its build id (NT_GNU_BUILD_ID, ld(1) --build-id) as digits, cut at 20 bytes; "" where it has none. Inside dl_iterate_phdr. */
void image_build_id(const struct dl_phdr_info *info, char out[IMAGE_ID_TEXT]);

/* Was the image compiled with -finstrument-functions? Then its functions report their entries. */
bool image_is_instrumented(const struct dl_phdr_info *info);

/* The segment of our code, our calls through its PLT included. False: not found. */
bool images_own_code(uintptr_t *from, uintptr_t *to);

/* --- the images of this process, for those who read addresses: where samples or functions are recorded -------- */

/* Notes those that are there, if addresses will be recorded. In the constructor, once the options are known. */
void images_note_all(void);
/* Are they kept? Then later ones must not be missed. */
bool images_are_noted(void);
/* One that came later: kept if they are. Not from handlers. */
void image_note(const char *path, uintptr_t base, const char *build_id);
/* EV_IMAGE of this one, if the thread records; it has been noted, if they are. Takes no lock. */
void image_record(struct recorder_thread *t, const char *path, uintptr_t base,
                  const char *build_id);
/* EV_IMAGE for those that this process's stream does not have yet: a window of the thread has opened. Takes no lock. */
void images_record(struct recorder_thread *t);
/* In the child of fork: its stream has none. */
void images_forked(void);

#endif
