/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the definitions of an OTF2 archive: strings, hosts, processes, threads, regions, metrics,
 * communicators. */
#include "tools/export/export.h"

#ifdef HAVE_OTF2

#include "tools/export/otf2.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct definitions {
    struct otf2 *o;
    OTF2_GlobalDefWriter *writer;
    struct names strings;
    OTF2_GroupRef groups; /* number of groups written */
};

/* Returns a string's number, from 0 on, and writes the string when it first occurs. */
static OTF2_StringRef string(struct definitions *d, const char *text)
{
    uint32_t before = d->strings.count, n = names_number(&d->strings, text);
    if (n == 0) {
        export_fail(d->o->x, -ENOMEM, "no memory");
        return 0;
    }
    if (n > before)
        (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteString(d->writer, n - 1, text));
    return n - 1;
}

/* --- collective operations -------------------------------------------------------------------- */

static const struct {
    const char *name;
    OTF2_CollectiveOp op;
} collectives[] = {
    {"MPI_Allgather", OTF2_COLLECTIVE_OP_ALLGATHER},
    {"MPI_Allgatherv", OTF2_COLLECTIVE_OP_ALLGATHERV},
    {"MPI_Allreduce", OTF2_COLLECTIVE_OP_ALLREDUCE},
    {"MPI_Alltoall", OTF2_COLLECTIVE_OP_ALLTOALL},
    {"MPI_Alltoallv", OTF2_COLLECTIVE_OP_ALLTOALLV},
    {"MPI_Alltoallw", OTF2_COLLECTIVE_OP_ALLTOALLW},
    {"MPI_Barrier", OTF2_COLLECTIVE_OP_BARRIER},
    {"MPI_Bcast", OTF2_COLLECTIVE_OP_BCAST},
    {"MPI_Exscan", OTF2_COLLECTIVE_OP_EXSCAN},
    {"MPI_Gather", OTF2_COLLECTIVE_OP_GATHER},
    {"MPI_Gatherv", OTF2_COLLECTIVE_OP_GATHERV},
    {"MPI_Reduce", OTF2_COLLECTIVE_OP_REDUCE},
    {"MPI_Reduce_scatter", OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
    {"MPI_Reduce_scatter_block", OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
    {"MPI_Scan", OTF2_COLLECTIVE_OP_SCAN},
    {"MPI_Scatter", OTF2_COLLECTIVE_OP_SCATTER},
    {"MPI_Scatterv", OTF2_COLLECTIVE_OP_SCATTERV},
};

static int by_name(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row);
}

uint32_t otf2_collective(const char *name)
{
    const char *found = bsearch(name, collectives, sizeof collectives / sizeof *collectives,
                                sizeof *collectives, by_name);
    if (found == NULL)
        return OTF2_NONE;
    return collectives[(size_t)(found - (const char *)collectives) / sizeof *collectives].op;
}

/* --- communicators ---------------------------------------------------------------------------- */

static OTF2_GroupRef write_group(struct definitions *d, const char *name, OTF2_GroupType type,
                                 uint32_t count, const uint64_t *members)
{
    (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteGroup(d->writer, d->groups, string(d, name),
                                                          type, OTF2_PARADIGM_MPI,
                                                          OTF2_GROUP_FLAG_NONE, count, members));
    return d->groups++;
}

static void write_comm(struct definitions *d, uint32_t comm, const uint32_t *location,
                       uint64_t *members)
{
    const struct otf2_comm *c = &d->o->comms[comm];
    char name[48];
    (void)snprintf(name, sizeof name,
                   comm == OTF2_COMM_WORLD  ? "MPI_COMM_WORLD"
                   : comm == OTF2_COMM_SELF ? "MPI_COMM_SELF"
                                            : "communicator %u",
                   comm);
    OTF2_GroupRef groups[2] = {0, 0};
    for (uint32_t side = 0; side < c->sides; side++) {
        for (uint32_t i = 0; i < c->count[side]; i++)
            members[i] = location[c->processes[side][i]];
        groups[side] = write_group(d, name, OTF2_GROUP_TYPE_COMM_GROUP, c->count[side], members);
    }
    if (comm == OTF2_COMM_SELF)
        groups[0] = write_group(d, name, OTF2_GROUP_TYPE_COMM_SELF, 0, NULL);
    OTF2_StringRef text = string(d, name);
    (void)otf2_good(
        d->o, c->sides == 2
                  ? OTF2_GlobalDefWriter_WriteInterComm(d->writer, comm, text, groups[0], groups[1],
                                                        OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE)
                  : OTF2_GlobalDefWriter_WriteComm(d->writer, comm, text, groups[0],
                                                   OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
}

static void write_comms(struct definitions *d)
{
    const struct export *x = d->o->x;
    uint32_t count = 0, *location = calloc(x->process_count + 1u, sizeof *location);
    uint64_t *members = calloc(x->process_count + 1u, sizeof *members);
    if (location == NULL || members == NULL)
        export_fail(d->o->x, -ENOMEM, "no memory");
    for (uint32_t i = 0; x->rc == 0 && i < x->process_count; i++) {
        location[i] = count;
        if (rt_rank_info(x->processes[i].rank)->is_main)
            members[count++] = x->processes[i].first_stream;
    }
    if (x->rc == 0)
        (void)write_group(d, "MPI ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, count, members);
    for (uint32_t i = 0; x->rc == 0 && i < d->o->comm_count; i++)
        write_comm(d, i, location, members);
    free(members);
    free(location);
}

/* --- processes and threads -------------------------------------------------------------------- */

static void write_threads(struct definitions *d, uint32_t process)
{
    const struct export_process *p = &d->o->x->processes[process];
    char title[160];
    for (uint32_t i = p->first_stream; i < p->first_stream + p->stream_count; i++) {
        export_thread_title(d->o->x, i, title);
        (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteLocation(d->writer, i, string(d, title),
                                                                 OTF2_LOCATION_TYPE_CPU_THREAD,
                                                                 d->o->threads[i].events, process));
    }
}

static void write_places(struct definitions *d)
{
    struct export *x = d->o->x;
    struct names hosts = {.texts = NULL};
    char title[160];
    (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                              d->writer, 0, string(d, "machine"), string(d, "machine"),
                              OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    for (uint32_t i = 0; i < x->process_count; i++) {
        const char *host = rt_rank_info(x->processes[i].rank)->host;
        uint32_t before = hosts.count, node = names_number(&hosts, host);
        if (node == 0)
            export_fail(x, -ENOMEM, "no memory");
        if (node > before)
            (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                                      d->writer, node, string(d, host), string(d, "node"), 0));
        export_process_title(x, i, title);
        (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteLocationGroup(
                                  d->writer, i, string(d, title), OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                  node, OTF2_UNDEFINED_LOCATION_GROUP));
        write_threads(d, i);
    }
    names_free(&hosts);
}

/* --- regions and metrics ---------------------------------------------------------------------- */

static OTF2_RegionRole role_of(const struct otf2_region *r, const char *name)
{
    uint32_t op = r->kind == EXPORT_MPI ? otf2_collective(name) : OTF2_NONE;
    if (r->kind == EXPORT_FUNCTION || (r->kind == EXPORT_MPI && op == OTF2_NONE))
        return OTF2_REGION_ROLE_FUNCTION;
    if (r->kind != EXPORT_MPI)
        return r->kind == EXPORT_WINDOW ? OTF2_REGION_ROLE_ARTIFICIAL : OTF2_REGION_ROLE_CODE;
    switch (op) {
    case OTF2_COLLECTIVE_OP_BARRIER: return OTF2_REGION_ROLE_BARRIER;
    case OTF2_COLLECTIVE_OP_BCAST:
    case OTF2_COLLECTIVE_OP_SCATTER:
    case OTF2_COLLECTIVE_OP_SCATTERV: return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case OTF2_COLLECTIVE_OP_GATHER:
    case OTF2_COLLECTIVE_OP_GATHERV:
    case OTF2_COLLECTIVE_OP_REDUCE: return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case OTF2_COLLECTIVE_OP_SCAN:
    case OTF2_COLLECTIVE_OP_EXSCAN: return OTF2_REGION_ROLE_COLL_OTHER;
    default: return OTF2_REGION_ROLE_COLL_ALL2ALL;
    }
}

static void write_regions(struct definitions *d)
{
    static const OTF2_Paradigm paradigms[EXPORT_KINDS] = {
        OTF2_PARADIGM_MEASUREMENT_SYSTEM, OTF2_PARADIGM_USER, OTF2_PARADIGM_USER, OTF2_PARADIGM_MPI,
        OTF2_PARADIGM_COMPILER,           OTF2_PARADIGM_USER};
    static const char *const kinds[EXPORT_KINDS] = {"window",       "region",   "mark",
                                                    "MPI function", "function", "signal handler"};
    for (uint32_t i = 0; i < d->o->region_count; i++) {
        const struct otf2_region *r = &d->o->regions[i];
        const char *name = export_name(d->o->x, r->kind, r->name);
        OTF2_StringRef text = string(d, name), kind = string(d, kinds[r->kind]);
        (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteRegion(d->writer, i, text, text, kind,
                                                               role_of(r, name), paradigms[r->kind],
                                                               OTF2_REGION_FLAG_NONE,
                                                               OTF2_UNDEFINED_STRING, 0, 0));
    }
}

static void write_metrics(struct definitions *d)
{
    for (uint32_t i = 0; i < d->o->metric_count; i++) {
        const struct otf2_metric *m = &d->o->metrics[i];
        OTF2_MetricMemberRef member = i;
        (void)otf2_good(d->o,
                        OTF2_GlobalDefWriter_WriteMetricMember(
                            d->writer, i, string(d, m->name), string(d, ""), OTF2_METRIC_TYPE_OTHER,
                            m->is_mark ? OTF2_METRIC_ABSOLUTE_NEXT : OTF2_METRIC_RELATIVE_LAST,
                            m->is_mark ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0,
                            string(d, "#")));
        (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteMetricClass(d->writer, i, 1, &member,
                                                                    OTF2_METRIC_ASYNCHRONOUS,
                                                                    OTF2_RECORDER_KIND_CPU));
    }
}

/* Writes each location's own file of definitions, which is empty: all definitions are global. */
static void write_local(struct otf2 *o)
{
    if (!otf2_good(o, OTF2_Archive_OpenDefFiles(o->archive)))
        return;
    for (uint32_t i = 0; i < o->x->count; i++) {
        OTF2_DefWriter *w = OTF2_Archive_GetDefWriter(o->archive, i);
        if (w == NULL)
            export_fail(o->x, -EIO, "%s: the OTF2 library cannot write definitions", o->path);
        else
            (void)otf2_good(o, OTF2_Archive_CloseDefWriter(o->archive, w));
    }
    (void)otf2_good(o, OTF2_Archive_CloseDefFiles(o->archive));
}

void otf2_write_definitions(struct otf2 *o)
{
    write_local(o);
    struct definitions d = {.o = o, .writer = OTF2_Archive_GetGlobalDefWriter(o->archive)};
    if (d.writer == NULL) {
        export_fail(o->x, -EIO, "%s: the OTF2 library cannot write definitions", o->path);
        return;
    }
    (void)otf2_good(o, OTF2_GlobalDefWriter_WriteClockProperties(d.writer, UINT64_C(1000000000), 0,
                                                                 (uint64_t)o->x->last_ns + 1,
                                                                 OTF2_UNDEFINED_TIMESTAMP));
    (void)string(&d, "");
    write_places(&d);
    write_regions(&d);
    write_metrics(&d);
    if (export_has_mpi(o->x->streams))
        write_comms(&d);
    (void)otf2_good(o, OTF2_Archive_CloseGlobalDefWriter(o->archive, d.writer));
    names_free(&d.strings);
}

#endif
