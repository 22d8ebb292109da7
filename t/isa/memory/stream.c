/* SPDX-License-Identifier: BSD-3-Clause
 * Writes a recording in the format of isa/memory/replay/recording_format.h from single steps, and
 * the trace that its replay must give. */
#include "isa/memory/source/source.h"
#include "isa/memory/replay/recording_format.h"
#include "t/isa/memory/skeleton.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static FILE *stream, *trace;
static uint64_t *functions;
static struct directs directs; /* in the order of addresses */
static uint32_t function_count;

bool stream_open(char **paths)
{
    FILE *list = fopen(paths[0], "r");
    char text[64];
    if (list == NULL)
        return false;
    while (fgets(text, sizeof text, list) != NULL) {
        char *after;
        functions = realloc(functions, (function_count + 1) * sizeof *functions);
        functions[function_count] = strtoull(text, &after, 16);
        if (!direct_add(&directs, functions[function_count++], *after == ' '))
            return false;
        directs.list[directs.count - 1].passed = (uint16_t)strtoul(after, NULL, 10);
    }
    fclose(list);
    stream = fopen(paths[1], "w");
    trace = fopen(paths[2], "w");
    return stream != NULL && trace != NULL;
}

bool stream_close(void)
{
    return stream == NULL || (fclose(stream) == 0 && fclose(trace) == 0);
}

static uint32_t number_of(uint64_t address)
{
    uint32_t n = 0;
    while (n < function_count && functions[n] != address)
        n++;
    return n;
}

bool stream_has_function(uint64_t address)
{
    return stream == NULL || number_of(address) < function_count;
}

const struct directs *stream_directs(void)
{
    return &directs;
}

void stream_number(uint64_t n, unsigned bytes)
{
    if (stream != NULL)
        (void)fwrite(&n, 1, bytes, stream);
}

void stream_enter(uint64_t address)
{
    stream_number(TOKEN_ENTER, 1);
    stream_number(number_of(address), 4);
}

void stream_value(const struct function *f, uint32_t value, uint64_t n)
{
    stream_number(n, skel_value_bytes(f, value));
}

void stream_access(uint64_t pc, const struct real *a, bool unknown)
{
    /* Instrumented copies record nothing of other functions. */
    static int known_alone = -1;
    if (known_alone < 0)
        known_alone = getenv("SKELETON_KNOWN") != NULL;
    if (unknown && known_alone)
        return;
    if (trace != NULL)
        fprintf(trace, "%" PRIx64 " %c %u %" PRIx64 "\n", pc, a->kind, a->bytes, a->address);
    if (!unknown)
        return;
    stream_number(TOKEN_ACCESS, 1);
    stream_number(pc, 8);
    stream_number(a->address, 8);
    stream_number(a->bytes, 2);
    stream_number((uint8_t)a->kind, 1);
}
