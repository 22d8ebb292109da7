/* SPDX-License-Identifier: BSD-3-Clause
 * Reads regtrace.h5 back, for comparisons with the rank files; HDF5 runs in a child process, as in
 * reader_child.c. */
#include "writer/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROWS_MAX (1u << 20)

static const struct schema_field row_fields[] = {
    {"rank", offsetof(struct rt_index_row, rank), KIND_I32, 0},
    {"complete", offsetof(struct rt_index_row, complete), KIND_U32, 0},
    {"count_events", offsetof(struct rt_index_row, events), KIND_U64, 0},
    {"count_fired", offsetof(struct rt_index_row, fired), KIND_U64, 0},
    {"count_windows", offsetof(struct rt_index_row, windows), KIND_U64, 0},
    {"count_threads", offsetof(struct rt_index_row, threads), KIND_U64, 0},
    {"file", offsetof(struct rt_index_row, file), KIND_TEXT,
     sizeof(((struct rt_index_row *)0)->file)},
};

/* Returns the number of rows of a one-dimensional dataset, or UINT64_MAX if there is none. */
static uint64_t length_of(hid_t file, const char *name)
{
    hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    hid_t space = dataset < 0 ? -1 : H5Dget_space(dataset);
    hsize_t n = 0;
    int dimensions = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    bool good = dimensions == 1 && H5Sget_simple_extent_dims(space, &n, NULL) == 1;
    if (space >= 0)
        (void)H5Sclose(space);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    return good ? n : UINT64_MAX;
}

static bool write_all(int fd, const void *data, size_t n)
{
    const char *p = data;
    while (n > 0) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        p += w;
        n -= (size_t)w;
    }
    return true;
}

/* Returns the errno value for a file that HDF5 could not read: whether its bytes are at fault or
 * something that this process lacked. */
static int unread(void)
{
    return errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EIO ? errno : EBADMSG;
}

/* Sends the totals, whose `rows` says how many rows follow, and then the rows. Returns 0, or the
 * errno value that says why not all was sent. */
static int serve(int fd, const char *path)
{
    struct rt_index_totals head = {0};
    if (schema_start_hdf5(NULL) != 0)
        return ENOMEM;
    errno = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    hid_t ranks = file < 0 ? -1 : H5Dopen2(file, "ranks", H5P_DEFAULT);
    hid_t type = schema_compound(sizeof(struct rt_index_row), row_fields,
                                 sizeof row_fields / sizeof row_fields[0]);
    if (ranks < 0 || type < 0)
        return unread();
    head.rows = length_of(file, "ranks");
    head.events = length_of(file, "events");
    head.fired = length_of(file, "fired");
    head.windows = length_of(file, "windows");
    head.threads = length_of(file, "threads");
    if (errno == ENOMEM || head.rows > ROWS_MAX)
        return unread();
    struct rt_index_row *rows = calloc((size_t)head.rows + 1, sizeof *rows);
    if (rows == NULL)
        return ENOMEM;
    if (head.rows > 0 && H5Dread(ranks, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows) < 0)
        return unread();
    bool sent =
        write_all(fd, &head, sizeof head) && write_all(fd, rows, (size_t)head.rows * sizeof *rows);
    return sent ? 0 : EIO;
}

static bool read_all(int fd, void *data, size_t n)
{
    char *p = data;
    while (n > 0) {
        ssize_t r = read(fd, p, n);
        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            return false;
        p += r;
        n -= (size_t)r;
    }
    return true;
}

static int receive(int fd, struct rt_index_totals *totals, struct rt_index_row **rows)
{
    if (!read_all(fd, totals, sizeof *totals) || totals->rows > ROWS_MAX)
        return -EBADMSG;
    *rows = calloc((size_t)totals->rows + 1, sizeof **rows);
    if (*rows == NULL)
        return -ENOMEM;
    if (!read_all(fd, *rows, (size_t)totals->rows * sizeof **rows)) {
        free(*rows);
        *rows = NULL;
        return -EBADMSG;
    }
    for (uint64_t i = 0; i < totals->rows; i++)
        (*rows)[i].file[sizeof(*rows)[i].file - 1] = '\0';
    return 0;
}

int rt_index_read(const char *dir, struct rt_index_totals *totals, struct rt_index_row **rows,
                  struct rt_error *e)
{
    char path[PATH_MAX];
    int ends[2], status = 0;
    *rows = NULL;
    if (snprintf(path, sizeof path, "%s/regtrace.h5", dir) >= (int)sizeof path)
        return -ENAMETOOLONG;
    struct stat st = {.st_size = 0};
    if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) {
        rt_error_set(e, "%s is not a file; remove it, `regtrace report` builds it anew", path);
        return -EBADMSG;
    }
    int probe = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (probe < 0 || pipe2(ends, O_CLOEXEC) != 0) {
        int rc = -errno;
        rt_error_set(e, "cannot open %s: %s", path, strerror(-rc));
        if (probe >= 0)
            (void)close(probe);
        return rc;
    }
    (void)close(probe);
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        (void)alarm(60);
        reader_child_bound((uint64_t)st.st_size);
        _exit(serve(ends[1], path));
    }
    (void)close(ends[1]);
    int rc = child < 0 ? -EAGAIN : receive(ends[0], totals, rows);
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (rc == -EBADMSG && WIFEXITED(status) && WEXITSTATUS(status) != 0)
        rc = -WEXITSTATUS(status);
    if (rc == -EBADMSG && WIFSIGNALED(status))
        rt_error_set(e,
                     "%s is damaged: reading it crashes the HDF5 library; remove it, `regtrace "
                     "report` builds it anew",
                     path);
    else if (rc == -EBADMSG)
        rt_error_set(
            e, "%s is damaged, cut or not ours; remove it, `regtrace report` builds it anew", path);
    else if (rc != 0)
        rt_error_set(e, "cannot read %s: %s", path, strerror(-rc));
    return rc;
}
