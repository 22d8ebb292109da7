/* SPDX-License-Identifier: BSD-3-Clause
 * A program whose access statistics are known: skel_stats_program [THREADS]. Each thread opens two
 * windows. In each window it executes a strided loop, a matrix by rows and by columns, a list in
 * scattered order, a tree by recursion, copied bytes, and words that lie across lines. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { STEPS = 1000, SIDE = 48, NODES = 3000, DEPTH = 7, MOST = 16 };

struct node {
    struct node *next;
    uint64_t value, filling[5];
};

struct tree {
    struct tree *left, *right;
    int value;
};

struct part {
    _Alignas(4096) uint64_t strided[STEPS * 4];
    _Alignas(4096) double matrix[SIDE][SIDE];
    struct node nodes[NODES];
    struct tree trees[1 << DEPTH];
    _Alignas(64) char from[5000], to[5000];
    int thread;
};

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

/* 1000 loads of 8 bytes, 32 bytes apart: 500 lines of 64 bytes, 8 pages. Every second load is in
 * the line of the load before it. */
APART uint64_t strided(const uint64_t *list)
{
    uint64_t sum = 0;
    for (int i = 0; i < STEPS; i++)
        __asm__ volatile("addq %1, %0" : "+r"(sum) : "m"(list[(size_t)i * 4]));
    return sum;
}

/* rows() stores 48 x 48 elements by rows; columns() then increments them by columns. */
APART void rows(double (*m)[SIDE])
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            __asm__ volatile("movsd %1, %0" : "=m"(m[i][j]) : "x"((double)j));
}

APART void columns(double (*m)[SIDE])
{
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            __asm__ volatile("incq %0" : "+m"(m[i][j]));
}

APART uint64_t chase(const struct node *n)
{
    uint64_t sum = 0;
    for (; n != NULL; n = n->next)
        sum += n->value;
    return sum;
}

APART int recurse(const struct tree *t)
{
    return t == NULL ? 0 : recurse(t->left) + t->value + recurse(t->right);
}

APART void copy(char *to, const char *from, size_t n)
{
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

APART void across(char *to)
{
    for (int i = 0; i < 100; i++)
        __asm__ volatile("addq $1, %0" : "+m"(*(uint64_t *)(to + 36 * i + 1)));
}

APART uint64_t work(struct part *p)
{
    uint64_t sum = strided(p->strided);
    rows(p->matrix);
    columns(p->matrix);
    sum += chase(p->nodes);
    sum += (uint64_t)recurse(p->trees);
    copy(p->to, p->from, (size_t)700 + 10 * (size_t)p->thread);
    across(p->to);
    return sum;
}

static void make(struct part *p)
{
    uint32_t order[NODES], random = 12345;
    for (uint32_t n = 0; n < NODES; n++)
        order[n] = n;
    for (uint32_t n = NODES - 1; n > 1; n--) {
        random = random * 1664525 + 1013904223;
        uint32_t k = 1 + (random >> 8) % n, other = order[k];
        order[k] = order[n];
        order[n] = other;
    }
    for (uint32_t n = 0; n + 1 < NODES; n++)
        p->nodes[order[n]].next = &p->nodes[order[n + 1]];
    for (size_t n = 1; 2 * n + 1 < 1 << DEPTH; n++) {
        p->trees[n].left = &p->trees[2 * n];
        p->trees[n].right = &p->trees[2 * n + 1];
    }
    p->trees[0].right = &p->trees[1];
}

static void *run_part(void *argument)
{
    struct part *p = argument;
    uint64_t sum = 0;
    for (int w = 0; w < 2; w++) {
        open_window();
        sum += work(p);
        close_window();
    }
    return sum != 1 ? argument : NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t ids[MOST];
    static struct part parts[MOST];
    for (int t = 0; t < threads && t < MOST; t++) {
        parts[t].thread = t;
        make(&parts[t]);
        if (t > 0 && pthread_create(&ids[t], NULL, run_part, &parts[t]) != 0)
            return 1;
    }
    printf("%d\n", run_part(&parts[0]) != NULL);
    for (int t = 1; t < threads && t < MOST; t++)
        (void)pthread_join(ids[t], NULL);
    return 0;
}
