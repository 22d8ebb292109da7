/* SPDX-License-Identifier: BSD-3-Clause
 * Reads regions files: PinPoints (instruction counts), LoopPoint (program counters with counts),
 * and DynamoRIO's intervals. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/regions/regions.h"

#define REGION_FIELDS 16

struct region_line {
    const char *path;
    unsigned line;
    struct span text;
    struct span fields[REGION_FIELDS];
    unsigned count;
};

static int line_fail(const struct region_line *line, const char *at, struct rt_error *err,
                     const char *fmt, ...) __attribute__((format(printf, 4, 5)));

static int line_fail(const struct region_line *line, const char *at, struct rt_error *err,
                     const char *fmt, ...)
{
    char message[700];
    va_list arguments;
    va_start(arguments, fmt);
    vsnprintf(message, sizeof message, fmt, arguments);
    va_end(arguments);
    size_t column = at >= line->text.at && at <= line->text.at + line->text.length
                        ? (size_t)(at - line->text.at) + 1
                        : 1;
    rt_error_set(err, "file %.400s line %u, column %zu: %s", line->path, line->line, column,
                 message);
    return -EINVAL;
}

static struct span trim(struct span text)
{
    while (text.length > 0 && strchr(" \t\r", text.at[0]) != NULL) {
        text.at++;
        text.length--;
    }
    while (text.length > 0 && strchr(" \t\r", text.at[text.length - 1]) != NULL)
        text.length--;
    return text;
}

static int split_line(struct region_line *line, struct rt_error *err)
{
    const char *at = line->text.at, *end = at + line->text.length;
    for (line->count = 0;; line->count++) {
        if (line->count == REGION_FIELDS)
            return line_fail(line, at, err, "more than %d fields", REGION_FIELDS);
        const char *comma = memchr(at, ',', (size_t)(end - at));
        const char *stop = comma != NULL ? comma : end;
        line->fields[line->count] = trim((struct span){at, (size_t)(stop - at)});
        if (comma == NULL)
            break;
        at = comma + 1;
    }
    line->count++;
    return 0;
}

static int region_integer(const struct region_line *line, unsigned field, const char *what,
                          uint64_t *value, struct rt_error *err)
{
    const char *bad;
    const struct span text = line->fields[field];
    switch (number_parse(text, value, &bad)) {
    case NUMBER_OK: return 0;
    case NUMBER_OVERFLOW:
        return line_fail(line, text.at, err, "%s '%.*s' does not fit 64 bits", what,
                         (int)text.length, text.at);
    default:
        return line_fail(line, bad, err, "%s expects an integer, found '%.*s'", what,
                         (int)text.length, text.at);
    }
}

/* Parses hexadecimal digits, with or without 0x. */
static int region_hex(const struct region_line *line, unsigned field, const char *what,
                      uint64_t *value, struct rt_error *err)
{
    const char *bad;
    struct span text = line->fields[field];
    if (text.length > 2 && text.at[0] == '0' && (text.at[1] == 'x' || text.at[1] == 'X')) {
        text.at += 2;
        text.length -= 2;
    }
    if (number_parse_hex(text, 16, value, &bad) != NUMBER_OK)
        return line_fail(line, bad, err, "%s expects hexadecimal digits, found '%.*s'", what,
                         (int)line->fields[field].length, line->fields[field].at);
    return 0;
}

static int region_tid(const struct region_line *line, unsigned field, uint64_t *tid,
                      struct rt_error *err)
{
    int status = region_integer(line, field, "thread-id", tid, err);
    if (status == 0 && *tid >= CTL_ANY_TID)
        return line_fail(line, line->fields[field].at, err, "thread-id is too large");
    return status;
}

static struct span digits_of(struct span text, size_t from)
{
    size_t n = from;
    while (n < text.length && text.at[n] >= '0' && text.at[n] <= '9')
        n++;
    return (struct span){text.at + from, n - from};
}

/* Checks a fraction without sign ("0.25", "3" or "1e-3"), which may be empty. It stays text,
 * because this library computes nothing with it. */
static int region_fraction(const struct region_line *line, unsigned field, const char *what,
                           struct rt_error *err)
{
    const struct span text = line->fields[field];
    size_t whole = digits_of(text, 0).length, n = whole, fraction = 0;
    if (n < text.length && text.at[n] == '.') {
        fraction = digits_of(text, n + 1).length;
        n += 1 + fraction;
    }
    bool good = whole + fraction > 0;
    if (good && n < text.length && (text.at[n] == 'e' || text.at[n] == 'E')) {
        n += n + 1 < text.length && strchr("+-", text.at[n + 1]) != NULL ? 2 : 1;
        size_t exponent = digits_of(text, n).length;
        good = exponent > 0 && exponent < 4;
        n += exponent;
    }
    if (text.length == 0 || (good && n == text.length && n < 60))
        return 0;
    return line_fail(line, text.at, err,
                     "%s expects a number that is not negative, such as 0.25, found '%.*s'", what,
                     (int)text.length, text.at);
}

int region_shown(struct span text)
{
    return (int)(text.length < 60 ? text.length : 60);
}

void region_label(char *label, size_t room, const char *before, struct span id, struct span weight)
{
    snprintf(label, room, "%sregion %.*s %sweight%s%.*s", before, region_shown(id), id.at,
             weight.length == 0 ? "no " : "", weight.length == 0 ? "" : " ", region_shown(weight),
             weight.at);
}

int region_chain_add(struct ctl_builder *builder, const char *path, unsigned line,
                     const struct region_note *note, const char *text, struct rt_error *err)
{
    char origin[512], region[200];
    snprintf(origin, sizeof origin, "file %.400s line %u", path, line);
    int n = snprintf(region, sizeof region, "%.*s\t%.*s\t%.*s", region_shown(note->id), note->id.at,
                     region_shown(note->weight), note->weight.at, region_shown(note->multiplier),
                     note->multiplier.at);
    int status = parse_chain(builder, text, strlen(text), origin, note->label, err);
    if (status != 0 || note->id.length == 0)
        return status;
    struct ctl_chain *chain = &builder->chains[builder->chain_count - 1].chain;
    chain->region = pool_copy(&builder->pool, region, (size_t)n);
    if (chain->region != NULL)
        return 0;
    rt_error_set(err, "%.160s: out of memory", origin);
    return -ENOMEM; /* the caller drops the chains of the file */
}

void *region_rows(void *rows, size_t count, size_t *room, size_t size, struct rt_error *err)
{
    if (count < *room)
        return rows;
    size_t wanted = 2 * *room + 64;
    void *more = realloc(rows, wanted * size);
    if (more != NULL)
        *room = wanted;
    else
        rt_error_set(err, "out of memory");
    return more;
}

/* Keeps a line comment,thread-id,region-id,start-icount,end-icount,weight. */
static int keep_pinpoint(struct pinpoints *all, const struct region_line *line,
                         struct rt_error *err)
{
    struct pinpoint p = {.line = line->line, .id = {"", 0}, .weight = {"", 0}};
    if (line->count < 5)
        return line_fail(
            line, line->text.at, err,
            "expected comment,thread-id,region-id,start-icount,end-icount,weight, found %u fields",
            line->count);
    if (line->count == 5)
        return line_fail(line, line->text.at + line->text.length, err,
                         "found 5 fields, the weight is missing: write it after a comma, such as "
                         ",0.25, or a comma alone for a region that stands for itself");
    if (line->count > 6)
        return line_fail(
            line, line->fields[6].at, err,
            "found %u fields; comment,thread-id,region-id,start-icount,end-icount,weight are 6: "
            "remove the comma after the weight and what follows it, or use -pcregions:in for "
            "LoopPoint's 16 fields",
            line->count);
    int status = region_tid(line, 1, &p.tid, err);
    if (status == 0)
        status = region_integer(line, 3, "start-icount", &p.start, err);
    if (status == 0)
        status = region_integer(line, 4, "end-icount", &p.end, err);
    if (status != 0)
        return status;
    if (p.end <= p.start)
        return line_fail(line, line->fields[4].at, err,
                         "end-icount %llu is not after start-icount %llu",
                         (unsigned long long)p.end, (unsigned long long)p.start);
    p.id = line->fields[2];
    p.weight = line->fields[5];
    status = region_fraction(line, 5, "weight", err);
    return status != 0 ? status : pinpoints_keep(all, &p, err);
}

/* Fields of the LoopPoint format, by position. */
enum {
    LP_COMMENT,
    LP_THREAD,
    LP_REGION,
    LP_START,
    LP_END = 7,
    LP_WEIGHT = 13,
    LP_MULTIPLIER,
    LP_TYPE
};

struct loop_region {
    bool all, warmup;
    uint64_t tid;
    char label[192];
    struct region_note note;
};

static int loop_region_parse(const struct region_line *line, struct loop_region *region,
                             struct rt_error *err)
{
    const struct span type = line->fields[LP_TYPE];
    const char *region_of = "";
    struct span id = line->fields[LP_REGION];
    *region = (struct loop_region){.all = name_equals(line->fields[LP_THREAD], "global")};
    if (type.length >= 6 && memcmp(type.at, "warmup", 6) == 0 &&
        (type.length == 6 || type.at[6] == ':')) {
        region->warmup = true;
        region_of = "warmup of ";
        if (type.length > 7)
            id = (struct span){type.at + 7, type.length - 7};
    } else if (!name_equals(type, "simulation")) {
        return line_fail(line, type.at, err,
                         "type expects 'simulation' or 'warmup:<region-id>', found '%.*s'",
                         (int)type.length, type.at);
    }
    region->note = (struct region_note){region->label, id, line->fields[LP_WEIGHT],
                                        line->fields[LP_MULTIPLIER]};
    region_label(region->label, sizeof region->label, region_of, id, region->note.weight);
    int status = region_fraction(line, LP_WEIGHT, "weight", err);
    if (status == 0)
        status = region_fraction(line, LP_MULTIPLIER, "multiplier", err);
    if (status != 0)
        return status;
    return region->all ? 0 : region_tid(line, LP_THREAD, &region->tid, err);
}

/* Adds the chain for one end of a region: pc, image, offset and count from fields[first] on. */
static int add_loop_end(struct ctl_builder *builder, const struct region_line *line,
                        const struct loop_region *region, unsigned first, struct rt_error *err)
{
    bool stop = first == LP_END;
    const struct span image = line->fields[first + 1];
    uint64_t pc, offset, count;
    char text[768], tail[64] = ":global:bcast";
    int status = region_hex(line, first, stop ? "end-pc" : "start-pc", &pc, err);
    if (status == 0)
        status = region_hex(line, first + 2, stop ? "end-offset" : "start-offset", &offset, err);
    if (status == 0)
        status = region_integer(line, first + 3, stop ? "end-count" : "start-count", &count, err);
    if (status != 0)
        return status;
    if (count == 0)
        return line_fail(line, line->fields[first + 3].at, err, "%s is 0; executions count from 1",
                         stop ? "end-count" : "start-count");
    if (image.length > 512 || memchr(image.at, '"', image.length) != NULL)
        return line_fail(line, image.at, err, "the image name is too long or holds a quote");
    if (!region->all)
        snprintf(tail, sizeof tail, ":tid%llu", (unsigned long long)region->tid);
    const char *event =
        region->warmup ? (stop ? "warmup-stop" : "warmup-start") : (stop ? "stop" : "start");
    if (image.length == 0) /* code outside all images: only its pc is known */
        snprintf(text, sizeof text, "%s:address:0x%llx:count%llu%s", event, (unsigned long long)pc,
                 (unsigned long long)count, tail);
    else
        snprintf(text, sizeof text, "%s:address:\"%.*s+0x%llx\":count%llu%s", event,
                 (int)image.length, image.at, (unsigned long long)offset, (unsigned long long)count,
                 tail);
    return region_chain_add(builder, line->path, line->line, &region->note, text, err);
}

static int add_looppoint(struct ctl_builder *builder, const struct region_line *line,
                         struct rt_error *err)
{
    struct loop_region region;
    if (line->count != REGION_FIELDS)
        return line_fail(line, line->text.at, err,
                         "expected 16 fields (comment,thread-id|global,region-id,start-pc,"
                         "start-image,start-offset,start-count,end-pc,end-image,end-offset,end-"
                         "count,end-relative-count,"
                         "length,weight,multiplier,type), found %u",
                         line->count);
    int status = loop_region_parse(line, &region, err);
    if (status == 0)
        status = add_loop_end(builder, line, &region, LP_START, err);
    return status != 0 ? status : add_loop_end(builder, line, &region, LP_END, err);
}

/* Keeps a line start,duration. */
static int keep_interval(struct intervals *all, const struct region_line *line,
                         struct rt_error *err)
{
    struct interval row = {.line = line->line};
    if (line->count != 2)
        return line_fail(line, line->text.at, err, "expected start,duration, found %u fields",
                         line->count);
    int status = region_integer(line, 0, "start", &row.start, err);
    if (status == 0)
        status = region_integer(line, 1, "duration", &row.duration, err);
    if (status != 0)
        return status;
    if (row.duration == 0)
        return line_fail(line, line->fields[1].at, err, "the duration is 0; it must be at least 1");
    return intervals_keep(all, &row, err);
}

static bool is_comment(struct span text)
{
    return text.length == 0 || text.at[0] == '#' ||
           (text.length >= 7 && memcmp(text.at, "comment", 7) == 0 &&
            (text.length == 7 || text.at[7] == ','));
}

static int add_lines(struct ctl_builder *builder, enum ctl_regions_format format, const char *path,
                     const char *text, struct rt_error *err)
{
    struct region_line line = {.path = path, .line = 1};
    struct pinpoints pinpoints = {.path = path};
    struct intervals intervals = {.path = path};
    unsigned regions = 0;
    int status = 0;
    for (const char *at = text;; line.line++) {
        size_t length = strcspn(at, "\n");
        line.text = (struct span){at, length};
        if (!is_comment(trim(line.text))) {
            status = split_line(&line, err);
            if (status == 0)
                status = format == CTL_REGIONS_PINPOINTS   ? keep_pinpoint(&pinpoints, &line, err)
                         : format == CTL_REGIONS_LOOPPOINT ? add_looppoint(builder, &line, err)
                                                           : keep_interval(&intervals, &line, err);
            regions++;
        }
        if (status != 0 || at[length] == '\0')
            break;
        at += length + 1;
    }
    if (status == 0 && pinpoints.count != 0)
        status = pinpoints_add(builder, &pinpoints, err);
    if (status == 0 && intervals.count != 0)
        status = intervals_add(builder, &intervals, err);
    free(pinpoints.rows);
    free(intervals.rows);
    if (status != 0 || regions != 0)
        return status;
    line.line = 1;
    return line_fail(&line, line.text.at, err, "the file has no region");
}

int ctl_builder_add_regions(struct ctl_builder *builder, enum ctl_regions_format format,
                            const char *path, const char *text, struct rt_error *err)
{
    char *content = NULL;
    int status = 0;
    if (text == NULL) {
        content = file_read(path, &status, err);
        if (content == NULL)
            return status;
        text = content;
    }
    size_t chains = builder->chain_count, alarms = builder->alarm_count,
           blocks = builder->pool.count;
    status = add_lines(builder, format, path, text, err);
    if (status != 0) {
        builder->chain_count = chains;
        builder->alarm_count = alarms;
        pool_cut(&builder->pool, blocks);
    }
    builder->has_pinpoints |= status == 0 && format == CTL_REGIONS_PINPOINTS;
    free(content);
    return status;
}
