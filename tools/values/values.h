/* SPDX-License-Identifier: BSD-3-Clause
 * Profiles of captured values, merged over threads, ranks and runs: `regtrace values`. */
#ifndef REGTRACE_TOOLS_VALUES_VALUES_H
#define REGTRACE_TOOLS_VALUES_VALUES_H

#include "tools/addresses.h"

/* One of the most frequent values of an instruction, or of an argument. */
struct values_value {
    uint64_t context[2], value;
    uint32_t caller
        [2]; /* contexts that are callers in an image: their items in profile.at + 1, context 0 then; else 0 */
    double times; /* exact or estimated, as its list is */
};

struct values_list {
    struct values_value *values;
    size_t count, room;
    uint64_t total;   /* values that came, exactly */
    bool estimated;   /* some of it is by sampling */
    double threshold; /* the largest: one value in so many is in the list */
};

/* What is known of an item of profile.at, of the same index. */
struct values_item {
    uint64_t samples, periods;
    struct values_list list;
    char code[32]; /* hexadecimal */
    uint32_t function;
    char *line; /* FILE:LINE or NULL */
};

struct values_function {
    char *name; /* NULL unknown */
    uint32_t image;
    uint64_t samples, periods;
};

/* An argument of a function, 1 to 6; 0: what it returns. */
struct values_argument {
    uint32_t function, number;
    struct values_list list;
};

/* An event that windows have counted; "": none has. */
struct values_counted {
    char event[128];
    double count;
};

struct values_profile {
    struct values_counted cycles, instructions;
    struct addresses at;
    struct values_item *items;
    size_t item_room; /* at.count are in use */
    struct values_function *functions;
    size_t function_count;
    struct values_argument *arguments;
    size_t argument_count;
    char plugin[PATH_MAX]; /* as the run was given it; "": nothing was profiled */
    char *failed;          /* why a plug-in was at an end, of the first file that says so */
    bool has_contexts;
    bool of_more; /* files of windows (regtrace split), which have the whole process's values */
    uint64_t ranks, open_files; /* files with values; files that are not closed yet */
    uint64_t samples, captured, without[5], damaged, unprocessed, strange, lost_chunks;
};

/* Add a rank's. `arguments`: what vp-args has captured goes to profile->arguments (after values_resolve()). 0, -ENOMEM, or -EINVAL:
 * of another plug-in than before, with the text. */
RT_MUST_CHECK int values_collect(struct values_profile *p, const struct rt_rank *rank,
                                 bool arguments, struct rt_error *e);
/* What its windows have counted, if they have. 0, or -errno with the text. */
RT_MUST_CHECK int values_take_counters(struct values_profile *p, struct rt_rank *rank,
                                       struct rt_error *e);
/* NAN: not counted. Of the windows, not of instructions: counters are read at their edges. */
double values_cycles_per_instruction(const struct values_profile *p);
/* Functions and lines, by the images as they are now on this machine; lists by frequency; without `contexts` values that differ in these
 * alone are one. 0 or -ENOMEM. */
RT_MUST_CHECK int values_resolve(struct values_profile *p, bool contexts);
void values_profile_free(struct values_profile *p);

/* Is it the name of a plug-in, not a path? */
bool values_is_name(const char *plugin);

/* --- values_format.c: texts by the plug-in, in a process of its own ----------------------------------------- */

struct values_format {
    int pid; /* 0: none; then everything is hexadecimal */
    FILE *to;
    int from;
    struct rt_error why; /* no (more) texts */
    uint32_t ahead;      /* questions whose answers have not been looked at */
    size_t at, end;      /* of read[] */
    char read[8192], line[1024];
};

/* Without a plug-in (NULL) hexadecimal. */
void values_format_begin(struct values_format *f, const char *plugin);
/* What stands before an instruction's list, valid until the next call; NULL: its list is omitted. Then its values. */
const char *values_format_preface(struct values_format *f, const char *code);
const char *values_format_value(struct values_format *f, uint64_t value);
/* The next values will be the first `count` of this list: all are asked for at once, which spares two changes of process for each. */
void values_format_ahead(struct values_format *f, const struct values_list *list, size_t count);
/* The instruction as objdump(1) has it, by its code and its place in the image, valid until the next call; NULL: nobody knows. */
const char *values_format_instruction(struct values_format *f, const char *code, uint64_t offset);
void values_format_end(struct values_format *f);

/* --- values_text.c, values_json.c ----------------------------------------------------------------------------- */

struct values_wishes {
    double cut;     /* per cent */
    uint64_t most;  /* values of an instruction; 0: all */
    uint64_t least; /* -invariant: values that an instruction must have */
    bool invariant, contexts, arguments, json;
    enum { VALUES_BY_INSTRUCTION, VALUES_BY_IMAGE, VALUES_BY_PROCEDURE } by;
    void *function; /* regex_t, NULL: all */
};

bool values_is_wanted(const struct values_wishes *w, const struct values_profile *p,
                      uint32_t function);
/* The items that are shown, malloc'ed: by function, the most sampled first, then by address. NULL: no memory. */
uint32_t *values_sorted(const struct values_wishes *w, const struct values_profile *p,
                        size_t *count);
/* A context as a caller's function and place, or as the number that it is; valid until the next call. */
const char *values_context_text(struct values_profile *p, const struct values_value *v, unsigned n);
/* One value of an instruction has 99 % of at least so many. */
bool values_is_invariant(const struct values_list *l, uint64_t least);
const char *values_function_name(const struct values_profile *p, uint32_t function);
/* Is there enough of it to be shown? Of a value that an estimate rests on fewer than three of the list for, nothing can be said
 * (Gibbons and Matias); with a cut of 0 all are. */
/* A line, if the run's windows counted so; `which` stands before it. */
void values_print_counters(FILE *out, const char *which, const struct values_profile *p);
/* How many of a list are shown. */
size_t values_shown(const struct values_list *l, const struct values_wishes *w);
bool values_is_frequent(const struct values_list *l, const struct values_value *v, double cut);
/* How often a value came, per cent of all that came. */
double values_share(const struct values_list *l, const struct values_value *v);

void values_print_text(FILE *out, struct values_profile *p, const struct values_wishes *w,
                       struct values_format *f);
void values_print_json(FILE *out, struct values_profile *p, const struct values_wishes *w,
                       struct values_format *f);
/* All of it that -function and so on leave, to an HDF5 file at `path`. 0, or -errno with the text. *instructions, *values: written. */
RT_MUST_CHECK int values_write_profile(const char *path, struct values_profile *p,
                                       const struct values_wishes *w, uint64_t *instructions,
                                       uint64_t *values, struct rt_error *e);
/* Two profiles side by side. */
void values_print_difference(FILE *out, struct values_profile *a, struct values_profile *b,
                             const struct values_wishes *w, struct values_format *f);

#endif
