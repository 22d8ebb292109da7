/* SPDX-License-Identifier: BSD-3-Clause
 * Walks along a list in random order, in windows of 1 to STEPS steps, and writes the address of
 * each node that it reads in them to the file LOG: memory_large LOG STEPS [kill]. The traced
 * function is `walk`. With kill it is killed within a last window. */
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 5003 };
static struct node {
    struct node *next;
    char other[56];
} nodes[NODES];

__attribute__((noipa)) void open_window(void)
{
}

__attribute__((noipa)) void close_window(void)
{
}

__attribute__((noipa)) static struct node *walk(struct node *n, long steps)
{
    for (long k = 0; k < steps; k++)
        n = n->next;
    return n;
}

int main(int argc, char **argv)
{
    FILE *log = argc > 2 ? fopen(argv[1], "w") : NULL;
    long most = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
    struct node *n = nodes;
    if (log == NULL)
        return 1;
    for (unsigned k = 0; k < NODES; k++)
        nodes[k * 1999ul % NODES].next = &nodes[(k + 1) * 1999ul % NODES];
    for (long steps = 1; steps <= most; steps = steps * 3 + 1) {
        const struct node *at = n;
        open_window();
        n = walk(n, steps);
        close_window();
        for (long k = 0; k < steps; k++, at = at->next)
            fprintf(log, "%" PRIxPTR "\n", (uintptr_t)&at->next);
    }
    (void)fclose(log);
    printf("%td\n", n - nodes);
    if (argc > 3 && strcmp(argv[3], "kill") == 0 && fflush(stdout) == 0) {
        open_window();
        walk(n, most);
        (void)raise(SIGKILL);
    }
    return 0;
}
