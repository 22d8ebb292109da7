/* SPDX-License-Identifier: BSD-3-Clause
 * Rows to planes of bytes and back: eight bytes of 16 rows at a time by vectors, what is left by
 * bytes. */
#include "writer/file/byte_planes.h"

#include <string.h>

#if defined __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define HAVE_INTERLEAVE 1
#endif
#endif

/* byte_planes_split() writes whole lines of the cache, of LINE bytes: planes of a chunk are a power
 * of two apart, so that all their lines want the same few places in the cache. */
enum { LINE = 64 };

#ifdef HAVE_INTERLEAVE
typedef uint8_t v8 __attribute__((vector_size(16)));
typedef uint16_t v16 __attribute__((vector_size(16)));
typedef uint32_t v32 __attribute__((vector_size(16)));
typedef uint64_t v64 __attribute__((vector_size(16)));

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

/* --- rows to planes --------------------------------------------------------------------------- */

static inline v8 get_eight(const uint8_t *from)
{
    uint64_t bytes;
    memcpy(&bytes, from, sizeof bytes);
    return (v8)(v64){bytes, 0};
}

/* Writes 16 bytes of each of eight planes, from eight bytes of each of 16 rows. Each step takes the
 * bytes of two vectors in turn. Their rows are 8, then 4, 2 and 1 apart, so that a vector ends with
 * one byte of each row, in order. */
static inline void split_16(const uint8_t *from, size_t row_bytes, uint8_t *to, size_t plane_bytes)
{
    v8 a[8], b[8];
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++)
        a[i] = FIRST8(get_eight(from + i * row_bytes), get_eight(from + (i + 8) * row_bytes));
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) { /* b[0..3]: the bytes 0 to 3 of the rows, b[4..7]: 4 to 7 */
        b[i] = FIRST8(a[i], a[i + 4]);
        b[i + 4] = LAST8(a[i], a[i + 4]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 4; i++) { /* 0, 1, 4 and 5, which have their partners 2 further on */
        unsigned k = i + (i & 2);
        a[k] = FIRST8(b[k], b[k + 2]);
        a[k + 2] = LAST8(b[k], b[k + 2]);
    }
#pragma GCC unroll 4
    for (unsigned i = 0; i < 8; i += 2) {
        v8 even = FIRST8(a[i], a[i + 1]), odd = LAST8(a[i], a[i + 1]);
        memcpy(to + i * plane_bytes, &even, sizeof even);
        memcpy(to + (i + 1) * plane_bytes, &odd, sizeof odd);
    }
}

/* Returns the number of rows done, from the first on. */
static size_t split_vectors(const uint8_t *rows, size_t count, size_t row_bytes, uint8_t *planes,
                            size_t plane_bytes)
{
    uint8_t lines[8][LINE] __attribute__((aligned(LINE)));
    size_t row = 0;
    for (; row + LINE <= count; row += LINE)
        for (size_t byte = 0; byte < row_bytes; byte += 8) {
            uint8_t *to = planes + byte * plane_bytes + row;
            for (size_t done = 0; done < LINE; done += 16)
                split_16(rows + (row + done) * row_bytes + byte, row_bytes, lines[0] + done, LINE);
            for (size_t i = 0; i < 8; i++)
                memcpy(to + i * plane_bytes, lines[i], LINE);
        }
    for (; row + 16 <= count; row += 16)
        for (size_t byte = 0; byte < row_bytes; byte += 8)
            split_16(rows + row * row_bytes + byte, row_bytes, planes + byte * plane_bytes + row,
                     plane_bytes);
    return row;
}

/* --- planes to rows --------------------------------------------------------------------------- */

/* Writes eight bytes of each of two rows. */
static inline void put_two(uint8_t *to, size_t row_bytes, v32 two)
{
    memcpy(to, &two, 8);
    memcpy(to + row_bytes, (const uint8_t *)&two + 8, 8);
}

static inline void put_four(uint8_t *to, size_t row_bytes, v16 low, v16 high)
{
    put_two(to, row_bytes, FIRST32((v32)low, (v32)high));
    put_two(to + 2 * row_bytes, row_bytes, LAST32((v32)low, (v32)high));
}

/* Writes eight bytes of each of 16 rows, from eight planes. */
static inline void join_16(const uint8_t *planes, size_t plane_bytes, uint8_t *to, size_t row_bytes)
{
    v8 p[8];
    for (unsigned i = 0; i < 8; i++)
        memcpy(&p[i], planes + i * plane_bytes, sizeof p[i]);
    v16 a = (v16)FIRST8(p[0], p[1]), b = (v16)FIRST8(p[2], p[3]), c = (v16)FIRST8(p[4], p[5]),
        d = (v16)FIRST8(p[6], p[7]);
    put_four(to, row_bytes, FIRST16(a, b), FIRST16(c, d));
    put_four(to + 4 * row_bytes, row_bytes, LAST16(a, b), LAST16(c, d));
    a = (v16)LAST8(p[0], p[1]), b = (v16)LAST8(p[2], p[3]), c = (v16)LAST8(p[4], p[5]),
    d = (v16)LAST8(p[6], p[7]);
    put_four(to + 8 * row_bytes, row_bytes, FIRST16(a, b), FIRST16(c, d));
    put_four(to + 12 * row_bytes, row_bytes, LAST16(a, b), LAST16(c, d));
}

static inline size_t join_vectors(const uint8_t *planes, size_t plane_bytes, size_t count,
                                  size_t row_bytes, uint8_t *rows)
{
    size_t row = 0;
    for (; row + 16 <= count; row += 16)
        for (size_t byte = 0; byte < row_bytes; byte += 8)
            join_16(planes + byte * plane_bytes + row, plane_bytes, rows + row * row_bytes + byte,
                    row_bytes);
    return row;
}
#endif

/* --- both ------------------------------------------------------------------------------------- */

void byte_planes_split(const void *rows, size_t count, size_t row_bytes, uint8_t *planes,
                       size_t plane_bytes)
{
    const uint8_t *from = rows;
    size_t begin = 0;
#ifdef HAVE_INTERLEAVE
    if (row_bytes % 8 == 0)
        begin = split_vectors(from, count, row_bytes, planes, plane_bytes);
#endif
    for (size_t row = begin; row < count; row++)
        for (size_t byte = 0; byte < row_bytes; byte++)
            planes[byte * plane_bytes + row] = from[row * row_bytes + byte];
    if (count < plane_bytes)
        for (size_t byte = 0; byte < row_bytes; byte++)
            memset(planes + byte * plane_bytes + count, 0, plane_bytes - count);
}

void byte_planes_join(const uint8_t *planes, size_t plane_bytes, size_t count, size_t row_bytes,
                      void *rows)
{
    uint8_t *to = rows;
    size_t begin = 0;
#ifdef HAVE_INTERLEAVE
    if (row_bytes % 8 == 0)
        begin = join_vectors(planes, plane_bytes, count, row_bytes, to);
#endif
    for (size_t row = begin; row < count; row++)
        for (size_t byte = 0; byte < row_bytes; byte++)
            to[row * row_bytes + byte] = planes[byte * plane_bytes + row];
}
