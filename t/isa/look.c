/* SPDX-License-Identifier: BSD-3-Clause
 * Prints what isa/ sees of an image, for tests that compare it with what other programs see. */
#include "isa/image.h"

#include "base/nearest.h"

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
    static const char *const how[] = {"no", "raw", "bare", "qualified", "full"};
    struct near_names near = {.wanted = wanted};
    char text[400];
    unsigned found = 0;
    for (size_t i = 0; i < m->symbol_count; i++) {
        const struct image_symbol *s = &m->symbols[i];
        enum name_match match = image_name_match(s, wanted);
        if (match == NAME_NO)
            continue;
        found++;
        printf("%016" PRIx64 " %s %s %s\n", s->address, how[match], origins[s->origin], s->name);
    }
    if (found == 0) {
        image_name_nearest(m, &near);
        near_names_text(&near, text, sizeof text);
        printf("none%s\n", text);
    }
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
    image_close(m);
    return 0;
}
