/* SPDX-License-Identifier: BSD-3-Clause
 * The work of a network simplex method, as in mcf of Ketterlin and Clauss, "Efficient Memory
 * Tracing by Program Skeletonization", ISPASS 2011: a spanning tree of nodes with father, child and
 * siblings, potentials recomputed along it, arcs priced in turn, and subtrees moved. SIZE: nodes.
 */
#include "kernel.h"

#include <stdlib.h>

struct arc;
struct node {
    long potential, depth;
    struct node *father, *child, *left, *right; /* siblings */
    struct arc *basic;                          /* arc to the father */
    int up;                                     /* whether the basic arc leads to the father */
};
struct arc {
    struct node *tail, *head;
    long cost, flow;
    int state; /* 0: in the tree; 1: at its lower bound; 2: at its upper bound */
};
struct network {
    struct node *nodes;
    struct arc *arcs;
    long node_count, arc_count, next;
};

/* Recomputes potentials and depths in preorder, from the root on. */
KEEP static long refresh(const struct network *g)
{
    struct node *root = g->nodes, *n = root->child, *above = root;
    long checksum = 0;
    while (n != root && n != NULL) {
        while (n != NULL) {
            long cost = n->basic->cost;
            n->potential = n->up ? cost + n->father->potential : n->father->potential - cost;
            n->depth = n->father->depth + 1;
            checksum++;
            above = n;
            n = n->child;
        }
        n = above;
        while (n->father != NULL) {
            if (n->right != NULL) {
                n = n->right;
                break;
            }
            n = n->father;
        }
    }
    return checksum;
}

/* Returns the worst of `group` arcs. Continues where the last search ended. */
KEEP static struct arc *price(struct network *g, long group)
{
    struct arc *worst = NULL;
    long most = 0;
    for (long k = 0; k < group; k++) {
        struct arc *a = &g->arcs[g->next];
        g->next = g->next + 1 == g->arc_count ? 0 : g->next + 1;
        if (a->state == 0)
            continue;
        long reduced = a->cost - a->tail->potential + a->head->potential;
        if (a->state == 2)
            reduced = -reduced;
        if (reduced < most) {
            most = reduced;
            worst = a;
        }
    }
    return worst;
}

static void unhang(struct node *n)
{
    if (n->left != NULL)
        n->left->right = n->right;
    else
        n->father->child = n->right;
    if (n->right != NULL)
        n->right->left = n->left;
}

static void hang(struct node *n, struct node *father)
{
    n->father = father;
    n->left = NULL;
    n->right = father->child;
    if (father->child != NULL)
        father->child->left = n;
    father->child = n;
}

KEEP static int is_below(const struct node *n, const struct node *above)
{
    for (; n != NULL; n = n->father)
        if (n == above)
            return 1;
    return 0;
}

/* The arc enters the tree, and the arc between its head and the head's father leaves it. */
KEEP static int exchange(struct arc *enters)
{
    struct node *n = enters->head, *to = enters->tail;
    if (n->father == NULL || is_below(to, n))
        return 0;
    long flow = 0;
    for (struct node *k = n; k->father != NULL; k = k->father)
        flow += k->basic->flow += k->up ? 1 : -1;
    unhang(n);
    n->basic->state = flow > 0 ? 2 : 1;
    hang(n, to);
    n->basic = enters;
    n->up = 0;
    enters->state = 0;
    return 1;
}

static void begin(struct network *g)
{
    uint32_t state = 11;
    g->nodes = calloc((size_t)g->node_count, sizeof *g->nodes);
    g->arcs = calloc((size_t)g->arc_count, sizeof *g->arcs);
    for (long k = 0; k < g->arc_count; k++) {
        uint32_t tail = kernel_random(&state) % (uint32_t)g->node_count,
                 head = kernel_random(&state) % (uint32_t)g->node_count;
        g->arcs[k] = (struct arc){&g->nodes[tail], &g->nodes[head],
                                  1 + (long)(kernel_random(&state) % 1000), 0, 1};
    }
    for (long k = 1; k < g->node_count; k++) {
        struct node *n = &g->nodes[k * 7919 % g->node_count],
                    *above = &g->nodes[kernel_random(&state) % (uint32_t)k * 7919 % g->node_count];
        if (n == g->nodes)
            continue;
        hang(n, above);
        n->basic = &g->arcs[k];
        n->up = (int)(kernel_random(&state) & 1);
        g->arcs[k].state = 0;
    }
}

int main(int argc, char **argv)
{
    struct network g = {.node_count = kernel_argument(argc, argv, 1, 3001, 1000000)};
    long turns = kernel_argument(argc, argv, 2, 1000, 1000000), sum = 0;
    g.arc_count = 6 * g.node_count;
    begin(&g);
    sum += refresh(&g);
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        struct arc *a = price(&g, g.node_count);
        if (a != NULL)
            sum += exchange(a);
        sum += refresh(&g);
    }
    close_window();
    for (long k = 0; k < g.node_count; k++)
        sum += g.nodes[k].potential;
    kernel_end(began, (double)sum);
    return 0;
}
