/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the trace that ovniemu reads (ovni's "Trace specification v3"): a folder for each thread,
 * with stream.obs and stream.json.
 *
 * A loom is a rank's part of a host. MPI calls become M events. Everything else becomes marks:
 * windows, regions, functions, signal handlers and pushed marks are stacks; counters and set marks
 * are single values. */
#include "tools/export/ovni.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Enter and leave events of all MPI functions in ovni's model of MPI (1.0.0), sorted by name. */
static const struct {
    const char *name;
    char enter[3], leave[3];
} mpi_events[] = {
    {"MPI_Allgather", "Ag", "AG"},
    {"MPI_Allreduce", "Ar", "AR"},
    {"MPI_Alltoall", "Aa", "AA"},
    {"MPI_Barrier", "Cb", "CB"},
    {"MPI_Bcast", "Db", "DB"},
    {"MPI_Bsend", "Sb", "SB"},
    {"MPI_Exscan", "Ce", "CE"},
    {"MPI_Finalize", "Uf", "UF"},
    {"MPI_Gather", "Dg", "DG"},
    {"MPI_Iallgather", "ag", "aG"},
    {"MPI_Iallreduce", "ar", "aR"},
    {"MPI_Ialltoall", "aa", "aA"},
    {"MPI_Ibarrier", "cb", "cB"},
    {"MPI_Ibcast", "db", "dB"},
    {"MPI_Ibsend", "sb", "sB"},
    {"MPI_Iexscan", "ce", "cE"},
    {"MPI_Igather", "dg", "dG"},
    {"MPI_Init", "Ui", "UI"},
    {"MPI_Init_thread", "Ut", "UT"},
    {"MPI_Irecv", "r[", "r]"},
    {"MPI_Ireduce", "e[", "e]"},
    {"MPI_Ireduce_scatter", "es", "eS"},
    {"MPI_Ireduce_scatter_block", "eb", "eB"},
    {"MPI_Irsend", "sr", "sR"},
    {"MPI_Iscan", "cs", "cS"},
    {"MPI_Iscatter", "ds", "dS"},
    {"MPI_Isend", "s[", "s]"},
    {"MPI_Isendrecv", "rs", "rS"},
    {"MPI_Isendrecv_replace", "ro", "rO"},
    {"MPI_Issend", "ss", "sS"},
    {"MPI_Recv", "R[", "R]"},
    {"MPI_Reduce", "E[", "E]"},
    {"MPI_Reduce_scatter", "Es", "ES"},
    {"MPI_Reduce_scatter_block", "Eb", "EB"},
    {"MPI_Rsend", "Sr", "SR"},
    {"MPI_Scan", "Cs", "CS"},
    {"MPI_Scatter", "Ds", "DS"},
    {"MPI_Send", "S[", "S]"},
    {"MPI_Sendrecv", "Rs", "RS"},
    {"MPI_Sendrecv_replace", "Ro", "RO"},
    {"MPI_Ssend", "Ss", "SS"},
    {"MPI_Test", "T[", "T]"},
    {"MPI_Testall", "Ta", "TA"},
    {"MPI_Testany", "Ty", "TY"},
    {"MPI_Testsome", "Ts", "TS"},
    {"MPI_Wait", "W[", "W]"},
    {"MPI_Waitall", "Wa", "WA"},
    {"MPI_Waitany", "Wy", "WY"},
    {"MPI_Waitsome", "Ws", "WS"},
};

static int by_name(const void *name, const void *row)
{
    return strcmp(name, *(const char *const *)row);
}

/* Returns the two letters of the event, or NULL if ovni does not have the function. */
static const char *mpi_letters(struct ovni *o, const struct export_span *span, bool enters)
{
    if (span->name >= o->mpi_room) {
        size_t room = 2 * (size_t)span->name + 64;
        int16_t *more = realloc(o->mpi_rows, room * sizeof *more);
        if (more == NULL) {
            export_fail(o->x, -ENOMEM, "no memory");
            return NULL;
        }
        for (size_t i = o->mpi_room; i < room; i++)
            more[i] = -2;
        o->mpi_rows = more;
        o->mpi_room = room;
    }
    int16_t *row = &o->mpi_rows[span->name];
    if (*row == -2) {
        const char *found =
            bsearch(export_name(o->x, EXPORT_MPI, span->name), mpi_events,
                    sizeof mpi_events / sizeof *mpi_events, sizeof *mpi_events, by_name);
        *row = found == NULL
                   ? -1
                   : (int16_t)((size_t)(found - (const char *)mpi_events) / sizeof *mpi_events);
    }
    if (*row < 0)
        return NULL;
    return enters ? mpi_events[*row].enter : mpi_events[*row].leave;
}

/* --- events ----------------------------------------------------------------------------------- */

static void put(struct ovni *o, uint32_t stream, int64_t ns, const char mcv[3], const void *payload,
                size_t size)
{
    unsigned char bytes[28];
    uint64_t clock = (uint64_t)ns;
    bytes[0] = size != 0 ? (unsigned char)(size - 1) : 0;
    memcpy(bytes + 1, mcv, 3);
    memcpy(bytes + 4, &clock, sizeof clock);
    if (size != 0)
        memcpy(bytes + 12, payload, size);
    ovni_append(o, stream, bytes, 12 + size);
}

static void put_mark(struct ovni *o, uint32_t stream, int64_t ns, char kind, int32_t type,
                     int64_t value)
{
    unsigned char payload[12];
    char mcv[3] = {'O', 'M', kind};
    if (value == 0) {
        o->zeros++;
        return;
    }
    memcpy(payload, &value, sizeof value);
    memcpy(payload + 8, &type, sizeof type);
    put(o, stream, ns, mcv, payload, sizeof payload);
}

/* Puts a thread on its loom's virtual processor when its first event comes. ovni runs only one
 * thread at a time on a real processor, and a run does not record when a thread waits for its
 * turn. */
static void place(struct ovni *o, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    struct ovni_thread *t = &o->threads[stream];
    if (r != NULL && r->event.cpu != EVENT_CPU_UNKNOWN)
        ovni_cpu(o, stream, r->event.cpu);
    if (!t->begun) {
        struct {
            int32_t cpu, creator;
            uint64_t tag;
        } payload = {-1, -1, 0};
        put(o, stream, ns, "OHx", &payload, sizeof payload);
        t->begun = true;
    }
    t->last_ns = ns;
}

/* Counts a stack's depth, and returns whether the value is too deep: ovni's stacks hold 512 values.
 * Inner ones are left out. */
static bool is_too_deep(struct ovni *o, uint32_t stream, uint32_t stack, bool enters)
{
    enum { DEEPEST = 512 };
    uint32_t *depth = &o->threads[stream].depth[stack];
    uint32_t before = enters ? (*depth)++ : --*depth;
    o->too_deep += enters && before >= DEEPEST;
    return before >= DEEPEST;
}

static void edge(struct ovni *o, uint32_t stream, int64_t ns, const struct export_span *span,
                 const struct stream_record *r, bool enters)
{
    char room[32];
    place(o, stream, ns, r);
    if (span->kind == EXPORT_MPI) {
        const char *letters = mpi_letters(o, span, enters);
        if (letters == NULL) {
            o->no_function += enters;
            return;
        }
        char mcv[3] = {'M', letters[0], letters[1]};
        if (is_too_deep(o, stream, OVNI_TYPES, enters))
            return;
        put(o, stream, ns, mcv, NULL, 0);
        return;
    }
    static const char *const titles[] = {"windows", "regions", NULL, NULL, "functions", "signals"};
    bool mark = span->kind == EXPORT_MARK;
    int64_t value = mark ? span->value : (int64_t)span->name;
    const char *title =
        mark ? export_mark_title(o->x, stream, span->type, room) : titles[span->kind];
    const char *label = mark ? export_mark_label(o->x, stream, span->type, value)
                             : export_name(o->x, span->kind, span->name);
    int32_t type = ovni_type(o, span->kind, mark ? span->type : 0, title, true);
    if (type < 0 || value == 0) {
        o->no_type += enters && type < 0;
        o->zeros += enters && type >= 0;
        return;
    }
    if (is_too_deep(o, stream, (uint32_t)type, enters))
        return;
    if (enters && label != NULL)
        ovni_label(o, type, value, label);
    put_mark(o, stream, ns, enters ? '[' : ']', type, value);
}

static void enter(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    edge(state, stream, ns, span, r, true);
}

static void leave(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    edge(state, stream, ns, span, r, false);
}

static void point(void *state, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    struct ovni *o = state;
    char title[300], room[32];
    int32_t type;
    int64_t value = (int64_t)r->event.b;
    place(o, stream, ns, r);
    if (r->event.code == EV_MARK_SET) {
        const char *label = export_mark_label(o->x, stream, r->event.a, value);
        type = ovni_type(o, EXPORT_MARK, (uint32_t)r->event.a,
                         export_mark_title(o->x, stream, r->event.a, room), false);
        if (type >= 0 && label != NULL)
            ovni_label(o, type, value, label);
    } else if (export_counter_title(o->x, stream, &r->event, title)) {
        type = ovni_type(o, EXPORT_KINDS, 0, title, false);
    } else {
        return;
    }
    o->no_type += type < 0;
    if (type >= 0)
        put_mark(o, stream, ns, '=', type, value);
}

/* --- the format ------------------------------------------------------------------------------- */

static void *begin(struct export *x, const char *path)
{
    struct ovni *o = calloc(1, sizeof *o);
    if (o == NULL || (o->threads = calloc(x->count + 1u, sizeof *o->threads)) == NULL ||
        (o->looms = calloc(x->process_count + 1u, sizeof *o->looms)) == NULL) {
        export_fail(x, -ENOMEM, "no memory");
        free(o != NULL ? o->threads : NULL);
        free(o);
        return NULL;
    }
    o->x = x;
    o->path = path;
    ovni_name_looms(o);
    return o;
}

static void say_left_out(const struct ovni *o)
{
    if (o->no_function != 0)
        tool_warning("export",
                     "%" PRIu64 " calls of MPI functions that ovni does not have are left out",
                     o->no_function);
    if (o->too_deep != 0)
        tool_warning("export",
                     "%" PRIu64 " calls or regions are left out: they lie within 512 others, and "
                     "ovni's stacks hold no more",
                     o->too_deep);
    if (o->no_type != 0)
        tool_warning("export", "%" PRIu64 " marks are left out: ovni has 100 types of them at most",
                     o->no_type);
    if (o->zeros != 0)
        tool_warning("export",
                     "%" PRIu64 " counts and marks are left out: they are 0, which ovni forbids",
                     o->zeros);
}

static void finish(void *state)
{
    struct ovni *o = state;
    for (uint32_t i = 0; i < o->x->count; i++)
        if (o->threads[i].begun)
            put(o, i, o->threads[i].last_ns, "OHe", NULL, 0);
    ovni_write_all(o);
    if (o->x->rc == 0)
        say_left_out(o);
    ovni_free(o);
}

const struct export_format export_ovni = {
    .option = "ovni",
    .folder = true,
    .shares_files = true,
    .is_ours = ovni_is_ours,
    .begin = begin,
    .enter = enter,
    .leave = leave,
    .point = point,
    .finish = finish,
};
