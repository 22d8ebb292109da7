/* SPDX-License-Identifier: BSD-3-Clause
 * Chunks of /events: reads them raw, inflates them, rebuilds rows from planes of bytes, and caches
 * the last few. */
#include "writer/read/event_chunks.h"

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

/* Undoes the shuffle filter for one row. The planes hold the first bytes of all rows, then all
 * second bytes, ... */
static inline void gather_row(const struct chunks *c, const uint8_t *planes, uint64_t row,
                              struct rt_event *out)
{
    uint8_t *to = (uint8_t *)&out[row];
    for (size_t i = 0; i < sizeof *out; i++)
        to[i] = planes[i * c->rows + row];
}

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAVE_INTERLEAVE 1
#endif
#endif

#ifdef HAVE_INTERLEAVE
typedef uint8_t v8 __attribute__((vector_size(16)));
typedef uint16_t v16 __attribute__((vector_size(16)));
typedef uint32_t v32 __attribute__((vector_size(16)));

/* Take the elements of two vectors in turn: FIRST of their first halves, LAST of their second
 * halves. */
#define FIRST8(a, b)                                                                               \
    __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define LAST8(a, b)                                                                                \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#define FIRST16(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define LAST16(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#define FIRST32(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define LAST32(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)

/* Writes eight bytes of each of two rows. */
static inline void put_two(uint8_t *to, v32 two)
{
    memcpy(to, &two, 8);
    memcpy(to + sizeof(struct rt_event), (const uint8_t *)&two + 8, 8);
}

static inline void put_four(uint8_t *to, v16 low, v16 high)
{
    put_two(to, FIRST32((v32)low, (v32)high));
    put_two(to + 2 * sizeof(struct rt_event), LAST32((v32)low, (v32)high));
}

/* Writes eight bytes of each of 16 rows, from eight planes. */
static inline void gather_16(const uint8_t *planes, uint64_t stride, uint8_t *to)
{
    v8 p[8];
    for (unsigned i = 0; i < 8; i++)
        memcpy(&p[i], planes + i * stride, sizeof p[i]);
    v16 a = (v16)FIRST8(p[0], p[1]), b = (v16)FIRST8(p[2], p[3]), c = (v16)FIRST8(p[4], p[5]),
        d = (v16)FIRST8(p[6], p[7]);
    put_four(to, FIRST16(a, b), FIRST16(c, d));
    put_four(to + 4 * sizeof(struct rt_event), LAST16(a, b), LAST16(c, d));
    a = (v16)LAST8(p[0], p[1]), b = (v16)LAST8(p[2], p[3]), c = (v16)LAST8(p[4], p[5]),
    d = (v16)LAST8(p[6], p[7]);
    put_four(to + 8 * sizeof(struct rt_event), FIRST16(a, b), FIRST16(c, d));
    put_four(to + 12 * sizeof(struct rt_event), LAST16(a, b), LAST16(c, d));
}
#endif

static void gather(const struct chunks *c, const uint8_t *planes, struct rt_event *out)
{
    uint64_t row = 0;
#ifdef HAVE_INTERLEAVE
    _Static_assert(sizeof(struct rt_event) % 8 == 0, "eight planes at a time");
    for (; row + 16 <= c->rows; row += 16)
        for (size_t i = 0; i < sizeof *out; i += 8)
            gather_16(planes + i * c->rows + row, c->rows, (uint8_t *)&out[row] + i);
#endif
    for (; row < c->rows; row++)
        gather_row(c, planes, row, out);
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
        gather(c, whole, out);
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
