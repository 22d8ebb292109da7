/* SPDX-License-Identifier: BSD-3-Clause
 * See recording.h. */
#include "isa/skel/recording.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct recording {
    const char *path;
    const struct memory_head *head;
    const uint8_t *log;
    uint64_t log_bytes; /* with zeros behind what was recorded last */
    const struct recording_wishes *wishes;
    struct replay replay;
};

static int damaged(const struct recording *r, const char *what, struct rt_error *e)
{
    rt_error_set(e, "%s is damaged: %s", r->path, what);
    return -EINVAL;
}

/* The log as one: what is behind the buffer, then the buffer. */
static bool map_log(struct recording *r, int fd, const uint8_t *file)
{
    uint64_t tail = r->head->tail, flushed = tail & ~MEMORY_MOVED;
    uint64_t all = flushed + MEMORY_BUFFER + MEMORY_PAGE;
    uint8_t *log =
        mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (log == MAP_FAILED ||
        (flushed != 0 && mmap(log, flushed, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, fd, MEMORY_LOG) != log))
        return false;
    if ((tail & MEMORY_MOVED) == 0)
        memcpy(log + flushed, file + MEMORY_PAGE, MEMORY_BUFFER);
    r->log = log;
    r->log_bytes = flushed + MEMORY_BUFFER;
    return true;
}

static int open_it(struct recording *r, struct rt_error *e)
{
    const uint8_t *file;
    uint64_t size;
    int rc = replay_map(r->path, &file, &size, e);
    if (rc != 0)
        return rc;
    r->head = (const struct memory_head *)(const void *)file;
    if (size < MEMORY_LOG || memcmp(r->head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) != 0 ||
        r->head->image_count > MEMORY_IMAGES)
        return damaged(r, "it is no recording of memory accesses", e);
    if ((r->head->tail & ~MEMORY_MOVED) > size - MEMORY_LOG)
        return damaged(r, "its end is missing", e);
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);
    bool mapped = fd >= 0 && map_log(r, fd, file);
    if (fd >= 0)
        (void)close(fd);
    if (!mapped)
        rt_error_set(e, "%s cannot be mapped: %s", r->path, strerror(errno));
    return mapped ? 0 : -EIO;
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

/* Of one that was not closed: up to the last byte that is not 0. */
static uint64_t open_bytes(const struct recording *r, uint64_t at)
{
    uint64_t end = r->log_bytes;
    while (end > at && r->log[end - 1] == 0)
        end--;
    return end - at;
}

static int replay_stretch(struct recording *r, const struct memory_stretch *s, uint64_t at,
                          struct rt_error *e)
{
    static const char *const ends[] = {
        "", ", left by a jump or an exception before its window's end",
        ", cut off: its file could not grow",
        ", cut off within a function, whose last accesses are missing"};
    static const replay_sink sinks[] = {replay_print, put_lackey, put_nothing};
    uint64_t bytes = s->bytes == MEMORY_OPEN ? open_bytes(r, at) : s->bytes;
    if (bytes > r->log_bytes - at || s->end >= sizeof ends / sizeof *ends)
        return damaged(r, "a stretch is longer than the file", e);
    char handler[40] = "";
    if (s->signal != 0)
        (void)snprintf(handler, sizeof handler, ", in a handler of signal %" PRIu32, s->signal);
    (void)printf(
        "# rank %d, pid %u, thread %u, window %d, %" PRIu64 " bytes%s%s\n", r->head->rank,
        r->head->pid, r->head->tid, s->window, bytes, handler,
        s->bytes == MEMORY_OPEN
            ? ", cut off: the thread or process ended in its window, or the file could not "
              "be written"
            : ends[s->end]);
    r->replay.stream = r->log + at;
    r->replay.bytes = bytes;
    r->replay.accesses = r->replay.entered = 0;
    r->replay.cut = s->bytes == MEMORY_OPEN || s->end != MEMORY_CLOSED;
    r->replay.sink = sinks[r->wishes->format];
    int rc = replay_run(&r->replay, e);
    if (rc != 0)
        return rc;
    (void)printf("# %" PRIu64 " accesses, %" PRIu64 " functions entered", r->replay.accesses,
                 r->replay.entered);
    if (r->wishes->format == RECORDING_COUNT)
        (void)printf(", %" PRIu64 " values and %" PRIu64 " outcomes recorded", r->replay.values,
                     r->replay.outcomes);
    (void)printf("\n");
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
    uint64_t at = 0, end = r.head->closed;
    struct memory_stretch s;
    while (rc == 0 && at < end && at + sizeof s <= r.log_bytes) {
        memcpy(&s, r.log + at, sizeof s);
        if (s.magic != MEMORY_STRETCH_MAGIC)
            return damaged(&r, "a stretch is missing", e);
        at += sizeof s;
        if (s.window >= w->first && s.window <= w->last)
            rc = replay_stretch(&r, &s, at, e);
        if (s.bytes > r.log_bytes - at)
            break;
        at = (at + s.bytes + sizeof s - 1) & ~(uint64_t)(sizeof s - 1);
    }
    return rc == 0 && fflush(stdout) != 0 ? -EIO : rc;
}
