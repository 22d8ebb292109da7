/* SPDX-License-Identifier: BSD-3-Clause
 * A plan of sites: what regtrace-sites makes of an image and a request, and what patches it needs to know. All that other folders
 * may include of isa/.
 *
 * A plan is one file, in the machine's own byte order, to be mapped: this header, then tables at the offsets that it says. Addresses
 * are those of the image's file; where it is loaded its bias comes on top. Nothing in a plan needs a decoder to be applied:
 * code that is to run elsewhere comes as bytes with fixups, whose 32-bit distances are the only thing that depends on where. */
#ifndef REGTRACE_ISA_ISA_H
#define REGTRACE_ISA_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ISA_PLAN_MAGIC "rtsites"
#define ISA_PLAN_VERSION 3

struct isa_table {
    uint64_t offset, count; /* in the file; of entries */
};

struct isa_plan {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t bytes; /* of the whole plan */
    uint8_t build_id[32];
    uint32_t build_id_bytes, zero;
    uint64_t base;         /* the image's lowest address: what image+offset counts from */
    struct isa_table text; /* the request, then what is to be said about it; each ends with a NUL */
    struct isa_table sites;  /* struct isa_site, by address */
    struct isa_table code;   /* bytes */
    struct isa_table fixups; /* struct isa_fixup */
    struct isa_table steps;  /* struct isa_step */
    uint64_t unsure;         /* places that match and may be data: left alone */
    uint64_t refused;        /* sites that cannot be patched: ISA_SITE_REFUSED */
};

/* Flags of sites. */
enum {
    ISA_SITE_ENDBR = 1, /* patched behind the endbr64 that the site begins with */
    ISA_SITE_CALL =
        2, /* a call. The copies jump: whoever enters them has pushed the address behind the site */
    ISA_SITE_OWN = 4,     /* an int3 of the program's own, not executed: no copy */
    ISA_SITE_SYSCALL = 8, /* the thread may stay in the copy */
    ISA_SITE_INDIRECT =
        16, /* an implementation that an indirect function (STT_GNU_IFUNC) may choose */
    ISA_SITE_REFUSED = 32, /* not to be patched; the reason is in the text */
};

/* Code that does what the displaced instructions did, and then goes on behind them. */
struct isa_copy {
    uint32_t code, fixups, steps; /* the first of each */
    uint8_t displaced;            /* bytes of the image that it stands for; 0: there is none */
    uint8_t bytes, fixup_count, step_count;
};

struct isa_site {
    uint64_t address; /* of the instruction that was asked for */
    uint32_t
        bytes; /* first of the `jump.displaced` or `one.displaced` bytes that are patched, as they are in the file */
    uint8_t patch; /* what is patched lies so far behind `address` */
    uint8_t flags;
    uint16_t reason;      /* of ISA_SITE_REFUSED: offset in the text */
    struct isa_copy one;  /* for an int3: of the first instruction */
    struct isa_copy jump; /* for a jump of 5 bytes: displaced is 0 where none fits */
};

/* code[at..at+3] = target + bias - (address of code[end]) */
struct isa_fixup {
    uint64_t target;
    uint8_t at, end, zero[6];
};

/* The instruction at `from` of the displaced bytes begins at `to` of the copy. */
struct isa_step {
    uint8_t from, to;
};

static inline bool isa_table_lies_in(const struct isa_table *t, size_t size, size_t n)
{
    return t->offset <= n && (t->offset & 7) == 0 && t->count <= (n - t->offset) / size;
}

static inline bool isa_copy_lies_in(const struct isa_plan *h, const struct isa_copy *c)
{
    return (uint64_t)c->code + c->bytes <= h->code.count &&
           (uint64_t)c->fixups + c->fixup_count <= h->fixups.count &&
           (uint64_t)c->steps + c->step_count <= h->steps.count;
}

/* Returns these bytes, aligned to 8, as a plan. Returns NULL if they are not a complete plan of
 * this version for this request (request NULL: for any request or none). Does not trust the content
 * of a file: checks that all tables and copies of the plan lie within it. */
static inline const struct isa_plan *isa_plan_read(const void *bytes, size_t n, const char *request)
{
    const struct isa_plan *h = (const struct isa_plan *)bytes;
    if (n < sizeof *h || memcmp(h->magic, ISA_PLAN_MAGIC, sizeof h->magic) != 0 ||
        h->version != ISA_PLAN_VERSION || h->header_bytes != sizeof *h || h->bytes != n ||
        !isa_table_lies_in(&h->sites, sizeof(struct isa_site), n) ||
        !isa_table_lies_in(&h->fixups, sizeof(struct isa_fixup), n) ||
        !isa_table_lies_in(&h->steps, sizeof(struct isa_step), n) ||
        !isa_table_lies_in(&h->code, 1, n) || !isa_table_lies_in(&h->text, 1, n) ||
        (request != NULL && h->text.count == 0))
        return NULL;
    const char *text = (const char *)bytes + h->text.offset;
    if ((h->text.count != 0 && text[h->text.count - 1] != '\0') ||
        (request != NULL && strcmp(text, request) != 0))
        return NULL;
    const struct isa_site *s = (const struct isa_site *)((const char *)bytes + h->sites.offset);
    for (uint64_t i = 0; i < h->sites.count; i++)
        if (!isa_copy_lies_in(h, &s[i].one) || !isa_copy_lies_in(h, &s[i].jump) ||
            (s[i].reason != 0 && s[i].reason >= h->text.count) ||
            (uint64_t)s[i].bytes + s[i].one.displaced > h->code.count ||
            (uint64_t)s[i].bytes + s[i].jump.displaced > h->code.count)
            return NULL;
    return h;
}

/* Returns the remark about the request that follows `last` (NULL: the first remark), or NULL after
 * the last one. */
static inline const char *isa_plan_remark(const struct isa_plan *h, const char *last)
{
    const char *text = (const char *)h + h->text.offset;
    const char *next = (last != NULL ? last : text) + strlen(last != NULL ? last : text) + 1;
    return next < text + h->text.count ? next : NULL;
}

/* Write the distance for a copy that will run at `address`. False: out of reach. */
static inline bool isa_fixup_apply(const struct isa_fixup *f, uint8_t *code, uint64_t address,
                                   uint64_t bias)
{
    int64_t distance = (int64_t)(f->target + bias - (address + f->end));
    int32_t field = (int32_t)distance;
    memcpy(code + f->at, &field, sizeof field);
    return field == distance;
}

/* A call of `length` bytes, 5 to 15, as a call of as many to the address that is `distance` from its end, so that it returns to
 * where the other returned: segment prefixes, which such a call ignores, fill it up. */
static inline void isa_call_bytes(uint8_t *code, unsigned length, int32_t distance)
{
    memset(code, 0x2e, length - 5);
    code[length - 5] = 0xe8;
    memcpy(code + length - 4, &distance, sizeof distance);
}

#endif
