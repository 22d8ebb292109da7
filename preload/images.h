/* SPDX-License-Identifier: BSD-3-Clause
 * What is recorded of a loaded image. */
#ifndef REGTRACE_PRELOAD_IMAGES_H
#define REGTRACE_PRELOAD_IMAGES_H

#include "preload/internal.h"

#include <link.h>

#define IMAGE_ID_TEXT 41 /* 20 bytes in hexadecimal digits */

/* Its build id (NT_GNU_BUILD_ID, ld(1) --build-id) as digits, cut at 20 bytes; "" where it has none. Inside dl_iterate_phdr. */
void image_build_id(const struct dl_phdr_info *info, char out[IMAGE_ID_TEXT]);

/* EV_IMAGE. On the calling thread; takes no lock. */
void image_record(struct recorder_thread *t, const char *path, uintptr_t base,
                  const char *build_id);

#endif
