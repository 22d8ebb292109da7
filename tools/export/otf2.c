/* SPDX-License-Identifier: BSD-3-Clause
 * Writes an OTF2 archive with the OTF2 library: threads are locations, spans are regions, counters
 * are metrics. */
#include "tools/export/export.h"

#ifdef HAVE_OTF2

#include "tools/export/otf2.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *export_otf2_lack(void)
{
    return NULL;
}

bool otf2_good(struct otf2 *o, OTF2_ErrorCode code)
{
    if (code == OTF2_SUCCESS)
        return true;
    export_fail(o->x, o->cause != 0 ? -o->cause : -EIO, "%s could not be written: %s", o->path,
                o->cause != 0 ? strerror(o->cause) : OTF2_Error_GetDescription(code));
    return false;
}

static bool grow(struct otf2 *o, void **array, size_t need, size_t *room, size_t size)
{
    if (need < *room)
        return true;
    size_t more = 2 * need + 64;
    unsigned char *p = realloc(*array, more * size);
    if (p == NULL) {
        export_fail(o->x, -ENOMEM, "no memory");
        return false;
    }
    memset(p + *room * size, 0, (more - *room) * size);
    *array = p;
    *room = more;
    return true;
}

/* --- regions and metrics ---------------------------------------------------------------------- */

static OTF2_RegionRef region_of(struct otf2 *o, const struct export_span *span)
{
    void *of = o->region_of[span->kind], *all = o->regions;
    bool done = grow(o, &of, span->name, &o->region_room[span->kind], sizeof(uint32_t));
    o->region_of[span->kind] = of;
    done = done && grow(o, &all, o->region_count, &o->regions_room, sizeof *o->regions);
    o->regions = all;
    if (!done)
        return 0;
    uint32_t *known = &o->region_of[span->kind][span->name];
    if (*known == 0) {
        o->regions[o->region_count] = (struct otf2_region){span->kind, span->name};
        *known = ++o->region_count;
    }
    return *known - 1;
}

static OTF2_MetricRef metric_of(struct otf2 *o, const char *name, bool is_mark)
{
    for (uint32_t i = 0; i < o->metric_count; i++)
        if (o->metrics[i].is_mark == is_mark && strcmp(o->metrics[i].name, name) == 0)
            return i;
    void *all = o->metrics;
    bool done = grow(o, &all, o->metric_count, &o->metrics_room, sizeof *o->metrics);
    o->metrics = all;
    char *copy = done ? strdup(name) : NULL;
    if (copy == NULL) {
        export_fail(o->x, -ENOMEM, "no memory");
        return 0;
    }
    o->metrics[o->metric_count] = (struct otf2_metric){copy, is_mark};
    return o->metric_count++;
}

/* --- events ----------------------------------------------------------------------------------- */

static OTF2_EvtWriter *writer_of(struct otf2 *o, uint32_t stream)
{
    struct otf2_thread *t = &o->threads[stream];
    if (t->writer == NULL)
        t->writer = OTF2_Archive_GetEvtWriter(o->archive, stream);
    if (t->writer == NULL)
        export_fail(o->x, -EIO, "%s: the OTF2 library cannot write another thread", o->path);
    return t->writer;
}

static bool is_collective(struct otf2 *o, uint32_t stream, const struct export_span *span)
{
    if (span->kind != EXPORT_MPI ||
        otf2_collective(export_name(o->x, EXPORT_MPI, span->name)) == OTF2_NONE)
        return false;
    uint32_t comm = otf2_comm(o, o->x->process_of[stream], span->comm);
    if (comm != OTF2_NONE && o->comms[comm].whole && o->comms[comm].sides < 2 &&
        export_info(o->x, stream)->is_main)
        return true;
    o->other_comms++;
    return false;
}

static void enter(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    struct otf2 *o = state;
    struct otf2_thread *t = &o->threads[stream];
    OTF2_EvtWriter *w = writer_of(o, stream);
    (void)r;
    if (w == NULL || !otf2_good(o, OTF2_EvtWriter_Enter(w, NULL, (uint64_t)ns, region_of(o, span))))
        return;
    t->depth++;
    if (t->collective_at == 0 && is_collective(o, stream, span) &&
        otf2_good(o, OTF2_EvtWriter_MpiCollectiveBegin(w, NULL, (uint64_t)ns)))
        t->collective_at = t->depth;
}

/* A call gives the bytes of its own rank. In broadcasts and scatters these come from the root, so
 * every other rank receives them. */
static void end_collective(struct otf2 *o, uint32_t stream, int64_t ns,
                           const struct export_span *span)
{
    uint32_t op = otf2_collective(export_name(o->x, EXPORT_MPI, span->name));
    uint32_t root = span->peer >= 0 ? (uint32_t)span->peer : OTF2_COLLECTIVE_ROOT_NONE;
    uint32_t process = o->x->process_of[stream], comm = otf2_comm(o, process, span->comm);
    bool from_root = op == OTF2_COLLECTIVE_OP_BCAST || op == OTF2_COLLECTIVE_OP_SCATTER ||
                     op == OTF2_COLLECTIVE_OP_SCATTERV;
    bool receives = from_root && root != otf2_rank(o, comm, process);
    (void)otf2_good(o, OTF2_EvtWriter_MpiCollectiveEnd(
                           writer_of(o, stream), NULL, (uint64_t)ns, (OTF2_CollectiveOp)op, comm,
                           root, receives ? 0 : span->bytes, receives ? span->bytes : 0));
}

static void leave(void *state, uint32_t stream, int64_t ns, const struct export_span *span,
                  const struct stream_record *r)
{
    struct otf2 *o = state;
    struct otf2_thread *t = &o->threads[stream];
    OTF2_EvtWriter *w = writer_of(o, stream);
    (void)r;
    if (w == NULL)
        return;
    if (t->collective_at != 0 && t->collective_at == t->depth) {
        end_collective(o, stream, ns, span);
        t->collective_at = 0;
    }
    (void)otf2_good(o, OTF2_EvtWriter_Leave(w, NULL, (uint64_t)ns, region_of(o, span)));
    t->depth--;
}

static void message(void *state, uint32_t stream, int64_t ns, const struct export_message *m,
                    bool received)
{
    struct otf2 *o = state;
    uint32_t comm = o->comm_of[m->comm];
    uint32_t peer =
        otf2_rank(o, comm, o->x->process_of[received ? m->send_stream : m->receive_stream]);
    OTF2_EvtWriter *w = writer_of(o, stream);
    if (w == NULL)
        return;
    (void)otf2_good(o, (received ? OTF2_EvtWriter_MpiRecv : OTF2_EvtWriter_MpiSend)(
                           w, NULL, (uint64_t)ns, peer, comm, (uint32_t)m->tag, m->bytes));
}

/* Closes the thread's writer, since each writer has its own memory and there may be many
 * threads. */
static void ended(void *state, uint32_t stream)
{
    struct otf2 *o = state;
    struct otf2_thread *t = &o->threads[stream];
    if (t->closed || writer_of(o, stream) == NULL)
        return;
    (void)OTF2_EvtWriter_GetNumberOfEvents(t->writer, &t->events);
    (void)otf2_good(o, OTF2_Archive_CloseEvtWriter(o->archive, t->writer));
    t->closed = true;
}

static void point(void *state, uint32_t stream, int64_t ns, const struct stream_record *r)
{
    struct otf2 *o = state;
    char title[300], room[32];
    OTF2_Type type = OTF2_TYPE_UINT64;
    OTF2_MetricValue value = {.unsigned_int = r->event.b};
    OTF2_MetricRef metric;
    if (r->event.code == EV_MARK_SET) {
        type = OTF2_TYPE_INT64;
        value.signed_int = (int64_t)r->event.b;
        metric = metric_of(o, export_mark_title(o->x, stream, r->event.a, room), true);
    } else if (export_counter_title(o->x, stream, &r->event, title)) {
        metric = metric_of(o, title, false);
    } else {
        o->left_out += r->event.code == EV_SAMPLE;
        return;
    }
    OTF2_EvtWriter *w = writer_of(o, stream);
    if (w != NULL)
        (void)otf2_good(o, OTF2_EvtWriter_Metric(w, NULL, (uint64_t)ns, metric, 1, &type, &value));
}

/* --- the archive ------------------------------------------------------------------------------ */

static OTF2_FlushType before_flush(void *data, OTF2_FileType type, OTF2_LocationRef location,
                                   void *caller, bool final)
{
    (void)data, (void)type, (void)location, (void)caller, (void) final;
    return OTF2_FLUSH;
}

/* The library keeps events in memory while it gets more memory: it must write after so many
 * chunks. */
enum { CHUNKS = 2 };

struct otf2_chunks {
    void *chunk[CHUNKS];
    unsigned count;
};

static void *allocate(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
                      uint64_t size)
{
    (void)data, (void)type, (void)location;
    struct otf2_chunks *c = *buffer;
    if (c == NULL)
        c = *buffer = calloc(1, sizeof *c);
    if (c == NULL || c->count == CHUNKS || (c->chunk[c->count] = malloc(size)) == NULL)
        return NULL;
    return c->chunk[c->count++];
}

static void free_all(void *data, OTF2_FileType type, OTF2_LocationRef location, void **buffer,
                     bool final)
{
    (void)data, (void)type, (void)location;
    struct otf2_chunks *c = *buffer;
    for (; c != NULL && c->count > 0; c->count--)
        free(c->chunk[c->count - 1]);
    if (!final)
        return;
    free(c);
    *buffer = NULL;
}

/* The library's error callback. It prints nothing, since errors are returned as codes too. For a
 * full disk, the code says only that the integrity is not given; right after the failure errno says
 * more. */
static OTF2_ErrorCode note_cause(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list args)
{
    struct otf2 *o = data;
    (void)file, (void)line, (void)function, (void)format, (void)args;
    if (o != NULL && o->cause == 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG))
        o->cause = errno;
    return code;
}

static void *begin(struct export *x, const char *path)
{
    static const OTF2_FlushCallbacks flush = {.otf2_pre_flush = before_flush};
    static const OTF2_MemoryCallbacks memory = {allocate, free_all};
    struct otf2 *o = calloc(1, sizeof *o);
    if (o == NULL || (o->threads = calloc(x->count + 1u, sizeof *o->threads)) == NULL) {
        free(o);
        export_fail(x, -ENOMEM, "no memory");
        return NULL;
    }
    o->x = x;
    o->path = path;
    if (!otf2_comms_open(o))
        return o;
    errno = 0;
    (void)OTF2_Error_RegisterCallback(note_cause, o);
    o->archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                                   OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT, OTF2_SUBSTRATE_POSIX,
                                   OTF2_COMPRESSION_NONE);
    if (o->archive == NULL) {
        export_fail(x, o->cause != 0 ? -o->cause : -EIO,
                    "%s: the OTF2 library cannot make an archive there%s%s", path,
                    o->cause != 0 ? ": " : "", o->cause != 0 ? strerror(o->cause) : "");
        return o;
    }
    if (otf2_good(o, OTF2_Archive_SetFlushCallbacks(o->archive, &flush, NULL)) &&
        otf2_good(o, OTF2_Archive_SetMemoryCallbacks(o->archive, &memory, NULL)) &&
        otf2_good(o, OTF2_Archive_SetSerialCollectiveCallbacks(o->archive)) &&
        otf2_good(o, OTF2_Archive_SetCreator(o->archive, "regtrace " PACKAGE_VERSION)))
        (void)otf2_good(o, OTF2_Archive_OpenEvtFiles(o->archive));
    return o;
}

static void say_left_out(const struct otf2 *o)
{
    if (o->other_comms != 0)
        tool_warning("export",
                     "%" PRIu64 " collective calls are regions alone: their communicators have "
                     "two groups, are not known on all ranks, or not all of their ranks are "
                     "exported",
                     o->other_comms);
    if (o->left_out != 0)
        tool_warning("export", "%" PRIu64 " samples are left out: -chrome and -csv have them",
                     o->left_out);
}

static void close_events(struct otf2 *o)
{
    for (uint32_t i = 0; i < o->x->count; i++)
        ended(o, i);
    (void)otf2_good(o, OTF2_Archive_CloseEvtFiles(o->archive));
}

static void finish(void *state)
{
    struct otf2 *o = state;
    if (o->archive != NULL) {
        close_events(o);
        if (o->x->rc == 0)
            otf2_write_definitions(o);
        if (otf2_good(o, OTF2_Archive_Close(o->archive)) && o->x->rc == 0)
            otf2_number_archive(o);
    }
    if (o->x->rc == 0)
        say_left_out(o);
    (void)OTF2_Error_RegisterCallback(note_cause, NULL);
    for (unsigned i = 0; i < EXPORT_KINDS; i++)
        free(o->region_of[i]);
    for (uint32_t i = 0; i < o->metric_count; i++)
        free(o->metrics[i].name);
    otf2_comms_close(o);
    free(o->regions);
    free(o->metrics);
    free(o->threads);
    free(o);
}

static bool is_ours(const char *folder)
{
    char path[PATH_MAX + 32];
    (void)snprintf(path, sizeof path, "%s/traces.otf2", folder);
    return access(path, F_OK) == 0;
}

const struct export_format export_otf2 = {
    .option = "otf2",
    .folder = true,
    .one_stack = true,
    .is_ours = is_ours,
    .begin = begin,
    .enter = enter,
    .leave = leave,
    .point = point,
    .message = message,
    .ended = ended,
    .finish = finish,
};

#else

const char *export_otf2_lack(void)
{
    return "this build cannot write OTF2: install libopen-trace-format2-dev, configure and build "
           "again; -chrome, -ovni and -csv need nothing";
}

const struct export_format export_otf2 = {.option = "otf2", .folder = true};

#endif
