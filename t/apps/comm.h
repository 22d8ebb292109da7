/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: what its files share, and how it logs its own calls for oracles.
 *
 * APP_LOG=FILE: the log is FILE.RANK, a line per call in order, written before the call:
 *   E name peer tag bytes   peer and tag as passed (-1 any, -2 MPI_PROC_NULL, - none), bytes as mpi/functions.list says
 *   C source tag bytes      a receive that has completed, after the call that completed it
 *   N name                  a call made in a callback, inside another MPI call
 * Calls are written LOG(MPI_Send, right, 5, 8)(buffer, 1, MPI_DOUBLE, right, 5, comm). */
#ifndef T_APPS_COMM_H
#define T_APPS_COMM_H

#include <limits.h>
#include <mpi.h>

#define NONE INT_MIN

struct comm_app {
    int rank, size;  /* in `comm` */
    int left, right; /* neighbours in a ring */
    MPI_Comm comm;
    long check; /* folded from what was received: the same whatever the timing */
};

void log_enter(const char *name, int peer, int tag, long bytes);
void log_completed(int source, int tag, long bytes);
void log_nested(const char *name);

/* The function, once its call is logged: with peer, tag and bytes; with bytes alone; with nothing. */
#define LOG(function, peer, tag, bytes) (log_enter(#function, peer, tag, bytes), function)
#define LOG_BYTES(function, bytes) (log_enter(#function, NONE, NONE, bytes), function)
#define LOG_CALL(function) (log_enter(#function, NONE, NONE, 0), function)
/* In callbacks. */
#define LOG_NESTED(function) (log_nested(#function), function)

void point_to_point(struct comm_app *app);
void collectives(struct comm_app *app);
void objects(struct comm_app *app);
void more_objects(struct comm_app *app);
void more_file_calls(struct comm_app *app, MPI_File file);

#endif
