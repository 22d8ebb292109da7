/* SPDX-License-Identifier: BSD-3-Clause
 * Maps whole files to read them. */
#ifndef REGTRACE_BASE_TOOLKIT_MAP_H
#define REGTRACE_BASE_TOOLKIT_MAP_H

#include <stddef.h>

/* Returns the contents of the regular file, *bytes long; the caller unmaps them with munmap(2).
 * Returns NULL with errno, and *bytes 0, if it cannot be mapped or is empty (EINVAL). map_path()
 * does not wait for the writer of a FIFO. */
const void *map_fd(int fd, size_t *bytes);
const void *map_path(const char *path, size_t *bytes);

#endif
