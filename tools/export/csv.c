/* SPDX-License-Identifier: BSD-3-Clause
 * Writes events as comma-separated values (RFC 4180, lines ended by LF): one line an event, as it
 * was recorded. */
#include "tools/event_description.h"
#include "tools/export/export.h"
#include "tools/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Fields with a column of their own; the column `fields` holds the others. */
static const char *const columns[] = {"peer",    "tag",    "bytes",   "comm",
                                      "request", "region", "address", "address_name",
                                      "type",    "value",  "event",   "count"};
enum { COLUMNS = sizeof columns / sizeof *columns };

struct csv {
    struct export *x;
    const char *path;
    FILE *out;
    struct fired_rows {
        const struct rt_fired **rows;
        size_t count;
    } * fired; /* by process */
};

static int by_row(const void *a, const void *b)
{
    uint64_t x = (*(const struct rt_fired *const *)a)->row,
             y = (*(const struct rt_fired *const *)b)->row;
    return x < y ? -1 : x > y;
}

static void sort_fired(struct csv *c, uint32_t process)
{
    const struct rt_rank_tables *t = rt_rank_tables(c->x->processes[process].rank);
    struct fired_rows *f = &c->fired[process];
    f->rows = calloc(t->fired_count + 1, sizeof *f->rows);
    if (f->rows == NULL) {
        export_fail(c->x, -ENOMEM, "no memory");
        return;
    }
    f->count = t->fired_count;
    for (size_t i = 0; i < f->count; i++)
        f->rows[i] = &t->fired[i];
    qsort((void *)f->rows, f->count, sizeof *f->rows, by_row);
}

static void *begin(struct export *x, const char *path)
{
    struct csv *c = calloc(1, sizeof *c);
    if (c == NULL || (c->fired = calloc(x->process_count + 1u, sizeof *c->fired)) == NULL) {
        free(c);
        export_fail(x, -ENOMEM, "no memory");
        return NULL;
    }
    c->x = x;
    c->path = path;
    c->out = strcmp(path, "-") == 0 ? stdout : export_create(x, path);
    for (uint32_t i = 0; i < x->process_count; i++)
        sort_fired(c, i);
    x->text = c->out;
    if (c->out == NULL)
        return c;
    (void)fputs("ns,rank,pid,thread,window,cpu,name,label,flags", c->out);
    for (unsigned i = 0; i < COLUMNS; i++)
        (void)fprintf(c->out, ",%s", columns[i]);
    (void)fputs(",fields\n", c->out);
    return c;
}

/* Writes a text so that its event stays one line. Control characters and bytes that are not UTF-8
 * become \xNN, as does ';' in the last column, where it separates fields. Backslashes are
 * doubled. */
static void put_text(FILE *out, const char *text, bool in_fields)
{
    size_t n;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p += n != 0 ? n : 1) {
        n = text_character(p);
        if (n == 0 || *p < 0x20 || *p == 0x7f || (in_fields && *p == ';'))
            (void)fprintf(out, "\\x%02x", *p);
        else if (*p == '\\')
            (void)fputs("\\\\", out);
        else if (*p == '"')
            (void)fputs("\"\"", out);
        else
            (void)fwrite(p, 1, n, out);
    }
}

static void put_quoted(FILE *out, const char *text)
{
    bool plain = text[strcspn(text, ",\"\r\n")] == '\0';
    if (!plain)
        (void)putc('"', out);
    put_text(out, text, false);
    if (!plain)
        (void)putc('"', out);
}

static void put_value(FILE *out, const struct field *f, bool in_fields)
{
    if (f->kind == FIELD_INT)
        (void)fprintf(out, "%" PRId64, f->number);
    else if (f->kind == FIELD_UINT)
        (void)fprintf(out, "%" PRIu64, (uint64_t)f->number);
    else if (f->kind != FIELD_TEXT)
        (void)fprintf(out, "0x%" PRIx64, (uint64_t)f->number);
    else if (in_fields)
        put_text(out, f->text, true);
    else
        put_quoted(out, f->text);
}

static unsigned column_of(const char *key)
{
    unsigned i = 0;
    while (i < COLUMNS && strcmp(columns[i], key) != 0)
        i++;
    return i;
}

/* Returns the name of the function at an address, or NULL. For a return address, the call lies
 * before the address, so the byte before it decides. */
static const char *name_of(struct csv *c, const struct stream_record *r, const struct field *f)
{
    uint32_t number;
    uint64_t address = (uint64_t)f->number - (f->kind == FIELD_RETURN ? 1 : 0);
    if ((f->kind != FIELD_CODE && f->kind != FIELD_RETURN) || f->number == 0)
        return NULL;
    int rc = function_numbers_find(c->x->functions, r->stream, address, r->event.clock, &number,
                                   &c->x->e);
    if (rc != 0)
        c->x->rc = rc;
    return rc == 0 ? function_numbers_name(c->x->functions, number) : NULL;
}

static void put_fields(struct csv *c, const struct stream_record *r,
                       const struct event_description *d)
{
    const struct field *of[COLUMNS] = {NULL};
    const char *address_name = NULL, *divider = ",\"";
    for (unsigned i = 0; i < d->count; i++) {
        unsigned column = column_of(d->fields[i].key);
        if (column < COLUMNS)
            of[column] = &d->fields[i];
        if (strcmp(d->fields[i].key, "address") == 0)
            address_name = name_of(c, r, &d->fields[i]);
    }
    for (unsigned i = 0; i < COLUMNS; i++) {
        (void)putc(',', c->out);
        if (of[i] != NULL)
            put_value(c->out, of[i], false);
        else if (address_name != NULL && strcmp(columns[i], "address_name") == 0)
            put_quoted(c->out, address_name);
    }
    for (unsigned i = 0; i < d->count; i++) {
        const struct field *f = &d->fields[i];
        if (column_of(f->key) < COLUMNS)
            continue;
        (void)fprintf(c->out, "%s%s=", divider, f->key);
        put_value(c->out, f, true);
        divider = ";";
        const char *name = name_of(c, r, f);
        if (name != NULL) {
            (void)fprintf(c->out, ";%s_name=", f->key);
            put_text(c->out, name, true);
        }
    }
    (void)fputs(divider[0] == ',' ? ",\n" : "\"\n", c->out);
}

static void event(void *state, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    struct csv *c = state;
    const struct rt_event *ev = &r->event;
    const struct rt_rank *rank = c->x->all[stream].rank;
    const struct fired_rows *f = &c->fired[c->x->process_of[stream]];
    struct rt_fired key = {.row = r->row};
    const struct rt_fired *wanted = &key, **fired = NULL;
    struct event_description d;
    char flags[96];
    if (ev->code == EV_FIRED)
        fired = bsearch((const void *)&wanted, (const void *)f->rows, f->count, sizeof *f->rows,
                        by_row);
    event_describe(&d, rank, ev, fired != NULL ? *fired : NULL);
    event_flags_text(flags, ev->flags, ' ');
    (void)fprintf(c->out, "%" PRId64 ",%" PRId32 ",%" PRIu32 ",%" PRId32 ",", ns,
                  rt_rank_info(rank)->rank, rt_rank_info(rank)->pid, ev->thread);
    if (ev->window >= 0)
        (void)fprintf(c->out, "%" PRId32, ev->window);
    (void)putc(',', c->out);
    if (ev->cpu != EVENT_CPU_UNKNOWN)
        (void)fprintf(c->out, "%u", ev->cpu);
    (void)fprintf(c->out, ",%s,", d.name);
    put_quoted(c->out, d.label);
    (void)fprintf(c->out, ",%s", flags);
    put_fields(c, r, &d);
    if (ferror(c->out) != 0)
        export_fail(c->x, -EIO, "%s could not be written: %s", c->path, strerror(errno));
}

static void finish(void *state)
{
    struct csv *c = state;
    if (c->out != stdout)
        export_close_file(c->x, c->out, c->path);
    for (uint32_t i = 0; i < c->x->process_count; i++)
        free((void *)c->fired[i].rows);
    free(c->fired);
    free(c);
}

const struct export_format export_csv = {
    .option = "csv",
    .shares_text = true,
    .begin = begin,
    .event = event,
    .finish = finish,
};
