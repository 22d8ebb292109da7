/* SPDX-License-Identifier: BSD-3-Clause
 * Recursion: queens on a board, Ackermann's function, a tree that is built, walked and mirrored.
 * SIZE: of the board. */
#include "kernel.h"

#include <stdlib.h>

struct tree {
    struct tree *left, *right;
    long key;
};

static int column[32];

static int is_free(int row, int at)
{
    for (int r = 0; r < row; r++)
        if (column[r] == at || column[r] - at == row - r || at - column[r] == row - r)
            return 0;
    return 1;
}

KEEP static long queens(int row, int n)
{
    long found = 0;
    if (row == n)
        return 1;
    for (int at = 0; at < n; at++) {
        if (!is_free(row, at))
            continue;
        column[row] = at;
        found += queens(row + 1, n);
    }
    return found;
}

KEEP static unsigned ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

KEEP static struct tree *insert(struct tree *t, struct tree *leaf)
{
    if (t == NULL)
        return leaf;
    if (leaf->key < t->key)
        t->left = insert(t->left, leaf);
    else
        t->right = insert(t->right, leaf);
    return t;
}

KEEP static long sum_of(const struct tree *t, long depth)
{
    return t == NULL ? 0
                     : depth * t->key + sum_of(t->left, depth + 1) + sum_of(t->right, depth + 1);
}

KEEP static void turn_around(struct tree *t)
{
    if (t == NULL)
        return;
    struct tree *left = t->left;
    t->left = t->right;
    t->right = left;
    turn_around(t->left);
    turn_around(t->right);
}

int main(int argc, char **argv)
{
    int n = (int)kernel_argument(argc, argv, 1, 8, 14);
    long turns = kernel_argument(argc, argv, 2, 10, 1000000), sum = 0, leaves = 10L * n * n;
    struct tree *all = calloc((size_t)leaves, sizeof *all);
    double began = kernel_now_ns();
    open_window();
    for (long turn = 0; turn < turns; turn++) {
        struct tree *root = NULL;
        uint32_t state = (uint32_t)turn;
        for (long k = 0; k < leaves; k++) {
            all[k] = (struct tree){NULL, NULL, (long)kernel_random(&state) % 100000};
            root = insert(root, &all[k]);
        }
        turn_around(root);
        sum += sum_of(root, 1) + queens(0, n) + ackermann(2, (unsigned)n);
    }
    close_window();
    kernel_end(began, (double)sum);
    return 0;
}
