/* SPDX-License-Identifier: BSD-3-Clause
 * Mini-application: makes nearly every kind of MPI call once and logs each call itself (comm.h).
 *
 * comm [FOLDER]: makes MPI-IO calls, on a file in FOLDER, only if FOLDER is given. Prints one
 * number a section. The number depends on the number of ranks alone. */
#include "comm.h"

#include <stdio.h>
#include <stdlib.h>

void file_calls(struct comm_app *app, const char *folder);

static FILE *out;

static int shown(int n)
{
    return n == MPI_PROC_NULL ? -2 : n == MPI_ANY_SOURCE ? -1 : n;
}

void log_enter(const char *name, int peer, int tag, long bytes)
{
    if (out == NULL)
        return;
    fprintf(out, "E %s ", name);
    fprintf(out, peer == NONE ? "- " : "%d ", shown(peer));
    fprintf(out, tag == NONE ? "- " : "%d ", tag == MPI_ANY_TAG ? -1 : tag);
    fprintf(out, "%ld\n", bytes);
}

void log_completed(int source, int tag, long bytes)
{
    if (out != NULL)
        fprintf(out, "C %d %d %ld\n", shown(source), tag, bytes);
}

void log_nested(const char *name)
{
    if (out != NULL)
        fprintf(out, "N %s\n", name);
}

static void log_open(int rank)
{
    const char *base = getenv("APP_LOG");
    char path[4096];
    if (base == NULL || base[0] == '\0')
        return;
    snprintf(path, sizeof path, "%s.%d", base, rank);
    out = fopen(path, "w");
    if (out == NULL)
        perror(path);
}

/* Sums the ranks' numbers at rank 0. Its calls are logged as all others are. */
static void report(struct comm_app *app, const char *section)
{
    long sum = 0;
    LOG(MPI_Reduce, 0, NONE, (long)sizeof(long))
    (&app->check, &sum, 1, MPI_LONG, MPI_SUM, 0, app->comm);
    if (app->rank == 0)
        printf("%s %ld\n", section, sum);
    app->check = 0;
}

/* MPI calls this inside MPI_Finalize, since the attribute belongs to MPI_COMM_SELF. It calls MPI
 * itself. */
static int delete_at_end(MPI_Comm comm, int keyval, void *value, void *extra)
{
    int flag, size;
    (void)keyval, (void)value, (void)extra;
    LOG_NESTED(MPI_Finalized)(&flag);
    LOG_NESTED(MPI_Comm_size)(comm, &size);
    return flag || size != 1 ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void attach_to_self(void)
{
    int keyval;
    LOG_CALL(MPI_Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, delete_at_end, &keyval, NULL);
    LOG_CALL(MPI_Comm_set_attr)(MPI_COMM_SELF, keyval, NULL);
    LOG_CALL(MPI_Comm_free_keyval)(&keyval);
}

int main(int argc, char **argv)
{
    struct comm_app app = {.comm = MPI_COMM_WORLD};
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    /* Not logged, like MPI_Init: the name of the log needs the rank. */
    PMPI_Comm_rank(MPI_COMM_WORLD, &app.rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &app.size);
    app.left = (app.rank + app.size - 1) % app.size;
    app.right = (app.rank + 1) % app.size;
    log_open(app.rank);
    point_to_point(&app);
    report(&app, "point-to-point");
    collectives(&app);
    report(&app, "collectives");
    objects(&app);
    report(&app, "objects");
    more_objects(&app);
    report(&app, "more objects");
    if (argc > 1) {
        file_calls(&app, argv[1]);
        report(&app, "files");
    }
    attach_to_self();
    LOG_CALL(MPI_Finalize)();
    if (out != NULL && fclose(out) != 0) {
        perror("APP_LOG");
        return 1;
    }
    return 0;
}
