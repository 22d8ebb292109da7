/* SPDX-License-Identifier: BSD-3-Clause
 * Reads .eh_frame and the language-specific data: where functions begin and end, and where
 * exceptions land (LSB 5.0, "Exception Frames"; DWARF 4, 7.6 for LEB128). Stripping keeps both. */
#include "isa/image/image.h"

#include "base/search.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    PE_OMIT = 0xff,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
    PE_INDIRECT = 0x80,
};

/* Reads forward from `at`; stays bad once it has left its segment. */
struct reader {
    const struct image *m;
    uint64_t at, end;
    bool bad;
};

struct cie {
    uint64_t at;
    uint8_t pointers, lsda; /* pointer encodings */
    bool augmented;
};

static uint64_t take(struct reader *r, unsigned n)
{
    uint64_t v = 0;
    const uint8_t *p = r->at <= r->end && n <= r->end - r->at ? image_at(r->m, r->at, n) : NULL;
    if (p == NULL) {
        r->bad = true;
        return 0;
    }
    memcpy(&v, p, n);
    r->at += n;
    return v;
}

static uint64_t take_leb(struct reader *r, bool is_signed)
{
    uint64_t v = 0, byte = 0x80;
    unsigned shift = 0;
    while ((byte & 0x80) != 0 && !r->bad) {
        byte = take(r, 1);
        if (shift < 64)
            v |= (byte & 0x7f) << shift;
        shift += 7;
    }
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        v |= ~UINT64_C(0) << shift;
    return v;
}

static uint64_t extend(uint64_t v, unsigned bytes)
{
    unsigned shift = 64 - 8 * bytes;
    return (uint64_t)((int64_t)(v << shift) >> shift);
}

/* Reads a pointer in a DW_EH_PE encoding: absolute, relative to its own place, or to `data`. */
static uint64_t take_pointer(struct reader *r, uint8_t encoding, uint64_t data)
{
    uint64_t place = r->at, v = 0;
    if (encoding == PE_OMIT)
        return 0;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: v = take(r, 8); break;
    case 0x01: v = take_leb(r, false); break;
    case 0x02: v = take(r, 2); break;
    case 0x03: v = take(r, 4); break;
    case 0x09: v = take_leb(r, true); break;
    case 0x0a: v = extend(take(r, 2), 2); break;
    case 0x0b: v = extend(take(r, 4), 4); break;
    default: r->bad = true;
    }
    if (v == 0)
        return 0;
    switch (encoding & 0x70) {
    case 0: return v;
    case PE_PCREL: return v + place;
    case PE_DATAREL: return v + data;
    default: r->bad = true; return 0;
    }
}

static bool read_cie(const struct image *m, uint64_t at, uint64_t end, struct cie *c)
{
    struct reader r = {.m = m, .at = at, .end = end};
    char text[16] = "";
    *c = (struct cie){.at = at, .lsda = PE_OMIT};
    r.at += 8; /* skip length and id */
    uint64_t version = take(&r, 1);
    for (unsigned i = 0; i < sizeof text - 1 && (text[i] = (char)take(&r, 1)) != '\0'; i++)
        continue;
    (void)take_leb(&r, false);
    (void)take_leb(&r, true);
    (void)(version == 1 ? take(&r, 1) : take_leb(&r, false));
    c->augmented = text[0] == 'z';
    if (c->augmented)
        (void)take_leb(&r, false);
    for (const char *t = text; *t != '\0' && !r.bad; t++) {
        if (*t == 'R') {
            c->pointers = (uint8_t)take(&r, 1);
        } else if (*t == 'L') {
            c->lsda = (uint8_t)take(&r, 1);
        } else if (*t == 'P') {
            uint8_t encoding = (uint8_t)take(&r, 1);
            (void)take_pointer(&r, encoding & 0x7f, 0);
        } else if (strchr("zSB", *t) == NULL) {
            return false;
        }
    }
    return !r.bad;
}

static int add_pad(struct image *m, uint64_t address)
{
    int rc = image_grow((void **)&m->landing_pads, m->landing_pad_count, sizeof address);
    if (rc == 0)
        m->landing_pads[m->landing_pad_count++] = address;
    return rc;
}

/* Reads the call-site table. Each entry has start, length, landing pad, action; landing pads count
 * from the start of the function. */
static int read_pads(struct image *m, const struct image_range *f)
{
    const struct image_segment *s = image_segment_of(m, f->lsda);
    if (s == NULL)
        return 0;
    struct reader r = {.m = m, .at = f->lsda, .end = s->address + s->size};
    uint64_t start = f->start;
    uint8_t encoding = (uint8_t)take(&r, 1);
    if (encoding != PE_OMIT)
        start = take_pointer(&r, encoding, 0);
    if ((uint8_t)take(&r, 1) != PE_OMIT)
        (void)take_leb(&r, false);
    encoding = (uint8_t)take(&r, 1);
    uint64_t bytes = take_leb(&r, false);
    if (r.bad || bytes > r.end - r.at)
        return 0;
    r.end = r.at + bytes;
    while (r.at < r.end && !r.bad) {
        (void)take_pointer(&r, encoding & 0x0f, 0);
        (void)take_pointer(&r, encoding & 0x0f, 0);
        uint64_t pad = take_pointer(&r, encoding & 0x0f, 0);
        (void)take_leb(&r, false);
        if (!r.bad && pad != 0 && add_pad(m, start + pad) != 0)
            return -ENOMEM;
    }
    return 0;
}

static int take_fde(struct image *m, struct reader *r, const struct cie *c)
{
    struct image_range f = {.start = take_pointer(r, c->pointers, 0)};
    uint64_t length = take_pointer(r, c->pointers & 0x0f, 0);
    if (c->augmented)
        (void)take_leb(r, false);
    if (c->lsda != PE_OMIT)
        f.lsda = take_pointer(r, c->lsda & 0x7f, 0);
    f.end = f.start + length;
    const struct image_segment *s = image_segment_of(m, f.start);
    /* The linker may leave a null address for a function that it dropped. */
    if (r->bad || length == 0 || s == NULL || !s->code || length > s->size - (f.start - s->address))
        return 0;
    if (image_grow((void **)&m->ranges, m->range_count, sizeof f) != 0)
        return -ENOMEM;
    m->ranges[m->range_count++] = f;
    return f.lsda != 0 ? read_pads(m, &f) : 0;
}

/* Reads records until a length of 0, the end of the segment, or bytes that are no record. */
static int read_records(struct image *m, uint64_t at, uint64_t end)
{
    struct cie c = {0};
    while (end - at >= 8) {
        struct reader r = {.m = m, .at = at, .end = end};
        uint64_t length = take(&r, 4), place = r.at;
        if (r.bad || length == 0 || length >= 0xfffffff0 || length > end - place)
            return 0;
        uint64_t id = take(&r, 4);
        r.end = at + 4 + length;
        if (id != 0) {
            uint64_t owner = place - id;
            if (owner != c.at && !read_cie(m, owner, end, &c))
                c.at = 0;
            if (c.at == owner && take_fde(m, &r, &c) != 0)
                return -ENOMEM;
        }
        at = r.end;
    }
    return 0;
}

/* Static programs lack PT_GNU_EH_FRAME: find .eh_frame by section headers, if there are any. */
static uint64_t frames_by_section(const struct image *m)
{
    Elf64_Ehdr h;
    Elf64_Shdr s, names;
    memcpy(&h, m->file, sizeof h);
    if (h.e_shentsize != sizeof s || h.e_shoff > m->bytes || h.e_shstrndx >= h.e_shnum ||
        h.e_shnum > (m->bytes - h.e_shoff) / sizeof s)
        return 0;
    memcpy(&names, m->file + h.e_shoff + h.e_shstrndx * sizeof s, sizeof s);
    for (unsigned i = 0; i < h.e_shnum; i++) {
        static const char wanted[] = ".eh_frame";
        memcpy(&s, m->file + h.e_shoff + i * sizeof s, sizeof s);
        uint64_t name = names.sh_offset + s.sh_name;
        if (name < m->bytes && m->bytes - name >= sizeof wanted &&
            memcmp(m->file + name, wanted, sizeof wanted) == 0)
            return s.sh_addr;
    }
    return 0;
}

static uint64_t frames_by_header(const struct image *m)
{
    Elf64_Ehdr h;
    memcpy(&h, m->file, sizeof h);
    for (unsigned i = 0; i < h.e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, m->file + h.e_phoff + i * sizeof p, sizeof p);
        const struct image_segment *s = image_segment_of(m, p.p_vaddr);
        if (p.p_type != PT_GNU_EH_FRAME || s == NULL)
            continue;
        struct reader r = {.m = m, .at = p.p_vaddr, .end = s->address + s->size};
        uint64_t version = take(&r, 1), encoding = take(&r, 1);
        (void)take(&r, 2);
        uint64_t frames = take_pointer(&r, (uint8_t)encoding, p.p_vaddr);
        return r.bad || version != 1 ? 0 : frames;
    }
    return 0;
}

int image_read_frames(struct image *m, struct rt_error *e)
{
    (void)e;
    uint64_t frames = frames_by_header(m);
    if (frames == 0)
        frames = frames_by_section(m);
    const struct image_segment *s = image_segment_of(m, frames);
    if (frames != 0 && s != NULL && read_records(m, frames, s->address + s->size) != 0)
        return -ENOMEM;
    image_sort(m->ranges, m->range_count, sizeof *m->ranges, offsetof(struct image_range, start));
    return 0;
}

const struct image_range *image_range_of(const struct image *m, uint64_t address)
{
    size_t n;
    SEARCH_FIRST(n, m->range_count, m->ranges[n].start <= address);
    if (n == 0 || address >= m->ranges[n - 1].end)
        return NULL;
    return &m->ranges[n - 1];
}
