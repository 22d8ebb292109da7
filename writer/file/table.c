/* SPDX-License-Identifier: BSD-3-Clause
 * Appends to, overwrites and flushes one dataset. */
#include "writer/file/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* HDF5 does not return an error number; the errno of the system call usually survives HDF5's
 * unwinding. */
static int io_error(void)
{
    return errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == ENOMEM || errno == EROFS
               ? -errno
               : -EIO;
}

int table_create(struct table *t, hid_t file, enum schema_table which, unsigned deflate)
{
    errno = 0;
    *t = (struct table){.row_bytes = schema_tables[which].row_bytes};
    t->dataset = schema_create_dataset(file, which, deflate);
    t->type = schema_memory_type(which);
    if (t->dataset >= 0 && t->type >= 0)
        return 0;
    int rc = io_error();
    table_close(t);
    return rc;
}

void table_close(struct table *t)
{
    if (t->row_bytes == 0)
        return;
    if (t->dataset >= 0)
        (void)H5Dclose(t->dataset);
    if (t->type >= 0)
        (void)H5Tclose(t->type);
    free(t->pending);
    *t = (struct table){0};
}

int table_append(struct table *t, const void *rows, size_t count)
{
    if (count == 0)
        return 0;
    if (t->pending_rows + count > t->room) {
        size_t room = 2 * (t->pending_rows + count) + 64;
        unsigned char *grown = realloc(t->pending, room * t->row_bytes);
        if (grown == NULL)
            return -ENOMEM;
        t->pending = grown;
        t->room = room;
    }
    memcpy(t->pending + t->pending_rows * t->row_bytes, rows, count * t->row_bytes);
    t->pending_rows += count;
    return 0;
}

int table_update(struct table *t, uint64_t row, const void *data)
{
    if (row >= table_rows(t))
        return -EINVAL;
    if (row < t->on_file)
        return table_write(t, row, data, 1);
    memcpy(t->pending + (row - t->on_file) * t->row_bytes, data, t->row_bytes);
    return 0;
}

static bool grow(struct table *t, hsize_t rows)
{
    if (rows > t->on_file) {
        if (H5Dset_extent(t->dataset, &rows) < 0)
            return false;
        t->on_file = rows;
    }
    return true;
}

int table_write(struct table *t, uint64_t first, const void *rows, size_t count)
{
    hsize_t start = first, n = count;
    errno = 0;
    if (!grow(t, first + count))
        return io_error();
    hid_t space = H5Dget_space(t->dataset);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    herr_t bad = -1;
    if (space >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0)
        bad = H5Dwrite(t->dataset, t->type, memory, space, H5P_DEFAULT, rows);
    int rc = bad < 0 ? io_error() : 0;
    if (memory >= 0)
        (void)H5Sclose(memory);
    if (space >= 0)
        (void)H5Sclose(space);
    t->dirty = true;
    return rc;
}

#if H5_VERSION_GE(1, 10, 3)
int table_write_chunk(struct table *t, uint64_t first, size_t count, const void *packed,
                      size_t bytes)
{
    hsize_t start = first;
    errno = 0;
    if (!grow(t, first + count) ||
        H5Dwrite_chunk(t->dataset, H5P_DEFAULT, 0, &start, bytes, packed) < 0)
        return io_error();
    t->dirty = true;
    return 0;
}
#endif

int table_flush(struct table *t)
{
    if (t->pending_rows > 0) {
        size_t count = t->pending_rows;
        t->pending_rows = 0;
        int rc = table_write(t, t->on_file, t->pending, count);
        if (rc != 0)
            return rc;
        if (t->room > 4096) { /* after a burst: free the memory */
            free(t->pending);
            t->pending = NULL;
            t->room = 0;
        }
    }
    if (!t->dirty)
        return 0;
    errno = 0;
    if (H5Dflush(t->dataset) < 0)
        return io_error();
    t->dirty = false;
    return 0;
}
