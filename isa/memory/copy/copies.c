/* SPDX-License-Identifier: BSD-3-Clause
 * Collects the instrumented copies of an image and writes their file. */
#include "isa/memory/copy/copies.h"

#include "isa/memory/copy/copier.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *copies_make(struct copies *c, struct function *f, uint32_t number,
                        struct copy_part *out)
{
    *out = (struct copy_part){
        .fixups = c->e.fixup_count, .places = c->e.place_count, .calls = c->e.call_count};
    const char *reason = copy_function(f, &c->e, number, &out->f);
    out->fixup_count = c->e.fixup_count - out->fixups;
    out->place_count = c->e.place_count - out->places;
    out->call_count = c->e.call_count - out->calls;
    return reason;
}

uint64_t copies_count(const struct copies *c)
{
    uint64_t n = 0;
    for (unsigned k = 0; k < COPIES_KINDS; k++)
        n += c->counts[k];
    return n;
}

void copies_add(struct copies *c, const struct copy_part *part, enum copies_kind kind)
{
    uint64_t n = copies_count(c);
    if (n == c->room) {
        c->room = 2 * c->room + 64;
        c->parts = emit_more(c->parts, c->room * sizeof *c->parts);
    }
    c->parts[n] = *part;
    c->counts[kind]++;
}

/* --- the file --------------------------------------------------------------------------------- */

/* All parts, one after the other. */
struct whole {
    struct emit e;
    struct copy_function *functions;
};

static void append(struct whole *w, const struct emit *from, const struct copy_part *p, uint64_t n)
{
    size_t at = w->e.bytes, moved = at - p->f.code; /* modulo 2^64 */
    w->functions[n] = p->f;
    w->functions[n].code = at;
    emit_bytes(&w->e, from->code + p->f.code, p->f.bytes);
    for (size_t k = 0; k < p->fixup_count; k++) {
        w->e.fixups[w->e.fixup_count] = from->fixups[p->fixups + k];
        w->e.fixups[w->e.fixup_count++].at += moved;
    }
    for (size_t k = 0; k < p->place_count; k++) {
        w->e.places[w->e.place_count] = from->places[p->places + k];
        w->e.places[w->e.place_count++].code += (uint32_t)moved;
    }
}

static int by_address(const void *key, const void *function)
{
    uint64_t a = *(const uint64_t *)key, b = ((const struct copy_function *)function)->address;
    return (a > b) - (a < b);
}

/* Sets the 32-bit displacements of direct calls. Returns false if a called function has no copy
 * that such calls can enter. */
static bool link_calls(const struct copies *c, struct whole *w)
{
    for (uint64_t n = 0; n < copies_count(c); n++) {
        const struct copy_part *p = &c->parts[n];
        for (size_t k = p->calls; k < p->calls + p->call_count; k++) {
            const struct emit_call *call = &c->e.calls[k];
            const struct copy_function *to = bsearch(
                &call->target, w->functions, c->counts[COPIES_FUNCTIONS], sizeof *to, by_address);
            if (to == NULL || to->direct == 0)
                return false;
            emit_link(&w->e, call->at - p->f.code + w->functions[n].code, to->code + to->direct);
        }
    }
    return true;
}

static bool put(FILE *out, const void *bytes, size_t size, size_t count)
{
    return count == 0 || fwrite(bytes, size, count, out) == count;
}

static int put_whole(const struct copies *c, const struct whole *w, FILE *out)
{
    struct copies_head head = {.version = COPIES_VERSION,
                               .function_count = (uint32_t)c->counts[COPIES_FUNCTIONS],
                               .late_count = (uint32_t)c->counts[COPIES_LATE],
                               .site_count = (uint32_t)c->counts[COPIES_SITES],
                               .number_count = c->number,
                               .fixup_count = w->e.fixup_count,
                               .place_count = w->e.place_count,
                               .code_bytes = w->e.bytes};
    memcpy(head.magic, COPIES_MAGIC, sizeof head.magic);
    bool good = put(out, &head, sizeof head, 1) &&
                put(out, w->functions, sizeof *w->functions, copies_count(c)) &&
                put(out, w->e.fixups, sizeof *w->e.fixups, w->e.fixup_count) &&
                put(out, w->e.places, sizeof *w->e.places, w->e.place_count) &&
                put(out, w->e.code, 1, w->e.bytes);
    return good ? 0 : -EIO;
}

int copies_put(const struct copies *c, FILE *out)
{
    uint64_t count = copies_count(c);
    struct whole w = {.functions = emit_more(NULL, (count + 1) * sizeof *w.functions)};
    w.e.fixups = emit_more(NULL, (c->e.fixup_count + 1) * sizeof *w.e.fixups);
    w.e.places = emit_more(NULL, (c->e.place_count + 1) * sizeof *w.e.places);
    for (uint64_t n = 0; n < count; n++)
        append(&w, &c->e, &c->parts[n], n);
    int rc = link_calls(c, &w) ? put_whole(c, &w, out) : -EINVAL;
    free(w.functions);
    free(w.e.fixups);
    free(w.e.places);
    free(w.e.code);
    return rc;
}

int copies_write(const struct copies *c, const char *path)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return -errno;
    int rc = copies_put(c, out);
    return fclose(out) == 0 ? rc : -EIO;
}

void copies_free(struct copies *c)
{
    free(c->parts);
    free(c->e.fixups);
    free(c->e.places);
    free(c->e.calls);
    free(c->e.code);
    *c = (struct copies){.parts = NULL};
}
