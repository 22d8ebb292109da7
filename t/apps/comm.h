/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application comm: declarations that its files share, and the log of its own calls for
 * oracles.
 *
 * APP_LOG=FILE names the log: FILE.RANK. Each call writes one line before it is made, in order:
 *   E name peer tag bytes   a call: peer and tag as passed (-1 any, -2 MPI_PROC_NULL, - none), and
 *                           bytes as in mpi/functions.list
 *   C source tag bytes      a completed receive; written after the call that completed it
 *   N name                  a call made in a callback, inside another MPI call
 *
 * A call is written LOG(MPI_Send, right, 5, 8)(buffer, 1, MPI_DOUBLE, right, 5, comm). */
#ifndef T_APPS_COMM_H
#define T_APPS_COMM_H

#include <limits.h>
#include <mpi.h>

#define NONE INT_MIN

struct comm_app {
    int rank, size;  /* in `comm` */
    int left, right; /* neighbours in a ring */
    MPI_Comm comm;
    /* a hash of the received data, which does not depend on timing */
    long check;
};

void log_enter(const char *name, int peer, int tag, long bytes);
void log_completed(int source, int tag, long bytes);
void log_nested(const char *name);

/* Log a call, then yield the function to call: with peer, tag and bytes; with bytes only; with the
 * name only. */
#define LOG(function, peer, tag, bytes) (log_enter(#function, peer, tag, bytes), function)
#define LOG_BYTES(function, bytes) (log_enter(#function, NONE, NONE, bytes), function)
#define LOG_CALL(function) (log_enter(#function, NONE, NONE, 0), function)
/* The same for a call in a callback. */
#define LOG_NESTED(function) (log_nested(#function), function)

void point_to_point(struct comm_app *app);
void collectives(struct comm_app *app);
void objects(struct comm_app *app);
void more_objects(struct comm_app *app);
void more_file_calls(struct comm_app *app, MPI_File file);

#endif
