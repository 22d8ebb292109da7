/* SPDX-License-Identifier: BSD-3-Clause
 * Profiles of captured values, merged over threads, ranks and runs: `regtrace values`. */
#ifndef REGTRACE_TOOLS_VALUES_VALUE_PROFILES_H
#define REGTRACE_TOOLS_VALUES_VALUE_PROFILES_H

#include "tools/addresses.h"

/* One of the most frequent values of an instruction, or of an argument. */
struct values_value {
    uint64_t context[2], value;
    /* For a context that is a caller in an image: its item in profile.at + 1, and the context is
     * 0. For other contexts: 0. */
    uint32_t caller[2];
    double times; /* exact or estimated, as in its list */
};

struct values_list {
    struct values_value *values;
    size_t count, room;
    uint64_t total; /* number of values that came, exact */
    bool estimated; /* some counts are estimates from a sample */
    /* The largest of the merged lists: one value in `threshold` is in the list. */
    double threshold;
};

/* Data about the item of profile.at with the same index. */
struct profile_item {
    uint64_t samples, periods;
    struct values_list list;
    char code[32]; /* hexadecimal */
    uint32_t function;
    char *line; /* FILE:LINE, or NULL */
};

struct values_function {
    char *name; /* NULL: unknown */
    uint32_t image;
    uint64_t samples, periods;
};

/* An argument of a function, number 1 to 6; number 0: what it returns. */
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
    struct profile_item *items;
    size_t item_room; /* at.count of them are in use */
    struct values_function *functions;
    size_t function_count;
    struct values_argument *arguments;
    size_t argument_count;
    char plugin[PATH_MAX]; /* as given to the run; "": no values were profiled */
    /* why a plug-in stopped, from the first file that tells it */
    char *failed;
    bool has_contexts;
    bool no_memory; /* something was not printed for lack of memory */
    /* files of `regtrace split`, which have the values of whole processes */
    bool of_more;
    struct values_process *processes;
    size_t process_room;
    uint64_t ranks, open_files; /* processes with values; files that are not closed yet */
    uint64_t samples, captured, without[5], damaged, unprocessed, strange, lost_chunks;
};

/* Adds the values of one rank, unless another file of the same process had them: each file of
 * `regtrace split` has those of the whole process. `arguments`: adds what vp-args captured to
 * profile->arguments (valid after values_resolve()). Returns 0, -ENOMEM, or -EINVAL with the text
 * if the values are of another plug-in than before. */
RT_MUST_CHECK int values_collect(struct values_profile *p, const struct rt_rank *rank,
                                 bool arguments, struct rt_error *e);
/* Adds what the rank's windows counted, if they did. Returns 0, or -errno with the text. */
RT_MUST_CHECK int values_take_counters(struct values_profile *p, struct rt_rank *rank,
                                       struct rt_error *e);
/* Returns the cycles per instruction of windows, not of instructions, since counters are read at
 * window edges. NAN: not counted. */
double values_cycles_per_instruction(const struct values_profile *p);
/* Finds functions and lines in the images as they are now on this machine, and sorts lists by
 * frequency. Unless `contexts`, merges values that differ only in their contexts. Returns 0 or
 * -ENOMEM. */
RT_MUST_CHECK int values_resolve(struct values_profile *p, bool contexts);
void values_profile_free(struct values_profile *p);

/* Returns true if `plugin` is the name of a plug-in, not a path. */
bool values_is_name(const char *plugin);

/* --- texts by the plug-in, in a separate process: values_format.c ----------------------------- */

struct values_format {
    int pid; /* 0: none; everything is then hexadecimal */
    FILE *to;
    int from;
    struct rt_error why; /* why there are no (more) texts */
    uint32_t ahead;      /* questions whose answers have not been read */
    size_t at, end;      /* of read[] */
    char read[8192], line[1024];
};

/* Starts the plug-in's process. plugin NULL: values are hexadecimal. */
void values_format_begin(struct values_format *f, const char *plugin);
/* Returns what precedes an instruction's list, valid until the next call; NULL: its list is
 * omitted. Ask for its values after this call. */
const char *values_format_preface(struct values_format *f, const char *code);
const char *values_format_value(struct values_format *f, uint64_t value);
/* Announces that the next values are the first `count` of this list. Asks for all of them at once,
 * which saves two process switches for each. */
void values_format_ahead(struct values_format *f, const struct values_list *list, size_t count);
/* Returns the instruction as objdump(1) shows it, by its code and its offset in the image, valid
 * until the next call; NULL: unknown. */
const char *values_format_instruction(struct values_format *f, const char *code, uint64_t offset);
void values_format_end(struct values_format *f);

/* --- output: values_text.c, values_json.c ----------------------------------------------------- */

struct values_options {
    double cut;     /* per cent */
    uint64_t most;  /* values of an instruction; 0: all */
    uint64_t least; /* -invariant: least number of values of an instruction */
    bool invariant, contexts, arguments, json;
    enum { VALUES_BY_INSTRUCTION, VALUES_BY_IMAGE, VALUES_BY_PROCEDURE } by;
    void *function; /* regex_t; NULL: all */
};

bool values_is_wanted(const struct values_options *o, const struct values_profile *p,
                      uint32_t function);
/* Returns the items to show, malloc'ed: the most sampled function first, then by address. NULL: no
 * memory; p->no_memory is set then. */
uint32_t *values_sorted(const struct values_options *o, struct values_profile *p, size_t *count);
/* Returns a context as a caller's function and place, or as a number; valid until the next call. */
const char *values_context_text(struct values_profile *p, const struct values_value *v, unsigned n);
/* Returns true if the list has at least `least` values, and 99 % of them are equal. */
bool values_is_invariant(const struct values_list *l, uint64_t least);
const char *values_function_name(const struct values_profile *p, uint32_t function);
/* Prints the cycles per instruction, after `which`, if the run's windows counted them. */
void values_print_counters(FILE *out, const char *which, const struct values_profile *p);
/* Returns how many values of a list are shown. */
size_t values_shown(const struct values_list *l, const struct values_options *o);
/* Returns true if a value is frequent enough to be shown. If fewer than three values in the list
 * support an estimate, it says nothing (Gibbons and Matias). With a cut of 0, all values are
 * shown. */
bool values_is_frequent(const struct values_list *l, const struct values_value *v, double cut);
/* Returns how often a value came, in per cent of all that came. */
double values_share(const struct values_list *l, const struct values_value *v);

void values_print_text(FILE *out, struct values_profile *p, const struct values_options *o,
                       struct values_format *f);
void values_print_json(FILE *out, struct values_profile *p, const struct values_options *o,
                       struct values_format *f);
/* Writes what -function and similar options select to an HDF5 file at `path`. Returns 0, or -errno
 * with the text. Sets *instructions and *values to the numbers that were written. */
RT_MUST_CHECK int values_write_profile(const char *path, struct values_profile *p,
                                       const struct values_options *o, uint64_t *instructions,
                                       uint64_t *values, struct rt_error *e);
/* Prints two profiles side by side. */
void values_print_difference(FILE *out, struct values_profile *a, struct values_profile *b,
                             const struct values_options *o, struct values_format *f);

#endif
