/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats`: what its files share. A stream is what a thread accesses in a window; its handlers of signals have streams of their own. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_STATS_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_STATS_H

#include "tools/memory/skel_records.h"
#include "tools/memory/stats/skel_reuse.h"
#include "tools/memory/stats/skel_shapes.h"
#include "tools/memory/stats/skel_strides.h"

enum { STATS_STRIDES = 3 }; /* so many are shown */

/* Of accesses whatever they belong to. */
struct stats_sums {
    uint64_t reads, writes, both; /* both: read, then written */
    uint64_t cold,
        reuse
            [SKEL_REUSE_COUNTS]; /* lines touched: for the first time in a stream, and by distance */
};

/* --- while accesses come: skel_stats_take.c --------------------------------------------------------------------------- */

struct stats_stream {
    struct accesses_whose whose;
    unsigned program; /* of the process */
    uint32_t end;     /* as records say: of the last stretch, or of one that has lost something */
    struct stats_sums sums;
    struct skel_footprint footprint;
};

/* Accesses of one kind and size of an instruction, in one recording. */
struct stats_instruction {
    uint64_t pc, kind;              /* kind: and size, as in records */
    struct stats_instruction *next; /* that came behind it the last time */
    size_t stream;                  /* number + 1 of the stream that what follows is of */
    uint64_t address,
        line; /* of the last access; line: the only one that it touched, or one that there is not */
    uint64_t *mask; /* ... in `lines` */
    size_t number;  /* ... in the stream's */
    int64_t stride;
    uint64_t run; /* so often in a row, not in `strides` yet */
    uint64_t times, cold, reuse[SKEL_REUSE_COUNTS];
    struct skel_lines lines; /* of all streams */
    struct skel_strides strides;
};

/* A recording on its way. */
struct stats_lane {
    struct skel_records records;
    const struct skel_grain *grain;
    struct stats_instruction **instructions, **table; /* table: hash of them */
    size_t instruction_count, table_size;
    struct stats_instruction start; /* whose next comes first */
    struct stats_stream *streams;
    size_t stream_count;
    struct skel_reuse reuse; /* of the last stream */
};

extern const struct skel_records_use stats_records_use;
/* What is still on its way of the last stream. False, and a message: there is no memory. */
bool stats_lane_finish(struct stats_lane *l);
void stats_lane_free(struct stats_lane *l);

/* --- what comes of it: skel_stats_sum.c --------------------------------------------------------------------------------- */

enum stats_kind { STATS_TOTAL, STATS_FUNCTION, STATS_LOOP, STATS_ACCESS };

/* What is summed up. */
struct stats_scope {
    enum stats_kind kind;
    uint32_t image; /* row of shapes' images, or SKEL_NO_IMAGE: then the address is a pc */
    int64_t function,
        loop;         /* rows; -1: none is known. loop: itself, or the innermost around an access */
    uint64_t address; /* of function, loop's head, or instruction */
    const char *line, *expression; /* NULL: not known. expression: malloc'ed */
    char access;                   /* R, W, M */
    uint32_t bytes;                /* of each access */
    struct stats_sums sums;
    struct skel_footprint footprint;
    uint64_t strides, lost; /* how many, and of how many it is not known which */
    struct skel_stride top[STATS_STRIDES];
};

struct stats {
    const struct skel_wishes *wishes;
    struct skel_folder *folder;
    struct skel_grain grain;
    struct stats_lane **lanes; /* as the folder's list; NULL: nothing has come of it */
    struct skel_shapes shapes;
    struct stats_scope
        *scopes; /* the total; functions, loops, accesses, each by image and address */
    size_t scope_count;
};

/* False, and a message: there is no memory. */
bool stats_sum(struct stats *s);

static inline uint64_t stats_loads(const struct stats_sums *s)
{
    return s->reads + s->both;
}

static inline uint64_t stats_stores(const struct stats_sums *s)
{
    return s->writes + s->both;
}

static inline uint64_t stats_accesses(const struct stats_sums *s)
{
    return s->reads + s->writes + s->both;
}

/* --- how it is shown ------------------------------------------------------------------------------------------------------ */

void stats_print_text(const struct stats *s);
void stats_print_json(const struct stats *s);
void stats_print_csv(const struct stats *s);
/* Of a scope; "(unknown)". */
const char *stats_function_name(const struct stats *s, const struct stats_scope *x);
/* How a stream has ended, in a word. */
const char *stats_end_word(const struct stats_stream *t);
/* Is something missing of it? */
bool stats_is_incomplete(const struct stats_stream *t);
/* Without its folders. */
const char *stats_base_name(const char *path);
/* How many of reuse[] there are up to the last that is not 0. */
unsigned stats_reuse_length(const struct stats_sums *s);

#endif
