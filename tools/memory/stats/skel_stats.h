/* SPDX-License-Identifier: BSD-3-Clause
 * Declarations that the files of `regtrace skel stats` share. A stream is what a thread accesses in
 * a window; signal handlers have streams of their own. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_STATS_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_STATS_H

#include "tools/memory/skel_records.h"
#include "tools/memory/stats/skel_reuse.h"
#include "tools/memory/stats/skel_shapes.h"
#include "tools/memory/stats/skel_strides.h"

enum { STATS_STRIDES = 3 }; /* number of strides shown */

/* Sums over any set of accesses. */
struct stats_sums {
    uint64_t reads, writes, both; /* both: read, then written */
    /* Touches of lines: the first in a stream, and the others by distance. */
    uint64_t cold, reuse[SKEL_REUSE_COUNTS];
};

/* --- accesses as they arrive: skel_stats_take.c ----------------------------------------------- */

struct stats_stream {
    struct accesses_whose whose;
    unsigned program; /* number of earlier programs of the process */
    uint32_t end;     /* end of its last segment, or of one that lost something */
    struct stats_sums sums;
    struct skel_footprint footprint;
};

/* Accesses of one kind and size of an instruction, in one recording. */
struct stats_instruction {
    uint64_t pc, kind;              /* kind: bytes << 8 | kind, as in records */
    struct stats_instruction *next; /* the instruction that followed it last time */
    size_t stream;                  /* number + 1 of the stream to which the next fields belong */
    /* Of the last access. line: the only line that it touched, or NO_LINE. */
    uint64_t address, line;
    uint64_t *mask; /* that line's mask in `lines` */
    size_t number;  /* that line's number in stats_lane.reuse */
    int64_t stride;
    uint64_t run; /* occurrences of `stride` in a row, not in `strides` yet */
    uint64_t times, cold, reuse[SKEL_REUSE_COUNTS];
    struct skel_lines lines; /* lines touched in all streams */
    struct skel_strides strides;
};

/* A recording that is being read. */
struct stats_lane {
    struct skel_records records;
    const struct skel_grain *grain;
    struct stats_instruction **instructions; /* by number of `instruction_keys` */
    size_t instruction_count, instruction_room;
    struct key_table instruction_keys; /* high: kind, low: program counter */
    struct stats_instruction start;    /* its `next` predicts the first instruction */
    struct stats_stream *streams;
    size_t stream_count;
    struct skel_reuse reuse; /* state of the last stream */
};

extern const struct skel_records_use stats_records_use;
/* Adds the unfinished runs of strides and ends the last stream. Returns false, and prints a
 * message, if there is no memory. */
bool stats_lane_finish(struct stats_lane *l);
void stats_lane_free(struct stats_lane *l);

/* --- sums: skel_stats_sum.c ------------------------------------------------------------------- */

enum stats_kind { STATS_TOTAL, STATS_FUNCTION, STATS_LOOP, STATS_ACCESS };

/* The accesses of one function, loop or instruction, or all, with their sums. */
struct stats_scope {
    enum stats_kind kind;
    uint32_t image; /* row of shapes.images; SKEL_NO_IMAGE: `address` is a pc */
    /* Rows; -1: not known. loop: the loop itself, or the innermost one around an access. */
    int64_t function, loop;
    uint64_t address;              /* of the function, loop head or instruction */
    const char *line, *expression; /* NULL: not known. expression: malloc'ed */
    char access;                   /* R, W, M */
    uint32_t bytes;                /* size of each access */
    struct stats_sums sums;
    struct skel_footprint footprint;
    uint64_t strides, lost; /* number of strides; how many of them are not known */
    struct skel_stride top[STATS_STRIDES];
};

struct stats {
    const struct skel_options *options;
    struct skel_folder *folder;
    struct skel_grain grain;
    struct stats_lane **lanes; /* parallel to folder->list; NULL: nothing read yet */
    struct skel_shapes shapes;
    /* The total, then functions, loops and accesses, each sorted by image and address. */
    struct stats_scope *scopes;
    size_t scope_count;
};

/* Makes s->scopes of all lanes. Returns false, and prints a message, if there is no memory. */
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

/* --- output ----------------------------------------------------------------------------------- */

void stats_print_text(const struct stats *s);
void stats_print_json(const struct stats *s);
void stats_print_csv(const struct stats *s);
/* Returns the name of a scope's function, or "(unknown)". */
const char *stats_function_name(const struct stats *s, const struct stats_scope *x);
/* Returns one word for how a stream ended. */
const char *stats_end_word(const struct stats_stream *t);
/* Does the stream lack accesses? */
bool stats_is_incomplete(const struct stats_stream *t);
/* Returns the last part of a path. */
const char *stats_base_name(const char *path);
/* Returns the length of reuse[] up to the last count that is not 0. */
unsigned stats_reuse_length(const struct stats_sums *s);

#endif
