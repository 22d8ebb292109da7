/* SPDX-License-Identifier: BSD-3-Clause
 * Copies the profile of MPI calls from the stream to the tables /mpi_profile and
 * /mpi_profile_times. Rows that are there are overwritten with newer sums. */
#include "writer/drain.h"

#include <errno.h>
#include <stdlib.h>

/* Where an entry of the stream stands in the file; numbers of rows plus 1, 0: not there yet. */
struct drain_profile {
    uint32_t row, times[STREAM_PROFILE_TIMES];
    uint64_t calls; /* that the row has */
};

int drain_profile_init(struct drain *d)
{
    /* One more: calls without an entry. */
    if (d->profile_capacity != 0)
        d->profile = calloc((size_t)d->profile_capacity + 1, sizeof *d->profile);
    return d->profile_capacity != 0 && d->profile == NULL ? -ENOMEM : 0;
}

static int put_row(struct drain *d, enum schema_table table, uint32_t *row, const void *data)
{
    struct table *t = &d->file->tables[table];
    if (*row != 0)
        return table_update(t, *row - 1, data);
    *row = (uint32_t)table_rows(t) + 1;
    return table_append(t, data, 1);
}

static int copy_times(struct drain *d, struct drain_profile *done, const struct stream_profile *p)
{
    int rc = 0;
    for (uint32_t i = 0; i < STREAM_PROFILE_TIMES && rc == 0; i++) {
        const struct rt_mpi_profile_time row = {
            .row = done->row - 1, .power = i, .calls = atomic_load(&p->times[i])};
        if (row.calls != 0)
            rc = put_row(d, SCHEMA_MPI_PROFILE_TIMES, &done->times[i], &row);
    }
    return rc;
}

static int copy_entry(struct drain *d, struct drain_profile *done, const struct stream_profile *p)
{
    if (atomic_load_explicit(&p->state, memory_order_acquire) != PROFILE_READY)
        return 0;
    const uint64_t calls = atomic_load(&p->calls);
    if (calls == done->calls)
        return 0;
    const uint32_t function = p->function & ~STREAM_PROFILE_NESTED;
    const struct rt_mpi_profile row = {
        .thread =
            p->thread < d->thread_capacity ? (int32_t)drain_thread_row(d, p->thread)->tid : -1,
        .path = p->path,
        .code = EVENT_MPI_ENTER(function),
        .comm = p->comm,
        .nested = (p->function & STREAM_PROFILE_NESTED) != 0,
        .calls = calls,
        .ticks = atomic_load(&p->ticks),
        .min_ticks = atomic_load(&p->least),
        .max_ticks = atomic_load(&p->most),
        .bytes = atomic_load(&p->bytes),
    };
    int rc = rankfile_add_mpi_function(d->file, function);
    if (rc == 0)
        rc = put_row(d, SCHEMA_MPI_PROFILE, &done->row, &row);
    if (rc == 0)
        rc = copy_times(d, done, p);
    done->calls = calls;
    return rc;
}

int drain_copy_profile(struct drain *d)
{
    if (d->profile == NULL || !drain_header_intact(d))
        return 0;
    const struct stream_profile *entries = stream_profiles(d->stream);
    struct drain_profile *lost = &d->profile[d->profile_capacity];
    int rc = 0;
    for (uint32_t i = 0; i < d->profile_capacity && rc == 0; i++)
        rc = copy_entry(d, &d->profile[i], &entries[i]);
    const struct rt_mpi_profile row = {.thread = -1,
                                       .calls = atomic_load(&d->stream->header->profile_lost)};
    if (rc == 0 && row.calls != lost->calls)
        rc = put_row(d, SCHEMA_MPI_PROFILE, &lost->row, &row);
    lost->calls = row.calls;
    return rc;
}
