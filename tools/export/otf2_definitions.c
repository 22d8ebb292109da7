/* SPDX-License-Identifier: BSD-3-Clause
 * The definitions of an OTF2 archive: strings, hosts, processes, threads, regions, metrics, communicators. */
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
};

/* Strings by number, written when they come first. Numbers begin with 0. */
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

/* --- collective operations -------------------------------------------------------------------------------------------------- */

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

/* --- communicators ------------------------------------------------------------------------------------------------------------ */

bool otf2_world(const struct otf2 *o, uint32_t **processes, uint32_t *count)
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

static void write_group(struct definitions *d, OTF2_GroupRef self, const char *name,
                        OTF2_GroupType type, uint32_t count, const uint64_t *members)
{
    (void)otf2_good(d->o, OTF2_GlobalDefWriter_WriteGroup(d->writer, self, string(d, name), type,
                                                          OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE,
                                                          count, members));
}

static void write_comms(struct definitions *d)
{
    uint32_t *processes = NULL, count = 0;
    uint64_t *members = NULL;
    if (otf2_world(d->o, &processes, &count))
        members = calloc(count + 1u, sizeof *members);
    for (uint32_t i = 0; members != NULL && i < count; i++)
        members[i] = d->o->x->processes[processes[i]].first_stream;
    if (members != NULL) {
        write_group(d, 0, "MPI ranks", OTF2_GROUP_TYPE_COMM_LOCATIONS, count, members);
        for (uint32_t i = 0; i < count; i++)
            members[i] = i;
        write_group(d, 1, "MPI_COMM_WORLD", OTF2_GROUP_TYPE_COMM_GROUP, count, members);
        write_group(d, 2, "MPI_COMM_SELF", OTF2_GROUP_TYPE_COMM_SELF, 0, NULL);
        (void)otf2_good(d->o,
                        OTF2_GlobalDefWriter_WriteComm(d->writer, 0, string(d, "MPI_COMM_WORLD"), 1,
                                                       OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
        (void)otf2_good(d->o,
                        OTF2_GlobalDefWriter_WriteComm(d->writer, 1, string(d, "MPI_COMM_SELF"), 2,
                                                       OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
    free(members);
    free(processes);
}

/* --- where --------------------------------------------------------------------------------------------------------------------- */

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

/* --- what ---------------------------------------------------------------------------------------------------------------------- */

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

/* Each location has a file of its own definitions too, which is empty: all are global. */
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
    if (o->world)
        write_comms(&d);
    (void)otf2_good(o, OTF2_Archive_CloseGlobalDefWriter(o->archive, d.writer));
    names_free(&d.strings);
}

#endif
