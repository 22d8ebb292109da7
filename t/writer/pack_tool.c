/* SPDX-License-Identifier: BSD-3-Clause
 * The writer's packing of chunks as a filter, for t/writer/packed.py: reads rows or planes from its
 * standard input, and writes what becomes of them.
 *
 * pack_tool split ROW_BYTES PLANE_BYTES; join ROW_BYTES PLANE_BYTES ROWS;
 * pack ROW_BYTES ROWS LEVEL; file PATH LEVEL BATCH (events, committed after every BATCH of them);
 * name LEVEL */
#include "writer/file/byte_planes.h"
#include "writer/file/rankfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 << 20 };

static uint8_t *input;
static size_t input_bytes;

static size_t number(char **argv, int i)
{
    return argv[i] != NULL ? strtoull(argv[i], NULL, 10) : 0;
}

static int put(const void *bytes, size_t count)
{
    return fwrite(bytes, 1, count, stdout) == count && fflush(stdout) == 0 ? 0 : 1;
}

static int split(char **argv)
{
    size_t row_bytes = number(argv, 2), plane_bytes = number(argv, 3);
    uint8_t *planes = malloc(row_bytes * plane_bytes + 1);
    if (planes == NULL)
        return 99;
    memset(planes, 0xee, row_bytes * plane_bytes);
    byte_planes_split(input, input_bytes / row_bytes, row_bytes, planes, plane_bytes);
    return put(planes, row_bytes * plane_bytes);
}

static int join(char **argv)
{
    size_t row_bytes = number(argv, 2), plane_bytes = number(argv, 3), rows = number(argv, 4);
    uint8_t *out = malloc(row_bytes * rows + 1);
    if (out == NULL)
        return 99;
    byte_planes_join(input, plane_bytes, rows, row_bytes, out);
    return put(out, row_bytes * rows);
}

/* Packs another chunk before: a packer begins anew for each. */
static int pack(char **argv)
{
    size_t row_bytes = number(argv, 2), rows = number(argv, 3), bytes;
    struct chunk_packer *p = chunk_packer_make(rows, row_bytes, (unsigned)number(argv, 4));
    const void *packed;
    if (p == NULL || chunk_packer_pack(p, input, input_bytes / row_bytes / 2, &packed) == 0 ||
        (bytes = chunk_packer_pack(p, input, input_bytes / row_bytes, &packed)) == 0)
        return 99;
    int rc = put(packed, bytes);
    chunk_packer_free(p);
    return rc;
}

static int file(char **argv)
{
    const struct rt_event *events = (const void *)input;
    size_t count = input_bytes / sizeof *events, batch = number(argv, 4);
    struct rankfile f;
    struct rt_error e = {{0}};
    const struct rankfile_identity id = {
        .size = 1, .host = "nowhere", .boot_id = "", .stream = "", .nominal_ns_per_tick = 1};
    int rc = rankfile_create(&f, argv[2], &id, "", 0, (unsigned)number(argv, 3), true, &e);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = rankfile_add(&f, &events[i]);
        if (rc == 0 && i % batch == batch - 1)
            rc = rankfile_commit(&f, i / batch % 2 == 0);
    }
    rc = rc != 0 ? rc : rankfile_finish(&f, "closed", "finished");
    if (rc != 0)
        (void)fprintf(stderr, "pack_tool: %d %s\n", rc, e.text);
    return rc != 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "name") == 0)
        return puts(rt_compressor((unsigned)number(argv, 2))) < 0;
    input = malloc(MOST);
    if (input == NULL || schema_start_hdf5(NULL) != 0)
        return 99;
    input_bytes = fread(input, 1, MOST, stdin);
    return strcmp(argv[1], "split") == 0  ? split(argv)
           : strcmp(argv[1], "join") == 0 ? join(argv)
           : strcmp(argv[1], "pack") == 0 ? pack(argv)
           : strcmp(argv[1], "file") == 0 ? file(argv)
                                          : 2;
}
