/* SPDX-License-Identifier: BSD-3-Clause
 * Opens and maps regular files to read them. */
#include "base/toolkit/map.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int open_regular(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
        return fd;
    (void)close(fd);
    errno = EINVAL;
    return -1;
}

FILE *fopen_regular(const char *path)
{
    int fd = open_regular(path);
    FILE *f = fd >= 0 ? fdopen(fd, "r") : NULL;
    if (f == NULL && fd >= 0)
        (void)close(fd);
    return f;
}

const void *map_fd(int fd, size_t *bytes)
{
    struct stat st;
    *bytes = 0;
    if (fstat(fd, &st) != 0)
        return NULL;
    if (!S_ISREG(st.st_mode) || st.st_size <= 0) {
        errno = EINVAL;
        return NULL;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return NULL;
    *bytes = (size_t)st.st_size;
    return p;
}

const void *map_path(const char *path, size_t *bytes)
{
    int fd = open_regular(path);
    *bytes = 0;
    if (fd < 0)
        return NULL;
    const void *p = map_fd(fd, bytes);
    int error = errno;
    (void)close(fd);
    errno = error;
    return p;
}
