/* SPDX-License-Identifier: BSD-3-Clause
 * Private to the language half of controller/: builder, parser and the tables that they share. */
#ifndef REGTRACE_CONTROLLER_LANGUAGE_LANGUAGE_H
#define REGTRACE_CONTROLLER_LANGUAGE_LANGUAGE_H

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

/* Allocate zeroed memory. Return NULL if there is none. */
void *pool_allocate(struct pool *pool, size_t size);
char *pool_copy(struct pool *pool, const char *at, size_t length);
void pool_free(struct pool *pool);
/* Frees all blocks but the first `count`. */
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

/* A chain, and what ctl_builder_finish() needs for messages about it. */
struct built_chain {
    struct ctl_chain chain;
    const char *source;                     /* as written, trimmed */
    const char *waitfor_name;               /* NULL: none */
    size_t name_at, waitfor_at, uniform_at; /* offsets in `source` */
    bool has_uniform;
};

struct legacy_value {
    const char *option; /* as in base/options.def, normalized to '-' */
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
    /* instructions around each PinPoints region */
    uint64_t region_warmup, region_prolog, region_epilog;
    bool has_pinpoints;
    bool no_events; /* the options name no events to count */
    bool default_start;
    bool finished;
    struct pool pool;
};

/* ---- vocabulary.c ---- */
/* Compares names; '-', '_' and U+2013 are the same. */
bool name_equals(struct span found, const char *name);
/* Returns the index in a NULL-terminated table, or -1. */
int name_find(struct span found, const char *const *table);
/* Returns the nearest name of a NULL-terminated table by edit distance, or NULL if none is near
 * enough to be meant. */
const char *name_nearest(struct span found, const char *const *table);
/* Returns the distance in insertions, deletions, replacements and swaps of neighbours. Ignores
 * case; compares at most 64 characters. */
unsigned name_distance(struct span found, const char *name);
extern const char *const event_names[]; /* NULL-terminated, by enum ctl_event */
extern const char *const type_names[];  /* NULL-terminated, by enum ctl_type, without uniform */
/* Writes a NULL-terminated table as "a, b, c", cut to size. */
void names_join(char *out, size_t size, const char *const *table);
int signal_number(struct span name); /* returns 1 .. 64, or 0 */

/* ---- isa_names.c ---- */
extern const char *const isa_extension_names[]; /* NULL-terminated */
extern const char *const isa_category_names[];
/* Returns the decoder's spelling of a name that XED spells differently; otherwise the name
 * itself. */
struct span isa_alias(struct span name, enum ctl_type type);

/* ---- number.c ---- */
enum number_status { NUMBER_OK, NUMBER_EMPTY, NUMBER_BAD, NUMBER_OVERFLOW };
/* Parse the whole span: decimal (also with leading zeros), or hexadecimal with 0x. `*bad` is the
 * first wrong character. */
enum number_status number_parse(struct span text, uint64_t *value, const char **bad);
/* The same for hexadecimal digits without 0x, at most `digits` of them. */
enum number_status number_parse_hex(struct span text, unsigned digits, uint64_t *value,
                                    const char **bad);

/* ---- parse.c ---- */
/* Parses one chain, trimmed and without control characters, and appends it on success. Returns 0 or
 * -errno. */
int parse_chain(struct ctl_builder *builder, const char *text, size_t length, const char *origin,
                const char *label, struct rt_error *err);

/* State of the parser. */
struct parser {
    struct ctl_builder *builder;
    struct rt_error *err;
    const char *origin;
    const char *text; /* NUL-terminated, in the pool */
    size_t length;
    char *canonical; /* canonical text of what has been parsed so far */
    size_t canonical_length;
    struct built_chain *out;
    size_t first_alarm;
    bool has_repeat, has_name;
};

/* One piece and its fields, split at ':' outside quotes. */
#define MAX_FIELDS 24
struct piece {
    struct span whole;
    struct span fields[MAX_FIELDS];
    unsigned count;
};

/* ---- error_text.c ---- */
/* Set the error text with column and caret; return -EINVAL. */
int parse_fail(const struct parser *parser, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int chain_fail(struct rt_error *err, const char *origin, size_t number, const char *text,
               const char *at, const char *fmt, va_list arguments)
    __attribute__((format(printf, 6, 0)));
/* Parses the integer in a field; `what` names it in the error text. */
int parse_integer(const struct parser *parser, struct span field, const char *what,
                  uint64_t *value);

/* ---- parse.c ---- */
/* Appends to the canonical text. */
void parser_emit(struct parser *parser, const char *at, size_t length);

/* ---- value.c ---- */
/* Parses the value of an alarm of alarm->type at piece->fields[*next], and moves *next past it. */
int parse_value(struct parser *parser, const struct piece *piece, unsigned *next,
                struct ctl_alarm *alarm);

/* ---- token.c ---- */
/* Parses all tokens from fields[next] on. */
int parse_tokens(struct parser *parser, const struct piece *piece, unsigned next,
                 struct ctl_alarm *alarm);

/* ---- check.c ---- */
void builder_warn(struct ctl_builder *builder, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Resolves waitfor, and refuses what is not possible. */
int check_chains(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                 struct rt_error *err);
/* Warns of input that is suspicious but legal. */
void warn_chains(struct ctl_builder *builder);

/* ---- legacy.c ---- */
int legacy_add(struct ctl_builder *builder, const char *option, const char *value,
               struct rt_error *err);
/* Turns the collected options into chains. */
int legacy_finish(struct ctl_builder *builder, struct rt_error *err);

/* ---- builder.c ---- */
/* Reads a whole file. Returns it NUL-terminated, for the caller to free, or NULL with *status =
 * -errno. Refuses NUL bytes and more than 64 MiB. */
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
