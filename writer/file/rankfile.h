/* SPDX-License-Identifier: BSD-3-Clause
 * The output side of a rank file: created complete, then grown under SWMR, then closed. */
#ifndef REGTRACE_WRITER_FILE_RANKFILE_H
#define REGTRACE_WRITER_FILE_RANKFILE_H

#include "writer/file/chunk_packer.h"
#include "writer/file/pieces.h"

/* Root attributes of a rank file. The caller owns the texts; they are read during the call only. */
struct rankfile_identity {
    int32_t rank, size;
    int32_t confirmed;
    uint32_t pid, parent_pid, uid;
    uint64_t pid_start_time;
    uint32_t clock_source;
    double nominal_ns_per_tick, clock_drift;
    int64_t clock_offset_ns, clock_error_ns;
    uint64_t fired_total, ignored_total;
    uint32_t windows_opened;
    uint32_t writer_pid; /* 0: none (recovered file) */
    uint64_t writer_start_time;
    const char *host, *boot_id, *stream;
};

#define RANKFILE_MPI_FUNCTIONS 1024u

struct rankfile {
    hid_t file;
    struct table tables[SCHEMA_TABLES];
    struct rt_event *rows; /* rows that are not in /events yet */
    size_t row_count, row_room;
    size_t tail_count;           /* number of these rows that are in /tail */
    uint64_t written;            /* rows in /events */
    unsigned deflate;            /* level; 0: /events is not compressed */
    struct chunk_packer *packer; /* NULL: no chunk was compressed yet */
    struct rt_piece piece;       /* the last piece of /events, which may still grow */
    int fd;                      /* of the same file, for fstat */
    bool swmr;
    bool mpi_known[RANKFILE_MPI_FUNCTIONS]; /* functions that are in /functions */
};

/* Creates `path`, or truncates it, with all that SWMR needs before it starts: all datasets, the
 * tables of alarms and functions, and the attributes. These are those of `identity`, and one for
 * each "key=value" of `metadata` except "alarm.<i>", which becomes a row. `metadata` holds escaped
 * lines as a stream does. Starts SWMR writing if `swmr`. Returns 0, or -errno with the text in *e;
 * an unusable file may then exist. */
RT_MUST_CHECK int rankfile_create(struct rankfile *f, const char *path,
                                  const struct rankfile_identity *identity, const char *metadata,
                                  size_t metadata_bytes, unsigned deflate, bool swmr,
                                  struct rt_error *e);

/* Returns the number that the next row will have. */
static inline uint64_t rankfile_next_row(const struct rankfile *f)
{
    return f->written + f->row_count;
}
/* Returns the number of rows that survive the death of this process. */
static inline uint64_t rankfile_committed(const struct rankfile *f)
{
    return f->written + f->tail_count;
}

/* Adds the two rows of an MPI function to /functions, at the first call of that function. Returns 0
 * or -ENOMEM. */
RT_MUST_CHECK int rankfile_add_mpi_function(struct rankfile *f, uint32_t number);

/* Returns room for `count` rows after the last one, or NULL if there is no memory. The caller
 * writes rows there, and rankfile_added() appends them. */
struct rt_event *rankfile_room(struct rankfile *f, size_t count) RT_MUST_CHECK;
static inline void rankfile_added(struct rankfile *f, size_t count)
{
    f->row_count += count;
}

/* Appends one event, in memory. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int rankfile_add(struct rankfile *f, const struct rt_event *event);

/* Writes to the file: first the derived tables, so that no row of /events lacks what belongs to it,
 * then whole chunks of /events and, with `tail`, the rest into /tail. Returns 0 or -errno. */
RT_MUST_CHECK int rankfile_commit(struct rankfile *f, bool tail);

/* Writes the attributes that change: rank, confirmation, clock offsets, totals. Returns 0 or
 * -EIO. */
RT_MUST_CHECK int rankfile_update(struct rankfile *f, const struct rankfile_identity *identity);

/* Returns the bytes of the file now, or -errno: -ENOENT if the file was deleted. */
int64_t rankfile_bytes(const struct rankfile *f);

/* Appends the remaining rows to /events, empties /tail, sets state and end_reason, and closes the
 * file. Returns 0 or -errno. Frees the memory in both cases. */
RT_MUST_CHECK int rankfile_finish(struct rankfile *f, const char *state, const char *end_reason);

/* Frees the memory without writing anything more, after a failure. */
void rankfile_abandon(struct rankfile *f);

/* Calls visit() for each escaped "key=value" line (the metadata of base/format/stream.h) of a
 * buffer. Returns 0, or -ENOMEM before any line. */
int rankfile_each_metadata(const char *text, size_t bytes,
                           void (*visit)(void *context, const char *key, const char *value),
                           void *context);

#endif
