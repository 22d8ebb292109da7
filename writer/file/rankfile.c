/* SPDX-License-Identifier: BSD-3-Clause
 * Grows a rank file under SWMR: events in whole chunks, the rest in the tail, and a proper end. */
#include "writer/file/rankfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct rt_event *rankfile_room(struct rankfile *f, size_t count)
{
    if (count > f->row_room - f->row_count) {
        size_t least = f->row_count + count;
        size_t room =
            2 * f->row_room > 2 * SCHEMA_EVENT_CHUNK ? 2 * f->row_room : 2 * SCHEMA_EVENT_CHUNK;
        room = room > least ? room : least;
        struct rt_event *grown = realloc(f->rows, room * sizeof *grown);
        if (grown == NULL)
            return NULL;
        f->rows = grown;
        f->row_room = room;
    }
    return f->rows + f->row_count;
}

int rankfile_add(struct rankfile *f, const struct rt_event *event)
{
    struct rt_event *row = rankfile_room(f, 1);
    if (row == NULL)
        return -ENOMEM;
    *row = *event;
    rankfile_added(f, 1);
    return 0;
}

/* Writes a chunk of /events. Only the last chunk of a file has fewer rows than SCHEMA_EVENT_CHUNK.
 */
static int write_chunk(struct rankfile *f, const struct rt_event *rows, size_t count)
{
    struct table *events = &f->tables[SCHEMA_EVENTS];
    uint64_t first = events->on_file;
#if H5_VERSION_GE(1, 10, 3)
    if (f->deflate == 0 && count == SCHEMA_EVENT_CHUNK)
        return table_write_chunk(events, first, count, rows, count * sizeof *rows);
    if (f->deflate != 0) {
        if (f->packer == NULL)
            f->packer = chunk_packer_make(SCHEMA_EVENT_CHUNK, sizeof *rows, f->deflate);
        if (f->packer == NULL)
            return -ENOMEM;
        const void *packed;
        size_t bytes = chunk_packer_pack(f->packer, rows, count, &packed);
        return bytes > 0 ? table_write_chunk(events, first, count, packed, bytes) : -EIO;
    }
#endif
    return table_write(events, first, rows, count);
}

/* Writes rows to /events in whole chunks. A reader that sees rows there ignores their copies in
 * /tail, by their row numbers. */
static int write_chunks(struct rankfile *f, size_t count)
{
    struct table *pieces = &f->tables[SCHEMA_PIECES];
    for (size_t done = 0; done < count;) {
        size_t n = count - done < SCHEMA_EVENT_CHUNK ? count - done : SCHEMA_EVENT_CHUNK;
        /* Before the packing, which displaces the rows from the cache. The pieces are written after
         * the events, with the next rows of other tables. */
        int rc = pieces_add(&f->piece, pieces, f->rows + done, n, f->written + done);
        if (rc == 0)
            rc = write_chunk(f, f->rows + done, n);
        if (rc != 0)
            return rc;
        done += n;
    }
    int rc = table_flush(&f->tables[SCHEMA_EVENTS]);
    if (rc != 0)
        return rc;
    f->written += count;
    f->row_count -= count;
    f->tail_count = f->tail_count > count ? f->tail_count - count : 0;
    memmove(f->rows, f->rows + count, f->row_count * sizeof *f->rows);
    /* The remaining rows keep their places in the tail, which depend only on the row number modulo
     * the chunk. */
    return 0;
}

static int write_tail(struct rankfile *f)
{
    enum { BATCH = 256 };
    struct rt_tail_row batch[BATCH];
    struct table *tail = &f->tables[SCHEMA_TAIL];
    while (f->tail_count < f->row_count) {
        uint64_t first = f->written + f->tail_count;
        size_t place = (size_t)(first % SCHEMA_EVENT_CHUNK);
        size_t n = f->row_count - f->tail_count;
        n = n < BATCH ? n : BATCH;
        n = n < SCHEMA_EVENT_CHUNK - place ? n : SCHEMA_EVENT_CHUNK - place;
        for (size_t i = 0; i < n; i++) {
            batch[i] = (struct rt_tail_row){.row = first + i, .event = f->rows[f->tail_count + i]};
            batch[i].check = schema_tail_check(&batch[i]);
        }
        int rc = table_write(tail, place, batch, n);
        if (rc != 0)
            return rc;
        f->tail_count += n;
    }
    return table_flush(tail);
}

static int flush_derived(struct rankfile *f)
{
    /* Texts come before the rows that name them. Pieces describe only events that are written
     * already. */
    static const enum schema_table order[] = {
        SCHEMA_STRINGS,  SCHEMA_STRING_INDEX, SCHEMA_PATHS,
        SCHEMA_METADATA, SCHEMA_CALIBRATION,  SCHEMA_THREADS,
        SCHEMA_COMMS,    SCHEMA_MAPS,         SCHEMA_FUNCTIONS,
        SCHEMA_LOSSES,   SCHEMA_FIRED,        SCHEMA_WINDOWS,
        SCHEMA_PIECES,   SCHEMA_MPI_PROFILE,  SCHEMA_MPI_PROFILE_TIMES};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        int rc = table_flush(&f->tables[order[i]]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

int rankfile_commit(struct rankfile *f, bool tail)
{
    size_t whole = f->row_count / SCHEMA_EVENT_CHUNK * SCHEMA_EVENT_CHUNK;
    if (whole == 0 && !tail)
        return 0;
    int rc = flush_derived(f);
    if (rc == 0 && whole > 0)
        rc = write_chunks(f, whole);
    if (rc == 0 && tail)
        rc = write_tail(f);
    return rc;
}

int64_t rankfile_bytes(const struct rankfile *f)
{
    struct stat st;
    if (fstat(f->fd, &st) != 0)
        return -errno;
    return st.st_nlink == 0 ? -ENOENT : (int64_t)st.st_size;
}

int rankfile_finish(struct rankfile *f, const char *state, const char *end_reason)
{
    int rc = flush_derived(f);
    if (rc == 0 && f->row_count > 0)
        rc = write_chunks(f, f->row_count);
    if (rc == 0)
        rc = pieces_end(&f->piece, &f->tables[SCHEMA_PIECES]);
    if (rc == 0)
        rc = table_flush(&f->tables[SCHEMA_PIECES]);
    /* Shrink the tail only once, at the end: under SWMR, the space of a shrunk dataset is not used
     * again. */
    hsize_t none = 0;
    if (rc == 0 && (H5Dset_extent(f->tables[SCHEMA_TAIL].dataset, &none) < 0 ||
                    schema_put_text(f->file, "end_reason", end_reason, SCHEMA_REASON_WIDTH) != 0 ||
                    schema_put_text(f->file, "state", state, SCHEMA_STATE_WIDTH) != 0))
        rc = -EIO;
    for (int i = 0; i < SCHEMA_TABLES; i++)
        table_close(&f->tables[i]);
    errno = 0;
    if (f->file >= 0 && H5Fclose(f->file) < 0 && rc == 0)
        rc = errno != 0 ? -errno : -EIO;
    f->file = -1;
    rankfile_abandon(f);
    return rc;
}

void rankfile_abandon(struct rankfile *f)
{
    free(f->rows);
    chunk_packer_free(f->packer);
    if (f->fd >= 0)
        (void)close(f->fd);
    f->rows = NULL;
    f->packer = NULL;
    f->fd = -1;
}
