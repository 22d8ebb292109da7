/* SPDX-License-Identifier: BSD-3-Clause
 * Finds delays and critical path, and names activities. */
#include "tools/report/causes/report_causes.h"

#include "tools/report/report.h"

#include <errno.h>

int report_causes_open(struct report_causes *c, const struct streams *streams,
                       struct place_names *names)
{
    const struct history_names functions = place_names_of(names);
    c->history = history_open(streams, names->comms, &functions);
    return c->history != NULL ? 0 : -ENOMEM;
}

int report_causes_find(struct report_causes *c, const struct report *r)
{
    int rc = delays_find(&c->delays, c->history, &r->windows);
    uint32_t ranks = r->size > 0 ? (uint32_t)r->size : 0;
    return rc == 0 ? critical_path_find(&c->path, c->history, ranks, &r->windows) : rc;
}

void report_causes_free(struct report_causes *c)
{
    delays_free(&c->delays);
    critical_path_free(&c->path);
    history_close(c->history);
    *c = (struct report_causes){0};
}

/* --- activities ------------------------------------------------------------------------------- */

static const char *edge_name(uint32_t edge)
{
    static const char *const names[] = {"the window's opening", "MPI_Init", "dropped events",
                                        "the window's closing", "MPI_Finalize"};
    return names[edge];
}

/* Names what is not recorded before an edge. */
static const char *unrecorded_name(uint32_t edge)
{
    switch (edge) {
    case EDGE_OPENS: return "before its window opened: not recorded";
    case EDGE_INITIALIZED: return "until MPI_Init returned";
    default: return "events were dropped: not known";
    }
}

/* Returns how many places the path of a node has. */
static unsigned depth_of(const struct report *r, uint32_t node)
{
    unsigned depth = 0;
    for (; node != KEY_NONE; node = r->call_tree.nodes[node].parent)
        depth++;
    return depth;
}

/* Returns the last node that both paths have; KEY_NONE: they have none in common. */
static uint32_t common_node(const struct report *r, uint32_t a, uint32_t b)
{
    unsigned x = depth_of(r, a), y = depth_of(r, b);
    for (; x > y; x--)
        a = r->call_tree.nodes[a].parent;
    for (; y > x; y--)
        b = r->call_tree.nodes[b].parent;
    while (a != b) {
        a = r->call_tree.nodes[a].parent;
        b = r->call_tree.nodes[b].parent;
    }
    return a;
}

/* Prints a call, with the part of its path that is below the node `above`. */
static void print_call(FILE *out, struct report *r, const struct activity *x, uint32_t above)
{
    if (x->kind == ACTIVITY_EDGE) {
        (void)fputs(edge_name(x->first), out);
        return;
    }
    (void)fprintf(out, "%s in ", report_mpi_name(r, x->first));
    if (!call_tree_print_below(out, r, x->second, above))
        (void)fputs("(unknown)", out);
}

static void print_between(FILE *out, struct report *r, const struct activity *before,
                          const struct activity *after)
{
    bool are_calls = before->kind == ACTIVITY_CALL && after->kind == ACTIVITY_CALL;
    uint32_t above = KEY_NONE;
    if (are_calls && before->second != after->second)
        above = common_node(r, before->second, after->second);
    if (call_tree_print_below(out, r, above, KEY_NONE))
        (void)fputs(" > ", out);
    (void)fputs("from ", out);
    print_call(out, r, before, above);
    (void)fputs(" to ", out);
    if (are_calls && before->first == after->first && before->second == after->second)
        (void)fputs("the next", out);
    else
        print_call(out, r, after, above);
}

void report_activity_print(FILE *out, struct report *r, const struct report_causes *c,
                           const struct place_names *names, uint32_t activity)
{
    const struct activities *all = history_activities(c->history);
    const struct activity x = activities_at(all, activity);
    const char *name;
    switch (x.kind) {
    case ACTIVITY_EDGE: (void)fputs(unrecorded_name(x.first), out); break;
    case ACTIVITY_CALL: print_call(out, r, &x, KEY_NONE); break;
    case ACTIVITY_BETWEEN: {
        const struct activity before = activities_at(all, x.first),
                              after = activities_at(all, x.second);
        print_between(out, r, &before, &after);
        break;
    }
    case ACTIVITY_REGION:
        (void)fputs("region ", out);
        text_write_plain(out, place_names_region(names, x.first));
        break;
    case ACTIVITY_FUNCTION:
        name = addresses_name(&r->addresses, x.first);
        text_write_plain(out, name != NULL ? name : "(no symbol)");
        if (x.second != KEY_NONE) {
            (void)fputs(", called in ", out);
            call_site_print(out, &r->addresses, x.second);
        }
        break;
    }
}

static void json_call(struct json *j, struct report *r, const char *key, const struct activity *x)
{
    json_object_begin(j, key);
    json_text(j, "function",
              x->kind == ACTIVITY_EDGE ? edge_name(x->first) : report_mpi_name(r, x->first));
    call_tree_json_path(j, r, x->kind == ACTIVITY_EDGE ? KEY_NONE : x->second);
    uint32_t leaf =
        x->kind == ACTIVITY_EDGE ? KEY_NONE : call_tree_leaf(&r->call_tree, x->second, x->first);
    json_uint_if(j, "node", leaf != KEY_NONE, leaf);
    json_object_end(j);
}

void report_activity_json(struct json *j, struct report *r, const struct report_causes *c,
                          const struct place_names *names, uint32_t activity)
{
    static const char *const kinds[] = {"unrecorded", "MPI", "between", "region", "function"};
    const struct activities *all = history_activities(c->history);
    const struct activity x = activities_at(all, activity);
    json_text(j, "kind", kinds[x.kind]);
    if (x.kind == ACTIVITY_REGION)
        json_text(j, "region", place_names_region(names, x.first));
    if (x.kind == ACTIVITY_FUNCTION) {
        json_text(j, "function", addresses_name(&r->addresses, x.first));
        json_object_begin(j, "called_in");
        if (x.second != KEY_NONE)
            call_site_json(j, &r->addresses, x.second);
        json_object_end(j);
    }
    if (x.kind == ACTIVITY_EDGE)
        json_text(j, "until", edge_name(x.first));
    if (x.kind == ACTIVITY_CALL)
        json_call(j, r, "call", &x);
    if (x.kind == ACTIVITY_BETWEEN) {
        const struct activity before = activities_at(all, x.first),
                              after = activities_at(all, x.second);
        json_call(j, r, "from", &before);
        json_call(j, r, "to", &after);
    }
}

void report_moment_json(struct json *j, const struct past_moment *m, int64_t origin_ns)
{
    bool is_known = m->ns > 0;
    json_real(j, "longest_ns", is_known ? (double)(m->end - m->begin) : 0);
    json_int_if(j, "longest_begin_ns", is_known, m->begin - origin_ns);
    json_int_if(j, "longest_rank", is_known, m->rank);
    json_int_if(j, "longest_window", is_known, m->window);
}
