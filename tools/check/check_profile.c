/* SPDX-License-Identifier: BSD-3-Clause
 * Checks the profile of MPI calls: each row has possible times, a path and a thread of the file,
 * and as many calls as its rows of /mpi_profile_times. */
#include "tools/check/check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has_thread(const struct rt_rank_tables *t, int32_t thread)
{
    for (size_t i = 0; i < t->thread_count; i++)
        if (t->threads[i].thread == thread)
            return true;
    return thread < 0;
}

static bool has_path(const struct rt_rank_tables *t, uint32_t path)
{
    for (size_t i = 0; i < t->path_count; i++)
        if (t->paths[i].path == path)
            return true;
    return path == 0;
}

static void check_row(struct check *c, const struct rt_rank_tables *t, size_t i, uint64_t in_times)
{
    const struct rt_mpi_profile *p = &t->mpi_profile[i];
    c->facts++;
    if (!has_thread(t, p->thread) || !has_path(t, p->path))
        check_violation(c, CHECK_PROFILE,
                        "row %zu of /mpi_profile names thread %" PRId32 " and path %" PRIu32
                        ", of which the file has not both",
                        i, p->thread, p->path);
    if (p->code == 0) /* calls without room: only their number is known */
        return;
    const double calls = (double)p->calls, ticks = (double)p->ticks, close = 1e-9 * ticks;
    if (p->calls == 0 || calls * (double)p->min_ticks > ticks + close ||
        calls * (double)p->max_ticks < ticks - close)
        check_violation(c, CHECK_PROFILE,
                        "row %zu of /mpi_profile: %" PRIu64 " calls of %" PRIu64 " to %" PRIu64
                        " ticks took %" PRIu64 " ticks",
                        i, p->calls, p->min_ticks, p->max_ticks, p->ticks);
    if (in_times != p->calls)
        check_violation(c, CHECK_PROFILE,
                        "row %zu of /mpi_profile has %" PRIu64
                        " calls, /mpi_profile_times %" PRIu64,
                        i, p->calls, in_times);
}

void check_profile(struct check *c, const struct rt_rank *rank)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    const struct rt_rank_info *info = rt_rank_info(rank);
    /* A thread that is killed, or that still runs, may have added one of two sums. */
    if (t->mpi_profile_count == 0 || strncmp(info->end_reason, "finished", 8) != 0)
        return;
    uint64_t *in_times = calloc(t->mpi_profile_count, sizeof *in_times);
    for (size_t i = 0; i < t->mpi_profile_time_count; i++) {
        const struct rt_mpi_profile_time *row = &t->mpi_profile_times[i];
        if (row->row >= t->mpi_profile_count)
            check_violation(c, CHECK_PROFILE,
                            "row %zu of /mpi_profile_times is of row %" PRIu32
                            ", which /mpi_profile has not",
                            i, row->row);
        else if (in_times != NULL)
            in_times[row->row] += row->calls;
    }
    for (size_t i = 0; i < t->mpi_profile_count && in_times != NULL; i++)
        check_row(c, t, i, in_times[i]);
    if (in_times == NULL)
        check_violation(c, CHECK_PROFILE, "no memory to compare /mpi_profile");
    free(in_times);
}
