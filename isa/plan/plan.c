/* SPDX-License-Identifier: BSD-3-Clause
 * Makes a plan from a request, writes it as bytes, and checks the bytes of a cached plan. */
#include "isa/plan/site.h"

#include <errno.h>
#include <stdlib.h>

/* Keeps one site for each place: a function may have several names, and a place may be found
 * twice. */
static void drop_doubles(struct plan *p)
{
    size_t kept = 0;
    image_sort(p->sites, p->site_count, sizeof *p->sites, offsetof(struct isa_site, address));
    for (size_t i = 0; i < p->site_count; i++) {
        if (kept > 0 && p->sites[kept - 1].address == p->sites[i].address) {
            p->refused -= (p->sites[i].flags & ISA_SITE_REFUSED) != 0;
            continue;
        }
        p->sites[kept++] = p->sites[i];
    }
    p->site_count = kept;
}

/* A jump must not overwrite an instruction that is a site itself; an int3 leaves that instruction
 * in place. Code that arms several plans at once must check the same between the plans. */
static void part_neighbours(struct plan *p)
{
    for (size_t i = 0; i + 1 < p->site_count; i++) {
        struct isa_site *s = &p->sites[i];
        const struct isa_site *next = &p->sites[i + 1];
        if (next->address + next->patch < s->address + s->patch + s->jump.displaced)
            s->jump = (struct isa_copy){.displaced = 0};
    }
}

int plan_make(struct plan *p, const struct code *c, const struct request *q)
{
    *p = (struct plan){.code = c};
    (void)plan_say(p, "%s", q->text);
    if (strcmp(p->text, q->text) != 0)
        return -ENAMETOOLONG;
    plan_find_named(p, q);
    drop_doubles(p);
    part_neighbours(p);
    return p->no_memory ? -ENOMEM : 0;
}

void plan_free(struct plan *p)
{
    free(p->sites);
    free(p->fixups);
    free(p->steps);
    free(p->bytes);
    free(p->callees.at);
}

static struct isa_table place(uint64_t *at, size_t count, size_t size)
{
    struct isa_table t = {.offset = *at, .count = count};
    *at = (*at + count * size + 7) & ~UINT64_C(7);
    return t;
}

static void put(uint8_t *out, const struct isa_table *t, const void *from, size_t size)
{
    if (t->count != 0)
        memcpy(out + t->offset, from, t->count * size);
}

uint8_t *plan_bytes(const struct plan *p, size_t *n)
{
    const struct image *m = p->code->image;
    uint64_t at = sizeof(struct isa_plan);
    struct isa_plan h = {
        .magic = ISA_PLAN_MAGIC,
        .version = ISA_PLAN_VERSION,
        .header_bytes = sizeof h,
        .build_id_bytes = m->build_id_bytes,
        .base = m->base,
        .unsure = p->unsure,
        .refused = p->refused,
    };
    memcpy(h.build_id, m->build_id, sizeof h.build_id);
    h.sites = place(&at, p->site_count, sizeof *p->sites);
    h.fixups = place(&at, p->fixup_count, sizeof *p->fixups);
    h.steps = place(&at, p->step_count, sizeof *p->steps);
    h.code = place(&at, p->byte_count, 1);
    h.text = place(&at, p->text_bytes, 1);
    h.bytes = at;
    uint8_t *out = calloc(1, at);
    if (out == NULL)
        return NULL;
    memcpy(out, &h, sizeof h);
    put(out, &h.sites, p->sites, sizeof *p->sites);
    put(out, &h.fixups, p->fixups, sizeof *p->fixups);
    put(out, &h.steps, p->steps, sizeof *p->steps);
    put(out, &h.code, p->bytes, 1);
    put(out, &h.text, p->text, 1);
    ((struct isa_plan *)(void *)out)->check = isa_plan_checksum((const void *)out);
    *n = at;
    return out;
}

bool plan_is_whole(const uint8_t *bytes, size_t n, const struct image *m, const char *request)
{
    const struct isa_plan *h = isa_plan_read(bytes, n, request);
    return h != NULL && h->build_id_bytes == m->build_id_bytes && h->base == m->base &&
           memcmp(h->build_id, m->build_id, sizeof h->build_id) == 0;
}
