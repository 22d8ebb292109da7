/* SPDX-License-Identifier: BSD-3-Clause
 * The format of a plan of sites, which regtrace-isa makes from an image and a request, and which
 * the patching code applies. Other folders may include only this file of isa/.
 *
 * A plan is one file in the machine's byte order, to be mapped: this header, then tables at the
 * offsets that the header gives. Addresses are those of the image's file; add the load bias for a
 * loaded image. The patching code needs no decoder: code that is to run elsewhere comes as bytes
 * with fixups, 32-bit distances that are all that depends on its address. */
#ifndef REGTRACE_ISA_ISA_H
#define REGTRACE_ISA_ISA_H

#include "base/hash.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ISA_PLAN_MAGIC "rtsites"
#define ISA_PLAN_VERSION 5

struct isa_table {
    uint64_t offset, count; /* offset in the file; number of entries */
};

struct isa_plan {
    char magic[8];
    uint32_t version, header_bytes;
    uint64_t bytes; /* size of the whole plan */
    uint64_t check; /* isa_plan_checksum() */
    uint8_t build_id[32];
    uint32_t build_id_bytes, zero;
    uint64_t base; /* lowest address of the image, the origin of image+offset */
    /* The request, then remarks and reasons of refusal; each ends with a NUL. */
    struct isa_table text;
    struct isa_table sites;  /* struct isa_site, sorted by address */
    struct isa_table code;   /* bytes */
    struct isa_table fixups; /* struct isa_fixup */
    struct isa_table steps;  /* struct isa_step */
    uint64_t unsure;         /* places that match but may be data: no sites */
    uint64_t refused;        /* sites with ISA_SITE_REFUSED */
};

/* Flags of sites. */
enum {
    ISA_SITE_ENDBR = 1, /* patched after the endbr64 that the site begins with */
    /* The site is a call. Its copies jump instead: the code that enters a copy first pushes the
     * address after the site. */
    ISA_SITE_CALL = 2,
    ISA_SITE_OWN = 4,     /* the program's own int3, which is not executed: no copy */
    ISA_SITE_SYSCALL = 8, /* the copy has a syscall, in which the thread may stay */
    /* The site is an implementation that an indirect function (STT_GNU_IFUNC) may choose. */
    ISA_SITE_INDIRECT = 16,
    ISA_SITE_REFUSED = 32, /* cannot be patched; `reason` says why */
};

/* Code that does what the displaced instructions did, and then continues after them. */
struct isa_copy {
    uint32_t code, fixups, steps; /* index of the first entry in each table */
    uint8_t displaced;            /* number of displaced bytes of the image; 0: no copy */
    uint8_t bytes, fixup_count, step_count;
};

struct isa_site {
    uint64_t address; /* address of the requested instruction */
    /* Index in the code table of the original bytes that the patch overwrites: `jump.displaced` of
     * them, or `one.displaced` if that is 0. */
    uint32_t bytes;
    uint8_t patch; /* offset of the patched bytes from `address` */
    uint8_t flags;
    uint16_t reason;      /* with ISA_SITE_REFUSED: offset of the reason in the text */
    struct isa_copy one;  /* for an int3: copy of the first instruction */
    struct isa_copy jump; /* for a 5-byte jump; displaced is 0 if no jump fits */
};

/* code[at..at+3] = target + bias - (address of code[end]) */
struct isa_fixup {
    uint64_t target;
    uint8_t at, end, zero[6];
};

/* The instruction at offset `from` of the displaced bytes begins at offset `to` of the copy. */
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

/* Returns the checksum of all that follows `check` in a plan. */
static inline uint64_t isa_plan_checksum(const struct isa_plan *h)
{
    size_t from = offsetof(struct isa_plan, check) + sizeof h->check;
    return hash_checksum((const char *)h + from, h->bytes - from);
}

/* Returns these bytes, aligned to 8, as a plan. Returns NULL if they are not a complete plan of
 * this version for this request (request NULL: for any request or none). Does not trust the content
 * of a file: checks that all tables and copies of the plan lie within it, and the checksum, since
 * the program would execute damaged code. */
static inline const struct isa_plan *isa_plan_read(const void *bytes, size_t n, const char *request)
{
    const struct isa_plan *h = (const struct isa_plan *)bytes;
    if (n < sizeof *h || memcmp(h->magic, ISA_PLAN_MAGIC, sizeof h->magic) != 0 ||
        h->version != ISA_PLAN_VERSION || h->header_bytes != sizeof *h || h->bytes != n ||
        h->check != isa_plan_checksum(h) ||
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

/* Writes the distance into a copy that will run at `address`. Returns false if the target is out of
 * reach. */
static inline bool isa_fixup_apply(const struct isa_fixup *f, uint8_t *code, uint64_t address,
                                   uint64_t bias)
{
    int64_t distance = (int64_t)(f->target + bias - (address + f->end));
    int32_t field = (int32_t)distance;
    memcpy(code + f->at, &field, sizeof field);
    return field == distance;
}

/* Writes a call of `length` bytes, 5 to 15, to the address that lies `distance` bytes from its end.
 * It takes the place of a call of the same length, so it returns to the same address. Segment
 * prefixes, which such a call ignores, fill it up. */
static inline void isa_call_bytes(uint8_t *code, unsigned length, int32_t distance)
{
    memset(code, 0x2e, length - 5);
    code[length - 5] = 0xe8;
    memcpy(code + length - 4, &distance, sizeof distance);
}

#endif
