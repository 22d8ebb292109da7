/* SPDX-License-Identifier: BSD-3-Clause
 * Delays whose causes are known, each in a window of its own (MPI_Pcontrol(1) to MPI_Pcontrol(0)),
 * on four ranks. Writes when each call began and ended to the file of its argument, which all ranks
 * map. With a further argument, rests are in a named region.
 *
 * A rank that causes a wait rests after the waiting ranks are inside MPI, and the last rank enters
 * the closing barrier after all others. So each delay occurs, whatever the scheduler does.
 *
 * 0: rank 2 is late for rank 1, which is late for rank 0 therefore, which is late for all.
 * 1: rank 1 is late for a collective call.
 * 2: ranks 1 and 2 are late for one MPI_Waitall of rank 0.
 * 3: rank 1 is late twice.
 * 4: rank 1 is late for rank 0, and rank 3 for rank 2.
 * 5: rank 1 is late to receive.
 * 6: the root of a broadcast is late, and a rank that nobody needs even more.
 * 7: rank 1 is late for an MPI_Probe of rank 0, and 8: for an MPI_Mprobe.
 * 9: rank 1 is late for a nonblocking collective call: the others wait for its request. */
#include "logged.h"
#include "regtrace.h"

#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

/* The log: [rank][phase][number]. Numbers below REST are those of a phase's calls; REST is the
 * rank's last rest of the phase. delay_bounds.py reads it. */
enum { PHASES = 10, REST = 5, OPENING = 6, CLOSING = 7, LOGGED = 8 };

static int rank, x;
static bool has_regions;
static struct logged (*all)[PHASES][LOGGED]; /* by rank */

/* Notes that a call begins; returns where to note its end. */
static struct logged *begins(int phase, int n)
{
    struct logged *c = &all[rank][phase][n];
    logged_now = c;
    c->before = logged_ns();
    return c;
}

static void ends(struct logged *c)
{
    c->after = logged_ns();
    logged_now = NULL;
}

/* Returns when that rank is inside its call. */
static void await(int other, int phase, int n)
{
    while (all[other][phase][n].inside == 0)
        (void)sched_yield();
}

__attribute__((noinline)) static void rest(struct logged *c, int ms)
{
    if (has_regions)
        regtrace_region_begin("resting");
    c->inside = logged_ns();
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
    c->leaves = logged_ns();
    if (has_regions)
        regtrace_region_end("resting");
}

static void rest_in(int phase, int ms)
{
    struct logged *c = begins(phase, REST);
    rest(c, ms);
    ends(c);
}

__attribute__((noinline)) static void give(int phase, int n, int to)
{
    struct logged *c = begins(phase, n);
    MPI_Send(&x, 1, MPI_INT, to, 10 * phase + n, MPI_COMM_WORLD);
    ends(c);
}

__attribute__((noinline)) static void take(int phase, int n, int from)
{
    struct logged *c = begins(phase, n);
    MPI_Recv(&x, 1, MPI_INT, from, 10 * phase + n, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* take */
    ends(c);
}

/* Sends when the other rank, whose call has the number `its`, has waited for this long. */
__attribute__((noinline)) static void root_cause(int phase, int n, int ms, int to, int its)
{
    await(to, phase, its);
    rest_in(phase, ms);
    struct logged *c = begins(phase, n);
    MPI_Send(&x, 1, MPI_INT, to, 10 * phase + n, MPI_COMM_WORLD); /* late */
    ends(c);
}

static void chain(void)
{
    if (rank == 2) {
        await(0, 0, 2);
        root_cause(0, 1, 80, 1, 1); /* the root of the chain */
    }
    if (rank == 1) {
        take(0, 1, 2);
        give(0, 2, 0);
    }
    if (rank == 0)
        take(0, 2, 1);
}

static void collective(void)
{
    int y;
    for (int i = 0; rank == 1 && i < 4; i++)
        if (i != rank)
            await(i, 1, 0);
    if (rank == 1)
        rest_in(1, 60);
    struct logged *c = begins(1, 0);
    MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    ends(c);
}

static void wait_for_two(void)
{
    MPI_Request r[2];
    int y[2];
    if (rank == 1)
        root_cause(2, 1, 30, 0, 0);
    if (rank == 2) {
        await(1, 2, 1);
        root_cause(2, 2, 40, 0, 0); /* the last of two */
    }
    if (rank != 0)
        return;
    MPI_Irecv(&y[0], 1, MPI_INT, 1, 21, MPI_COMM_WORLD, &r[0]);
    MPI_Irecv(&y[1], 1, MPI_INT, 2, 22, MPI_COMM_WORLD, &r[1]);
    struct logged *c = begins(2, 0);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    ends(c);
}

static void twice(void)
{
    if (rank == 1) {
        root_cause(3, 1, 40, 0, 1); /* first */
        root_cause(3, 2, 60, 0, 2); /* second */
    }
    if (rank == 0) {
        take(3, 1, 1);
        take(3, 2, 1);
    }
}

static void two_at_once(void)
{
    if (rank == 1)
        root_cause(4, 1, 50, 0, 1); /* left */
    if (rank == 3)
        root_cause(4, 2, 70, 2, 2); /* right */
    if (rank == 0)
        take(4, 1, 1);
    if (rank == 2)
        take(4, 2, 3);
}

static void late_receiver(void)
{
    if (rank == 0) {
        struct logged *c = begins(5, 0);
        MPI_Ssend(&x, 1, MPI_INT, 1, 51, MPI_COMM_WORLD);
        ends(c);
    }
    if (rank == 1) {
        await(0, 5, 0);
        rest_in(5, 60);
        take(5, 1, 0); /* late to receive */
    }
}

static void broadcast(void)
{
    if (rank == 0) {
        await(1, 6, 0);
        await(2, 6, 0);
        rest_in(6, 50);
    }
    if (rank == 3) {
        await(0, 6, 0);
        rest_in(6, 70);
    }
    struct logged *c = begins(6, 0);
    MPI_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD);
    ends(c);
}

/* Rank 0 looks for the message of rank 1, and then receives it. */
static void probed(void)
{
    if (rank == 1)
        root_cause(7, 1, 40, 0, 0); /* late for a probe */
    if (rank != 0)
        return;
    struct logged *c = begins(7, 0);
    MPI_Probe(1, 71, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ends(c);
    take(7, 1, 1);
}

static void matched(void)
{
    MPI_Message m;
    if (rank == 1)
        root_cause(8, 1, 40, 0, 0); /* late for a matched probe */
    if (rank != 0)
        return;
    struct logged *c = begins(8, 0);
    MPI_Mprobe(1, 81, MPI_COMM_WORLD, &m, MPI_STATUS_IGNORE);
    ends(c);
    MPI_Mrecv(&x, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
}

static void nonblocking(void)
{
    int y;
    MPI_Request r;
    for (int i = 0; rank == 1 && i < 4; i++)
        if (i != rank)
            await(i, 9, 1);
    if (rank == 1)
        rest_in(9, 60);
    struct logged *c = begins(9, 0);
    MPI_Iallreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
    ends(c);
    c = begins(9, 1);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    ends(c);
}

/* The last rank has waited in the phase itself: no wait for it is due to its own work. */
static void close_phase(int phase)
{
    static const int last[PHASES] = {0, 0, 0, 0, 2, 0, 0, 0, 0, 0};
    for (int i = 0; rank == last[phase] && i < 4; i++)
        if (i != rank)
            await(i, phase, CLOSING);
    struct logged *c = begins(phase, CLOSING);
    MPI_Barrier(MPI_COMM_WORLD); /* the end of a phase */
    ends(c);
}

int main(int argc, char **argv)
{
    static void (*const phases[PHASES])(void) = {
        chain,         collective, wait_for_two, twice,   two_at_once,
        late_receiver, broadcast,  probed,       matched, nonblocking,
    };
    if (argc < 2 || (all = logged_map(argv[1], 4 * sizeof *all)) == NULL) {
        perror("the log");
        return 1;
    }
    has_regions = argc > 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int to = 0; to < 4; to++) /* the first messages connect the ranks */
        for (int from = 0; from < 4; from++)
            if (from != to && rank == from)
                MPI_Send(&x, 1, MPI_INT, to, 0, MPI_COMM_WORLD);
            else if (from != to && rank == to)
                MPI_Recv(&x, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < PHASES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        struct logged *c = begins(i, OPENING);
        MPI_Pcontrol(1);
        ends(c);
        phases[i]();
        close_phase(i);
        MPI_Pcontrol(0);
    }
    return MPI_Finalize();
}
