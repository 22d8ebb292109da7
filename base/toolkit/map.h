/* SPDX-License-Identifier: BSD-3-Clause
 * Opens and maps regular files to read them. None of these waits for the writer of a FIFO. */
#ifndef REGTRACE_BASE_TOOLKIT_MAP_H
#define REGTRACE_BASE_TOOLKIT_MAP_H

#include <stddef.h>
#include <stdio.h>

/* Returns a descriptor of the regular file, or -1 with errno (EINVAL: it is of another kind). */
int open_regular(const char *path);
/* The same as a stream; NULL with errno. */
FILE *fopen_regular(const char *path);

/* Returns the contents of the regular file, *bytes long; the caller unmaps them with munmap(2).
 * Returns NULL with errno, and *bytes 0, if it cannot be mapped or is empty (EINVAL). */
const void *map_fd(int fd, size_t *bytes);
const void *map_path(const char *path, size_t *bytes);

#endif
