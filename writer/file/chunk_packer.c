/* SPDX-License-Identifier: BSD-3-Clause
 * Packs chunks: rows to planes of bytes, and these into a zlib stream by ISA-L, libdeflate or
 * zlib. ISA-L does not get planes in which it would find nothing. */
#include "writer/file/chunk_packer.h"

#include "writer/file/byte_planes.h"
#include "writer/writer.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#ifdef HAVE_ISAL
#include <dlfcn.h>
#include <endian.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#endif
#ifdef HAVE_LIBDEFLATE
#include <libdeflate.h>
#endif

struct chunk_packer {
    const struct method *method;
    unsigned level;
    size_t rows, row_bytes;
    size_t bytes, room; /* of planes, of packed */
    uint8_t *planes, *packed;
    void *state;         /* of the method */
    uint8_t *more_state; /* ISA-L: hash table and tokens */
    bool *random;        /* ISA-L: by plane, whether it is stored as it is */
    size_t chunks;       /* ISA-L: packed so far */
};

struct method {
    const char *name;
    /* Allocates the state. Returns false if there is no memory. */
    bool (*begin)(struct chunk_packer *p);
    /* Compresses all planes. Returns the bytes at p->packed, or 0 on failure. */
    size_t (*pack)(struct chunk_packer *p);
    void (*end)(struct chunk_packer *p);
};

/* --- ISA-L ------------------------------------------------------------------------------------ */

#ifdef HAVE_ISAL
/* Tokens, of 4 bytes, that ISA-L collects before it makes codes for them. With half as many, events
 * took up to a tenth longer and 1 to 3 % less space. More change nothing. */
enum { ISAL_TOKENS = 8192 };
enum { ISAL_BYTES = ISAL_DEF_LVL1_REQ + ISAL_TOKENS * ISAL_DEF_LVL1_TOKEN_SIZE };

/* Debian has no static library. deflate is NULL if the library cannot be loaded. */
static struct {
    void (*init)(struct isal_zstream *stream);
    int (*deflate)(struct isal_zstream *stream);
    uint32_t (*adler32)(uint32_t sum, const unsigned char *bytes, uint64_t count);
} isal;

static void load_isal(void)
{
    void *library = dlopen("libisal.so.2", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return;
    *(void **)&isal.init = dlsym(library, "isal_deflate_stateless_init");
    *(void **)&isal.adler32 = dlsym(library, "isal_adler32");
    *(void **)&isal.deflate = dlsym(library, "isal_deflate_stateless");
    if (isal.init == NULL || isal.adler32 == NULL)
        isal.deflate = NULL; /* the library stays loaded, and is not used */
}

static bool has_isal(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    return pthread_once(&once, load_isal) == 0 && isal.deflate != NULL;
}

static bool isal_begin(struct chunk_packer *p)
{
    p->state = malloc(sizeof(struct isal_zstream));
    p->more_state = malloc(ISAL_BYTES);
    p->random = calloc(p->row_bytes, sizeof *p->random);
    if (p->state == NULL || p->more_state == NULL || p->random == NULL)
        return false;
    /* The buffer after this is for streams that come in parts. Its pages stay untouched. */
    memset(p->state, 0, offsetof(struct isal_zstream, internal_state.buffer));
    return true;
}

/* Returns the checksum of a zlib stream that goes on with these bytes. libdeflate takes half the
 * time of ISA-L for it. */
static uint32_t checksum(uint32_t sum, const uint8_t *bytes, size_t count)
{
#ifdef HAVE_LIBDEFLATE
    return libdeflate_adler32(sum, bytes, count);
#else
    return isal.adler32(sum, bytes, count);
#endif
}

/* Writes blocks, none of which is the last one, that end with a whole byte. Returns their bytes, or
 * 0 on failure. */
static size_t isal_blocks(struct chunk_packer *p, const uint8_t *bytes, size_t count, uint8_t *to,
                          size_t room)
{
    struct isal_zstream *s = p->state;
    isal.init(s);
    s->level = 1;
    s->level_buf = p->more_state;
    s->level_buf_size = ISAL_BYTES;
    s->flush = FULL_FLUSH;
    s->next_in = (uint8_t *)bytes;
    s->avail_in = (uint32_t)count;
    s->next_out = to;
    s->avail_out = (uint32_t)room;
    return isal.deflate(s) == COMP_OK && s->avail_in == 0 ? s->total_out : 0;
}

/* Bytes of planes. Planes of fewer ones are not worth blocks of their own. */
enum { PLANE_LEAST = 1024, TRIAL = PLANE_LEAST };

/* Returns whether ISA-L would find nothing in a plane. Most planes have few values, and need no
 * trial. `to`: room for the trial. */
static bool is_random(struct chunk_packer *p, const uint8_t *plane, uint8_t *to, size_t room)
{
    enum { SAMPLES = 256, FEW = 128 }; /* 162 values are usual if all are equally likely */
    bool seen[256] = {false};
    if (p->rows < PLANE_LEAST)
        return false;
    size_t values = 0, step = (p->rows / SAMPLES) | 1;
    for (size_t i = 0; i < SAMPLES && i * step < p->rows; i++) {
        values += !seen[plane[i * step]];
        seen[plane[i * step]] = true;
    }
    return values >= FEW && isal_blocks(p, plane, TRIAL, to, room) > TRIAL - TRIAL / 32;
}

/* ISA-L takes longest for planes in which it finds nothing, as the lowest byte of clocks. Looks at
 * all planes of the first chunk, then at a few of each: they seldom change. */
static void find_random(struct chunk_packer *p)
{
    enum { EVERY = 16 };
    for (size_t plane = 0; plane < p->row_bytes; plane++)
        if (p->chunks == 0 || (p->chunks + plane) % EVERY == 0)
            p->random[plane] = is_random(p, p->planes + plane * p->rows, p->packed, p->room);
    p->chunks++;
}

/* Writes the bytes as they are. Returns their bytes with the heads of blocks. */
static size_t store(const uint8_t *bytes, size_t count, uint8_t *to)
{
    enum { MOST = UINT16_MAX };
    uint8_t *begin = to;
    for (size_t n; count > 0; count -= n, bytes += n) {
        n = count < MOST ? count : MOST;
        const uint8_t head[] = {0, (uint8_t)n, (uint8_t)(n >> 8), (uint8_t)~n, (uint8_t)(~n >> 8)};
        memcpy(to, head, sizeof head);
        memcpy(to + sizeof head, bytes, n);
        to += sizeof head + n;
    }
    return (size_t)(to - begin);
}

static size_t isal_pack(struct chunk_packer *p)
{
    static const uint8_t header[] = {0x78, 0x01}; /* RFC 1950: window of 32 KiB, fastest */
    static const uint8_t last[] = {0x03, 0x00};   /* an empty last block */
    uint8_t *to = p->packed;
    uint32_t sum = 1;
    const size_t ends = sizeof last + sizeof sum;
    find_random(p);
    memcpy(to, header, sizeof header);
    to += sizeof header;
    for (size_t plane = 0, planes; plane < p->row_bytes; plane += planes) {
        const uint8_t *from = p->planes + plane * p->rows;
        const bool random = p->random[plane];
        for (planes = 1; plane + planes < p->row_bytes; planes++)
            if (p->random[plane + planes] != random)
                break;
        size_t count = planes * p->rows, room = (size_t)(p->packed + p->room - to) - ends;
        size_t bytes = random ? store(from, count, to) : isal_blocks(p, from, count, to, room);
        if (bytes == 0)
            return 0;
        sum = checksum(sum, from, count);
        to += bytes;
    }
    memcpy(to, last, sizeof last);
    sum = htobe32(sum);
    memcpy(to + sizeof last, &sum, sizeof sum);
    return (size_t)(to - p->packed) + sizeof last + sizeof sum;
}

static void isal_end(struct chunk_packer *p)
{
    free(p->random);
    free(p->state);
}

static const struct method by_isal = {"ISA-L", isal_begin, isal_pack, isal_end};
#endif

/* --- libdeflate ------------------------------------------------------------------------------- */

#ifdef HAVE_LIBDEFLATE
static bool libdeflate_begin(struct chunk_packer *p)
{
    p->state = libdeflate_alloc_compressor((int)p->level);
    return p->state != NULL;
}

static size_t libdeflate_pack(struct chunk_packer *p)
{
    return libdeflate_zlib_compress(p->state, p->planes, p->bytes, p->packed, p->room);
}

static void libdeflate_end(struct chunk_packer *p)
{
    if (p->state != NULL)
        libdeflate_free_compressor(p->state);
}

static const struct method by_libdeflate = {"libdeflate", libdeflate_begin, libdeflate_pack,
                                            libdeflate_end};
#endif

/* --- zlib ------------------------------------------------------------------------------------- */

/* HDF5's filter allocates zlib's state, a quarter of a MiB, for each chunk. */
static bool zlib_begin(struct chunk_packer *p)
{
    p->state = calloc(1, sizeof(z_stream));
    return p->state != NULL && deflateInit((z_stream *)p->state, (int)p->level) == Z_OK;
}

static size_t zlib_pack(struct chunk_packer *p)
{
    z_stream *s = p->state;
    if (deflateReset(s) != Z_OK)
        return 0;
    s->next_in = p->planes;
    s->avail_in = (uInt)p->bytes;
    s->next_out = p->packed;
    s->avail_out = (uInt)p->room;
    return deflate(s, Z_FINISH) == Z_STREAM_END ? s->total_out : 0;
}

static void zlib_end(struct chunk_packer *p)
{
    if (p->state != NULL)
        (void)deflateEnd(p->state);
    free(p->state);
}

static const struct method by_zlib = {"zlib", zlib_begin, zlib_pack, zlib_end};

/* --- packers ---------------------------------------------------------------------------------- */

/* On planes, of which most bytes repeat, libdeflate's level 1 takes longer than zlib's. Its other
 * levels take less space than zlib's, and from 4 on less time. */
static const struct method *method_of(unsigned level)
{
#ifdef HAVE_ISAL
    if (level == 1 && has_isal())
        return &by_isal;
#endif
#ifdef HAVE_LIBDEFLATE
    if (level > 1)
        return &by_libdeflate;
#endif
    (void)level;
    return &by_zlib;
}

const char *rt_compressor(unsigned level)
{
    return level == 0 ? "nothing" : method_of(level)->name;
}

struct chunk_packer *chunk_packer_make(size_t rows, size_t row_bytes, unsigned level)
{
    struct chunk_packer *p = calloc(1, sizeof *p);
    if (p == NULL)
        return NULL;
    p->method = method_of(level);
    p->level = level;
    p->rows = rows;
    p->row_bytes = row_bytes;
    p->bytes = rows * row_bytes;
    p->room = p->bytes + p->bytes / 8 + 64; /* incompressible data grow a little */
    p->planes = malloc(p->bytes);
    p->packed = malloc(p->room);
    if (p->planes != NULL && p->packed != NULL && p->method->begin(p))
        return p;
    chunk_packer_free(p);
    return NULL;
}

void chunk_packer_free(struct chunk_packer *p)
{
    if (p == NULL)
        return;
    p->method->end(p);
    free(p->more_state);
    free(p->planes);
    free(p->packed);
    free(p);
}

size_t chunk_packer_pack(struct chunk_packer *p, const void *rows, size_t count,
                         const void **packed)
{
    byte_planes_split(rows, count, p->row_bytes, p->planes, p->rows);
    *packed = p->packed;
    return p->method->pack(p);
}
