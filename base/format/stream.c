/* SPDX-License-Identifier: BSD-3-Clause
 * Creates, opens and checks stream files. Only this file computes their layout. */
#include "base/format/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t align_up(uint64_t v, uint64_t a)
{
    return (v + a - 1) / a * a;
}

static uint64_t or_default(uint64_t v, uint64_t d)
{
    return v != 0 ? v : d;
}

static uint64_t bytes_of(const struct stream_header *h, uint32_t chunks)
{
    return h->chunks_offset + (uint64_t)chunks * h->chunk_bytes;
}

static int layout(struct stream_header *h, const struct stream_geometry *g)
{
    h->chunk_bytes = (uint32_t)align_up(or_default(g->chunk_bytes, 32768), 4096);
    uint64_t pool = or_default(g->pool_bytes, 4u << 20);
    h->chunk_count = (uint32_t)(pool / h->chunk_bytes);
    h->thread_capacity = (uint32_t)or_default(g->thread_capacity, 4096);
    h->string_capacity = (uint32_t)or_default(g->string_capacity, 4096);
    h->string_bytes = (uint32_t)or_default(g->string_bytes, 256u << 10);
    h->path_capacity = (uint32_t)or_default(g->path_capacity, 8192);
    h->meta_bytes = (uint32_t)or_default(g->meta_bytes, 64u << 10);
    h->profile_capacity = g->profile_capacity;
    if (h->chunk_count < 2 || (h->string_capacity & (h->string_capacity - 1)) != 0 ||
        (h->path_capacity & (h->path_capacity - 1)) != 0 ||
        (h->profile_capacity & (h->profile_capacity - 1)) != 0)
        return -EINVAL;
    uint64_t at = align_up(sizeof *h, 128);
    h->header_bytes = (uint32_t)at;
    h->threads_offset = at;
    at += (uint64_t)h->thread_capacity * sizeof(struct stream_thread);
    h->paths_offset = at;
    at += (uint64_t)h->path_capacity * sizeof(struct stream_path);
    h->profile_offset = at = align_up(at, 128);
    at += (uint64_t)h->profile_capacity * sizeof(struct stream_profile);
    h->strings_offset = at;
    at += (uint64_t)h->string_capacity * sizeof(struct stream_string);
    h->string_bytes_offset = at;
    at += h->string_bytes;
    h->meta_offset = at;
    at = align_up(at + h->meta_bytes, 4096);
    h->chunks_offset = at;
    h->chunk_room = h->chunk_count + STREAM_MORE_CHUNKS;
    h->total_bytes = bytes_of(h, h->chunk_room);
    return 0;
}

static void leave_out_more(struct stream_header *h)
{
    h->chunk_room = h->chunk_count;
    h->total_bytes = bytes_of(h, h->chunk_room);
}

/* Extends the file and the mapping by the chunks that the writer may add, which take no memory yet.
 * Limits on file size and address space may forbid it. */
static void *map_all(const struct stream *s, struct stream_header *h)
{
    if (ftruncate(s->fd, (off_t)h->total_bytes) != 0)
        leave_out_more(h);
    void *p = mmap(NULL, h->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (p != MAP_FAILED || h->chunk_room == h->chunk_count)
        return p;
    leave_out_more(h);
    return mmap(NULL, h->total_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
}

static int reserve_and_map(struct stream *s, struct stream_header *h, struct rt_error *e,
                           const char *path)
{
    uint64_t bytes = bytes_of(h, h->chunk_count);
    int err = posix_fallocate(s->fd, 0, (off_t)bytes);
    if (err != 0) {
        rt_error_set(e, "no room for a stream of %llu KiB at %s: %s",
                     (unsigned long long)(bytes >> 10), path, strerror(err));
        return -err;
    }
    void *p = map_all(s, h);
    /* MAP_POPULATE: the first pass through the pool would otherwise take a page fault every 128
     * events. */
    if (p == MAP_FAILED || mmap(p, bytes, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_POPULATE | MAP_FIXED, s->fd, 0) == MAP_FAILED) {
        err = errno;
        rt_error_set(e, "cannot map the stream %s: %s", path, strerror(err));
        if (p != MAP_FAILED)
            (void)munmap(p, h->total_bytes);
        return -err;
    }
    s->base = p;
    s->header = p;
    s->bytes = h->total_bytes;
    return 0;
}

/* Creates a file without a name in the folder of `path`. Returns -1 if the file system cannot. */
static int open_unnamed(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : (size_t)(slash - path);
    if (n == 0 || n >= sizeof folder)
        return -1;
    memcpy(folder, path, n);
    folder[n] = '\0';
    return open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
}

int stream_create(struct stream *s, const char *path, const struct stream_geometry *g,
                  struct rt_error *e)
{
    struct stream_header plan;
    memset(&plan, 0, sizeof plan);
    int rc = layout(&plan, g);
    if (rc != 0) {
        rt_error_set(e, "a stream needs room for at least 2 chunks");
        return rc;
    }
    s->fd = g->unnamed ? open_unnamed(path) : -1;
    bool named = s->fd < 0;
    if (named)
        s->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (s->fd < 0) {
        rc = -errno;
        rt_error_set(e, "cannot create the stream %s: %s", path, strerror(-rc));
        return rc;
    }
    rc = reserve_and_map(s, &plan, e, path);
    if (rc != 0) {
        if (named)
            (void)unlink(path);
        (void)close(s->fd);
        s->fd = -1;
        return rc;
    }
    memcpy(plan.magic, STREAM_MAGIC, sizeof plan.magic);
    plan.version = STREAM_VERSION;
    plan.rank = -1;
    plan.size = -1;
    memcpy(s->header, &plan, sizeof plan);
    for (uint32_t i = 0; i < plan.chunk_count; i++)
        stream_chunk(s, i)->generation = 1;
    stream_paths(s)[0].state = PATH_OVER;
    (void)stream_string_id(
        s, "(string table full)"); /* the first string takes id 1: stream_string_id() */
    return 0;
}

static bool fits(uint64_t offset, uint64_t count, uint64_t size, uint64_t total)
{
    return offset <= total && (count == 0 || size <= (total - offset) / count);
}

static bool layout_is_sound(const struct stream_header *h, uint64_t file_bytes)
{
    return h->total_bytes <= file_bytes && h->header_bytes >= sizeof *h && h->chunk_bytes >= 4096 &&
           h->chunk_bytes % 4096 == 0 && h->chunk_count >= 2 && h->chunk_count <= h->chunk_room &&
           h->chunks_offset % 4096 == 0 && h->threads_offset % 8 == 0 &&
           h->strings_offset % 4 == 0 && h->string_capacity != 0 &&
           (h->string_capacity & (h->string_capacity - 1)) == 0 && h->paths_offset % 8 == 0 &&
           h->path_capacity != 0 && (h->path_capacity & (h->path_capacity - 1)) == 0 &&
           fits(h->paths_offset, h->path_capacity, sizeof(struct stream_path), h->total_bytes) &&
           h->profile_offset % 8 == 0 && (h->profile_capacity & (h->profile_capacity - 1)) == 0 &&
           fits(h->profile_offset, h->profile_capacity, sizeof(struct stream_profile),
                h->total_bytes) &&
           fits(h->chunks_offset, h->chunk_room, h->chunk_bytes, h->total_bytes) &&
           fits(h->threads_offset, h->thread_capacity, sizeof(struct stream_thread),
                h->total_bytes) &&
           fits(h->strings_offset, h->string_capacity, sizeof(struct stream_string),
                h->total_bytes) &&
           fits(h->string_bytes_offset, h->string_bytes, 1, h->total_bytes) &&
           fits(h->meta_offset, h->meta_bytes, 1, h->total_bytes);
}

int stream_open(struct stream *s, int fd, struct rt_error *e)
{
    struct stat st;
    if (fstat(fd, &st) != 0) {
        int rc = -errno;
        rt_error_set(e, "cannot stat the stream: %s", strerror(-rc));
        return rc;
    }
    if ((size_t)st.st_size < sizeof(struct stream_header)) {
        rt_error_set(e, "not a regtrace stream: only %lld bytes", (long long)st.st_size);
        return -EPROTO;
    }
    void *p = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (p == MAP_FAILED) {
        int rc = -errno;
        rt_error_set(e, "cannot map the stream: %s", strerror(-rc));
        return rc;
    }
    const struct stream_header *h = p;
    if (memcmp(h->magic, STREAM_MAGIC, sizeof h->magic) != 0 || h->version != STREAM_VERSION ||
        !layout_is_sound(h, (uint64_t)st.st_size)) {
        rt_error_set(e, "not a regtrace stream of version %u (or a damaged one)", STREAM_VERSION);
        (void)munmap(p, (size_t)st.st_size);
        return -EPROTO;
    }
    *s = (struct stream){.header = p, .base = p, .bytes = (size_t)st.st_size, .fd = fd};
    return 0;
}

int stream_add_chunk(struct stream *s)
{
    struct stream_header *h = s->header;
    uint32_t n = atomic_load(&h->chunk_count);
    if (n >= h->chunk_room)
        return -ENOSPC;
    int err = posix_fallocate(s->fd, (off_t)bytes_of(h, n), h->chunk_bytes);
    if (err != 0)
        return -err;
    stream_chunk(s, n)->generation = 1;
    atomic_store_explicit(&h->chunk_count, n + 1, memory_order_release);
    return 0;
}

void stream_close(struct stream *s)
{
    if (s == NULL || s->base == NULL)
        return;
    int keep = errno;
    (void)munmap(s->base, s->bytes);
    if (s->fd >= 0)
        (void)close(s->fd);
    *s = (struct stream){.fd = -1};
    errno = keep;
}
