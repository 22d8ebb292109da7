/* SPDX-License-Identifier: BSD-3-Clause
 * Samples of a run, by function and source line: `regtrace report --hot`. */
#ifndef REGTRACE_TOOLS_HOT_H
#define REGTRACE_TOOLS_HOT_H

#include "tools/tools.h"
#include "writer/writer.h"

/* Where an address belongs: the same place in all ranks. */
#define HOT_CHANGED 1

struct hot_place {
    uint32_t image;          /* index into hot.images */
    uint64_t offset;         /* from the load base: an address of the image's own symbol table */
    uint64_t weight;         /* periods sampled just here */
    uint32_t function, line; /* of hot.functions and hot.lines */
    bool frameless;          /* a sample's first caller is its caller indeed */
};

/* A file as it was loaded. */
struct hot_image {
    char *path, *build_id; /* build_id: in hexadecimal digits, "" unknown */
    int problem; /* 0; HOT_CHANGED: what lies at that path now is another; -errno: it cannot be read */
};

/* A function, or a line of source. */
struct hot_row {
    char *name;      /* of the function, or FILE:LINE; NULL unknown */
    uint32_t image;  /* of hot.images */
    uint64_t self;   /* periods in it */
    uint64_t within; /* periods in it and in what it calls; functions only, once a sample */
    uint64_t last;   /* sample that was counted last into `within` */
};

struct hot_sample {
    uint64_t first; /* of hot.frames: the place itself, then what may be its caller, then callers */
    uint32_t count, weight;
};

struct hot {
    struct hot_image *images;
    size_t image_count;
    struct hot_place *places;
    size_t place_count;
    uint32_t *table; /* hash: place + 1 */
    size_t table_size;
    uint32_t *frames; /* places */
    uint64_t frame_count, frame_room;
    struct hot_sample *samples;
    uint64_t sample_count, sample_room;
    struct hot_row *functions, *lines;
    size_t function_count, line_count;
    uint64_t weight;  /* periods in all samples */
    char asked[96];   /* REGTRACE_SAMPLE of the run, "" where it did not sample */
    bool has_callers; /* some sample has */
};

/* Add the samples of an opened rank in these windows. 0, -ENOMEM, or -errno of the file with the text. */
RT_MUST_CHECK int hot_collect(struct hot *h, struct rt_rank *rank,
                              const struct window_span *windows, struct rt_error *e);

/* Give each place its function and line, from the images as they are now on this machine. 0 or -ENOMEM. */
RT_MUST_CHECK int hot_resolve(struct hot *h);
/* Names of one image's places; without libdw (elfutils) nothing has a name. hot_symbols.c */
struct hot_symbols;
/* NULL where there is nothing to read: no file at all ("[vdso]"), or a *problem: HOT_CHANGED where the file has another
 * build id than that, "" being any, or why it cannot be read, -ENOEXEC where it is none of ELF. */
struct hot_symbols *hot_symbols_open(const char *path, const char *build_id, int *problem);
/* function: C++ names in readable form; malloc'ed or NULL; line: "FILE:LINE", malloc'ed or NULL. */
void hot_symbols_find(struct hot_symbols *s, uint64_t address, char **function, char **line);
/* Has the function made no frame by then, so that its return address is in its first place? By the unwind table. */
bool hot_symbols_frameless(struct hot_symbols *s, uint64_t address);
void hot_symbols_close(struct hot_symbols *s);
/* Why names may be missing, NULL where they need not be. */
const char *hot_symbols_lack(void);

/* The longest first; top 0: all. */
void hot_print_text(FILE *out, const struct hot *h, size_t top);
void hot_print_json(FILE *out, const struct hot *h);
void hot_free(struct hot *h);

#endif
