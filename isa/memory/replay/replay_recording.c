/* SPDX-License-Identifier: BSD-3-Clause
 * Replays the segments of a recording: loads skeletons, and waits for a run that is followed. */
#include "isa/memory/replay/replay_recording.h"

#include "isa/memory/replay/segment.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAUSE_MS = 50 };

struct recording {
    struct segment_file file;
    const struct recording_options *options;
    const struct recording_sink *sink;
    struct replay replay;
    struct segment segment;
    bool over; /* nobody writes the recording any more */
};

/* --- skeletons -------------------------------------------------------------------------------- */

static uint32_t list_images(const struct recording *r, uint64_t images[MEMORY_IMAGES])
{
    for (uint32_t i = 0; i < r->file.head.image_count; i++)
        images[i] = r->file.head.images[i].bias;
    return r->file.head.image_count;
}

/* image: its number; -1: the skeleton of functions met as the program ran */
static int load_one(struct recording *r, int image, const char *path, struct rt_error *e)
{
    uint64_t images[MEMORY_IMAGES];
    uint32_t count = list_images(r, images);
    if (image < 0)
        return replay_load(&r->replay, path, 0, images, count, e);
    return replay_load(&r->replay, path, r->file.head.images[image].first, &images[image], 1, e);
}

static int load(struct recording *r, const struct recording_skeletons *s, struct rt_error *e)
{
    int rc = 0;
    for (uint32_t i = 0; i < r->file.head.image_count && i < s->count && rc == 0; i++)
        if (s->images[i][0] != '\0')
            rc = load_one(r, (int)i, s->images[i], e);
    return rc == 0 && s->late != NULL ? load_one(r, -1, s->late, e) : rc;
}

/* --- runs that are followed ------------------------------------------------------------------- */

static int tell(const struct recording *r, struct rt_error *e, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int tell(const struct recording *r, struct rt_error *e, const char *fmt, ...)
{
    va_list arguments;
    va_start(arguments, fmt);
    int n = vdprintf(r->options->follow.ask, fmt, arguments);
    va_end(arguments);
    if (n >= 0)
        return 0;
    rt_error_set(e, "who compiles skeletons is gone");
    return -ECANCELED;
}

/* Reads a line from the process that compiles skeletons. Returns false if no more come. */
static bool hear(const struct recording *r, char *line, size_t room)
{
    size_t n = 0;
    while (n + 1 < room && read(r->options->follow.answers, line + n, 1) == 1) {
        if (line[n] == '\n') {
            line[n] = '\0';
            return true;
        }
        n++;
    }
    return false;
}

/* Loads a function for replay_run() that was not compiled; its image may not have been there at
 * first. */
static int missing(void *context, struct replay *replay, uint32_t number, struct rt_error *e)
{
    struct recording *r = context;
    char line[PATH_MAX + 32], *path;
    (void)replay;
    int rc = segment_file_head(&r->file, e);
    rc = rc != 0 ? rc : tell(r, e, "need %" PRIu32 " %" PRIu64 "\n", number, r->segment.at);
    if (rc != 0 || !hear(r, line, sizeof line))
        return rc;
    long image = strtol(line, &path, 10);
    if (path == line || *path != ' ' || image >= (long)r->file.head.image_count)
        return 0; /* no skeleton: replay_run() reports it */
    return load_one(r, (int)image, path + 1, e);
}

/* Waits for more input. The run may have ended when it returns. */
static int wait_a_while(struct recording *r)
{
    struct pollfd end = {.fd = r->options->follow.answers, .events = POLLIN};
    int rc = r->sink->rest(r->sink->context);
    if (rc == 0 && poll(&end, 1, PAUSE_MS) > 0)
        r->over = true;
    return rc;
}

/* --- segments --------------------------------------------------------------------------------- */

static int look(struct recording *r, struct rt_error *e)
{
    int rc = segment_look(&r->segment, !r->over, e);
    r->replay.cut = r->segment.whole && r->segment.how != MEMORY_CLOSED;
    return rc;
}

/* Reads the segment for replay_run(); waits while it grows. */
static int more_bytes(void *context, uint8_t *to, size_t room, size_t *got, struct rt_error *e)
{
    struct recording *r = context;
    for (;;) {
        int rc = segment_read(&r->segment, to, room, got, e);
        if (rc != 0 || *got != 0 || r->segment.whole)
            return rc;
        uint64_t end = r->segment.end;
        rc = look(r, e);
        if (rc == 0 && !r->segment.whole && r->segment.end == end && (rc = wait_a_while(r)) != 0) {
            rt_error_set(e, "the trace cannot be written: %s", strerror(rc));
            rc = -rc;
        }
        if (rc != 0)
            return rc;
    }
}

static int sink_failed(int error, struct rt_error *e)
{
    if (error != 0)
        rt_error_set(e, "the trace cannot be written: %s", strerror(error));
    return -error;
}

/* Waits until all of the segment is known. */
static int pass_over(struct recording *r, struct rt_error *e)
{
    int rc = look(r, e);
    while (rc == 0 && !r->segment.whole) {
        rc = sink_failed(wait_a_while(r), e);
        rc = rc != 0 ? rc : look(r, e);
    }
    return rc;
}

static int replay_segment(struct recording *r, struct rt_error *e)
{
    int rc = look(r, e);
    const struct memory_head *head = &r->file.head;
    struct recording_segment s = {
        .whose = {head->rank, head->pid, head->tid, r->segment.window, r->segment.signal},
        .known = r->segment.whole,
        .bytes = segment_bytes(&r->segment),
        .end = r->segment.how,
    };
    r->replay.accesses = r->replay.entered = r->replay.missing_count = 0;
    if (rc == 0)
        rc = sink_failed(r->sink->begin(r->sink->context, &s), e);
    if (rc == 0)
        rc = replay_run(&r->replay, e);
    rc = rc != 0 ? rc : pass_over(r, e);
    if (rc != 0)
        return rc;
    s.known = r->segment.whole;
    s.bytes = segment_bytes(&r->segment);
    s.end = r->segment.how;
    if (s.end == MEMORY_CLOSED && r->replay.missing_count != 0)
        s.end = ACCESSES_MISSING;
    const struct recording_sums sums = {r->replay.accesses,      r->replay.entered,
                                        r->replay.values,        r->replay.outcomes,
                                        r->replay.missing_count, r->replay.missing_first};
    return sink_failed(r->sink->end(r->sink->context, &s, &sums), e);
}

/* Sets *there to whether another segment begins at `at`, where the last one ends. While the run is
 * followed and the head says that a segment is open, that segment may not be visible yet: waits for
 * it. A process that is killed at this moment leaves the log so. */
static int find_next(struct recording *r, uint64_t at, bool *there, struct rt_error *e)
{
    for (;;) {
        int rc = segment_file_head(&r->file, e);
        *there = rc == 0 && at < r->file.head.closed;
        if (!*there || r->file.head.closed != MEMORY_OPEN)
            return rc;
        rc = segment_begins(&r->file, at, there, e);
        if (rc != 0 || *there || r->over)
            return rc;
        rc = sink_failed(wait_a_while(r), e);
        if (rc != 0)
            return rc;
    }
}

static int replay_all(struct recording *r, struct rt_error *e)
{
    uint64_t at = r->options->follow.from;
    bool there = false;
    int rc = find_next(r, at, &there, e);
    while (rc == 0 && there) {
        rc = segment_open(&r->segment, &r->file, at, e);
        if (rc != 0)
            return rc;
        bool wanted =
            r->segment.window >= r->options->first && r->segment.window <= r->options->last;
        rc = wanted ? replay_segment(r, e) : pass_over(r, e);
        if (rc != 0)
            return rc;
        at = segment_next(&r->segment);
        there = false;
        if (r->segment.how != ACCESSES_OPEN)
            rc = find_next(r, at, &there, e);
    }
    if (rc != 0 || !r->options->follow.is)
        return rc;
    return tell(r, e, "at %" PRIu64 "\n", r->over ? MEMORY_OPEN : at);
}

int recording_replay(const char *path, const struct recording_skeletons *skeletons,
                     const struct recording_options *o, const struct recording_sink *sink,
                     struct rt_error *e)
{
    struct recording r = {.options = o, .sink = sink, .over = !o->follow.is};
    int rc = segment_file_open(&r.file, path, e);
    rc = rc != 0 ? rc : load(&r, skeletons, e);
    if (rc == 0) {
        r.replay.fs = r.file.head.fs;
        r.replay.source = more_bytes;
        r.replay.sink = sink->put;
        r.replay.source_context = &r;
        r.replay.sink_context = sink->context;
        r.replay.missing = o->follow.is ? missing : NULL;
        rc = replay_all(&r, e);
    }
    segment_file_close(&r.file);
    free(r.replay.functions);
    return rc;
}
