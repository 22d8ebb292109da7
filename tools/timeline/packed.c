/* SPDX-License-Identifier: BSD-3-Clause
 * Deflates bytes and writes them in base64. */
#include "tools/timeline/packed.h"

#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

enum { ROOM = 3 * 16384 };

struct packed {
    FILE *out;
    z_stream z;
    uint64_t size;
    int error;           /* -errno, after a failure of zlib */
    uint8_t bytes[ROOM]; /* deflated */
    char text[ROOM / 3 * 4];
};

int packed_open(struct packed **packed, FILE *out, struct rt_error *e)
{
    struct packed *p = calloc(1, sizeof *p);
    *packed = p;
    if (p != NULL && deflateInit(&p->z, 6) == Z_OK) {
        p->out = out;
        p->z.next_out = p->bytes;
        p->z.avail_out = ROOM;
        return 0;
    }
    free(p);
    *packed = NULL;
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

static void write_text(struct packed *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t v = (uint32_t)p->bytes[i] << 16;
        v |= i + 1 < n ? (uint32_t)p->bytes[i + 1] << 8 : 0;
        v |= i + 2 < n ? p->bytes[i + 2] : 0;
        p->text[at++] = digits[v >> 18];
        p->text[at++] = digits[v >> 12 & 63];
        p->text[at++] = i + 1 < n ? digits[v >> 6 & 63] : '=';
        p->text[at++] = i + 2 < n ? digits[v & 63] : '=';
    }
    (void)fwrite(p->text, 1, at, p->out);
    p->z.next_out = p->bytes;
    p->z.avail_out = ROOM;
}

void packed_put(struct packed *p, const void *bytes, size_t n)
{
    p->z.next_in = (z_const Bytef *)bytes;
    p->z.avail_in = (uInt)n;
    p->size += n;
    while (p->z.avail_in != 0 && p->error == 0) {
        if (deflate(&p->z, Z_NO_FLUSH) != Z_OK)
            p->error = -EIO;
        if (p->z.avail_out == 0)
            write_text(p, ROOM);
    }
}

uint64_t packed_size(const struct packed *p)
{
    return p->size;
}

int packed_close(struct packed *p, struct rt_error *e)
{
    int rc = p->error, z = Z_OK;
    while (rc == 0 && z == Z_OK) {
        z = deflate(&p->z, Z_FINISH);
        if (z == Z_OK || p->z.avail_out == 0)
            write_text(p, ROOM - p->z.avail_out);
    }
    if (rc == 0 && z == Z_STREAM_END && p->z.avail_out != ROOM)
        write_text(p, ROOM - p->z.avail_out);
    if (rc != 0 || z != Z_STREAM_END) {
        rt_error_set(e, "zlib could not deflate the items");
        rc = -EIO;
    }
    (void)deflateEnd(&p->z);
    free(p);
    return rc;
}
