/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats` for programs: writes JSON, and CSV whose first column says what a row is
 * about (share/doc/memory.md lists the columns). */
#include "tools/json.h"
#include "tools/memory/stats/skel_stats.h"

#include <inttypes.h>
#include <string.h>

static const char *const kinds[] = {[STATS_TOTAL] = "total",
                                    [STATS_FUNCTION] = "function",
                                    [STATS_LOOP] = "loop",
                                    [STATS_ACCESS] = "access"};

static const struct rt_accesses_loop *loop_of(const struct stats *s, const struct stats_scope *x)
{
    return x->loop >= 0 ? &s->shapes.loops[x->loop] : NULL;
}

/* Returns the name of the counter of the scope's loop, or NULL. */
static const char *counter_of(const struct stats *s, const struct stats_scope *x)
{
    const struct rt_accesses_loop *l = loop_of(s, x);
    return l != NULL ? l->counter : NULL;
}

static const char *image_of(const struct stats *s, const struct stats_scope *x)
{
    return x->image != SKEL_NO_IMAGE ? s->shapes.images[x->image].path : NULL;
}

static uint64_t lowest(unsigned k)
{
    return k == 0 ? 0 : UINT64_C(1) << (k - 1);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void write_sums(struct json *j, const struct stats_sums *s, const struct skel_footprint *p)
{
    json_uint(j, "accesses", stats_accesses(s));
    json_uint(j, "loads", stats_loads(s));
    json_uint(j, "stores", stats_stores(s));
    json_uint(j, "footprint_bytes", p->bytes);
    json_uint(j, "footprint_lines", p->lines);
    json_uint(j, "footprint_pages", p->pages);
    json_uint(j, "cold", s->cold);
    json_array_begin(j, "reuse");
    json_compact(j);
    for (unsigned k = 0; k < stats_reuse_length(s); k++)
        json_uint(j, NULL, s->reuse[k]);
    json_array_end(j);
}

static void write_strides(struct json *j, const struct stats_scope *x)
{
    json_uint(j, "strides", x->strides);
    json_bool(j, "strides_exact", x->lost == 0);
    json_array_begin(j, "top_strides");
    json_compact(j);
    for (unsigned k = 0; k < STATS_STRIDES && x->top[k].times > 0; k++) {
        json_object_begin(j, NULL);
        json_int(j, "bytes", x->top[k].bytes);
        json_uint(j, "times", x->top[k].times);
        json_real(j, "percent", 100.0 * (double)x->top[k].times / (double)x->strides);
        json_object_end(j);
    }
    json_array_end(j);
}

static void write_loop(struct json *j, const struct stats *s, const struct stats_scope *x)
{
    const struct rt_accesses_loop *l = loop_of(s, x);
    if (l != NULL)
        json_hex(j, "loop", l->head);
    else
        json_null(j, "loop");
    json_text(j, "counter", counter_of(s, x));
}

static void write_parent(struct json *j, const struct stats *s, const struct stats_scope *x)
{
    const struct rt_accesses_loop *l = loop_of(s, x);
    json_uint(j, "depth", l->depth);
    if (l->parent >= 0)
        json_hex(j, "parent", s->shapes.loops[l->parent].head);
    else
        json_null(j, "parent");
}

static void write_scope(struct json *j, const struct stats *s, const struct stats_scope *x)
{
    char kind[2] = {x->access, '\0'};
    json_object_begin(j, NULL);
    json_text(j, "function", stats_function_name(s, x));
    json_text(j, "image", image_of(s, x));
    if (x->function >= 0 || x->kind == STATS_ACCESS)
        json_hex(j, "address", x->address);
    else
        json_null(j, "address");
    if (x->kind != STATS_FUNCTION) {
        write_loop(j, s, x);
        json_text(j, "line", x->line);
    }
    if (x->kind == STATS_LOOP)
        write_parent(j, s, x);
    if (x->kind == STATS_ACCESS) {
        json_text(j, "kind", kind);
        json_uint(j, "bytes", x->bytes);
        json_text(j, "expression", x->expression);
    }
    write_sums(j, &x->sums, &x->footprint);
    if (x->kind == STATS_ACCESS)
        write_strides(j, x);
    json_object_end(j);
}

static void write_scopes(struct json *j, const struct stats *s, enum stats_kind kind,
                         const char *key)
{
    json_array_begin(j, key);
    for (size_t k = 0; k < s->scope_count; k++)
        if (s->scopes[k].kind == kind)
            write_scope(j, s, &s->scopes[k]);
    json_array_end(j);
}

static void write_streams(struct json *j, const struct stats *s)
{
    json_array_begin(j, "streams");
    for (size_t k = 0; k < s->folder->count; k++)
        for (size_t n = 0; s->lanes[k] != NULL && n < s->lanes[k]->stream_count; n++) {
            const struct stats_stream *t = &s->lanes[k]->streams[n];
            json_object_begin(j, NULL);
            json_int(j, "rank", t->whose.rank);
            json_uint(j, "pid", t->whose.pid);
            json_uint(j, "program", t->program);
            json_uint(j, "thread", t->whose.thread);
            json_int(j, "window", t->whose.window);
            json_uint(j, "signal", t->whose.signal);
            json_text(j, "end", stats_end_word(t));
            write_sums(j, &t->sums, &t->footprint);
            json_object_end(j);
        }
    json_array_end(j);
}

void stats_print_json(const struct stats *s)
{
    struct json j = {.out = stdout, .indented = true};
    json_object_begin(&j, NULL);
    json_text(&j, "program", s->folder->list[0]->head.program);
    json_uint(&j, "line_bytes", s->options->line_bytes);
    json_uint(&j, "page_bytes", s->options->page_bytes);
    json_object_begin(&j, "total");
    write_sums(&j, &s->scopes[0].sums, &s->scopes[0].footprint);
    json_object_end(&j);
    write_streams(&j, s);
    write_scopes(&j, s, STATS_FUNCTION, "functions");
    write_scopes(&j, s, STATS_LOOP, "loops");
    write_scopes(&j, s, STATS_ACCESS, "accesses");
    json_object_end(&j);
    (void)putchar('\n');
}

/* --- CSV (RFC 4180) --------------------------------------------------------------------------- */

static void put_text(const char *text)
{
    if (text == NULL)
        text = "";
    bool plain = text[strcspn(text, ",\"\r\n")] == '\0';
    if (!plain)
        (void)putchar('"');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"')
            (void)putchar('"');
        (void)putchar(*p);
    }
    if (!plain)
        (void)putchar('"');
    (void)putchar(',');
}

static void put_sums(const struct stats_sums *s, const struct skel_footprint *p)
{
    (void)printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",",
                 stats_accesses(s), stats_loads(s), stats_stores(s), p->bytes, p->lines, p->pages);
}

static void put_reuse(const struct stats_sums *s)
{
    (void)printf("%" PRIu64, s->cold);
    for (unsigned k = 0; k < SKEL_REUSE_COUNTS; k++)
        (void)printf(",%" PRIu64, s->reuse[k]);
    (void)putchar('\n');
}

static void put_strides(const struct stats_scope *x)
{
    if (x->kind != STATS_ACCESS)
        (void)putchar(',');
    else
        (void)printf("%" PRIu64 ",", x->strides);
    for (unsigned k = 0; k < STATS_STRIDES; k++) {
        if (x->top[k].times > 0)
            (void)printf("%" PRId64 ",%" PRIu64 ",", x->top[k].bytes, x->top[k].times);
        else
            (void)printf(",,");
    }
}

static void put_scope(const struct stats *s, const struct stats_scope *x)
{
    const struct rt_accesses_loop *l = loop_of(s, x);
    (void)printf("%s,,,,,,,,", kinds[x->kind]);
    put_text(image_of(s, x));
    put_text(x->kind != STATS_TOTAL ? stats_function_name(s, x) : NULL);
    if (l != NULL)
        (void)printf("0x%" PRIx64 ",%s,%u,", l->head, l->counter != NULL ? l->counter : "",
                     l->depth);
    else
        (void)printf(",,,");
    if (x->kind != STATS_TOTAL && (x->function >= 0 || x->kind == STATS_ACCESS))
        (void)printf("0x%" PRIx64, x->address);
    (void)putchar(',');
    put_text(x->line);
    if (x->kind == STATS_ACCESS)
        (void)printf("%c,%u,", x->access, x->bytes);
    else
        (void)printf(",,");
    put_text(x->expression);
    put_sums(&x->sums, &x->footprint);
    put_strides(x);
    put_reuse(&x->sums);
}

static void put_streams(const struct stats *s)
{
    const struct stats_scope none = {.kind = STATS_TOTAL};
    for (size_t k = 0; k < s->folder->count; k++)
        for (size_t n = 0; s->lanes[k] != NULL && n < s->lanes[k]->stream_count; n++) {
            const struct stats_stream *t = &s->lanes[k]->streams[n];
            (void)printf("stream,%d,%u,%u,%u,%d,%u,%s,,,,,,,,,,,", t->whose.rank, t->whose.pid,
                         t->program, t->whose.thread, t->whose.window, t->whose.signal,
                         stats_end_word(t));
            put_sums(&t->sums, &t->footprint);
            put_strides(&none);
            put_reuse(&t->sums);
        }
}

void stats_print_csv(const struct stats *s)
{
    (void)printf(
        "scope,rank,pid,program,thread,window,signal,end,image,function,loop,counter,depth,"
        "address,line,kind,bytes,expression,accesses,loads,stores,footprint_bytes,"
        "footprint_lines,footprint_pages,strides,");
    for (unsigned k = 1; k <= STATS_STRIDES; k++)
        (void)printf("stride_%u,stride_%u_times,", k, k);
    (void)printf("cold");
    for (unsigned k = 0; k < SKEL_REUSE_COUNTS; k++)
        (void)printf(",reuse_%" PRIu64, lowest(k));
    (void)putchar('\n');
    put_scope(s, &s->scopes[0]);
    put_streams(s);
    for (size_t k = 1; k < s->scope_count; k++)
        put_scope(s, &s->scopes[k]);
}
