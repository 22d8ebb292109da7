/* SPDX-License-Identifier: BSD-3-Clause
 * Chunks of /events: reads them raw, inflates them, rebuilds rows from planes of bytes, and caches
 * the last few. */
#include "writer/read/event_chunks.h"

#include "writer/file/byte_planes.h"

#include <stdlib.h>
#include <string.h>
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

/* Pieces of several threads lie in one chunk: when one is read, another is read soon after. */
enum { KEPT = 4, ROWS_MAX = 1 << 16 };

struct kept_chunk {
    uint64_t number, used; /* of the chunk; when it was last requested, 0: empty */
    struct rt_event *rows;
};

struct chunks {
    hid_t events;
    uint64_t rows; /* of a chunk */
    size_t bytes;  /* of an uncompressed chunk */
    bool shuffled, deflated;
    struct kept_chunk kept[KEPT];
    uint64_t requests;
    void *stored, *planes; /* a chunk as in the file; inflated */
    size_t room;           /* of stored */
#ifdef HAVE_LIBDEFLATE
    struct libdeflate_decompressor *inflater;
#endif
};

/* --- checks ----------------------------------------------------------------------------------- */

/* Returns true if the rows of the file are those of the C struct, byte by byte. */
static bool is_our_type(hid_t events)
{
    hid_t type = H5Dget_type(events), ours = schema_memory_type(SCHEMA_EVENTS);
    bool same = type >= 0 && ours >= 0 && H5Tget_size(type) == sizeof(struct rt_event) &&
                H5Tequal(type, ours) > 0;
    if (type >= 0)
        (void)H5Tclose(type);
    if (ours >= 0)
        (void)H5Tclose(ours);
    return same;
}

/* Returns true for no filter, shuffle, deflate, or both in this order. */
static bool are_our_filters(struct chunks *c, hid_t list)
{
    int n = H5Pget_nfilters(list);
    for (int i = 0; i < n; i++) {
        unsigned flags, values[4] = {0}, config;
        size_t count = 4;
        H5Z_filter_t f =
            H5Pget_filter2(list, (unsigned)i, &flags, &count, values, 0, NULL, &config);
        bool shuffle =
            f == H5Z_FILTER_SHUFFLE && i == 0 && count == 1 && values[0] == sizeof(struct rt_event);
        c->shuffled |= shuffle;
        c->deflated |= f == H5Z_FILTER_DEFLATE && i == n - 1;
        if (!shuffle && !(f == H5Z_FILTER_DEFLATE && i == n - 1))
            return false;
    }
    return n >= 0;
}

static bool is_our_layout(struct chunks *c)
{
    hid_t list = H5Dget_create_plist(c->events);
    unsigned options = 0;
    hsize_t rows = 0;
    bool ours = list >= 0 && H5Pget_layout(list) == H5D_CHUNKED &&
                H5Pget_chunk(list, 1, &rows) == 1 && rows > 0 && rows <= ROWS_MAX &&
                H5Pget_chunk_opts(list, &options) >= 0 && options == 0 && are_our_filters(c, list);
    if (list >= 0)
        (void)H5Pclose(list);
    c->rows = rows;
    c->bytes = (size_t)rows * sizeof(struct rt_event);
    return ours;
}

static bool prepare(struct chunks *c)
{
    if (c->deflated) {
#ifdef HAVE_LIBDEFLATE
        c->inflater = libdeflate_alloc_decompressor();
        if (c->inflater == NULL)
            return false;
#else
        return false;
#endif
    }
    c->room = c->bytes + c->bytes / 8 + 64; /* incompressible data grow a little */
    c->stored = malloc(c->room);
    c->planes = malloc(c->bytes);
    return c->stored != NULL && c->planes != NULL;
}

struct chunks *chunks_open(hid_t events)
{
    struct chunks *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->events = events;
    if (is_our_type(events) && is_our_layout(c) && prepare(c))
        return c;
    chunks_close(c);
    return NULL;
}

void chunks_close(struct chunks *c)
{
    if (c == NULL)
        return;
#ifdef HAVE_LIBDEFLATE
    if (c->inflater != NULL)
        libdeflate_free_decompressor(c->inflater);
#endif
    for (int i = 0; i < KEPT; i++)
        free(c->kept[i].rows);
    free(c->stored);
    free(c->planes);
    free(c);
}

/* --- chunks ----------------------------------------------------------------------------------- */

/* Reads a chunk to which all filters were applied into c->stored. Returns its bytes; 0: HDF5 must
 * read it. */
static size_t read_stored(struct chunks *c, uint64_t number)
{
#if H5_VERSION_GE(1, 10, 3)
    hsize_t offset = number * c->rows, bytes = 0;
    uint32_t left_out = 0;
    if (H5Dget_chunk_storage_size(c->events, &offset, &bytes) < 0 || bytes == 0 ||
        bytes > c->room || H5Dread_chunk(c->events, H5P_DEFAULT, &offset, &left_out, c->stored) < 0)
        return 0;
    return left_out == 0 ? (size_t)bytes : 0;
#else
    (void)c;
    (void)number;
    return 0;
#endif
}

/* Returns false if the result is not exactly one chunk, or if the checksum is wrong. */
static bool inflate_stored(struct chunks *c, size_t bytes, void *out)
{
#ifdef HAVE_LIBDEFLATE
    return libdeflate_zlib_decompress(c->inflater, c->stored, bytes, out, c->bytes, NULL) ==
           LIBDEFLATE_SUCCESS;
#else
    (void)c;
    (void)bytes;
    (void)out;
    return false;
#endif
}

static bool decode(struct chunks *c, uint64_t number, struct rt_event *out)
{
    size_t bytes = read_stored(c, number);
    if (bytes == 0 || (!c->deflated && bytes != c->bytes))
        return false;
    const void *whole = c->stored;
    if (c->deflated) {
        void *to = c->shuffled ? c->planes : (void *)out;
        if (!inflate_stored(c, bytes, to))
            return false;
        whole = to;
    }
    if (c->shuffled)
        byte_planes_join(whole, c->rows, c->rows, sizeof *out, out);
    else if (whole != out)
        memcpy(out, whole, c->bytes);
    return true;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Returns the rows of a chunk, or NULL if HDF5 must read them. */
static const struct rt_event *get(struct chunks *c, uint64_t number)
{
    struct kept_chunk *oldest = &c->kept[0];
    c->requests++;
    for (int i = 0; i < KEPT; i++) {
        struct kept_chunk *k = &c->kept[i];
        if (k->used != 0 && k->number == number) {
            k->used = c->requests;
            return k->rows;
        }
        if (k->used < oldest->used)
            oldest = k;
    }
    if (oldest->rows == NULL)
        oldest->rows = malloc(c->bytes);
    oldest->used = 0;
    if (oldest->rows == NULL || !decode(c, number, oldest->rows))
        return NULL;
    oldest->number = number;
    oldest->used = c->requests;
    return oldest->rows;
}

bool chunks_read(struct chunks *c, uint64_t first, uint64_t count, struct rt_event *out)
{
    while (count > 0) {
        uint64_t at = first % c->rows, n = c->rows - at < count ? c->rows - at : count;
        const struct rt_event *rows = get(c, first / c->rows);
        if (rows == NULL)
            return false;
        memcpy(out, rows + at, n * sizeof *out);
        out += n;
        first += n;
        count -= n;
    }
    return true;
}
