/* SPDX-License-Identifier: BSD-3-Clause
 * Merges the call paths of all ranks, and prints them as a tree or as folded stacks. */
#include "tools/report/calls/call_tree.h"

#include "base/options.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "tools/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* No path is longer: -callpath is limited, and a row more says that a path was cut. */
#define PATH_MOST (OPTION_CALLPATH_MAX + 2)

static int node_of(struct call_tree *t, uint32_t parent, uint32_t item, bool is_mpi, uint32_t *node)
{
    uint32_t count = t->keys.count;
    *node = key_table_add(&t->keys, (uint64_t)parent << 1 | is_mpi, item);
    void *nodes = array_grown(t->nodes, count, &t->room, sizeof *t->nodes);
    if (*node == KEY_NONE || nodes == NULL)
        return -ENOMEM;
    t->nodes = nodes;
    if (*node == count)
        t->nodes[count] = (struct call_node){.parent = parent, .item = item, .is_mpi = is_mpi};
    return 0;
}

int call_tree_path(struct call_tree *t, struct addresses *a, const struct rt_rank *rank,
                   uint32_t path, uint32_t *node)
{
    const struct rt_path *up[PATH_MOST];
    size_t n = 0;
    int rc = 0;
    for (const struct rt_path *p = call_path_find(rank, path); p != NULL && n < PATH_MOST;
         p = call_path_find(rank, p->parent))
        up[n++] = p;
    *node = KEY_NONE;
    if (n == PATH_MOST) /* a damaged file */
        return 0;
    while (n-- > 0 && rc == 0) {
        uint32_t item;
        rc = call_sites_place(a, rank, up[n], &item);
        if (rc == 0)
            rc = addresses_same(a, &item);
        if (rc == 0)
            rc = node_of(t, *node, item, false, node);
    }
    return rc;
}

int call_tree_add_calls(struct call_tree *t, uint32_t node, uint32_t function, uint64_t calls,
                        double ns, uint64_t bytes)
{
    uint32_t leaf;
    int rc = node_of(t, node, function, true, &leaf);
    if (rc != 0)
        return rc;
    t->nodes[leaf].calls += calls;
    t->nodes[leaf].bytes += bytes;
    t->nodes[leaf].time_ns += ns;
    return 0;
}

uint32_t call_tree_leaf(const struct call_tree *t, uint32_t node, uint32_t function)
{
    return key_table_find(&t->keys, (uint64_t)node << 1 | 1, function);
}

void call_tree_add_wait(struct call_tree *t, uint32_t node, const struct wait_state *x)
{
    uint32_t leaf = call_tree_leaf(t, node, x->site.function);
    if (leaf == KEY_NONE)
        return;
    t->nodes[leaf].waited_ns += (double)x->ns;
    longest_wait_take(&t->nodes[leaf].longest, x);
}

void call_tree_free(struct call_tree *t)
{
    key_table_free(&t->keys);
    free(t->nodes);
    *t = (struct call_tree){0};
}

/* --- printing --------------------------------------------------------------------------------- */

struct call_place call_tree_place(struct report *r, uint32_t node)
{
    struct addresses *a = &r->addresses;
    const struct call_node *n = &r->call_tree.nodes[node];
    const char *line = n->is_mpi ? NULL : addresses_line(a, n->item);
    const char *name = n->is_mpi ? r->names[n->item] : addresses_name(a, n->item);
    const char *colon = line != NULL ? strrchr(line, ':') : NULL;
    if (!n->is_mpi && a->items[n->item].inlined != NULL)
        name = a->items[n->item].inlined;
    struct call_place place = {.name = name != NULL ? name : "?"};
    if (colon != NULL) {
        place.file = line;
        place.file_length = (size_t)(colon - line);
        place.line = strtoul(colon + 1, NULL, 10);
    }
    return place;
}

static bool is_start(struct report *r, const struct call_node *n)
{
    static const char *const names[] = {"_start", "start_thread", "clone", "clone3", "__clone3"};
    const struct address *at = n->is_mpi ? NULL : &r->addresses.items[n->item];
    const char *name = at != NULL ? addresses_name(&r->addresses, n->item) : NULL;
    if (at == NULL || n->parent != KEY_NONE)
        return at != NULL && name != NULL && is_start(r, &r->call_tree.nodes[n->parent]) &&
               strncmp(name, "__libc_start", 12) == 0;
    for (size_t i = 0; name != NULL && i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return name != NULL ? strncmp(name, "__libc_start", 12) == 0
                        : strncmp(addresses_image_name(&r->addresses, at->image), "libc.", 5) == 0;
}

bool call_tree_is_start(struct report *r, uint32_t node)
{
    return is_start(r, &r->call_tree.nodes[node]);
}

static void print_node(FILE *out, struct report *r, const struct call_node *n)
{
    if (!n->is_mpi)
        call_site_print(out, &r->addresses, n->item);
    else
        (void)fputs(report_mpi_name(r, n->item), out);
}

/* Adds the sums of all nodes to their parents. */
static void sum_up(struct call_tree *t)
{
    for (uint32_t i = t->keys.count; i-- > 0;) {
        if (t->nodes[i].parent == KEY_NONE)
            continue;
        struct call_node *up = &t->nodes[t->nodes[i].parent];
        up->calls += t->nodes[i].calls;
        up->bytes += t->nodes[i].bytes;
        up->time_ns += t->nodes[i].time_ns;
        up->waited_ns += t->nodes[i].waited_ns;
    }
}

static int by_time(const void *a, const void *b, void *tree)
{
    const struct call_tree *t = tree;
    const struct call_node *x = &t->nodes[*(const uint32_t *)a],
                           *y = &t->nodes[*(const uint32_t *)b];
    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->time_ns > y->time_ns || x->time_ns < y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

struct printing {
    FILE *out;
    struct report *r;
    uint32_t *order; /* nodes by parent, then time */
    bool *shown;     /* by node */
    double all_ns;
};

static int by_own_time(const void *a, const void *b, void *tree)
{
    const struct call_tree *t = tree;
    const struct call_node *x = &t->nodes[*(const uint32_t *)a],
                           *y = &t->nodes[*(const uint32_t *)b];
    if (x->is_mpi != y->is_mpi)
        return x->is_mpi ? -1 : 1;
    if (x->time_ns > y->time_ns || x->time_ns < y->time_ns)
        return x->time_ns > y->time_ns ? -1 : 1;
    return x < y ? -1 : x > y;
}

/* Chooses the paths of the MPI calls with most time; top 0: all. */
static void choose(const struct printing *p, size_t top)
{
    struct call_tree *t = &p->r->call_tree;
    for (uint32_t i = 0; i < t->keys.count; i++)
        p->order[i] = i;
    qsort_r(p->order, t->keys.count, sizeof *p->order, by_own_time, t);
    for (size_t i = 0; i < t->keys.count && (top == 0 || i < top); i++)
        for (uint32_t n = p->order[i]; n != KEY_NONE; n = t->nodes[n].parent)
            p->shown[n] = true;
}

/* Returns the place in `order` of the first child. */
static size_t first_child(const struct printing *p, uint32_t parent)
{
    size_t n, count = p->r->call_tree.keys.count;
    SEARCH_FIRST(n, count, p->r->call_tree.nodes[p->order[n]].parent < parent);
    return n;
}

static void print_children(const struct printing *p, uint32_t parent, unsigned level)
{
    const struct call_tree *t = &p->r->call_tree;
    char total[24], waited[24], bytes[24];
    double left_ns = 0;
    size_t left = 0;
    for (size_t i = first_child(p, parent);
         i < t->keys.count && t->nodes[p->order[i]].parent == parent; i++) {
        const struct call_node *n = &t->nodes[p->order[i]];
        bool is_hidden = is_start(p->r, n);
        if (!p->shown[p->order[i]]) {
            left_ns += n->time_ns;
            left++;
            continue;
        }
        if (!is_hidden) {
            (void)fprintf(p->out, "  %11s %5.1f%% %11s %10" PRIu64 " %11s  %*s",
                          report_time_text(total, n->time_ns),
                          p->all_ns > 0 ? 100 * n->time_ns / p->all_ns : 0.0,
                          n->waited_ns > 0 ? report_time_text(waited, n->waited_ns) : "-", n->calls,
                          report_bytes_text(bytes, n->bytes), (int)(2 * level), "");
            print_node(p->out, p->r, n);
            (void)fputc('\n', p->out);
        }
        print_children(p, p->order[i], level + !is_hidden);
    }
    if (left > 0)
        (void)fprintf(p->out, "  %11s %5.1f%% %11s %10s %11s  %*s... %zu more (-top 0 shows all)\n",
                      report_time_text(total, left_ns),
                      p->all_ns > 0 ? 100 * left_ns / p->all_ns : 0.0, "", "", "", (int)(2 * level),
                      "", left);
}

/* Has some place a caller? */
static bool has_parents(const struct call_tree *t)
{
    for (uint32_t i = 0; i < t->keys.count; i++)
        if (!t->nodes[i].is_mpi && t->nodes[i].parent != KEY_NONE)
            return true;
    return false;
}

void call_tree_print(FILE *out, struct report *r, size_t top)
{
    struct call_tree *t = &r->call_tree;
    struct printing p = {.out = out, .r = r};
    p.order = report_room(t->keys.count + 1u, sizeof *p.order, "paths");
    p.shown = report_room(t->keys.count + 1u, sizeof *p.shown, "paths");
    if (p.order != NULL && p.shown != NULL && t->keys.count > 0) {
        choose(&p, top);
        sum_up(t);
        for (uint32_t i = 0; i < t->keys.count; i++)
            p.all_ns += t->nodes[i].parent == KEY_NONE ? t->nodes[i].time_ns : 0;
        qsort_r(p.order, t->keys.count, sizeof *p.order, by_time, t);
        (void)fprintf(out,
                      "%s\nTime in MPI by call path, all ranks together (waited: for other ranks)\n"
                      "  %11s %6s %11s %10s %11s  %s\n",
                      r->dir, "total", "share", "waited", "calls", "bytes", "called in");
        print_children(&p, KEY_NONE, 0);
        if (!has_parents(t))
            (void)fputs("The run recorded call sites alone: -callpath 16 records the paths.\n",
                        out);
        addresses_print_lacks(out, &r->addresses);
    } else {
        (void)fprintf(out, "%s\nNo MPI call was recorded.\n", r->dir);
    }
    free(p.order);
    free(p.shown);
}

/* Prints the places below the node `above` down to this one, but those that start programs. Returns
 * whether there is one. */
static bool print_stack(FILE *out, struct report *r, uint32_t node, uint32_t above,
                        const char *between)
{
    if (node == above || node == KEY_NONE)
        return false;
    const struct call_node *n = &r->call_tree.nodes[node];
    bool has_parent = print_stack(out, r, n->parent, above, between);
    if (is_start(r, n))
        return has_parent;
    if (has_parent)
        (void)fputs(between, out);
    print_node(out, r, n);
    return true;
}

void call_tree_print_path(FILE *out, struct report *r, uint32_t node)
{
    if (!call_tree_print_below(out, r, node, KEY_NONE))
        (void)fputs("(unknown)", out);
}

bool call_tree_print_below(FILE *out, struct report *r, uint32_t node, uint32_t above)
{
    return print_stack(out, r, node, above, " > ");
}

static void json_places(struct json *j, struct report *r, uint32_t node)
{
    const struct call_node *n = &r->call_tree.nodes[node];
    if (n->parent != KEY_NONE)
        json_places(j, r, n->parent);
    json_object_begin(j, NULL);
    call_site_json(j, &r->addresses, n->item);
    json_object_end(j);
}

void call_tree_json_path(struct json *j, struct report *r, uint32_t node)
{
    json_array_begin(j, "call_path");
    if (node != KEY_NONE)
        json_places(j, r, node);
    json_array_end(j);
}

void call_tree_json(struct json *j, struct report *r)
{
    json_array_begin(j, "call_tree");
    for (uint32_t i = 0; i < r->call_tree.keys.count; i++) {
        const struct call_node *n = &r->call_tree.nodes[i];
        json_object_begin(j, NULL);
        json_compact(j);
        json_uint_if(j, "parent", n->parent != KEY_NONE, n->parent);
        if (n->is_mpi) {
            json_text(j, "function", r->names[n->item]);
            json_uint(j, "calls", n->calls);
            json_uint(j, "bytes", n->bytes);
            json_real(j, "total_ns", n->time_ns);
            json_real(j, "waited_ns", n->waited_ns);
            longest_wait_json(j, &n->longest, r->origin_ns);
            json_int(j, "longest_rank", n->longest.rank);
            json_int(j, "longest_for_rank", n->longest.for_rank);
        } else {
            call_site_json(j, &r->addresses, n->item);
            json_bool(j, "starts_program", is_start(r, n));
        }
        json_object_end(j);
    }
    json_array_end(j);
}

void call_tree_print_folded(FILE *out, struct report *r)
{
    for (uint32_t i = 0; i < r->call_tree.keys.count; i++) {
        if (!r->call_tree.nodes[i].is_mpi)
            continue;
        (void)print_stack(out, r, i, KEY_NONE, ";");
        (void)fprintf(out, " %.0f\n", r->call_tree.nodes[i].time_ns / 1e3);
    }
}
