/* SPDX-License-Identifier: BSD-3-Clause
 * The output side of a rank file: created complete, then grown under SWMR, then closed. */
#ifndef REGTRACE_WRITER_FILE_RANKFILE_H
#define REGTRACE_WRITER_FILE_RANKFILE_H

#include "writer/file/pieces.h"

/* What the root attributes say; texts are the caller's and only read during the call. */
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
    uint32_t writer_pid; /* 0: nobody (recovered) */
    uint64_t writer_start_time;
    const char *host, *boot_id, *stream;
};

#define RANKFILE_MPI_FUNCTIONS 1024u

struct rankfile {
    hid_t file;
    struct table tables[SCHEMA_TABLES];
    struct rt_event *rows; /* rows of /events that are not in it yet */
    size_t row_count, row_room;
    size_t tail_count;     /* how many of them are in /tail */
    uint64_t written;      /* rows in /events */
    struct rt_piece piece; /* the last stretch of them that is one thread's */
    int fd;                /* of the same file, for fstat */
    bool swmr;
    bool mpi_known[RANKFILE_MPI_FUNCTIONS]; /* in /functions */
};

/* Create `path` (truncating) with everything in it that SWMR wants there before: attributes (those of
 * `identity` and one per "key=value" of `metadata`, but "alarm.<i>", which becomes a row),
 * all datasets, the tables of alarms and functions. `metadata`: escaped lines as a stream holds them. Returns with
 * SWMR writing started when `swmr`. 0 or -errno with the text; the file may then exist, useless. */
RT_MUST_CHECK int rankfile_create(struct rankfile *f, const char *path,
                                  const struct rankfile_identity *identity, const char *metadata,
                                  size_t metadata_bytes, unsigned deflate, bool swmr,
                                  struct rt_error *e);

/* The number that the next row will have. */
static inline uint64_t rankfile_next_row(const struct rankfile *f)
{
    return f->written + f->row_count;
}
/* Rows that survive the death of this process. */
static inline uint64_t rankfile_committed(const struct rankfile *f)
{
    return f->written + f->tail_count;
}

/* MPI functions get their two rows in /functions when the first call of them comes. 0 or -ENOMEM. */
RT_MUST_CHECK int rankfile_add_mpi_function(struct rankfile *f, uint32_t number);

/* Append one event in memory. 0 or -ENOMEM. */
RT_MUST_CHECK int rankfile_add(struct rankfile *f, const struct rt_event *event);

/* Write out: derived tables first, so that no row of /events lacks what belongs to it, then whole chunks of /events,
 * and with `tail` the rest into /tail. 0 or -errno. */
RT_MUST_CHECK int rankfile_commit(struct rankfile *f, bool tail);

/* Attributes that change: rank, confirmation, clock offsets, totals. 0 or -EIO. */
RT_MUST_CHECK int rankfile_update(struct rankfile *f, const struct rankfile_identity *identity);

/* Bytes in the file system now; -ENOENT when the file was deleted. */
int64_t rankfile_bytes(const struct rankfile *f);

/* Append what is left to /events, empty /tail, set state and end_reason, close. 0 or -errno. Frees in any case. */
RT_MUST_CHECK int rankfile_finish(struct rankfile *f, const char *state, const char *end_reason);

/* Free without writing anything more, after a failure. */
void rankfile_abandon(struct rankfile *f);

/* Walk escaped "key=value" lines (base/format/stream.h's metadata) from a plain buffer. */
void rankfile_each_metadata(const char *text, size_t bytes,
                            void (*visit)(void *context, const char *key, const char *value),
                            void *context);

#endif
