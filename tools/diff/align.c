/* SPDX-License-Identifier: BSD-3-Clause
 * Finds which rows of two runs are the same thing, by names of functions. Where one function is
 * called from several lines, call paths of one build are aligned by their lines, those of two
 * builds by the order of the lines, as lines move when a file is edited. */
#include "base/hash.h"
#include "base/toolkit/array.h"
#include "tools/diff/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A row of one run, with the texts by which it is aligned. */
struct entry {
    enum diff_table table;
    uint32_t kind; /* enum wait_kind */
    int run;
    uint32_t row;   /* of that run */
    uint64_t build; /* hash of the build ids of its images */
    char *name;     /* names of functions */
    char *places;   /* source lines, or offsets where these are unknown, of the same functions */
    uint32_t place; /* number of these among those of both runs; the same one: aligned */
};

#define PLACE_ANY UINT32_MAX /* some place or other */

struct entries {
    struct entry *rows;
    size_t count, room;
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Streams of an entry's texts. */
struct writing {
    FILE *name, *places;
    int run;
    uint64_t build;
};

static void write_function(struct writing *w, struct addresses *a, uint32_t item)
{
    const struct address *at = &a->items[item];
    const char *name = addresses_name(a, item);
    const char *id = at->image != NO_IMAGE ? a->images[at->image].build_id : "";
    w->build = hash_bytes(w->build, id, strlen(id));
    if (id[0] == '\0') /* unknown: another build in the other run */
        w->build = hash_word(w->build, (uint64_t)w->run);
    if (name != NULL)
        (void)fputs(name, w->name);
    else
        (void)fprintf(w->name, "%s+0x%" PRIx64, addresses_image_name(a, at->image), at->offset);
}

static void write_place(struct writing *w, struct addresses *a, uint32_t item)
{
    const char *line = addresses_line(a, item); /* sets `inlined` too */
    const struct address *at = &a->items[item];
    if (at->inlined != NULL)
        (void)fprintf(w->name, "%s inlined in ", at->inlined);
    write_function(w, a, item);
    const char *slash = line != NULL ? strrchr(line, '/') : NULL;
    if (line != NULL)
        (void)fprintf(w->places, "%s ", slash != NULL ? slash + 1 : line);
    else
        (void)fprintf(w->places, "%016" PRIx64 " ", at->offset);
}

/* Writes the places from the outermost one to this node, but those that start programs. */
static void write_path(struct writing *w, struct report *r, uint32_t node)
{
    const struct call_node *n = node != KEY_NONE ? &r->call_tree.nodes[node] : NULL;
    if (n == NULL)
        return;
    write_path(w, r, n->parent);
    if (call_tree_is_start(r, node))
        return;
    write_place(w, &r->addresses, n->item);
    (void)fputs(" > ", w->name);
}

static void write_names(struct writing *w, struct tally *t, uint32_t row)
{
    static const char *const totals[DIFF_TOTAL_ROWS] = {DIFF_WHOLE, "outside MPI", "in MPI",
                                                        "waiting for other ranks"};
    uint32_t number = tally_number(t, row);
    switch (tally_table(t, row)) {
    case DIFF_TOTALS: (void)fputs(totals[number], w->name); break;
    case DIFF_COUNTERS: (void)fputs(t->counters[number], w->name); break;
    case DIFF_SAMPLES:
    case DIFF_FUNCTIONS: write_function(w, &t->report.addresses, tally_place(t, row)); break;
    case DIFF_PATHS:
    case DIFF_WAITS:
    case DIFF_LATE:
        write_path(w, &t->report, tally_place(t, row));
        (void)fputs(report_mpi_name(&t->report, number), w->name);
        break;
    default: (void)fputs(report_mpi_name(&t->report, number), w->name);
    }
}

/* Closes a stream that open_memstream() has made. Without memory it may close well and leave no
 * text. Returns whether the text is whole. */
static bool close_text(FILE *stream, char *const *text)
{
    bool good = stream != NULL && ferror(stream) == 0;
    if (stream != NULL && fclose(stream) != 0)
        good = false;
    return good && *text != NULL;
}

static int make_texts(struct entry *e, struct tally *t)
{
    size_t size;
    struct writing w = {.run = e->run, .build = HASH_BEGIN};
    w.name = open_memstream(&e->name, &size);
    w.places = open_memstream(&e->places, &size);
    if (w.name != NULL && w.places != NULL)
        write_names(&w, t, e->row);
    bool has_name = close_text(w.name, &e->name), has_places = close_text(w.places, &e->places);
    e->build = w.build;
    return has_name && has_places ? 0 : -ENOMEM;
}

/* --- places of the same name ------------------------------------------------------------------ */

static int by_name(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order == 0)
        order = x->run - y->run;
    return order != 0 ? order : strverscmp(x->places, y->places);
}

/* Returns how many entries from the first on are the same place of the same run. */
static size_t same_place(const struct entry *e, size_t count)
{
    size_t n = 1;
    while (n < count && e[n].run == e[0].run && strcmp(e[n].places, e[0].places) == 0)
        n++;
    return n;
}

static size_t count_places(const struct entry *e, size_t count)
{
    size_t places = 0;
    for (size_t i = 0; i < count; i += same_place(e + i, count - i))
        places++;
    return places;
}

static bool is_one_build(const struct entry *e, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (e[i].build != e[0].build)
            return false;
    return true;
}

/* Numbers the places of both runs: the same ones alike, or (!exact) the first of one as the first
 * of the other, and so on. of: entries of each run. */
static void number_places(struct entry *e, const size_t of[2], bool exact)
{
    size_t at[2] = {0, of[0]}, end[2] = {of[0], of[0] + of[1]};
    for (uint32_t place = 0; at[0] < end[0] || at[1] < end[1]; place++) {
        int order = at[0] == end[0]   ? 1
                    : at[1] == end[1] ? -1
                    : exact           ? strverscmp(e[at[0]].places, e[at[1]].places)
                                      : 0;
        for (int run = 0; run < 2; run++) {
            if (run == 0 ? order > 0 : order < 0)
                continue;
            for (size_t n = same_place(e + at[run], end[run] - at[run]); n > 0; n--)
                e[at[run]++].place = place;
        }
    }
}

/* Numbers the places of entries of one name, sorted by run and place. Of two builds with different
 * numbers of places nobody knows which is which: they are one. */
static void align_places(struct entry *e, size_t count)
{
    size_t of[2] = {0, 0};
    for (size_t i = 0; i < count; i++)
        of[e[i].run]++;
    bool exact = is_one_build(e, count);
    if (exact || of[0] == 0 || of[1] == 0 ||
        count_places(e, of[0]) == count_places(e + of[0], of[1]))
        number_places(e, of, exact);
    else
        for (size_t i = 0; i < count; i++)
            e[i].place = PLACE_ANY;
}

/* --- rows ------------------------------------------------------------------------------------- */

static int by_row(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    if (x->table != y->table)
        return x->table < y->table ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    return x->place < y->place ? -1 : x->place > y->place;
}

static bool has_path(enum diff_table table)
{
    return table == DIFF_PATHS || table == DIFF_WAITS || table == DIFF_LATE;
}

/* Returns what people see of a path: "main, a.c:9 > work, a.c:5 > MPI_Send". */
static char *shown_text(struct tally *t, const struct entry *e)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    if (!has_path(e->table) || e->place == PLACE_ANY || tally_place(t, e->row) == KEY_NONE) {
        (void)fputs(e->name, out);
    } else {
        call_tree_print_path(out, &t->report, tally_place(t, e->row));
        (void)fprintf(out, " > %s", report_mpi_name(&t->report, tally_number(t, e->row)));
    }
    if (e->table == DIFF_WAITS || e->table == DIFF_LATE)
        (void)fprintf(out, " (%s)", wait_kind_name((enum wait_kind)e->kind));
    return fclose(out) == 0 ? text : NULL;
}

/* Makes a row of entries that are the same thing. */
static int add_row(struct diff *d, const struct entry *e, size_t count, uint32_t *row_of[2])
{
    void *rows = array_grown(d->rows, d->row_count, &d->room, sizeof *d->rows);
    if (rows == NULL)
        return -ENOMEM;
    d->rows = rows;
    struct diff_row *row = &d->rows[d->row_count++];
    *row = (struct diff_row){.table = e->table, .name = strdup(e->name)};
    for (size_t i = 0; i < count; i++) {
        int run = e[i].run;
        row_of[run][e[i].row] = (uint32_t)(d->row_count - 1);
        if (row->shown[run] == NULL)
            row->shown[run] = shown_text(&d->run[run], &e[i]);
        if (row->name == NULL || row->shown[run] == NULL)
            return -ENOMEM;
    }
    return 0;
}

static int collect(struct entries *all, struct tally *t, int run)
{
    for (uint32_t row = 0; row < t->rows.count; row++) {
        void *rows = array_grown(all->rows, all->count, &all->room, sizeof *all->rows);
        if (rows == NULL)
            return -ENOMEM;
        all->rows = rows;
        struct entry *e = &all->rows[all->count++];
        *e = (struct entry){.table = tally_table(t, row), .run = run, .row = row};
        e->kind = has_path(e->table) ? tally_wait_kind(t, row) : 0;
        if (make_texts(e, t) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Returns how many entries from the first on have the same name, or (`row`) belong to the same row.
 */
static size_t same(const struct entry *e, size_t count, bool row)
{
    size_t n = 1;
    while (n < count && (row ? by_row(e, e + n) == 0 : strcmp(e->name, e[n].name) == 0))
        n++;
    return n;
}

int diff_align(struct diff *d, uint32_t *row_of[2])
{
    struct entries all = {0};
    int rc = 0;
    for (int run = 0; run < 2 && rc == 0; run++)
        rc = collect(&all, &d->run[run], run);
    if (rc == 0 && all.count > 1)
        qsort(all.rows, all.count, sizeof *all.rows, by_name);
    for (size_t i = 0, n; rc == 0 && i < all.count; i += n) {
        n = same(&all.rows[i], all.count - i, false);
        align_places(&all.rows[i], n);
    }
    if (rc == 0 && all.count > 1)
        qsort(all.rows, all.count, sizeof *all.rows, by_row);
    for (size_t i = 0, n; rc == 0 && i < all.count; i += n) {
        n = same(&all.rows[i], all.count - i, true);
        rc = add_row(d, &all.rows[i], n, row_of);
    }
    for (size_t i = 0; i < all.count; i++) {
        free(all.rows[i].name);
        free(all.rows[i].places);
    }
    free(all.rows);
    return rc;
}
