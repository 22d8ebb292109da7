/* SPDX-License-Identifier: BSD-3-Clause
 * Finds messages in a pass over the run, and sorts their ends by stream and time. */
#include "tools/export/export_messages.h"

#include "tools/export/export.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>

/* A time range during which a stream was in a window of the selection. */
struct window_stretch {
    int64_t first, last;
};
struct stretches {
    struct window_stretch *all;
    size_t count, room;
    bool goes_on;
};

struct message_pass {
    struct export *x;
    struct export_messages *m;
    struct streams *streams;
    uint32_t count; /* of streams */
    struct comms *comms;
    struct messages *messages;
    struct stretches *shown; /* by stream; NULL: all windows are in the selection */
};

/* Skips files that cannot be read; the walk reports them when it opens them. */
static void skip(void *context, const char *file, const char *why)
{
    (void)context, (void)file, (void)why;
}

static void *grown(struct export *x, void *array, size_t count, size_t *room, size_t size)
{
    void *p = array_grown(array, count, room, size);
    if (p == NULL)
        export_fail(x, -ENOMEM, "no memory for messages");
    return p;
}

static void found(void *context, const struct message *m)
{
    struct message_pass *p = context;
    struct export_messages *to = p->m;
    void *all = grown(p->x, to->all, to->count, &to->room, sizeof *to->all);
    if (all == NULL)
        return;
    to->all = all;
    to->all[to->count++] = (struct export_message){
        .send_ns = m->send_ns - p->x->origin,
        .received_ns = m->received_ns - p->x->origin,
        .bytes = m->bytes,
        .send_stream = m->send_stream,
        .receive_stream = m->receive_stream,
        .tag = m->tag,
        .comm = m->comm,
    };
}

/* --- the selection ---------------------------------------------------------------------------- */

static void note_window(struct message_pass *p, const struct stream_record *r)
{
    struct stretches *s = &p->shown[r->stream];
    int64_t ns = r->ns - p->x->origin;
    if (!window_span_has(&p->x->options->windows, r->event.window)) {
        s->goes_on = false;
        return;
    }
    if (!s->goes_on) {
        void *all = grown(p->x, s->all, s->count, &s->room, sizeof *s->all);
        if (all == NULL)
            return;
        s->all = all;
        s->all[s->count++].first = ns;
        s->goes_on = true;
    }
    s->all[s->count - 1].last = ns;
}

static int by_time(const void *key, const void *row)
{
    int64_t ns = *(const int64_t *)key;
    const struct window_stretch *s = row;
    return ns < s->first ? -1 : ns > s->last;
}

static bool is_shown(const struct message_pass *p, uint32_t stream, int64_t ns)
{
    const struct export_options *o = p->x->options;
    if (ns < o->from_ns || ns > o->to_ns)
        return false;
    const struct stretches *s = p->shown != NULL ? &p->shown[stream] : NULL;
    return s == NULL ||
           (s->count != 0 && bsearch(&ns, s->all, s->count, sizeof *s->all, by_time) != NULL);
}

static void select_shown(struct message_pass *p)
{
    struct export_messages *m = p->m;
    size_t kept = 0;
    for (size_t i = 0; i < m->count; i++) {
        bool sent = is_shown(p, m->all[i].send_stream, m->all[i].send_ns);
        bool received = is_shown(p, m->all[i].receive_stream, m->all[i].received_ns);
        m->alone += sent != received;
        if (sent && received)
            m->all[kept++] = m->all[i];
    }
    m->count = kept;
}

/* --- ends ------------------------------------------------------------------------------------- */

static uint32_t stream_of(const struct export_messages *m, uint32_t end)
{
    const struct export_message *a = &m->all[end / 2];
    return end % 2 != 0 ? a->receive_stream : a->send_stream;
}

static int64_t time_of(const struct export_messages *m, uint32_t end)
{
    const struct export_message *a = &m->all[end / 2];
    return end % 2 != 0 ? a->received_ns : a->send_ns;
}

/* At the same time receives come first: they end what the thread did before. */
static int by_stream(const void *a, const void *b, void *messages)
{
    const struct export_messages *m = messages;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    uint32_t p = stream_of(m, x), q = stream_of(m, y);
    if (p != q)
        return p < q ? -1 : 1;
    int64_t s = time_of(m, x), t = time_of(m, y);
    if (s != t)
        return s < t ? -1 : 1;
    if (x % 2 != y % 2)
        return x % 2 != 0 ? -1 : 1;
    return x < y ? -1 : x > y;
}

static void sort_ends(struct message_pass *p)
{
    struct export_messages *m = p->m;
    size_t ends = 2 * m->count;
    if (m->count > UINT32_MAX / 2) {
        export_fail(p->x, -EOVERFLOW,
                    "%zu messages are more than 2147483647: take a part by -rank, -window or -from "
                    "and -to",
                    m->count);
        return;
    }
    m->ends = calloc(ends + 1, sizeof *m->ends);
    m->next = calloc(p->count + 1u, sizeof *m->next);
    m->after = calloc(p->count + 1u, sizeof *m->after);
    if (m->ends == NULL || m->next == NULL || m->after == NULL) {
        export_fail(p->x, -ENOMEM, "no memory for messages");
        return;
    }
    for (size_t i = 0; i < ends; i++)
        m->ends[i] = (uint32_t)i;
    qsort_r(m->ends, ends, sizeof *m->ends, by_stream, m);
    for (size_t i = 0, s = 0; s < p->count; s++) {
        m->next[s] = i;
        while (i < ends && stream_of(m, m->ends[i]) == s)
            i++;
        m->after[s] = i;
    }
}

const struct export_message *export_messages_next(struct export_messages *m, uint32_t stream,
                                                  int64_t ns, bool *received)
{
    if (m->next == NULL || m->next[stream] == m->after[stream])
        return NULL;
    uint32_t end = m->ends[m->next[stream]];
    *received = end % 2 != 0;
    return time_of(m, end) <= ns ? &m->all[end / 2] : NULL;
}

void export_messages_told(struct export_messages *m, uint32_t stream)
{
    m->next[stream]++;
}

/* --- the pass --------------------------------------------------------------------------------- */

bool export_has_mpi(const struct streams *streams)
{
    uint32_t count;
    const struct thread_stream *all = streams_all(streams, &count);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && all[i].rank == all[i - 1].rank)
            continue;
        const struct rt_rank_tables *t = rt_rank_tables(all[i].rank);
        for (size_t k = 0; k < t->function_count; k++)
            if (EVENT_IS_MPI_ENTER(t->functions[k].code))
                return true;
    }
    return false;
}

static int read_all(struct message_pass *p)
{
    struct export *x = p->x;
    struct stream_record r;
    bool got = true;
    int rc = 0;
    uint64_t done = 0, total = streams_events(p->streams);
    struct progress progress;
    progress_begin(&progress, "matching messages");
    while (rc == 0 && x->rc == 0) {
        rc = streams_next(p->streams, &r, &got, &x->e);
        if (rc != 0 || !got)
            break;
        if (p->shown != NULL)
            note_window(p, &r);
        rc = messages_take(p->messages, &r, &x->e);
        if (++done % 8192 == 0)
            progress_update(&progress, done, total);
    }
    progress_end(&progress);
    return rc != 0 ? rc : x->rc;
}

static void find_all(struct message_pass *p)
{
    struct export *x = p->x;
    if (x->options->windows.given && (p->shown = calloc(p->count + 1u, sizeof *p->shown)) == NULL) {
        export_fail(x, -ENOMEM, "no memory for messages");
        return;
    }
    int rc = comms_open(&p->comms, p->streams, &x->e);
    if (rc == 0)
        rc = messages_open(&p->messages, p->streams, p->comms, found, p, &x->e);
    if (rc == 0)
        rc = read_all(p);
    if (rc == 0)
        rc = messages_end(p->messages, &p->m->left, &x->e);
    if (x->rc == 0)
        x->rc = rc;
    if (x->rc != 0)
        return;
    select_shown(p);
    sort_ends(p);
}

void export_messages_read(struct export *x, const struct rt_run *run)
{
    struct message_pass p = {.x = x, .m = &x->messages};
    const struct skipped_files skipped = {skip, NULL};
    x->rc = streams_open(&p.streams, run, &x->options->ranks, &skipped, &x->e);
    if (x->rc != 0)
        return;
    (void)streams_all(p.streams, &p.count);
    x->count = p.count;
    if (export_has_mpi(p.streams))
        find_all(&p);
    messages_close(p.messages);
    comms_close(p.comms);
    streams_close(p.streams);
    for (uint32_t i = 0; p.shown != NULL && i < p.count; i++)
        free(p.shown[i].all);
    free(p.shown);
}

void export_messages_free(struct export_messages *m)
{
    free(m->all);
    free(m->ends);
    free(m->next);
    free(m->after);
}
