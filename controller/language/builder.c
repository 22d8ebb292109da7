/* SPDX-License-Identifier: BSD-3-Clause
 * Collects chains from all sources and makes an immutable config from them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/language/language.h"

/* ---- Memory ---- */

void *pool_allocate(struct pool *pool, size_t size)
{
    if (pool->count == pool->capacity) {
        size_t capacity = pool->capacity * 2 + 32;
        void **blocks = realloc(pool->blocks, capacity * sizeof *blocks);
        if (blocks == NULL)
            return NULL;
        pool->blocks = blocks;
        pool->capacity = capacity;
    }
    void *block = calloc(1, size != 0 ? size : 1);
    if (block != NULL)
        pool->blocks[pool->count++] = block;
    return block;
}

char *pool_copy(struct pool *pool, const char *at, size_t length)
{
    char *copy = pool_allocate(pool, length + 1);
    if (copy != NULL)
        memcpy(copy, at, length);
    return copy;
}

void pool_cut(struct pool *pool, size_t count)
{
    while (pool->count > count)
        free(pool->blocks[--pool->count]);
}

void pool_free(struct pool *pool)
{
    pool_cut(pool, 0);
    free(pool->blocks);
    *pool = (struct pool){0};
}

struct ctl_builder *ctl_builder_create(ctl_warning_function *warn, void *context)
{
    struct ctl_builder *builder = calloc(1, sizeof *builder);
    if (builder == NULL)
        return NULL;
    builder->warn = warn;
    builder->warn_context = context;
    builder->default_start = true;
    return builder;
}

void ctl_builder_free(struct ctl_builder *builder)
{
    if (builder == NULL)
        return;
    int saved = errno;
    for (size_t i = 0; i < builder->legacy_count; i++)
        free(builder->legacy[i].value);
    free(builder->legacy);
    free(builder->chains);
    free(builder->alarms);
    free(builder->alarm_at);
    pool_free(&builder->pool);
    free(builder);
    errno = saved;
}

void ctl_builder_set_default_start(struct ctl_builder *builder, bool on)
{
    builder->default_start = on;
}

/* ---- Sources ---- */

#define FILE_LIMIT ((size_t)64 << 20)

static int file_append(FILE *stream, char **text, size_t *length)
{
    size_t capacity = 0;
    for (;;) {
        if (*length + 1 >= capacity) {
            capacity = capacity * 2 + 4096;
            char *larger = realloc(*text, capacity);
            if (larger == NULL)
                return -ENOMEM;
            *text = larger;
        }
        size_t got = fread(*text + *length, 1, capacity - *length - 1, stream);
        *length += got;
        (*text)[*length] = '\0';
        if (got == 0)
            return ferror(stream) ? -(errno != 0 ? errno : EIO) : 0;
        if (*length > FILE_LIMIT)
            return -EFBIG;
    }
}

char *file_read(const char *path, int *status, struct rt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    errno = 0;
    FILE *stream = fopen(path, "re");
    if (stream == NULL) {
        *status = errno != 0 ? -errno : -EIO;
        rt_error_set(err, "cannot open %s: %s", path, strerror(-*status));
        return NULL;
    }
    *status = file_append(stream, &text, &length);
    fclose(stream);
    if (*status != 0) {
        rt_error_set(err, "cannot read %s: %s", path, strerror(-*status));
    } else if (text != NULL && strlen(text) != length) {
        rt_error_set(err, "%s is not a text file: it has a NUL byte at offset %zu", path,
                     strlen(text));
        *status = -EINVAL;
    }
    if (*status != 0) {
        free(text);
        return NULL;
    }
    return text;
}

int ctl_builder_add_chain(struct ctl_builder *builder, const char *text, const char *origin,
                          struct rt_error *err)
{
    return parse_chain(builder, text, strlen(text), origin, NULL, err);
}

/* Sizes of a builder, to return to if one of several chains is wrong. */
struct mark {
    size_t chains, alarms, blocks;
};

static struct mark builder_mark(const struct ctl_builder *builder)
{
    return (struct mark){builder->chain_count, builder->alarm_count, builder->pool.count};
}

static void builder_return(struct ctl_builder *builder, const struct mark *mark)
{
    builder->chain_count = mark->chains;
    builder->alarm_count = mark->alarms;
    pool_cut(&builder->pool, mark->blocks);
}

static bool is_empty(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (strchr(" \t\r", text[i]) == NULL)
            return false;
    }
    return true;
}

/* Returns the length up to the next separator outside quotes. */
static size_t list_item_length(const char *text)
{
    bool quoted = false;
    const char *p = text;
    /* A newline ends a chain even in quotes, so that one lost quote does not swallow what
     * follows. */
    for (; *p != '\0' && *p != '\n' && (quoted || *p != ';'); p++) {
        if (*p == '"')
            quoted = !quoted;
    }
    return (size_t)(p - text);
}

int ctl_builder_add_list(struct ctl_builder *builder, const char *text, const char *origin,
                         struct rt_error *err)
{
    const struct mark mark = builder_mark(builder);
    for (const char *at = text;;) {
        size_t length = list_item_length(at);
        int status = is_empty(at, length) ? 0 : parse_chain(builder, at, length, origin, NULL, err);
        if (status != 0) {
            builder_return(builder, &mark);
            return status;
        }
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

int ctl_builder_add_file_text(struct ctl_builder *builder, const char *path, const char *text,
                              struct rt_error *err)
{
    const struct mark mark = builder_mark(builder);
    unsigned line = 1;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3; /* the byte order mark that some editors write */
    for (const char *at = text;; line++) {
        size_t length = strcspn(at, "\n");
        size_t blanks = strspn(at, " \t\r");
        bool skip = blanks >= length || at[blanks] == '#';
        char origin[512];
        snprintf(origin, sizeof origin, "file %.400s line %u", path, line);
        int status = skip ? 0 : parse_chain(builder, at, length, origin, NULL, err);
        if (status != 0) {
            builder_return(builder, &mark);
            return status;
        }
        if (at[length] == '\0')
            return 0;
        at += length + 1;
    }
}

int ctl_builder_add_file(struct ctl_builder *builder, const char *path, struct rt_error *err)
{
    int status;
    char *text = file_read(path, &status, err);
    if (text == NULL)
        return status;
    status = ctl_builder_add_file_text(builder, path, text, err);
    free(text);
    return status;
}

static int add_flag(struct ctl_builder *builder, const char *value, struct rt_error *err)
{
    bool off = value != NULL && strcmp(value, "0") == 0;
    if (!off && (value == NULL || strcmp(value, "1") != 0)) {
        rt_error_set(err, "-controller-default-start expects 0 or 1, found '%s'",
                     value != NULL ? value : "");
        return -EINVAL;
    }
    builder->default_start = !off;
    return 0;
}

/* Handles -regions:warmup, -regions:prolog and -regions:epilog: the length of that part of each
 * region in the next file. Returns 1 for another option. */
static int add_region_part(struct ctl_builder *builder, struct span name, const char *value,
                           struct rt_error *err)
{
    const char *bad;
    uint64_t *part = name_equals(name, "regions:warmup")   ? &builder->region_warmup
                     : name_equals(name, "regions:prolog") ? &builder->region_prolog
                     : name_equals(name, "regions:epilog") ? &builder->region_epilog
                                                           : NULL;
    if (part == NULL)
        return 1;
    if (builder->has_pinpoints) {
        rt_error_set(err, "-%.*s must stand before -regions:in", (int)name.length, name.at);
        return -EINVAL;
    }
    if (number_parse((struct span){value, strlen(value)}, part, &bad) == NUMBER_OK)
        return 0;
    *part = 0;
    rt_error_set(err, "-%.*s expects a number of instructions, found '%.100s'", (int)name.length,
                 name.at, value);
    return -EINVAL;
}

int ctl_builder_add_option(struct ctl_builder *builder, const char *name, const char *value,
                           struct rt_error *err)
{
    const char *text = value != NULL ? value : "";
    while (*name == '-' || strncmp(name, "\xe2\x80\x93", 3) == 0)
        name += *name == '-' ? 1 : 3;
    struct span found = {name, strlen(name)};
    if (name_equals(found, "control"))
        return ctl_builder_add_chain(builder, text, "-control", err);
    if (name_equals(found, "control-file"))
        return ctl_builder_add_file(builder, text, err);
    if (name_equals(found, "controller-default-start"))
        return add_flag(builder, value, err);
    int part = add_region_part(builder, found, text, err);
    if (part <= 0)
        return part;
    if (name_equals(found, "regions:in"))
        return ctl_builder_add_regions(builder, CTL_REGIONS_PINPOINTS, text, NULL, err);
    if (name_equals(found, "pcregions:in"))
        return ctl_builder_add_regions(builder, CTL_REGIONS_LOOPPOINT, text, NULL, err);
    if (name_equals(found, "trace-instr-intervals-file"))
        return ctl_builder_add_regions(builder, CTL_REGIONS_INTERVALS, text, NULL, err);
    return legacy_add(builder, name, text, err);
}

int ctl_builder_add_options(struct ctl_builder *builder, const struct options *o,
                            struct rt_error *err)
{
    int rc = 0;
    builder->no_events = o->text[OPT_events][0] == '\0';
    if (o->number[OPT_sample_depth] != 0 && o->text[OPT_sample][0] == '\0')
        builder_warn(builder,
                     "-sample-depth (%s) asks for the callers of samples, and nothing is "
                     "sampled: give -sample EVENT:PERIOD too (REGTRACE_SAMPLE), for "
                     "example cpu:10ms",
                     option_table[OPT_sample_depth].variable);
    ctl_builder_set_default_start(builder, o->number[OPT_default_start] != 0 &&
                                               o->number[OPT_count] == 0 && !option_is_profile(o));
    if (o->text[OPT_control][0] != '\0')
        rc = ctl_builder_add_list(builder, o->text[OPT_control], "-control, REGTRACE_CONTROL", err);
    if (rc == 0 && o->text[OPT_control_file][0] != '\0')
        rc = ctl_builder_add_file(builder, o->text[OPT_control_file], err);
    for (int i = 0; rc == 0 && i < OPTION_COUNT; i++)
        if (option_table[i].kind == OPTION_LEGACY && o->text[i][0] != '\0')
            rc = ctl_builder_add_option(builder, option_table[i].option, o->text[i], err);
    return rc;
}

/* ---- The config ---- */

static int config_fill(struct ctl_builder *builder, struct ctl_config *config)
{
    size_t length = 1;
    for (size_t i = 0; i < builder->chain_count; i++)
        length += strlen(builder->chains[i].chain.text) + 1;
    config->text = malloc(length);
    config->chains = calloc(builder->chain_count + 1, sizeof *config->chains);
    config->alarms = calloc(builder->alarm_count + 1, sizeof *config->alarms);
    if (config->text == NULL || config->chains == NULL || config->alarms == NULL)
        return -ENOMEM;
    char *at = config->text;
    *at = '\0';
    for (size_t i = 0; i < builder->chain_count; i++) {
        config->chains[i] = builder->chains[i].chain;
        at = stpcpy(stpcpy(at, builder->chains[i].chain.text), "\n");
    }
    if (builder->alarm_count != 0)
        memcpy(config->alarms, builder->alarms, builder->alarm_count * sizeof *config->alarms);
    config->chain_count = (unsigned)builder->chain_count;
    config->alarm_count = (unsigned)builder->alarm_count;
    config->default_start = builder->default_start;
    for (size_t i = 0; i < builder->alarm_count; i++) {
        if (builder->alarms[i].event == CTL_START)
            config->default_start = false;
    }
    return 0;
}

/* Refuses alarms that a process could follow only in part. */
static int check_limits(const struct ctl_config *config, struct rt_error *err)
{
    static const enum ctl_type listed[] = {CTL_PCONTROL, CTL_SIGNAL, CTL_INTERACTIVE,
                                           CTL_IMAGE_LOAD};
    for (size_t k = 0; k < sizeof listed / sizeof *listed; k++) {
        unsigned n = 0;
        for (unsigned i = 0; i < ctl_config_alarm_count(config); i++)
            n += ctl_config_alarm(config, i)->type == listed[k] &&
                 ctl_config_alarm_reachable(config, i);
        if (n > CTL_SAME_TYPE_MAX) {
            rt_error_set(err,
                         "the chains have %u alarms of type %s; at most %u can be followed in one "
                         "run",
                         n, ctl_type_name(listed[k]), CTL_SAME_TYPE_MAX);
            return -EINVAL;
        }
    }
    return 0;
}

int ctl_builder_finish(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                       struct ctl_config **config, struct rt_error *err)
{
    *config = NULL;
    if (builder->finished) {
        rt_error_set(err, "the builder has been used already");
        return -EINVAL;
    }
    if (!builder->has_pinpoints &&
        (builder->region_warmup | builder->region_prolog | builder->region_epilog) != 0) {
        rt_error_set(err,
                     "-regions:warmup, -regions:prolog and -regions:epilog have no use without "
                     "-regions:in FILE");
        return -EINVAL;
    }
    const struct mark mark = builder_mark(builder);
    int status = legacy_finish(builder, err);
    if (status == 0)
        status = check_chains(builder, capabilities, err);
    if (status != 0) {
        builder_return(builder, &mark);
        return status;
    }
    struct ctl_config *made = calloc(1, sizeof *made);
    if (made == NULL || config_fill(builder, made) != 0) {
        ctl_config_free(made);
        builder_return(builder, &mark);
        rt_error_set(err, "out of memory");
        return -ENOMEM;
    }
    status = capabilities != NULL ? check_limits(made, err) : 0;
    if (status != 0) {
        ctl_config_free(made);
        builder_return(builder, &mark);
        return status;
    }
    warn_chains(builder);
    made->pool = builder->pool; /* the config owns the strings from here on */
    builder->pool = (struct pool){0};
    builder->chain_count = builder->alarm_count = 0;
    builder->finished = true;
    *config = made;
    return 0;
}
