/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel stats` for people: prints streams, and functions with their loops and accesses;
 * functions with the most accesses first. */
#include "tools/json.h"
#include "tools/memory/stats/skel_stats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { STREAMS = 10 };

const char *stats_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

const char *stats_function_name(const struct stats *s, const struct stats_scope *x)
{
    const char *name = x->function >= 0 ? s->shapes.functions[x->function].name : NULL;
    return name != NULL && name[0] != '\0' ? name : "(unknown)";
}

unsigned stats_reuse_length(const struct stats_sums *s)
{
    unsigned n = SKEL_REUSE_COUNTS;
    while (n > 0 && s->reuse[n - 1] == 0)
        n--;
    return n;
}

static double percent(uint64_t part, uint64_t all)
{
    return all > 0 ? 100.0 * (double)part / (double)all : 0;
}

static void indent(unsigned depth)
{
    (void)printf("%*s", (int)(4 * (depth < 12 ? depth : 12)), "");
}

/* --- sums ------------------------------------------------------------------------------------- */

static void print_reuse(const struct stats_sums *s)
{
    uint64_t all = s->cold;
    for (unsigned k = 0; k < SKEL_REUSE_COUNTS; k++)
        all += s->reuse[k];
    (void)printf("reuse: first %.1f%%", percent(s->cold, all));
    for (unsigned k = 0; k < SKEL_REUSE_COUNTS; k++) {
        if (s->reuse[k] == 0)
            continue;
        uint64_t low = k == 0 ? 0 : UINT64_C(1) << (k - 1);
        if (k < 2)
            (void)printf(", %" PRIu64, low);
        else
            (void)printf(", %" PRIu64 "-%" PRIu64, low, 2 * low - 1);
        (void)printf(": %.1f%%", percent(s->reuse[k], all));
    }
    (void)putchar('\n');
}

static void print_counts(const struct stats_sums *s)
{
    (void)printf("%" PRIu64 " accesses, %" PRIu64 " loads, %" PRIu64 " stores", stats_accesses(s),
                 stats_loads(s), stats_stores(s));
}

static void print_footprint(const struct skel_footprint *p)
{
    (void)printf("%" PRIu64 " bytes, %" PRIu64 " line%s, %" PRIu64 " page%s", p->bytes, p->lines,
                 p->lines == 1 ? "" : "s", p->pages, p->pages == 1 ? "" : "s");
}

static void print_sums(const struct stats_scope *x, unsigned depth)
{
    indent(depth);
    print_counts(&x->sums);
    (void)printf("; ");
    print_footprint(&x->footprint);
    (void)putchar('\n');
    indent(depth);
    print_reuse(&x->sums);
}

static void print_strides(const struct stats_scope *x)
{
    (void)printf("; stride");
    for (unsigned k = 0; k < STATS_STRIDES && x->top[k].times > 0; k++)
        (void)printf("%s %+" PRId64 " %s%.1f%%", k > 0 ? "," : "", x->top[k].bytes,
                     x->lost > 0 ? ">=" : "", percent(x->top[k].times, x->strides));
    if (x->top[0].times == 0)
        (void)printf("s of all kinds");
}

/* --- the tree --------------------------------------------------------------------------------- */

static void print_line(const char *line)
{
    if (line != NULL && line[0] != '\0') {
        (void)printf("  ");
        text_write_plain(stdout, stats_base_name(line));
    }
    (void)putchar('\n');
}

static void print_access(const struct stats_scope *x, unsigned depth)
{
    indent(depth);
    (void)printf("0x%" PRIx64 "  ", x->address);
    if (x->expression != NULL)
        (void)printf("%s", x->expression);
    else
        (void)printf("%c %u", x->access, x->bytes);
    print_line(x->line);
    indent(depth + 1);
    (void)printf("%" PRIu64 " accesses; ", stats_accesses(&x->sums));
    print_footprint(&x->footprint);
    if (x->strides > 0)
        print_strides(x);
    (void)putchar('\n');
    indent(depth + 1);
    print_reuse(&x->sums);
}

static void print_loops(const struct stats *s, int64_t function, int64_t parent, unsigned depth);

static void print_accesses(const struct stats *s, int64_t function, int64_t loop, unsigned depth)
{
    for (size_t k = 0; k < s->scope_count; k++) {
        const struct stats_scope *x = &s->scopes[k];
        if (x->kind == STATS_ACCESS && x->function == function && x->loop == loop)
            print_access(x, depth);
    }
}

static void print_loop(const struct stats *s, const struct stats_scope *x, unsigned depth)
{
    const struct rt_accesses_loop *l = &s->shapes.loops[x->loop];
    indent(depth);
    (void)printf("loop %s%sat 0x%" PRIx64, l->counter != NULL ? l->counter : "",
                 l->counter != NULL ? " " : "", x->address);
    print_line(x->line);
    print_sums(x, depth + 1);
    print_accesses(s, x->function, x->loop, depth + 1);
    print_loops(s, x->function, x->loop, depth + 1);
}

static void print_loops(const struct stats *s, int64_t function, int64_t parent, unsigned depth)
{
    for (size_t k = 0; k < s->scope_count; k++) {
        const struct stats_scope *x = &s->scopes[k];
        if (x->kind == STATS_LOOP && x->function == function &&
            s->shapes.loops[x->loop].parent == parent)
            print_loop(s, x, depth);
    }
}

static int by_accesses(const void *a, const void *b)
{
    const struct stats_scope *x = *(const struct stats_scope *const *)a,
                             *y = *(const struct stats_scope *const *)b;
    uint64_t n = stats_accesses(&x->sums), m = stats_accesses(&y->sums);
    if (n != m)
        return n > m ? -1 : 1;
    return x < y ? -1 : 1;
}

static void print_functions(const struct stats *s)
{
    size_t count = 0;
    const struct stats_scope **list = calloc(s->scope_count, sizeof(struct stats_scope *));
    for (size_t k = 0; list != NULL && k < s->scope_count; k++)
        if (s->scopes[k].kind == STATS_FUNCTION)
            list[count++] = &s->scopes[k];
    if (count > 0)
        qsort(list, count, sizeof(struct stats_scope *), by_accesses);
    for (size_t k = 0; k < count; k++) {
        (void)putchar('\n');
        text_write_plain(stdout, stats_function_name(s, list[k]));
        if (list[k]->image != SKEL_NO_IMAGE) {
            (void)printf("  ");
            text_write_plain(stdout, stats_base_name(s->shapes.images[list[k]->image].path));
        }
        (void)putchar('\n');
        print_sums(list[k], 1);
        print_accesses(s, list[k]->function, -1, 1);
        print_loops(s, list[k]->function, -1, 1);
    }
    free(list);
}

/* --- streams ---------------------------------------------------------------------------------- */

struct end {
    const char *word, *text;
};

static const struct end *end_of(const struct stats_stream *t)
{
    static const struct end unknown = {"unknown", "for a reason that this regtrace does not know"};
    static const struct end ends[] = {
        [MEMORY_CLOSED] = {"closed", ""},
        [MEMORY_JUMPED] = {"jumped", "left by a jump or an exception before its window's end"},
        [MEMORY_NO_ROOM] = {"no_room", "cut off, its file could not grow"},
        [MEMORY_AMID] = {"amid", "cut off within a function, whose last accesses are missing"},
        [ACCESSES_MISSING] = {"missing", "functions were not recorded from a place in them on"},
        [ACCESSES_OPEN] = {"open", "cut off, the thread or process ended in its window, or the "
                                   "file could not be written; its last accesses are missing"},
    };
    const struct end *e = t->end < sizeof ends / sizeof *ends ? &ends[t->end] : &unknown;
    return e->word != NULL ? e : &unknown;
}

const char *stats_end_word(const struct stats_stream *t)
{
    return end_of(t)->word;
}

/* A handler that siglongjmp(3) leaves is complete: it did all it does. */
bool stats_is_incomplete(const struct stats_stream *t)
{
    return t->end != MEMORY_CLOSED && (t->end != MEMORY_JUMPED || t->whose.signal == 0);
}

static void print_stream(const struct stats_stream *t)
{
    (void)printf("    rank %d, pid %u, thread %u, window %d", t->whose.rank, t->whose.pid,
                 t->whose.thread, t->whose.window);
    if (t->program != 0)
        (void)printf(", program %u", t->program);
    if (t->whose.signal != 0)
        (void)printf(", handlers of signal %u", t->whose.signal);
    (void)printf(": ");
    print_counts(&t->sums);
    (void)printf("; ");
    print_footprint(&t->footprint);
    (void)printf("\n        ");
    print_reuse(&t->sums);
    if (t->end != MEMORY_CLOSED)
        (void)printf("        %s: %s\n", end_of(t)->word, end_of(t)->text);
}

static void print_streams(const struct stats *s)
{
    size_t count = 0;
    for (size_t k = 0; k < s->folder->count; k++)
        for (size_t n = 0; s->lanes[k] != NULL && n < s->lanes[k]->stream_count; n++)
            if (count++ < STREAMS)
                print_stream(&s->lanes[k]->streams[n]);
    if (count > STREAMS)
        (void)printf("    and %zu more, which -format json and csv have\n", count - STREAMS);
}

void stats_print_text(const struct stats *s)
{
    const struct stats_scope *total = &s->scopes[0];
    (void)printf("Lines of %" PRIu64 " bytes, pages of %" PRIu64
                 ". Reuse: how many other lines a thread has touched in a window since it touched "
                 "the line last.\n\n",
                 s->options->line_bytes, s->options->page_bytes);
    (void)printf("total\n");
    print_sums(total, 1);
    print_streams(s);
    print_functions(s);
}
