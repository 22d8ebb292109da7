/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses what to record, by the plan. Unless all addresses are recorded, it is a minimum cut
 * between what cannot be computed (entry values, loads, results of calls) and what is wanted
 * (addresses, conditions), in the graph of which value is computed from which. A node costs its
 * estimated block frequency (frequency.c); an outcome is a bit and costs an eighth. Dinic,
 * "Algorithm for solution of a problem of maximum flow" (1970). */
#include "isa/memory/skel.h"

#include <string.h>

/* More than all blocks together can cost (frequency.c). */
#define NEVER (UINT64_C(1) << 62)

/* Each node is split in two: edges enter 2 * n and leave 2 * n + 1. */
struct edge {
    uint32_t to, back; /* index of the reverse edge */
    uint32_t next;     /* 1 + the next edge with the same origin */
    uint64_t room;
};

struct flow_graph {
    struct function *f;
    struct edge *edges;
    uint32_t edge_count;
    uint32_t *first, *now; /* by half node: 1 + an edge */
    uint32_t *level, *queue;
    uint32_t *node_of;         /* by value: 1 + its node */
    const uint64_t *frequency; /* block frequencies */
    uint32_t *argument_nodes;
    uint32_t *todo;
    uint32_t todo_count, node_count, source, sink;
};

static void connect(struct flow_graph *g, uint32_t from, uint32_t to, uint64_t room)
{
    struct arena *a = g->f->arena;
    for (int way = 0; way < 2; way++) {
        g->edges = arena_grow(a, g->edges, g->edge_count, sizeof *g->edges);
        uint32_t n = g->edge_count++;
        g->edges[n] = (struct edge){.to = way ? from : to,
                                    .back = way ? n - 1 : n + 1,
                                    .next = g->first[way ? to : from],
                                    .room = way ? 0 : room};
        g->first[way ? to : from] = n + 1;
    }
}

static uint32_t add_node(struct flow_graph *g, uint64_t cost)
{
    uint32_t n = g->node_count++;
    connect(g, 2 * n, 2 * n + 1, cost);
    return n;
}

/* Returns whether the value is a sum of multiples of one value each, or an extension of such a sum:
 * the symbolic expressions of Ketterlin and Clauss go on to its arguments. */
static bool is_linear(const struct function *f, const struct value *x)
{
    switch ((enum value_kind)x->kind) {
    case V_CONSTANT:
    case V_SEGMENT:
    case V_ADD:
    case V_SUB:
    case V_NOT:
    case V_ZEXT:
    case V_SEXT: return true;
    case V_MUL:
        return f->values[x->args[0]].kind == V_CONSTANT || f->values[x->args[1]].kind == V_CONSTANT;
    case V_SHL: return f->values[x->args[1]].kind == V_CONSTANT;
    default: return false;
    }
}

static bool is_computed(const struct function *f, uint32_t v)
{
    return f->plan == PLAN_SKELETON ? value_is_computed(f, v) : is_linear(f, &f->values[v]);
}

/* Returns the node of a value. build() connects a new node to its arguments later. */
static uint32_t node_for(struct flow_graph *g, uint32_t value)
{
    const struct value *x = &g->f->values[value];
    if (g->node_of[value] != 0)
        return g->node_of[value] - 1;
    uint32_t n = add_node(g, x->recordable ? g->frequency[x->block] : NEVER);
    g->node_of[value] = n + 1;
    g->todo[g->todo_count++] = value;
    return n;
}

static void want(struct flow_graph *g, uint32_t wanted, uint32_t value)
{
    if (g->f->values[value].kind != V_CONSTANT)
        connect(g, 2 * node_for(g, value) + 1, 2 * wanted, NEVER);
}

/* Adds what else must be known: the stack pointer at jumps to other functions, and the arguments
 * that are passed to functions. */
static void build_calls(struct flow_graph *g)
{
    struct function *f = g->f;
    for (uint32_t k = 0; k < f->tail_count; k++) {
        uint32_t n = add_node(g, NEVER);
        connect(g, 2 * n + 1, g->sink, NEVER);
        want(g, n, f->tails[k].stack);
    }
    for (uint32_t k = 0; k < f->argument_count; k++) {
        const struct argument *a = &f->arguments[k];
        g->argument_nodes[k] = add_node(g, g->frequency[a->block]);
        connect(g, 2 * g->argument_nodes[k] + 1, g->sink, NEVER);
        want(g, g->argument_nodes[k], a->value);
    }
}

static void build(struct flow_graph *g, uint32_t *access_nodes, uint32_t *decision_nodes)
{
    struct function *f = g->f;
    g->source = 2 * g->node_count++;
    g->sink = 2 * g->node_count++;
    for (uint32_t k = 0; k < f->access_count; k++) {
        const struct access *a = &f->accesses[k];
        /* An address cannot stand for a choice of elements, or for a number of repetitions. */
        bool whole = !a->repeated && a->lanes == NULL;
        access_nodes[k] = add_node(g, whole ? g->frequency[a->block] : NEVER);
        connect(g, 2 * access_nodes[k] + 1, g->sink, NEVER);
        want(g, access_nodes[k], a->address);
        if (a->repeated)
            want(g, access_nodes[k], a->count);
    }
    for (uint32_t k = 0; k < f->decision_count && f->plan == PLAN_SKELETON; k++) {
        const struct decision *d = &f->decisions[k];
        bool is_bit = f->blocks[d->block].end == END_BRANCH;
        decision_nodes[k] = add_node(g, g->frequency[d->block] / (is_bit ? 8 : 1));
        connect(g, 2 * decision_nodes[k] + 1, g->sink, NEVER);
        want(g, decision_nodes[k], d->value);
    }
    build_calls(g);
    while (g->todo_count > 0) {
        uint32_t v = g->todo[--g->todo_count];
        const struct value *x = &f->values[v];
        uint32_t n = g->node_of[v] - 1;
        if (!is_computed(f, v))
            connect(g, g->source, 2 * n, NEVER);
        else
            for (uint32_t k = 0; k < x->arg_count; k++)
                want(g, n, x->args[k]);
    }
}

/* Computes distances from the source, up to the sink; returns whether it is reached. If it is not,
 * all half nodes that can be reached have a level, which defines the cut. */
static bool find_levels(struct flow_graph *g)
{
    uint32_t head = 0, tail = 0;
    memset(g->level, 0, 2 * (size_t)g->node_count * sizeof *g->level);
    g->level[g->source] = 1;
    g->queue[tail++] = g->source;
    while (head < tail) {
        uint32_t from = g->queue[head++];
        for (uint32_t n = g->first[from]; n != 0; n = g->edges[n - 1].next) {
            const struct edge *e = &g->edges[n - 1];
            if (e->room == 0 || g->level[e->to] != 0)
                continue;
            g->level[e->to] = g->level[from] + 1;
            if (e->to == g->sink)
                return true;
            g->queue[tail++] = e->to;
        }
    }
    return false;
}

static uint64_t push(struct flow_graph *g, uint32_t from, uint64_t most)
{
    uint64_t done = 0;
    if (from == g->sink)
        return most;
    for (; g->now[from] != 0 && done < most; g->now[from] = g->edges[g->now[from] - 1].next) {
        struct edge *e = &g->edges[g->now[from] - 1];
        if (e->room == 0 || g->level[e->to] != g->level[from] + 1)
            continue;
        uint64_t part = push(g, e->to, e->room < most - done ? e->room : most - done);
        e->room -= part;
        g->edges[e->back].room += part;
        done += part;
        if (done == most)
            break;
    }
    return done;
}

static bool is_cut(const struct flow_graph *g, uint32_t node)
{
    return g->level[2 * node] != 0 && g->level[2 * node + 1] == 0;
}

/* Marks all values from the wanted one back to recorded ones. */
static void need(struct flow_graph *g, uint32_t value)
{
    struct function *f = g->f;
    g->todo_count = 0;
    if (f->values[value].needed)
        return;
    f->values[value].needed = true;
    g->todo[g->todo_count++] = value;
    while (g->todo_count > 0) {
        const struct value *x = &f->values[g->todo[--g->todo_count]];
        for (uint32_t k = 0; !x->recorded && k < x->arg_count; k++) {
            struct value *a = &f->values[x->args[k]];
            if (!a->needed)
                g->todo[g->todo_count++] = x->args[k];
            a->needed = true;
        }
    }
}

static void mark(struct flow_graph *g, const uint32_t *access_nodes, const uint32_t *decision_nodes)
{
    struct function *f = g->f;
    for (uint32_t v = 0; v < f->value_count; v++)
        f->values[v].recorded = g->node_of[v] != 0 && is_cut(g, g->node_of[v] - 1);
    for (uint32_t k = 0; k < f->access_count; k++) {
        struct access *a = &f->accesses[k];
        a->recorded = is_cut(g, access_nodes[k]);
        a->computed = !a->recorded;
        if (a->recorded)
            continue;
        need(g, a->address);
        need(g, a->count);
    }
    for (uint32_t k = 0; k < f->decision_count; k++) {
        struct decision *d = &f->decisions[k];
        d->recorded = f->plan == PLAN_SKELETON ? is_cut(g, decision_nodes[k])
                                               : f->values[d->value].kind != V_CONSTANT;
        d->known = !d->recorded;
        if (d->known)
            need(g, d->value);
    }
    for (uint32_t k = 0; k < f->tail_count; k++)
        need(g, f->tails[k].stack);
    for (uint32_t k = 0; k < f->argument_count; k++) {
        struct argument *a = &f->arguments[k];
        a->recorded = is_cut(g, g->argument_nodes[k]);
        if (!a->recorded)
            need(g, a->value);
    }
}

/* Records all addresses, and all outcomes that are not constant. */
static void record_all(struct function *f)
{
    for (uint32_t k = 0; k < f->access_count; k++)
        f->accesses[k].recorded = true;
    for (uint32_t k = 0; k < f->decision_count; k++) {
        struct decision *d = &f->decisions[k];
        d->recorded = f->values[d->value].kind != V_CONSTANT;
        d->known = !d->recorded;
    }
}

void cut_find(struct function *f)
{
    if (f->plan == PLAN_ADDRESSES) {
        record_all(f);
        return;
    }
    struct flow_graph g = {.f = f};
    size_t most = 2 * ((size_t)f->value_count + f->access_count + f->decision_count +
                       f->tail_count + f->argument_count + 2);
    uint32_t *access_nodes = arena_take(f->arena, f->access_count * sizeof *access_nodes);
    uint32_t *decision_nodes = arena_take(f->arena, f->decision_count * sizeof *decision_nodes);
    g.argument_nodes = arena_take(f->arena, f->argument_count * sizeof *g.argument_nodes);
    g.first = arena_take(f->arena, most * sizeof *g.first);
    g.now = arena_take(f->arena, most * sizeof *g.now);
    g.level = arena_take(f->arena, most * sizeof *g.level);
    g.queue = arena_take(f->arena, most * sizeof *g.queue);
    g.node_of = arena_take(f->arena, f->value_count * sizeof *g.node_of);
    g.todo = arena_take(f->arena, f->value_count * sizeof *g.todo);
    g.frequency = frequency_estimate(f);
    build(&g, access_nodes, decision_nodes);
    uint64_t total = 0, more;
    while (total < NEVER && find_levels(&g)) {
        memcpy(g.now, g.first, 2 * (size_t)g.node_count * sizeof *g.now);
        while (total < NEVER && (more = push(&g, g.source, NEVER)) != 0)
            total += more;
    }
    if (total < NEVER) {
        mark(&g, access_nodes, decision_nodes);
    } else {
        f->reason = "an address depends on a value that no register holds";
        f->reason_at = f->start;
    }
}
