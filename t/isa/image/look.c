/* SPDX-License-Identifier: BSD-3-Clause
 * Prints isa/'s view of an image, for tests that compare it with the view of other programs. */
#include "isa/decode/code_map.h"
#include "isa/image/image.h"

#include "base/names/nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const origins[] = {"symtab", "dynsym", "plt"};

static void show_symbols(const struct image *m)
{
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        printf("%016" PRIx64 " %" PRIu64 " %u %s %s%s%s\n", s->address, s->size, s->type,
               origins[s->origin], s->name,
               s->version[0] == '\0' ? ""
               : s->hidden_version   ? "@"
                                     : "@@",
               s->version);
    }
}

static void show_matches(const struct image *m, const char *wanted)
{
    struct near_names near = {.wanted = wanted};
    char text[400];
    unsigned found = 0;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        if (!image_name_matches(s, wanted))
            continue;
        found++;
        printf("%016" PRIx64 " %s %s\n", s->address, origins[s->origin], s->name);
    }
    if (found == 0) {
        image_name_nearest(m, false, &near);
        near_names_text(&near, text, sizeof text);
        printf("none%s\n", text);
    }
}

static void show_starts(const struct code *c)
{
    for (size_t i = 0; i < c->segment_count; i++)
        for (uint64_t at = 0; at < c->segments[i].size; at++)
            if (code_is_sure(c, c->segments[i].address + at))
                printf("%" PRIx64 "\n", c->segments[i].address + at);
}

static void show_counts(struct code *c)
{
    code_count(c);
    const struct code_counts *n = &c->counts;
    unsigned wild = 0;
    for (size_t i = 0; i < c->range_count; i++)
        wild += c->ranges[i].wild;
    printf("bytes=%" PRIu64 " sure=%" PRIu64 " padding=%" PRIu64 " data=%" PRIu64 " unsure=%" PRIu64
           " tables=%" PRIu64 " unresolved=%" PRIu64 " ranges=%zu wild=%u\n",
           n->bytes, n->sure, n->padding, n->data, n->unsure, n->tables, n->unresolved,
           c->range_count, wild);
}

/* Prints address and length of each run of unsure bytes. */
static void show_unsure(const struct code *c)
{
    for (size_t i = 0; i < c->segment_count; i++) {
        const struct code_segment *s = &c->segments[i];
        for (uint64_t at = 0, from; at < s->size; at++) {
            for (from = at; at < s->size && (s->flags[at] & CODE_UNSURE) != 0;)
                at++;
            if (at > from)
                printf("%" PRIx64 " %" PRIu64 "\n", s->address + from, at - from);
        }
    }
}

/* Reads file offsets of executed instructions, one a line. Prints how many are sure, and which are
 * not. */
static void show_trail(const struct code *c)
{
    unsigned sure = 0, unsure = 0, wrong = 0;
    uint64_t offset;
    while (scanf("%" SCNx64, &offset) == 1) {
        uint64_t at = 0;
        for (size_t i = 0; i < c->image->segment_count; i++) {
            const struct image_segment *s = &c->image->segments[i];
            uint64_t begin = (uint64_t)(s->bytes - c->image->file);
            if (offset - begin < s->size && s->code)
                at = s->address + offset - begin;
        }
        const uint8_t *f = code_at(c, at);
        if (f != NULL && code_is_sure(c, at)) {
            sure++;
            continue;
        }
        bool inside = f == NULL || (*f & (CODE_START | CODE_BODY | CODE_UNSURE)) == CODE_BODY;
        wrong += inside;
        unsure += !inside;
        printf("%s %" PRIx64 "\n", inside ? "inside" : "unsure", at);
    }
    printf("sure=%u unsure=%u inside=%u\n", sure, unsure, wrong);
}

static int show_code(const struct image *m, const char *what)
{
    struct code *c = code_open(m);
    if (c == NULL)
        return 1;
    if (strcmp(what, "starts") == 0)
        show_starts(c);
    else if (strcmp(what, "unsure") == 0)
        show_unsure(c);
    else if (strcmp(what, "trail") == 0)
        show_trail(c);
    else
        show_counts(c);
    code_close(c);
    return 0;
}

int main(int argc, char **argv)
{
    struct rt_error e = {""};
    struct image *m = argc >= 3 ? image_open(argv[2], &e) : NULL;
    if (m == NULL) {
        fprintf(stderr, "%s\n", argc < 3 ? "usage: look WHAT IMAGE" : e.text);
        return 1;
    }
    if (strcmp(argv[1], "symbols") == 0)
        show_symbols(m);
    else if (strcmp(argv[1], "find") == 0 && argc == 4)
        show_matches(m, argv[3]);
    else if (strcmp(argv[1], "ranges") == 0)
        for (size_t i = 0; i < m->range_count; i++)
            printf("%016" PRIx64 "..%016" PRIx64 "\n", m->ranges[i].start, m->ranges[i].end);
    else if (strcmp(argv[1], "pads") == 0)
        for (size_t i = 0; i < m->landing_pad_count; i++)
            printf("%" PRIx64 "\n", m->landing_pads[i]);
    else if (strcmp(argv[1], "build-id") == 0)
        for (unsigned i = 0; i < m->build_id_bytes; i++)
            printf("%02x%s", m->build_id[i], i + 1 == m->build_id_bytes ? "\n" : "");
    else if (show_code(m, argv[1]) != 0)
        fprintf(stderr, "no memory\n");
    image_close(m);
    return 0;
}
