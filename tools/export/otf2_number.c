/* SPDX-License-Identifier: BSD-3-Clause
 * Sets the number (trace ID) of an OTF2 archive. The library makes it from the time; we make it
 * from the run, so that the same run gives the same bytes. */
#include "tools/export/export.h"

#ifdef HAVE_OTF2

#include "base/hash.h"
#include "tools/export/otf2.h"

#include <errno.h>
#include <string.h>

static uint64_t number_of_run(const struct export *x)
{
    uint64_t h = HASH_BEGIN;
    for (uint32_t i = 0; i < x->process_count; i++) {
        const struct rt_rank_info *info = rt_rank_info(x->processes[i].rank);
        h = hash_bytes(h, info->host, strlen(info->host));
        h = hash_bytes(h, &info->pid, sizeof info->pid);
    }
    return hash_bytes(h, &x->origin, sizeof x->origin);
}

static bool library_number(const char *path, uint64_t *number)
{
    OTF2_Reader *reader = OTF2_Reader_Open(path);
    bool known = reader != NULL && OTF2_Reader_GetTraceId(reader, number) == OTF2_SUCCESS;
    if (reader != NULL)
        (void)OTF2_Reader_Close(reader);
    return known;
}

/* Returns the offset of the number in the file, or -1 unless it occurs exactly once. */
static long place_of(const unsigned char *bytes, size_t size, uint64_t number)
{
    long place = -1;
    for (size_t i = 0; i + sizeof number <= size; i++) {
        if (memcmp(bytes + i, &number, sizeof number) != 0)
            continue;
        if (place >= 0)
            return -1;
        place = (long)i;
    }
    return place;
}

void otf2_number_archive(const struct otf2 *o)
{
    char path[PATH_MAX + 32];
    unsigned char bytes[4096];
    uint64_t theirs, ours = number_of_run(o->x);
    (void)snprintf(path, sizeof path, "%s/traces.otf2", o->path);
    FILE *f = library_number(path, &theirs) ? fopen(path, "r+e") : NULL;
    if (f == NULL)
        return;
    size_t size = fread(bytes, 1, sizeof bytes, f);
    long place = size < sizeof bytes ? place_of(bytes, size, theirs) : -1;
    bool good =
        place < 0 || (fseek(f, place, SEEK_SET) == 0 && fwrite(&ours, sizeof ours, 1, f) == 1);
    if (fclose(f) != 0 || !good)
        export_fail(o->x, -EIO, "%s could not be written: %s", path, strerror(errno));
}

#endif
