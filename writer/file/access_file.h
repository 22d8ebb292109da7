/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the files that write an accesses.h5; for writer/ only. */
#ifndef REGTRACE_WRITER_FILE_ACCESS_FILE_H
#define REGTRACE_WRITER_FILE_ACCESS_FILE_H

#include "writer/file/channels.h"
#include "writer/file/chunk_packer.h"

#include <limits.h>
#include <pthread.h>

enum { ACCESSES_CHUNK = 32768 }; /* rows: 768 KiB, which fit into the cache of a reader */

struct rt_accesses {
    char path[PATH_MAX];
    hid_t file, group, type;
    unsigned deflate;
    pthread_mutex_t lock; /* held for calls of HDF5 */
    struct rt_accesses_rows **rows;
    size_t count;
};

struct rt_accesses_rows {
    struct rt_accesses *accesses;
    char name[64];
    hid_t dataset;
    uint64_t on_file; /* rows in the file, in whole chunks */
    size_t pending;
    struct accesses_record *rows; /* NULL: none */
    size_t room;
    struct chunk_packer *packer; /* NULL: not allocated */
};

/* Returns the type of a row, in memory and in the file; negative on failure. */
hid_t accesses_type(void);
/* Appends the pending rows as a chunk of exactly ACCESSES_CHUNK rows. Takes the lock. */
RT_MUST_CHECK int accesses_put_chunk(struct rt_accesses_rows *r, struct rt_error *e);
/* Writes /accesses, the tables and the attributes. */
RT_MUST_CHECK int accesses_put_tables(struct rt_accesses *a, const struct rt_accesses_about *about,
                                      struct rt_error *e);

#endif
