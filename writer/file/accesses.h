/* SPDX-License-Identifier: BSD-3-Clause
 * What the files that make an accesses.h5 share. Of writer/ alone. */
#ifndef REGTRACE_WRITER_FILE_ACCESSES_H
#define REGTRACE_WRITER_FILE_ACCESSES_H

#include "writer/file/channels.h"

#include <limits.h>
#include <pthread.h>

enum { ACCESSES_CHUNK = 32768 }; /* rows: 768 KiB, which fit into the cache that readers have */

struct rt_accesses {
    char path[PATH_MAX];
    hid_t file, group, type;
    unsigned deflate;
    pthread_mutex_t lock; /* of HDF5 */
    struct rt_accesses_rows **rows;
    size_t count;
};

struct rt_accesses_rows {
    struct rt_accesses *accesses;
    char name[64];
    hid_t dataset;
    uint64_t on_file; /* in whole chunks */
    size_t pending;
    struct accesses_record *rows; /* NULL: none */
    size_t room;
    uint8_t *planes, *packed; /* of a chunk that is compressed; NULL: none is */
};

/* The type of a row, in memory and in the file. */
hid_t accesses_type(void);
/* A chunk of exactly ACCESSES_CHUNK rows behind those on file. Takes the lock. */
RT_MUST_CHECK int accesses_put_chunk(struct rt_accesses_rows *r, struct rt_error *e);
/* /accesses, the tables and the attributes. */
RT_MUST_CHECK int accesses_put_tables(struct rt_accesses *a, const struct rt_accesses_about *about,
                                      struct rt_error *e);

#endif
