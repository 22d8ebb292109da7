/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the call tree as a profile for pprof: profile.proto of github.com/google/pprof, without
 * compression. Each node is a location and a function of its own. */
#include "base/toolkit/array.h"
#include "tools/report/calls/call_tree.h"
#include "tools/report/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Field numbers of profile.proto. */
enum { PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5 };
enum { PROFILE_STRING = 6, PROFILE_DEFAULT_TYPE = 14 };
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2 };
enum { LOCATION_ID = 1, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

/* A message that is built in memory. */
struct proto {
    unsigned char *bytes;
    size_t count, room;
    bool no_memory;
};

static void put_byte(struct proto *p, unsigned byte)
{
    void *more = p->no_memory ? NULL : array_grown(p->bytes, p->count, &p->room, 1);
    p->no_memory |= more == NULL;
    if (more == NULL)
        return;
    p->bytes = more;
    p->bytes[p->count++] = (unsigned char)byte;
}

static void put_varint(struct proto *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        put_byte(p, (unsigned)(v & 0x7f) | 0x80);
    put_byte(p, (unsigned)v);
}

static void put_number(struct proto *p, unsigned field, uint64_t v)
{
    put_varint(p, (uint64_t)field << 3);
    put_varint(p, v);
}

static void put_bytes(struct proto *p, unsigned field, const void *bytes, size_t count)
{
    put_varint(p, (uint64_t)field << 3 | 2);
    put_varint(p, count);
    for (size_t i = 0; i < count; i++)
        put_byte(p, ((const unsigned char *)bytes)[i]);
}

/* Ends a part: puts it into the whole, and empties it. */
static void put_part(struct proto *p, unsigned field, struct proto *part)
{
    p->no_memory |= part->no_memory;
    put_bytes(p, field, part->bytes, part->count);
    part->count = 0;
}

struct pprof {
    struct report *r;
    struct proto whole, part, line;
    uint64_t strings; /* so far */
};

/* Returns the string's index. */
static uint64_t put_string(struct pprof *p, const char *text, size_t n)
{
    put_bytes(&p->whole, PROFILE_STRING, text, n);
    return p->strings++;
}

static void put_types(struct pprof *p)
{
    static const char *const types[][2] = {
        {"calls", "count"}, {"time", "nanoseconds"}, {"waited", "nanoseconds"}, {"bytes", "bytes"}};
    (void)put_string(p, "", 0);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint64_t type = put_string(p, types[i][0], strlen(types[i][0]));
        put_number(&p->part, TYPE_TYPE, type);
        put_number(&p->part, TYPE_UNIT, put_string(p, types[i][1], strlen(types[i][1])));
        put_part(&p->whole, PROFILE_SAMPLE_TYPE, &p->part);
        if (i == 1)
            put_number(&p->whole, PROFILE_DEFAULT_TYPE, type);
    }
}

static void put_node(struct pprof *p, uint32_t node)
{
    const struct call_node *n = &p->r->call_tree.nodes[node];
    const struct call_place at = call_tree_place(p->r, node);
    put_number(&p->part, FUNCTION_ID, node + UINT64_C(1));
    put_number(&p->part, FUNCTION_NAME, put_string(p, at.name, strlen(at.name)));
    if (at.file != NULL)
        put_number(&p->part, FUNCTION_FILE, put_string(p, at.file, at.file_length));
    put_part(&p->whole, PROFILE_FUNCTION, &p->part);
    put_number(&p->line, LINE_FUNCTION, node + UINT64_C(1));
    if (at.file != NULL)
        put_number(&p->line, LINE_LINE, at.line);
    put_number(&p->part, LOCATION_ID, node + UINT64_C(1));
    if (!n->is_mpi)
        put_number(&p->part, LOCATION_ADDRESS, p->r->addresses.items[n->item].offset);
    put_part(&p->part, LOCATION_LINE, &p->line);
    put_part(&p->whole, PROFILE_LOCATION, &p->part);
}

static void put_sample(struct pprof *p, uint32_t node)
{
    const struct call_node *n = &p->r->call_tree.nodes[node];
    const uint64_t values[] = {n->calls, (uint64_t)n->time_ns, (uint64_t)n->waited_ns, n->bytes};
    for (uint32_t up = node; up != KEY_NONE; up = p->r->call_tree.nodes[up].parent)
        put_number(&p->part, SAMPLE_LOCATION, up + UINT64_C(1));
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_number(&p->part, SAMPLE_VALUE, values[i]);
    put_part(&p->whole, PROFILE_SAMPLE, &p->part);
}

int call_tree_print_pprof(FILE *out, struct report *r)
{
    struct pprof p = {.r = r};
    put_types(&p);
    for (uint32_t i = 0; i < r->call_tree.keys.count; i++) {
        put_node(&p, i);
        if (r->call_tree.nodes[i].is_mpi)
            put_sample(&p, i);
    }
    bool good = !p.whole.no_memory && !p.part.no_memory && !p.line.no_memory;
    if (good)
        (void)fwrite(p.whole.bytes, 1, p.whole.count, out);
    free(p.whole.bytes);
    free(p.part.bytes);
    free(p.line.bytes);
    return good ? 0 : -ENOMEM;
}
