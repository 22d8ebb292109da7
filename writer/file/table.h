/* SPDX-License-Identifier: BSD-3-Clause
 * A growing dataset of rows: appended in memory, written by table_flush(), rows may be overwritten later. */
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

/* Create the dataset in `file`. 0 or -EIO. An all-zero table is closed. */
RT_MUST_CHECK int table_create(struct table *t, hid_t file, enum schema_table which,
                               unsigned deflate);
void table_close(struct table *t);

static inline uint64_t table_rows(const struct table *t)
{
    return t->on_file + t->pending_rows;
}

/* Append `count` rows (copied); the first gets number table_rows() as of before. 0 or -ENOMEM. */
RT_MUST_CHECK int table_append(struct table *t, const void *rows, size_t count);

/* Overwrite a row that was appended before. 0, -EINVAL or -EIO. */
RT_MUST_CHECK int table_update(struct table *t, uint64_t row, const void *data);

/* Write `count` rows at `first`, growing the dataset if needed, past the pending ones. 0 or -EIO. */
RT_MUST_CHECK int table_write(struct table *t, uint64_t first, const void *rows, size_t count);

/* Make everything visible to readers. 0 or -errno as the file system said it (-EIO if it did not). */
RT_MUST_CHECK int table_flush(struct table *t);

#endif
