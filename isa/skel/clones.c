/* SPDX-License-Identifier: BSD-3-Clause
 * See clones.h. */
#include "isa/skel/clones.h"

#include "isa/skel/cloner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *clones_add(struct clones *c, struct function *f)
{
    uint64_t n = c->function_count + c->late_count;
    if (n == c->room) {
        c->room = 2 * c->room + 64;
        c->functions = emit_more(c->functions, c->room * sizeof *c->functions);
    }
    const char *reason = clone_function(f, &c->e, c->number++, &c->functions[n]);
    if (reason == NULL)
        (*(f->late ? &c->late_count : &c->function_count))++;
    return reason;
}

static bool put(FILE *out, const void *bytes, size_t size, size_t count)
{
    return count == 0 || fwrite(bytes, size, count, out) == count;
}

int clones_put(const struct clones *c, FILE *out)
{
    struct clones_head head = {.version = CLONES_VERSION,
                               .function_count = (uint32_t)c->function_count,
                               .late_count = (uint32_t)c->late_count,
                               .number_count = c->number,
                               .fixup_count = c->e.fixup_count,
                               .place_count = c->e.place_count,
                               .code_bytes = c->e.bytes};
    memcpy(head.magic, CLONES_MAGIC, sizeof head.magic);
    bool good = put(out, &head, sizeof head, 1) &&
                put(out, c->functions, sizeof *c->functions, c->function_count + c->late_count) &&
                put(out, c->e.fixups, sizeof *c->e.fixups, c->e.fixup_count) &&
                put(out, c->e.places, sizeof *c->e.places, c->e.place_count) &&
                put(out, c->e.code, 1, c->e.bytes);
    return good ? 0 : -EIO;
}

int clones_write(const struct clones *c, const char *path)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return -errno;
    int rc = clones_put(c, out);
    return fclose(out) == 0 ? rc : -EIO;
}

void clones_free(struct clones *c)
{
    free(c->functions);
    free(c->e.fixups);
    free(c->e.places);
    free(c->e.code);
    *c = (struct clones){.functions = NULL};
}
