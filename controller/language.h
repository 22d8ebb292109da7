/* SPDX-License-Identifier: BSD-3-Clause
 * Private to the language half of controller/: builder, parser and the tables that they share. */
#ifndef REGTRACE_CONTROLLER_LANGUAGE_H
#define REGTRACE_CONTROLLER_LANGUAGE_H

#include <stdarg.h>

#include "controller/controller.h"

/* A piece of a text that is not NUL-terminated. */
struct span {
    const char *at;
    size_t length;
};

/* Blocks that live as long as the config; freed together. */
struct pool {
    void **blocks;
    size_t count, capacity;
};

/* NULL when memory is out. Zeroed. */
void *pool_allocate(struct pool *pool, size_t size);
char *pool_copy(struct pool *pool, const char *at, size_t length);
void pool_free(struct pool *pool);
/* Drop what was allocated behind the first `count` blocks. */
void pool_cut(struct pool *pool, size_t count);

struct ctl_config {
    struct ctl_alarm *alarms;
    struct ctl_chain *chains;
    char *text;
    unsigned alarm_count, chain_count;
    bool default_start;
    uint32_t rank;
    struct pool pool;
};

/* A chain with what finish needs to point into it. */
struct built_chain {
    struct ctl_chain chain;
    const char *source;                     /* as it was written, trimmed */
    const char *waitfor_name;               /* NULL: none */
    size_t name_at, waitfor_at, uniform_at; /* offsets in source */
    bool has_uniform;
};

struct legacy_value {
    const char *option; /* as in base/options.def, normalised to '-' */
    char *value;
};

struct ctl_builder {
    ctl_warning_function *warn;
    void *warn_context;
    struct built_chain *chains;
    size_t chain_count, chain_capacity;
    struct ctl_alarm *alarms;
    size_t alarm_count, alarm_capacity;
    size_t *alarm_at; /* offset in the chain's source, by alarm */
    struct legacy_value *legacy;
    size_t legacy_count, legacy_capacity;
    uint64_t region_warmup, region_prolog, region_epilog; /* of PinPoints regions, instructions */
    bool has_pinpoints;
    bool no_events; /* the options name none to count */
    bool default_start;
    bool finished;
    struct pool pool;
};

/* ---- vocabulary.c ---- */
/* Compares names: '-', '_' and U+2013 are the same. */
bool name_equals(struct span found, const char *name);
/* Index in a NULL-ended table, or -1. */
int name_find(struct span found, const char *const *table);
/* The nearest name of a NULL-ended table by edit distance, or NULL if none is near enough to mean
 * it. */
const char *name_nearest(struct span found, const char *const *table);
/* Distance with insertions, deletions, replacements and swaps of neighbours, case apart; stops at
 * 64 characters. */
unsigned name_distance(struct span found, const char *name);
extern const char *const event_names[]; /* NULL-ended, by enum ctl_event */
extern const char *const type_names[];  /* NULL-ended, by enum ctl_type, without uniform */
/* "a, b, c" of a NULL-ended table, cut to size. */
void names_join(char *out, size_t size, const char *const *table);
int signal_number(struct span name); /* 1 .. 64, or 0 */

/* ---- isa_names.c ---- */
extern const char *const isa_extension_names[]; /* NULL-ended */
extern const char *const isa_category_names[];
/* XED's spelling where the decoder's differs; the name unchanged elsewhere. */
struct span isa_alias(struct span name, enum ctl_type type);

/* ---- number.c ---- */
enum number_status { NUMBER_OK, NUMBER_EMPTY, NUMBER_BAD, NUMBER_OVERFLOW };
/* Decimal (leading zeros are decimal) or 0x hexadecimal; the whole span. `*bad` is the first wrong
 * character. */
enum number_status number_parse(struct span text, uint64_t *value, const char **bad);
/* Hexadecimal without 0x, at most `digits` of them. */
enum number_status number_parse_hex(struct span text, unsigned digits, uint64_t *value,
                                    const char **bad);

/* ---- parse.c ---- */
/* One chain, trimmed, without control characters; appended on success. */
int parse_chain(struct ctl_builder *builder, const char *text, size_t length, const char *origin,
                const char *label, struct rt_error *err);

/* What the parser works on. */
struct parser {
    struct ctl_builder *builder;
    struct rt_error *err;
    const char *origin;
    const char *text; /* NUL-terminated, in the pool */
    size_t length;
    char *canonical; /* what was understood so far */
    size_t canonical_length;
    struct built_chain *out;
    size_t first_alarm;
    bool has_repeat, has_name;
};

/* The fields of one piece, split at ':' outside quotes. */
#define MAX_FIELDS 24
struct piece {
    struct span whole;
    struct span fields[MAX_FIELDS];
    unsigned count;
};

/* ---- message.c ---- */
/* Sets the error text with column and caret; returns -EINVAL. */
int parse_fail(const struct parser *parser, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int chain_fail(struct rt_error *err, const char *origin, size_t number, const char *text,
               const char *at, const char *fmt, va_list arguments)
    __attribute__((format(printf, 6, 0)));
/* The int in a field, with the error text for `what`. */
int parse_integer(const struct parser *parser, struct span field, const char *what,
                  uint64_t *value);

/* ---- parse.c ---- */
/* Appends to the canonical text. */
void parser_emit(struct parser *parser, const char *at, size_t length);

/* ---- value.c ---- */
/* The value of an alarm of alarm->type, at piece->fields[*next]; moves *next behind it. */
int parse_value(struct parser *parser, const struct piece *piece, unsigned *next,
                struct ctl_alarm *alarm);

/* ---- token.c ---- */
/* All tokens from fields[next] on. */
int parse_tokens(struct parser *parser, const struct piece *piece, unsigned next,
                 struct ctl_alarm *alarm);

/* ---- check.c ---- */
void builder_warn(struct ctl_builder *builder, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Resolves waitfor, refuses what cannot be. */
int check_chains(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                 struct rt_error *err);
/* Suspicious but legal. */
void warn_chains(struct ctl_builder *builder);

/* ---- legacy.c ---- */
int legacy_add(struct ctl_builder *builder, const char *option, const char *value,
               struct rt_error *err);
/* Turns what was collected into chains. */
int legacy_finish(struct ctl_builder *builder, struct rt_error *err);

/* ---- builder.c ---- */
/* The whole of a file, NUL-terminated, to be freed; NULL with *status = -errno. Refuses NUL bytes
 * and more than 64 MiB. */
char *file_read(const char *path, int *status, struct rt_error *err);

/* Turns the default start on or off (-controller-default-start, REGTRACE_DEFAULT_START). It is on
 * until this is called. */
void ctl_builder_set_default_start(struct ctl_builder *builder, bool on);

/* Adds the chains of a regions file (`text` NULL: reads the file `path`). Each line becomes:
 * PinPoints  tid,id,start,end: start:icount:START:tidT,stop:icount:END-START:tidT. If the
 *            options ask for a warmup, prolog or epilog: warmup-start:icount:...,
 *            prolog-start:icount:W,start:icount:P,epilog-start:icount:END-START,
 *            epilog-stop:icount:E
 * LoopPoint  one chain for each end, because the counts are absolute:
 *            start:address:IMAGE+OFF:countS:global:bcast and
 *            stop:address:IMAGE+OFF:countE:global:bcast. A line with a thread id instead of
 *            "global" has :tidT instead of :global:bcast. Lines warmup:ID give warmup-start and
 *            warmup-stop.
 * intervals  start,duration (DynamoRIO; counted over all threads):
 *            start:icount:GAP:global:bcast,stop:icount:D:global:bcast. Each interval waits for the
 *            end of the one before it. */
enum ctl_regions_format { CTL_REGIONS_PINPOINTS, CTL_REGIONS_LOOPPOINT, CTL_REGIONS_INTERVALS };
int ctl_builder_add_regions(struct ctl_builder *builder, enum ctl_regions_format format,
                            const char *path, const char *text, struct rt_error *err) RT_MUST_CHECK;

/* As ctl_builder_add_file(), for a text in memory. `path` appears in messages only. */
int ctl_builder_add_file_text(struct ctl_builder *builder, const char *path, const char *text,
                              struct rt_error *err) RT_MUST_CHECK;

/* Adds everything that the options of a run ask for, in this order: the default start, `control`,
 * the control file, the regions files, the legacy options. */
int ctl_builder_add_options(struct ctl_builder *builder, const struct options *o,
                            struct rt_error *err) RT_MUST_CHECK;

#endif
