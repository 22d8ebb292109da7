/* SPDX-License-Identifier: BSD-3-Clause
 * shown PART LOG: a program whose display is known; it logs what must be shown. PART:
 *   regions  many nested regions and marks; each new top of the stack is a line of LOG
 *   killed   the same, and ends by SIGKILL
 *   late     (with -DWITH_MPI) a message that is received long after it was sent */
#include <regtrace.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 70000, DEEP = 6 };
static FILE *out;
static const char *stack[DEEP];
static int depth;
static const char *const names[] = {"solve", "exchange", "write",
                                    "a name: with \"quotes\" and {braces}"};

static void log_top(void)
{
    static const char *last = "-";
    const char *top = depth > 0 ? stack[depth - 1] : "-";
    if (top != last)
        fprintf(out, "%s\n", top);
    last = top;
}

static void push(const char *name)
{
    regtrace_region_begin(name);
    stack[depth++] = name;
    log_top();
}

static void pop(void)
{
    regtrace_region_end(stack[--depth]);
    log_top();
}

static void regions(void)
{
    unsigned state = 1;
    regtrace_mark_type(3, REGTRACE_MARK_SINGLE, "temperature");
    regtrace_mark_label(3, 40, "warm");
    for (int i = 0; i < TIMES; i++) {
        state = state * 1103515245u + 12345u;
        if (depth == 0 || (depth < DEEP && (state >> 16) % 2 == 0))
            push(names[(state >> 8) % 4]);
        else
            pop();
        if (i % 1000 == 0)
            regtrace_mark_set(3, 40 + i / 1000);
    }
    while (depth > 0)
        pop();
}

#ifdef WITH_MPI
#include <mpi.h>
static void late(void)
{
    int rank, value = 7;
    MPI_Request r;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &r);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2 * TIMES; i++)
        MPI_Barrier(MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Wait(&r, MPI_STATUS_IGNORE);
    else
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
}
#endif

int main(int argc, char **argv)
{
    if (argc != 3 || (out = fopen(argv[2], "w")) == NULL)
        return 2;
#ifdef WITH_MPI
    late();
#else
    regions();
#endif
    fclose(out);
    if (strcmp(argv[1], "killed") == 0) {
        regtrace_region_begin("never ends");
        raise(SIGKILL);
    }
    return 0;
}
