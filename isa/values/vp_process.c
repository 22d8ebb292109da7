/* SPDX-License-Identifier: BSD-3-Clause
 * --process: turns the writer's traces of captured values into tuples with the plug-in's
 * prof_process. */
#include "base/sys.h"
#include "isa/values/vp.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TUPLES = VALUES_TUPLES_MOST / sizeof(struct values_tuple) };

/* Tuples of the current frame. */
struct tuples {
    struct values_tuple *at;
    size_t count;
};

/* Returns whether the bytes are complete entries, each with its values. */
static bool is_whole(const uint8_t *bytes, size_t count)
{
    struct values_entry entry;
    for (size_t at = 0; at < count;) {
        if (count - at < sizeof entry)
            return false;
        memcpy(&entry, bytes + at, sizeof entry);
        at += sizeof entry;
        if (entry.count > VALUES_MOST || entry.code_bytes > sizeof entry.code ||
            entry.count * sizeof(uint64_t) > count - at)
            return false;
        at += entry.count * sizeof(uint64_t);
    }
    return true;
}

static int too_many(const char *who, struct rt_error *e)
{
    rt_error_set(e, "%s has made more than %zu values of one trace", who, (size_t)TUPLES);
    return -E2BIG;
}

/* Without prof_process, each value becomes a tuple. */
static int process_plain(trace_parser_t *parser, struct tuples *t, struct rt_error *e)
{
    unsigned long pc, c0, c1, values[VALUES_MOST];
    int n;
    while ((n = trace_parser_next(parser, NULL, &pc, &c0, &c1, VALUES_MOST, values)) >= 0)
        for (int i = 0; i < n; i++) {
            if (t->count == TUPLES)
                return too_many("the trace", e);
            t->at[t->count++] = (struct values_tuple){pc, {c0, c1}, values[i]};
        }
    return 0;
}

static int take(struct tuples *t, const vsample_t *samples, int count, struct rt_error *e)
{
    if (samples == NULL) {
        rt_error_set(e, "prof_process has given no samples (NULL), but %d of them", count);
        return -EINVAL;
    }
    if ((size_t)count > TUPLES - t->count)
        return too_many("prof_process", e);
    for (int i = 0; i < count; i++)
        t->at[t->count++] = (struct values_tuple){
            samples[i].pc, {samples[i].context0, samples[i].context1}, samples[i].value};
    return 0;
}

/* Calls prof_process until the parser is empty. A plug-in that neither reads nor returns samples
 * would be called forever: that is an error. */
static int process_by(const struct vp_apart *v, trace_parser_t *parser, struct tuples *t,
                      struct rt_error *e)
{
    const uint8_t *begin = parser->at, *const end = parser->end;
    while (parser->at != end) {
        vsample_t *samples = NULL;
        const uint8_t *before = parser->at;
        vp_enter(v, "prof_process");
        int count = v->dispatch->prof_process(parser->pid, parser, &samples);
        int rc = count > 0 ? take(t, samples, count, e) : 0;
        vp_leave(v);
        if (rc != 0)
            return rc;
        if (count < 0) {
            rt_error_set(e, "prof_process has failed (%d)", count);
            return -EIO;
        }
        if (parser->at < begin || parser->at > end || parser->end != end) {
            rt_error_set(e, "prof_process has damaged the parser");
            return -EINVAL;
        }
        if (parser->at == before && count == 0) {
            rt_error_set(e, "prof_process reads nothing of the trace");
            return -ENODATA;
        }
        begin = parser->at;
    }
    return 0;
}

static int process(const struct vp_apart *v, const struct values_frame *f, const uint8_t *bytes,
                   struct tuples *t, struct rt_error *e)
{
    trace_parser_t parser = {
        .magic = VP_TRACE_MAGIC,
        .version = VP_TRACE_VERSION,
        .pid = f->pid,
        .has_context = f->has_context != 0,
        .at = bytes,
        .end = bytes + f->bytes,
        .decode = vp_decode_inst,
    };
    t->count = 0;
    if (f->kind != VALUES_TRACE || !is_whole(bytes, f->bytes)) {
        rt_error_set(e, "the trace of the writer is damaged");
        return -EPROTO;
    }
    return v->dispatch->prof_process != NULL ? process_by(v, &parser, t, e)
                                             : process_plain(&parser, t, e);
}

static int answer(int fd, const struct tuples *t)
{
    struct values_frame f = {.kind = VALUES_TUPLES, .bytes = (uint32_t)(t->count * sizeof *t->at)};
    int rc = sys_write_all(fd, &f, sizeof f);
    return rc == 0 ? sys_write_all(fd, t->at, f.bytes) : rc;
}

void vp_process_failed(int fd, const char *text)
{
    struct values_frame f = {.kind = VALUES_FAILED, .bytes = (uint32_t)strlen(text)};
    if (sys_write_all(fd, &f, sizeof f) == 0)
        (void)sys_write_all(fd, text, f.bytes);
}

/* Serves frames until the writer ends. */
static int serve(const struct vp_apart *v, uint8_t *bytes, struct tuples *t, struct rt_error *e)
{
    struct values_frame f;
    int rc;
    while ((rc = vp_read_all(v->in, &f, sizeof f)) == 0) {
        if (f.bytes > VALUES_FRAME_MOST) {
            rt_error_set(e, "a trace of the writer is too long");
            return -EPROTO;
        }
        rc = vp_read_all(v->in, bytes, f.bytes);
        if (rc == 0)
            rc = process(v, &f, bytes, t, e);
        else
            rt_error_set(e, "the writer has ended in the middle of a trace");
        if (rc == 0 && (rc = answer(v->out, t)) != 0)
            rt_error_set(e, "the writer takes no answer: %s", strerror(-rc));
        if (rc != 0)
            return rc < 0 ? rc : -EPIPE;
    }
    if (rc < 0)
        rt_error_set(e, "nothing can be read from the writer: %s", strerror(-rc));
    return rc < 0 ? rc : 0;
}

int vp_run_process(struct vp_apart *v, struct rt_error *e)
{
    uint8_t *bytes = malloc(VALUES_FRAME_MOST);
    struct tuples t = {.at = malloc(VALUES_TUPLES_MOST)};
    int rc = -ENOMEM;
    if (bytes != NULL && t.at != NULL)
        rc = serve(v, bytes, &t, e);
    else
        rt_error_set(e, "no memory");
    free(bytes);
    free(t.at);
    return rc;
}
