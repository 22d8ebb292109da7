/* SPDX-License-Identifier: BSD-3-Clause
 * See recording.h. */
#include "isa/skel/recording.h"

#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct recording {
    const char *path;
    const uint8_t *bytes;
    uint64_t size;
    const struct memory_head *head;
    const struct recording_wishes *wishes;
    struct replay replay;
};

static int damaged(const struct recording *r, const char *what, struct rt_error *e)
{
    rt_error_set(e, "%s is damaged: %s", r->path, what);
    return -EINVAL;
}

static int open_it(struct recording *r, struct rt_error *e)
{
    int rc = replay_map(r->path, &r->bytes, &r->size, e);
    if (rc != 0)
        return rc;
    r->head = (const struct memory_head *)(const void *)r->bytes;
    if (r->size < sizeof *r->head ||
        memcmp(r->head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) != 0 ||
        r->head->image_count > MEMORY_IMAGES)
        return damaged(r, "it is no recording of memory accesses", e);
    return 0;
}

static int load(struct recording *r, const struct recording_skeletons *s, struct rt_error *e)
{
    uint64_t images[MEMORY_IMAGES];
    int rc = 0;
    for (uint32_t i = 0; i < r->head->image_count; i++)
        images[i] = r->head->images[i].bias;
    for (uint32_t i = 0; i < r->head->image_count && i < s->count && rc == 0; i++)
        if (s->images[i][0] != '\0')
            rc = replay_load(&r->replay, s->images[i], r->head->images[i].first, &images[i], 1, e);
    if (rc == 0 && s->late != NULL)
        rc = replay_load(&r->replay, s->late, 0, images, r->head->image_count, e);
    return rc;
}

static int put_lackey(void *context, const struct skeleton_access *list, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++) {
        char kind = list[i].kind == 'R' ? 'L' : list[i].kind == 'W' ? 'S' : 'M';
        if (printf(" %c %08" PRIx64 ",%u\n", kind, list[i].address, list[i].bytes) < 0)
            return errno;
    }
    return 0;
}

static int put_nothing(void *context, const struct skeleton_access *list, uint64_t count)
{
    (void)context;
    (void)list;
    (void)count;
    return 0;
}

/* Of one that was not closed: what is in the file, and of the buffer up to the last byte that is not 0. The caller's to free. */
static uint8_t *join(const struct recording *r, uint64_t at, uint64_t *bytes)
{
    uint64_t buffer = r->head->head_bytes, n = MEMORY_BUFFER, whole = r->head->data - at;
    if (r->head->data < at || r->head->data > r->size || r->size < buffer + n)
        return NULL;
    while (n > 0 && r->bytes[buffer + n - 1] == 0)
        n--;
    uint8_t *p = malloc(whole + n + 1);
    if (p == NULL)
        return NULL;
    memcpy(p, r->bytes + at, whole);
    memcpy(p + whole, r->bytes + buffer, n);
    *bytes = whole + n;
    return p;
}

static int replay_stretch(struct recording *r, const struct memory_stretch *s, uint64_t at,
                          struct rt_error *e)
{
    static const char *const ends[] = {
        "", ", left by a jump or an exception before its window's end",
        ", cut off: its file could not grow",
        ", cut off within a function, whose last accesses are missing"};
    static const replay_sink sinks[] = {replay_print, put_lackey, put_nothing};
    uint64_t bytes = s->bytes;
    uint8_t *joined = bytes == MEMORY_OPEN ? join(r, at, &bytes) : NULL;
    if ((joined == NULL && bytes > r->size - at) || s->end >= sizeof ends / sizeof *ends)
        return damaged(r, "a stretch is longer than the file", e);
    (void)printf(
        "# rank %d, pid %u, thread %u, window %d, %" PRIu64 " bytes%s\n", r->head->rank,
        r->head->pid, r->head->tid, s->window, bytes,
        s->bytes == MEMORY_OPEN
            ? ", cut off: the thread or process ended in its window, or the file could not "
              "be written"
            : ends[s->end]);
    r->replay.stream = joined != NULL ? joined : r->bytes + at;
    r->replay.bytes = bytes;
    r->replay.accesses = r->replay.entered = 0;
    r->replay.cut = s->bytes == MEMORY_OPEN || s->end != MEMORY_CLOSED;
    r->replay.sink = sinks[r->wishes->format];
    int rc = replay_run(&r->replay, e);
    free(joined);
    if (rc != 0)
        return rc;
    (void)printf("# %" PRIu64 " accesses, %" PRIu64 " functions entered\n", r->replay.accesses,
                 r->replay.entered);
    return 0;
}

int recording_replay(const char *path, const struct recording_skeletons *skeletons,
                     const struct recording_wishes *w, struct rt_error *e)
{
    struct recording r = {.path = path, .wishes = w};
    int rc = open_it(&r, e);
    rc = rc != 0 ? rc : load(&r, skeletons, e);
    if (rc != 0)
        return rc;
    r.replay.fs = r.head->fs;
    for (uint64_t at = r.head->first, next; at != 0 && rc == 0; at = next) {
        struct memory_stretch s = {.magic = 0};
        if (at <= r.size - sizeof s)
            memcpy(&s, r.bytes + at, sizeof s);
        if (s.magic != MEMORY_STRETCH_MAGIC || (s.next != 0 && s.next <= at))
            return damaged(&r, "a stretch is missing", e);
        next = s.next;
        if (s.window >= w->first && s.window <= w->last)
            rc = replay_stretch(&r, &s, at + sizeof s, e);
    }
    return rc == 0 && fflush(stdout) != 0 ? -EIO : rc;
}
