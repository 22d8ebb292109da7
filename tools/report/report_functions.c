/* SPDX-License-Identifier: BSD-3-Clause
 * Functions that REGTRACE_FUNCTIONS recorded: calls and time, with and without the functions that
 * they call. */
#include "tools/report/report.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct function_stack *stack_of(struct function_pass *p, int32_t thread)
{
    if (p->latest < p->count && p->stacks[p->latest].thread == thread)
        return &p->stacks[p->latest];
    for (p->latest = 0; p->latest < p->count; p->latest++)
        if (p->stacks[p->latest].thread == thread)
            return &p->stacks[p->latest];
    struct function_stack *more = realloc(p->stacks, (p->count + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    p->stacks = more;
    p->stacks[p->count] = (struct function_stack){.thread = thread};
    return &p->stacks[p->count++];
}

/* Grows an array that is indexed by items; new elements are zero. */
static int make_room(void **array, size_t *room, size_t item, size_t size)
{
    if (item < *room)
        return 0;
    size_t wanted = 2 * item + 64;
    char *more = realloc(*array, wanted * size);
    if (more == NULL)
        return -ENOMEM;
    memset(more + *room * size, 0, (wanted - *room) * size);
    *array = more;
    *room = wanted;
    return 0;
}

static int take_enter(struct report_rank *k, struct function_stack *s, const struct rt_event *ev,
                      uint32_t item)
{
    void *functions = k->program_functions, *active = s->active;
    int rc = make_room(&functions, &k->program_room, item, sizeof *k->program_functions);
    k->program_functions = functions;
    if (rc == 0)
        rc = make_room(&active, &s->active_room, item, sizeof *s->active);
    s->active = active;
    if (rc != 0)
        return rc;
    struct entered_function *open = array_grown(s->open, s->depth, &s->room, sizeof *open);
    if (open == NULL)
        return -ENOMEM;
    s->open = open;
    s->open[s->depth++] = (struct entered_function){.item = item, .clock = ev->clock};
    s->active[item]++;
    k->program_functions[item].calls++;
    k->program_functions[item].cut += (ev->flags & EVENT_FLAG_CUT) != 0;
    return 0;
}

static void forget(struct function_stack *s, size_t depth)
{
    while (s->depth > depth)
        s->active[s->open[--s->depth].item]--;
}

static int take_leave(const struct report *r, struct report_rank *k, struct function_stack *s,
                      const struct rt_rank *rank, const struct rt_event *ev, uint32_t item)
{
    size_t depth = s->depth;
    while (depth > 0 && s->open[depth - 1].item != item)
        depth--;
    if (depth == 0) {
        k->program_unmatched += !s->gap;
        return 0;
    }
    k->program_unmatched += s->depth - depth;
    forget(s, depth);
    const struct entered_function *o = &s->open[depth - 1];
    uint64_t ticks = ev->clock > o->clock ? ev->clock - o->clock : 0;
    uint64_t self = ticks > o->within ? ticks - o->within : 0;
    struct report_function *f = &k->program_functions[item];
    const struct report_piece piece = {.kind = PIECE_FUNCTION,
                                       .window = ev->window,
                                       .item = item,
                                       .ns = rt_rank_span_ns(rank, self)};
    f->self_ns += piece.ns;
    if (s->active[item] == 1) /* only the outermost call of a recursion: it contains the others */
        f->total_ns += rt_rank_span_ns(rank, ticks);
    f->cut += (ev->flags & EVENT_FLAG_CUT) != 0;
    forget(s, depth - 1);
    if (s->depth > 0)
        s->open[s->depth - 1].within += ticks;
    return report_observe(r, k->info.rank, &piece);
}

int report_functions_take(struct report *r, struct report_rank *k, struct function_pass *p,
                          const struct rt_rank *rank, const struct rt_event *ev)
{
    bool enter = ev->code == EV_FUNCTION_ENTER, leave = ev->code == EV_FUNCTION_LEAVE;
    bool edge = ev->code == EV_WINDOW_OPEN || ev->code == EV_WINDOW_CLOSE;
    if (!enter && !leave && !edge && ev->code != EV_DROPPED)
        return 0;
    struct function_stack *s = stack_of(p, ev->thread);
    uint32_t item;
    if (s == NULL)
        return -ENOMEM;
    if (!enter && !leave) {
        k->program_unmatched += edge ? s->depth : 0;
        forget(s, 0);
        s->gap = !edge;
        return 0;
    }
    int rc = addresses_find(&r->addresses, ev->a, ev->clock, &item);
    if (rc == 0 && enter)
        rc = take_enter(k, s, ev, item);
    else if (rc == 0)
        rc = take_leave(r, k, s, rank, ev, item);
    return rc;
}

void report_functions_end(struct function_pass *p)
{
    for (size_t i = 0; i < p->count; i++) {
        free(p->stacks[i].open);
        free(p->stacks[i].active);
    }
    free(p->stacks);
    *p = (struct function_pass){0};
}

/* --- all ranks together ----------------------------------------------------------------------- */

struct function_row {
    struct report_function sum;
    uint32_t item;
};

static int by_self(const void *a, const void *b)
{
    const struct report_function *x = &((const struct function_row *)a)->sum,
                                 *y = &((const struct function_row *)b)->sum;
    if (x->self_ns > y->self_ns || x->self_ns < y->self_ns)
        return x->self_ns > y->self_ns ? -1 : 1;
    return x->calls == y->calls ? 0 : x->calls > y->calls ? -1 : 1;
}

/* Returns the functions that were called, the longest first, in a malloc'ed array of *count; NULL
 * without memory. */
static struct function_row *sum_ranks(const struct report *r, size_t *count)
{
    struct function_row *rows = report_room(r->addresses.count + 1, sizeof *rows, "functions");
    *count = 0;
    for (size_t item = 0; rows != NULL && item < r->addresses.count; item++) {
        struct function_row *row = &rows[*count];
        *row = (struct function_row){.item = (uint32_t)item};
        for (size_t i = 0; i < r->rank_count; i++) {
            if (item >= r->ranks[i].program_room)
                continue;
            const struct report_function *f = &r->ranks[i].program_functions[item];
            row->sum.calls += f->calls;
            row->sum.cut += f->cut;
            row->sum.total_ns += f->total_ns;
            row->sum.self_ns += f->self_ns;
        }
        *count += row->sum.calls != 0;
    }
    if (rows != NULL && *count > 0)
        qsort(rows, *count, sizeof *rows, by_self);
    return rows;
}

static void print_row(FILE *out, const struct report *r, const struct function_row *row,
                      double all_ns)
{
    char total[24], self[24];
    const struct address *at = &r->addresses.items[row->item];
    (void)fprintf(out, "  %10llu %11s %11s %6.1f%%  %-20.20s ", (unsigned long long)row->sum.calls,
                  report_time_text(total, row->sum.total_ns),
                  report_time_text(self, row->sum.self_ns),
                  all_ns > 0 ? 100 * row->sum.self_ns / all_ns : 0.0,
                  addresses_image_name(&r->addresses, at->image));
    if (at->name != NULL)
        text_write_plain(out, at->name);
    else
        (void)fprintf(out, "(no symbol) 0x%llx", (unsigned long long)at->offset);
    (void)fputc('\n', out);
}

/* Says that a run recorded no function although it was to; of that no table is a sign. */
static void print_none(FILE *out, const struct report *r)
{
    bool asked = false, has_windows = false;
    for (size_t i = 0; i < r->rank_count; i++) {
        asked |= r->ranks[i].error == NULL && r->ranks[i].has_functions;
        has_windows |= r->ranks[i].window_count > 0;
    }
    if (asked && has_windows)
        (void)fputs("\nNo function of -functions was entered in a window: none has such a name, or "
                    "the compiler inlined it where it\nis called (-fno-inline keeps it; -sample "
                    "cpu:10ms shows inlined lines too)\n",
                    out);
}

void report_functions_print(FILE *out, const struct report *r, size_t top)
{
    size_t n;
    double all_ns = 0;
    uint64_t unmatched = 0;
    struct function_row *rows = sum_ranks(r, &n);
    for (size_t i = 0; i < n; i++)
        all_ns += rows[i].sum.self_ns;
    for (size_t i = 0; i < r->rank_count; i++)
        unmatched += r->ranks[i].program_unmatched;
    if (rows != NULL && n == 0 && unmatched == 0)
        print_none(out, r);
    if (n > 0) {
        (void)fputs("\nTime in functions of the program, in windows, all threads together (self: "
                    "without the recorded functions that it calls)\n",
                    out);
        (void)fprintf(out, "  %10s %11s %11s %7s  %-20s %s\n", "calls", "total", "self", "share",
                      "image", "function");
    }
    for (size_t i = 0; i < n && (top == 0 || i < top); i++)
        print_row(out, r, &rows[i], all_ns);
    if (top != 0 && n > top)
        (void)fprintf(out, "  ... %zu more functions (-top 0 shows all)\n", n - top);
    if (n > 0 && unmatched > 0)
        (void)fprintf(out, "  not in these times: %llu calls without their other end\n",
                      (unsigned long long)unmatched);
    free(rows);
}

void report_functions_json(struct json *j, const struct report *r)
{
    size_t n;
    struct function_row *rows = sum_ranks(r, &n);
    json_array_begin(j, "program_functions");
    for (size_t i = 0; i < n; i++) {
        const struct address *at = &r->addresses.items[rows[i].item];
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, "function", at->name);
        json_text(j, "image", at->image != NO_IMAGE ? r->addresses.images[at->image].path : NULL);
        json_hex(j, "offset", at->offset);
        json_uint(j, "calls", rows[i].sum.calls);
        json_uint(j, "cut", rows[i].sum.cut);
        json_real(j, "total_ns", rows[i].sum.total_ns);
        json_real(j, "self_ns", rows[i].sum.self_ns);
        json_object_end(j);
    }
    json_array_end(j);
    free(rows);
}
