/* SPDX-License-Identifier: BSD-3-Clause
 * Copies those tables of a killed writer's file whose rows need no change. */
#include "writer/repair/old_tables.h"

#include "writer/read/reader.h"

#include <errno.h>
#include <string.h>

static int copy_strings(struct rankfile *to, const struct rt_rank *old, struct drain *d)
{
    const char *text;
    uint32_t id;
    for (size_t i = 0; (text = rt_rank_string_at(old, i, &id)) != NULL; i++) {
        if (d != NULL && id >= DRAIN_OWN_STRINGS)
            continue; /* drain_set_file() made it anew from the metadata */
        struct rt_string_row row = {id, (uint32_t)strlen(text),
                                    table_rows(&to->tables[SCHEMA_STRINGS])};
        int rc = table_append(&to->tables[SCHEMA_STRINGS], text, row.length);
        if (rc == 0)
            rc = table_append(&to->tables[SCHEMA_STRING_INDEX], &row, 1);
        if (rc != 0)
            return rc;
        if (d != NULL && id < d->string_capacity && !d->string_done[id]) {
            d->string_done[id] = 1;
            d->strings_written++;
        }
    }
    if (d != NULL)
        d->string_bytes = table_rows(&to->tables[SCHEMA_STRINGS]);
    return 0;
}

/* Copies tables whose rows need no change. If the stream is there, drain_end() copies the profile
 * from it. */
static int copy_plain(struct rankfile *to, const struct rt_rank_tables *t, struct drain *d)
{
    const bool profile = d == NULL;
    const struct {
        enum schema_table table;
        const void *rows;
        size_t count;
    } plain[] = {
        {SCHEMA_PATHS, t->paths, t->path_count},
        {SCHEMA_MPI_PROFILE, t->mpi_profile, profile ? t->mpi_profile_count : 0},
        {SCHEMA_MPI_PROFILE_TIMES, t->mpi_profile_times, profile ? t->mpi_profile_time_count : 0},
        {SCHEMA_COMMS, t->comms, t->comm_count},
        {SCHEMA_CALIBRATION, t->calibration, t->calibration_count},
        {SCHEMA_MAPS, t->maps, t->map_count},
    };
    int rc = 0;
    for (size_t i = 0; i < t->path_count && d != NULL; i++)
        drain_has_path(d, t->paths[i].path);
    for (size_t i = 0; i < sizeof plain / sizeof *plain && rc == 0; i++)
        rc = table_append(&to->tables[plain[i].table], plain[i].rows, plain[i].count);
    return rc;
}

int old_tables_copy(struct rankfile *to, const struct rt_rank *old, struct drain *drain)
{
    int rc = copy_strings(to, old, drain);
    return rc == 0 ? copy_plain(to, rt_rank_tables(old), drain) : rc;
}
