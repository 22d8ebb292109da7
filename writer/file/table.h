/* SPDX-License-Identifier: BSD-3-Clause
 * A growing dataset of rows: appended in memory, written by table_flush(); rows may be overwritten
 * later. */
#ifndef REGTRACE_WRITER_FILE_TABLE_H
#define REGTRACE_WRITER_FILE_TABLE_H

#include "writer/file/schema.h"

struct table {
    hid_t dataset, type;
    size_t row_bytes;
    uint64_t on_file;       /* rows written */
    unsigned char *pending; /* rows not written yet */
    size_t pending_rows, room;
    bool dirty; /* written since the last flush */
};

/* Creates the dataset in `file`. Returns 0 or -errno (-EIO if the file system gave none). A closed
 * table is all zeros. */
RT_MUST_CHECK int table_create(struct table *t, hid_t file, enum schema_table which,
                               unsigned deflate);
void table_close(struct table *t);

static inline uint64_t table_rows(const struct table *t)
{
    return t->on_file + t->pending_rows;
}

/* Appends copies of `count` rows. The first row gets the number that table_rows() returned before.
 * Returns 0 or -ENOMEM. */
RT_MUST_CHECK int table_append(struct table *t, const void *rows, size_t count);

/* Overwrites a row that was appended before. Returns 0, -EINVAL if there is no such row, or -errno
 * of the file system. */
RT_MUST_CHECK int table_update(struct table *t, uint64_t row, const void *data);

/* Writes `count` rows from row `first` on directly, not through the pending rows. Grows the dataset
 * if needed. Returns 0 or -errno (-EIO if the file system gave none). */
RT_MUST_CHECK int table_write(struct table *t, uint64_t first, const void *rows, size_t count);

#if H5_VERSION_GE(1, 10, 3)
/* Writes a chunk that is packed as the dataset's filters would pack it. `first`: its first row;
 * `count`: its rows, with which the dataset ends. Returns 0 or -errno (-EIO if the file system gave
 * none). */
RT_MUST_CHECK int table_write_chunk(struct table *t, uint64_t first, size_t count,
                                    const void *packed, size_t bytes);
#endif

/* Makes everything visible to readers. Returns 0 or -errno (-EIO if the file system gave none). */
RT_MUST_CHECK int table_flush(struct table *t);

#endif
