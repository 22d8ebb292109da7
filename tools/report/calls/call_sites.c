/* SPDX-License-Identifier: BSD-3-Clause
 * Adds up MPI calls by function and call site, and prints them. */
#include "tools/report/calls/call_sites.h"

#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct rt_path *call_path_find(const struct rt_rank *rank, uint32_t path)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    size_t n;
    SEARCH_FIRST(n, t->path_count, t->paths[n].path < path);
    return path != 0 && n < t->path_count && t->paths[n].path == path ? &t->paths[n] : NULL;
}

int call_sites_place(struct addresses *a, const struct rt_rank *rank, const struct rt_path *p,
                     uint32_t *item)
{
    if (p->image == 0 && p->offset == 0)
        return addresses_cut(a, item);
    /* Debug information describes the call itself, which ends before the return address. */
    if (p->image == 0)
        return addresses_outside(a, rank, p->offset - 1, item);
    return addresses_place(a, rt_rank_string(rank, p->image), rt_rank_string(rank, p->build_id),
                           p->offset - 1, item);
}

int call_sites_add_calls(struct call_sites *s, int32_t rank, uint32_t function, uint32_t item,
                         uint64_t calls, double ns, uint64_t bytes)
{
    uint32_t count = s->keys.count, n = key_table_add(&s->keys, function, item);
    void *rows = array_grown(s->rows, count, &s->room, sizeof *s->rows);
    if (n == KEY_NONE || rows == NULL)
        return -ENOMEM;
    s->rows = rows;
    struct call_site *c = &s->rows[n];
    if (n == count)
        *c = (struct call_site){.function = function, .item = item, .rank = rank};
    if (c->rank != rank) {
        c->rank = rank;
        c->rank_ns = 0;
    }
    s->known |= item != KEY_NONE;
    c->calls += calls;
    c->bytes += bytes;
    c->time_ns += ns;
    c->rank_ns += ns;
    if (c->calls == calls || c->rank_ns > c->most_ns) {
        c->most_ns = c->rank_ns;
        c->most_rank = rank;
    }
    return 0;
}

void call_sites_add_wait(struct call_sites *s, uint32_t function, uint32_t item, double ns)
{
    uint32_t n = key_table_find(&s->keys, function, item);
    if (n == KEY_NONE)
        return;
    s->rows[n].waits++;
    s->rows[n].waited_ns += ns;
}

void call_sites_free(struct call_sites *s)
{
    key_table_free(&s->keys);
    free(s->rows);
    *s = (struct call_sites){0};
}

/* --- printing --------------------------------------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
    const struct call_site *x = *(const struct call_site *const *)a,
                           *y = *(const struct call_site *const *)b;
    if (x->time_ns > y->time_ns || x->time_ns < y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    if (x->function != y->function)
        return x->function < y->function ? -1 : 1;
    return x->item < y->item ? -1 : x->item > y->item;
}

static const struct call_site **sorted(const struct call_sites *s)
{
    const struct call_site **out = report_room(s->keys.count + 1, sizeof *out, "call sites");
    for (size_t i = 0; out != NULL && i < s->keys.count; i++)
        out[i] = &s->rows[i];
    if (out != NULL)
        qsort(out, s->keys.count, sizeof *out, by_time);
    return out;
}

void call_site_print(FILE *out, struct addresses *a, uint32_t item)
{
    if (item == KEY_NONE) {
        (void)fputs("(unknown)", out);
        return;
    }
    const char *name = addresses_name(a, item), *line = addresses_line(a, item);
    const struct address *at = &a->items[item];
    if (at->inlined != NULL) {
        text_write_plain(out, at->inlined);
        (void)fputs(" inlined in ", out);
    }
    if (name != NULL)
        text_write_plain(out, name);
    else
        (void)fprintf(out, "%s+0x%" PRIx64, addresses_image_name(a, at->image), at->offset + 1);
    if (line != NULL) {
        const char *file = strrchr(line, '/');
        (void)fputs(", ", out);
        text_write_plain(out, file != NULL ? file + 1 : line);
    } else if (name != NULL && at->image != NO_IMAGE) {
        (void)fprintf(out, " in %s", addresses_image_name(a, at->image));
    }
}

void call_site_json(struct json *j, struct addresses *a, uint32_t item)
{
    const struct address *at = item != KEY_NONE ? &a->items[item] : NULL;
    bool in_image = at != NULL && at->image != NO_IMAGE;
    json_text(j, "caller", at != NULL ? addresses_name(a, item) : NULL);
    json_text(j, "line", at != NULL ? addresses_line(a, item) : NULL);
    json_text(j, "inlined", at != NULL ? at->inlined : NULL);
    json_text(j, "image", in_image ? a->images[at->image].path : NULL);
    if (at != NULL && !at->is_generated)
        json_hex(j, "return_offset", at->offset + 1);
    else
        json_null(j, "return_offset");
}

static void print_row(FILE *out, struct report *r, const struct call_site *c, double all_ns)
{
    char total[24], waited[24], most[24], bytes[24];
    (void)fprintf(out, "  %-22s %10" PRIu64 " %11s %5.1f%% %11s %11s %6" PRId32 " %11s  ",
                  report_mpi_name(r, c->function), c->calls, report_time_text(total, c->time_ns),
                  all_ns > 0 ? 100 * c->time_ns / all_ns : 0.0,
                  c->waits > 0 ? report_time_text(waited, c->waited_ns) : "-",
                  report_time_text(most, c->most_ns), c->most_rank,
                  report_bytes_text(bytes, c->bytes));
    call_site_print(out, &r->addresses, c->item);
    (void)fputc('\n', out);
}

void call_sites_print(FILE *out, struct report *r, size_t top)
{
    const struct call_sites *s = &r->call_sites;
    double all_ns = 0;
    const struct call_site **rows = s->known ? sorted(s) : NULL;
    if (rows == NULL)
        return;
    for (size_t i = 0; i < s->keys.count; i++)
        all_ns += s->rows[i].time_ns;
    (void)fprintf(
        out,
        "\nTime in MPI by call site, all ranks together (waited: for other ranks; outermost "
        "calls)\n  %-22s %10s %11s %6s %11s %11s %6s %11s  %s\n",
        "function", "calls", "total", "share", "waited", "longest", "rank", "bytes", "called in");
    for (size_t i = 0; i < s->keys.count && (top == 0 || i < top); i++)
        print_row(out, r, rows[i], all_ns);
    if (top != 0 && s->keys.count > top)
        (void)fprintf(out, "  ... %zu more call sites (-top 0 shows all)\n", s->keys.count - top);
    free(rows);
}

void call_sites_json(struct json *j, struct report *r)
{
    const struct call_site **rows = sorted(&r->call_sites);
    json_array_begin(j, "call_sites");
    for (size_t i = 0; rows != NULL && r->call_sites.known && i < r->call_sites.keys.count; i++) {
        const struct call_site *c = rows[i];
        json_object_begin(j, NULL);
        json_compact(j);
        json_text(j, "function", report_mpi_name(r, c->function));
        call_site_json(j, &r->addresses, c->item);
        json_uint(j, "calls", c->calls);
        json_real(j, "total_ns", c->time_ns);
        json_uint(j, "waits", c->waits);
        json_real(j, "waited_ns", c->waited_ns);
        json_real(j, "longest_ns", c->most_ns);
        json_int(j, "rank", c->most_rank);
        json_uint(j, "bytes", c->bytes);
        json_object_end(j);
    }
    json_array_end(j);
    free(rows);
}
