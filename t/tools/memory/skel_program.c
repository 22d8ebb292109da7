/* SPDX-License-Identifier: BSD-3-Clause
 * Windows whose accesses are replayed: skel_program THREADS WINDOWS [SECONDS [TURNS]]. In each of
 * its windows each thread does TURNS turns of work: a sweep over a matrix by rows and by columns,
 * sums in place, and a walk through a list in scattered order. The second half of the windows adds
 * a sum backwards. SECONDS is the sum of the pauses between the turns. If the environment has
 * HOLD=FILE, each thread stops halfway through its work until FILE exists. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

enum { SIDE = 40, NODES = 500, MOST = 64 };

struct node {
    struct node *next;
    uint64_t value;
};

struct part {
    double matrix[SIDE][SIDE];
    struct node nodes[NODES];
    uint64_t sums[NODES];
    unsigned windows, turns, pause_us;
    const char *hold;
};

APART void open_window(void)
{
    __asm__ volatile("");
}

APART void close_window(void)
{
    __asm__ volatile("");
}

APART void rows(struct part *p)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            p->matrix[i][j] = i + j;
}

APART double columns(const struct part *p)
{
    double sum = 0;
    for (int j = 0; j < SIDE; j++)
        for (int i = 0; i < SIDE; i++)
            sum += p->matrix[i][j];
    return sum;
}

APART void add(struct part *p, unsigned turns)
{
    for (unsigned t = 0; t < turns; t++)
        for (unsigned i = 0; i < NODES; i++)
            p->sums[i] += t;
}

APART uint64_t walk(const struct node *n, unsigned steps)
{
    uint64_t sum = 0;
    for (; steps > 0; steps--) {
        sum += n->value;
        n = n->next;
    }
    return sum;
}

APART double backwards(const struct part *p)
{
    double sum = 0;
    for (int i = NODES; i-- > 0;)
        sum += (double)p->sums[i];
    return sum;
}

APART double work(struct part *p, unsigned window)
{
    double sum = 0;
    rows(p);
    sum += columns(p);
    add(p, window % 3 + 1);
    sum += (double)walk(p->nodes, NODES + window);
    if (window >= p->windows / 2)
        sum += backwards(p);
    return sum;
}

static void pause_for(unsigned us)
{
    (void)nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000},
                    NULL);
}

static void *run_part(void *argument)
{
    struct part *p = argument;
    double sum = 0;
    for (unsigned w = 0; w < p->windows; w++) {
        open_window();
        for (unsigned t = 0; t < p->turns; t++) {
            sum += work(p, w);
            if (p->pause_us > 0)
                pause_for(p->pause_us);
            while (p->hold != NULL && w * p->turns + t == p->windows * p->turns / 2 &&
                   access(p->hold, F_OK) != 0)
                pause_for(1000);
        }
        close_window();
    }
    return sum > 0 ? argument : NULL;
}

int main(int argc, char **argv)
{
    unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 1,
             windows = argc > 2 ? (unsigned)atoi(argv[2]) : 1,
             turns = argc > 4 ? (unsigned)atoi(argv[4]) : 1;
    double seconds = argc > 3 ? atof(argv[3]) : 0;
    pthread_t ids[MOST];
    struct part *parts = calloc(threads, sizeof *parts);
    for (unsigned t = 0; t < threads && t < MOST; t++) {
        parts[t].windows = windows;
        parts[t].turns = turns;
        parts[t].hold = getenv("HOLD");
        parts[t].pause_us = (unsigned)(1e6 * seconds / windows / turns);
        for (unsigned n = 0; n < NODES; n++)
            parts[t].nodes[n] = (struct node){&parts[t].nodes[(n * 7 + 3) % NODES], n};
        if (t > 0 && pthread_create(&ids[t], NULL, run_part, &parts[t]) != 0)
            return 1;
    }
    printf("%d\n", run_part(&parts[0]) != NULL);
    for (unsigned t = 1; t < threads && t < MOST; t++)
        (void)pthread_join(ids[t], NULL);
    free(parts);
    return 0;
}
