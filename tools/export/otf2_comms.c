/* SPDX-License-Identifier: BSD-3-Clause
 * Keeps communicators as OTF2 defines them: groups of processes. Messages and collective operations
 * refer to ranks in them.
 *
 * MPI_COMM_WORLD and MPI_COMM_SELF exist in every run. The others are those that
 * tools/messages/comm_tables.h knows on more than one rank. If not all ranks of a communicator are
 * exported, its group has only the exported ones, and ranks count within that group. */
#include "tools/export/export.h"

#ifdef HAVE_OTF2

#include "tools/export/otf2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The rank of a process in a communicator. */
struct otf2_member {
    uint32_t comm, process, side, rank;
};

static bool no_memory(struct otf2 *o)
{
    export_fail(o->x, -ENOMEM, "no memory");
    return false;
}

static bool world(const struct otf2 *o, uint32_t **processes, uint32_t *count)
{
    const struct export *x = o->x;
    int32_t size = x->process_count > 0 ? rt_rank_info(x->processes[0].rank)->size : 0;
    uint32_t found = 0;
    *count = size > 0 ? (uint32_t)size : 0;
    *processes = calloc(*count + 1u, sizeof **processes);
    for (uint32_t i = 0; *processes != NULL && i < x->process_count; i++) {
        const struct rt_rank_info *info = rt_rank_info(x->processes[i].rank);
        if (!info->is_main || info->size != size || info->rank < 0 || info->rank >= size)
            continue;
        (*processes)[info->rank] = i;
        found++;
    }
    return *processes != NULL && *count > 0 && found == *count;
}

/* Fills in the exported processes of one group of a communicator. */
static bool fill_side(struct otf2 *o, struct otf2_comm *to, uint32_t comm, uint32_t side)
{
    uint32_t n, size = comms_all(o->x->comms, &n)[comm].size[side];
    to->processes[side] = calloc(size + 1u, sizeof **to->processes);
    if (to->processes[side] == NULL)
        return no_memory(o);
    for (uint32_t rank = 0; rank < size; rank++) {
        uint32_t p = comms_process(o->x->comms, comm, side, (int32_t)rank);
        if (p == NO_PROCESS)
            to->whole = false;
        else
            to->processes[side][to->count[side]++] = p;
    }
    return true;
}

/* Maps the communicators that processes know by the fixed numbers to MPI_COMM_WORLD and
 * MPI_COMM_SELF. */
static void name_fixed(struct otf2 *o)
{
    for (uint32_t p = 0; p < o->x->process_count; p++)
        for (uint32_t id = OTF2_WORLD; id <= OTF2_SELF; id++) {
            uint32_t side, comm = comms_find(o->x->comms, p, id, &side);
            if (comm != NO_COMM)
                o->comm_of[comm] = id == OTF2_WORLD ? OTF2_COMM_WORLD : OTF2_COMM_SELF;
        }
}

/* Fills MPI_COMM_WORLD with its exported ranks, if it is not complete and no known communicator has
 * its number. OTF2 wants numbers without gaps, so it must exist. Processes are sorted by rank. */
static bool fill_part_of_world(struct otf2 *o)
{
    const struct export *x = o->x;
    struct otf2_comm *w = &o->comms[OTF2_COMM_WORLD];
    int32_t last = -1;
    free(w->processes[0]);
    w->processes[0] = calloc(x->process_count + 1u, sizeof *w->processes[0]);
    if (w->processes[0] == NULL)
        return no_memory(o);
    for (uint32_t i = 0; i < x->process_count; i++) {
        const struct rt_rank_info *info = rt_rank_info(x->processes[i].rank);
        if (!info->is_main || info->rank <= last)
            continue;
        last = info->rank;
        w->processes[0][w->count[0]++] = i;
    }
    return true;
}

static bool fill_comms(struct otf2 *o, uint32_t known)
{
    struct otf2_comm *w = &o->comms[OTF2_COMM_WORLD];
    w->sides = 1;
    w->whole = world(o, &w->processes[0], &w->count[0]);
    if (w->processes[0] == NULL)
        return no_memory(o);
    if (!w->whole)
        w->count[0] = 0;
    o->comms[OTF2_COMM_SELF].whole = true;
    o->comm_count = OTF2_COMM_SELF + 1;
    for (uint32_t i = 0; i < known; i++) {
        const struct comm *from = &comms_all(o->x->comms, &known)[i];
        if (o->comm_of[i] == OTF2_COMM_SELF || (o->comm_of[i] == OTF2_COMM_WORLD && w->whole))
            continue;
        if (o->comm_of[i] == OTF2_NONE)
            o->comm_of[i] = o->comm_count++;
        struct otf2_comm *to = &o->comms[o->comm_of[i]];
        if (to == w && to->count[0] != 0) {
            o->comm_of[i] = o->comm_count++; /* another world's MPI_COMM_WORLD */
            to = &o->comms[o->comm_of[i]];
        }
        free(to->processes[0]);
        *to = (struct otf2_comm){.sides = from->sides, .whole = true};
        for (uint32_t side = 0; side < from->sides; side++)
            if (!fill_side(o, to, i, side))
                return false;
    }
    return w->count[0] != 0 || fill_part_of_world(o);
}

static int by_process(const void *a, const void *b)
{
    const struct otf2_member *x = a, *y = b;
    if (x->comm != y->comm)
        return x->comm < y->comm ? -1 : 1;
    return x->process < y->process ? -1 : x->process > y->process;
}

static bool sort_members(struct otf2 *o)
{
    size_t n = 0;
    for (uint32_t i = 0; i < o->comm_count; i++)
        n += (size_t)o->comms[i].count[0] + o->comms[i].count[1];
    o->members = calloc(n + 1, sizeof *o->members);
    if (o->members == NULL)
        return no_memory(o);
    for (uint32_t i = 0; i < o->comm_count; i++)
        for (uint32_t side = 0; side < 2; side++)
            for (uint32_t rank = 0; rank < o->comms[i].count[side]; rank++)
                o->members[o->member_count++] =
                    (struct otf2_member){i, o->comms[i].processes[side][rank], side, rank};
    qsort(o->members, o->member_count, sizeof *o->members, by_process);
    return true;
}

bool otf2_comms_open(struct otf2 *o)
{
    uint32_t known;
    (void)comms_all(o->x->comms, &known);
    o->comms = calloc((size_t)known + 3, sizeof *o->comms);
    o->comm_of = malloc(((size_t)known + 1) * sizeof *o->comm_of);
    if (o->comms == NULL || o->comm_of == NULL)
        return no_memory(o);
    memset(o->comm_of, 0xff, ((size_t)known + 1) * sizeof *o->comm_of);
    name_fixed(o);
    return fill_comms(o, known) && sort_members(o);
}

void otf2_comms_close(struct otf2 *o)
{
    for (uint32_t i = 0; i < o->comm_count; i++) {
        free(o->comms[i].processes[0]);
        free(o->comms[i].processes[1]);
    }
    free(o->comms);
    free(o->comm_of);
    free(o->members);
}

uint32_t otf2_comm(const struct otf2 *o, uint32_t process, uint32_t id)
{
    uint32_t side;
    if (id == OTF2_SELF)
        return OTF2_COMM_SELF;
    if (id == OTF2_WORLD && o->comms[OTF2_COMM_WORLD].whole)
        return OTF2_COMM_WORLD;
    uint32_t comm = comms_find(o->x->comms, process, id, &side);
    return comm == NO_COMM ? OTF2_NONE : o->comm_of[comm];
}

uint32_t otf2_rank(const struct otf2 *o, uint32_t comm, uint32_t process)
{
    if (comm == OTF2_COMM_SELF)
        return 0;
    struct otf2_member key = {.comm = comm, .process = process};
    const struct otf2_member *m =
        bsearch(&key, o->members, o->member_count, sizeof key, by_process);
    return m != NULL ? m->rank : OTF2_NONE;
}

#endif
