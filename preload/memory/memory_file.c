/* SPDX-License-Identifier: BSD-3-Clause
 * Recordings in files. Instrumented copies write into pages of the file that stay mapped, so that
 * the file has their contents even if the process is killed. When the pages are full, write(2)
 * appends them to the file; this is six times as fast here as ever new pages. No descriptor stays
 * open, because the program may close it. */
#include "preload/memory/memory_file.h"

#if defined(__x86_64__)

#include "base/log.h"
#include "base/sys.h"
#include "preload/memory/memory_copies.h"
#include "preload/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define PIECE MEMORY_BUFFER
#define GUARD ((size_t)64 << 10)
#define PROGRAMS 100000u
#define RESERVE ((uint64_t)4 << 20) /* most bytes of blocks without data after the file's end */
#define GROUP 128u                  /* most bytes of one group of stores; less than GUARD */
#define HEAD sizeof(struct memory_segment)

struct memory_file {
    uint8_t *at; /* the buffer: PIECE bytes, then GUARD; the head is before it */
    uint64_t *pointer, suspended;
    uint64_t flushed;          /* bytes of the log that are in the file, and not in the buffer */
    uint64_t filed;            /* bytes of the log up to the file's end */
    uint64_t reserved;         /* bytes of the log whose blocks are allocated */
    uint64_t segment;          /* offset in the log of the open segment */
    uint64_t cut;              /* bytes of the segment that ended for lack of room */
    size_t used;               /* bytes of the buffer that belong to ended segments */
    bool open;                 /* a segment is open */
    bool made;                 /* the file exists */
    bool failed;               /* the file cannot be written */
    bool wrapped;              /* all of the buffer may hold data */
    bool reserves;             /* blocks are allocated before they are written */
    uint32_t tid, image_count; /* images that the head names */
    char path[PATH_MAX];
    char text[PATH_MAX], part[PATH_MAX + 32]; /* paths; not on the stack, which may be small */
};

static long map(void *at, size_t bytes, int protection, int flags, int fd, uint64_t offset)
{
    return sys_call6(SYS_mmap, (long)at, (long)bytes, protection, flags, fd, (long)offset);
}

static void close_fd(int fd)
{
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
}

static struct memory_head *head_of(const struct memory_file *f)
{
    return (struct memory_head *)(void *)(f->at - MEMORY_PAGE);
}

/* Replaces the file's pages by memory that copies write over and over, and that no recording
 * needs. */
static bool use_scratch(struct memory_file *f)
{
    uint8_t *from = f->at - MEMORY_PAGE;
    return map(from, MEMORY_LOG, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == (long)from;
}

struct memory_file *memory_file_make(uint32_t tid, uint64_t *pointer)
{
    long own = map(NULL, sizeof(struct memory_file), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long at = map(NULL, MEMORY_LOG + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if ((own < 0 && own > -4096) || (at < 0 && at > -4096))
        return NULL;
    struct memory_file *f = (struct memory_file *)own; /* NOLINT: the kernel's address */
    f->at = (uint8_t *)at + MEMORY_PAGE;               /* NOLINT */
    f->pointer = pointer;
    f->tid = tid;
    *pointer = (uint64_t)(uintptr_t)f->at;
    return f;
}

void memory_file_suspend(struct memory_file *f)
{
    f->suspended = *f->pointer;
    f->pointer = &f->suspended;
}

void memory_file_resume(struct memory_file *f, uint64_t *pointer)
{
    *pointer = *f->pointer;
    f->pointer = pointer;
}

/* --- the file --------------------------------------------------------------------------------- */

static int open_it(const char *path, int flags)
{
    return (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC | O_NOFOLLOW, 0666, 0,
                          0);
}

/* A thread's file, open for writing. The program's limit on file sizes must not kill the
 * process. */
struct writing {
    int fd;
    struct sys_file_guard guard;
};

static struct writing begin_writing(const char *path, int flags)
{
    struct writing w = {.guard = sys_file_guard_begin()};
    w.fd = open_it(path, flags);
    return w;
}

static void end_writing(const struct writing *w)
{
    if (w->fd >= 0)
        close_fd(w->fd);
    sys_file_guard_end(&w->guard);
}

static bool put_at(int fd, const void *bytes, size_t n, uint64_t offset)
{
    const uint8_t *from = bytes;
    while (n > 0) {
        long done = sys_call6(SYS_pwrite64, fd, (long)from, (long)n, (long)offset, 0, 0);
        if (done == -EINTR)
            continue;
        if (done <= 0)
            return false;
        from += done;
        offset += (uint64_t)done;
        n -= (size_t)done;
    }
    return true;
}

/* Reserves the pages: a hole in the file could not be filled on a full disk, and the store into it
 * would kill the process. */
static bool map_file(struct memory_file *f, int fd)
{
    static const uint8_t zeros[MEMORY_PAGE];
    uint8_t *from = f->at - MEMORY_PAGE;
    long rc = sys_call6(SYS_fallocate, fd, 0, 0, (long)MEMORY_LOG, 0, 0);
    for (uint64_t at = 0; rc == -EOPNOTSUPP && at < MEMORY_LOG; at += sizeof zeros)
        if (!put_at(fd, zeros, sizeof zeros, at))
            return false;
    if ((rc != 0 && rc != -EOPNOTSUPP) ||
        map(from, MEMORY_LOG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != (long)from)
        return false;
    (void)sys_call6(SYS_madvise, (long)from, (long)MEMORY_LOG, MADV_DONTFORK, 0, 0, 0);
    return true;
}

/* Writes the skeleton unless the file exists: it is the same for all threads and ranks, and the
 * first of them writes it. */
static bool put_skeleton(struct memory_file *f, const char *text, size_t bytes)
{
    const char *path = f->text;
    int fd = open_it(path, O_RDONLY);
    if (fd >= 0) {
        close_fd(fd);
        return true;
    }
    (void)snprintf(f->part, sizeof f->part, "%s.%u-%u", path, process.pid, recorder_self.tid);
    struct writing w = begin_writing(f->part, O_WRONLY | O_CREAT | O_TRUNC);
    bool good = w.fd >= 0 && sys_write_all(w.fd, text, bytes) == 0;
    end_writing(&w);
    return good &&
           sys_call6(SYS_renameat2, AT_FDCWD, (long)f->part, AT_FDCWD, (long)path, 0, 0) == 0;
}

/* Adds the images that were loaded since the last call. Writes the skeleton of an image before the
 * count in the head includes it. */
static bool put_images(struct memory_file *f)
{
    struct memory_image *images = head_of(f)->images;
    uint32_t n = memory_copies_images(images, MEMORY_IMAGES);
    for (uint32_t i = f->image_count; i < n; i++) {
        size_t bytes;
        const char *text = memory_copies_skeleton(i, &bytes);
        int length = snprintf(f->text, sizeof f->text, "%s/" MEMORY_FOLDER "/%s", process.dir,
                              images[i].skeleton);
        if (length < 0 || length >= (int)sizeof f->text || !put_skeleton(f, text, bytes))
            return false;
    }
    head_of(f)->image_count = f->image_count = n;
    return true;
}

static bool put_head(struct memory_file *f, uint32_t level)
{
    struct memory_head *h = head_of(f);
    *h = (struct memory_head){.head_bytes = (uint32_t)MEMORY_PAGE,
                              .pid = process.pid,
                              .tid = f->tid,
                              .rank = -1,
                              .level = level,
                              .fs = (uint64_t)(uintptr_t)__builtin_thread_pointer()};
    (void)snprintf(h->late, sizeof h->late, "%s", memory_copies_late_name());
    (void)snprintf(h->program, sizeof h->program, "%.*s", MEMORY_PROGRAM, process.id.executable);
    f->image_count = 0;
    if (!put_images(f))
        return false;
    memcpy(h->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC);
    return true;
}

static bool make(struct memory_file *f, uint32_t level)
{
    int n = snprintf(f->text, sizeof f->text, "%s/" MEMORY_FOLDER, process.dir);
    if (n < 0 || n >= (int)sizeof f->text)
        return false;
    (void)sys_call6(SYS_mkdirat, AT_FDCWD, (long)f->text, 0777, 0, 0, 0);
    /* After exec a program has the same pid: do not overwrite the files of the one before. */
    for (unsigned k = 0; k < PROGRAMS; k++) {
        n = snprintf(f->path, sizeof f->path, "%s/" MEMORY_FOLDER "/%u-%u.%u.rec", process.dir,
                     process.pid, f->tid, k);
        int there = n > 0 && n < (int)sizeof f->path ? open_it(f->path, O_RDONLY) : -1;
        if (there < 0)
            break;
        close_fd(there);
    }
    f->flushed = f->filed = f->reserved = f->used = 0;
    if (n <= 0 || n >= (int)sizeof f->path)
        return false;
    struct writing w = begin_writing(f->path, O_RDWR | O_CREAT | O_TRUNC);
    bool good = w.fd >= 0 && map_file(f, w.fd);
    end_writing(&w);
    *f->pointer = (uint64_t)(uintptr_t)f->at;
    f->wrapped = false;
    f->reserves = true;
    return good && put_head(f, level);
}

/* --- segments --------------------------------------------------------------------------------- */

static bool fail_for(struct memory_file *f, const char *why)
{
    static _Atomic bool told;
    f->failed = true;
    f->used = 0;
    (void)use_scratch(f);
    if (!atomic_exchange(&told, true))
        log_line(LOG_ERROR, why);
    return false;
}

static bool fail(struct memory_file *f)
{
    return fail_for(f, "memory traces end: their files in the run's folder cannot be written (no "
                       "room, or no such folder)");
}

static bool fail_full(struct memory_file *f)
{
    return fail_for(f, "memory traces of a thread end: its file has reached REGTRACE_MAX_SIZE: a "
                       "larger -max-size records more (0: all)");
}

/* Returns true if so many bytes of the buffer would exceed the limit of the file's size. */
static bool is_full(const struct memory_file *f, size_t bytes)
{
    uint64_t most = process.options.number[OPT_max_size];
    return most != 0 && f->flushed + bytes > most;
}

static size_t written(const struct memory_file *f)
{
    return (size_t)(*f->pointer - (uint64_t)(uintptr_t)f->at);
}

uint64_t memory_file_at(const struct memory_file *f)
{
    return f->flushed + written(f);
}

bool memory_file_has_failed(const struct memory_file *f)
{
    return f->failed;
}

uint64_t memory_file_cut(const struct memory_file *f)
{
    return f->cut;
}

bool memory_file_is_open(const struct memory_file *f)
{
    return f->open;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Allocates the file's blocks up to `end` and some more, at most as much as the file has: ext4,
 * which allocates block by block while it writes, takes twice the time. */
static void reserve(struct memory_file *f, int fd, uint64_t end)
{
    uint64_t more = end < RESERVE ? end : RESERVE, bytes = end + more - f->flushed;
    if (!f->reserves || end <= f->reserved || is_full(f, bytes))
        return;
    f->reserves = sys_call6(SYS_fallocate, fd, FALLOC_FL_KEEP_SIZE, (long)(MEMORY_LOG + f->flushed),
                            (long)bytes, 0, 0) == 0;
    f->reserved = end + more; /* also if only some blocks were free: release() frees these */
}

/* Gives back the blocks after the file's end. */
static void release(struct memory_file *f)
{
    if (f->reserved <= f->filed)
        return;
    struct writing w = begin_writing(f->path, O_RDWR);
    if (w.fd >= 0)
        (void)sys_call6(SYS_ftruncate, w.fd, (long)(MEMORY_LOG + f->filed), 0, 0, 0, 0);
    end_writing(&w);
    f->reserved = 0;
}

/* Appends the first bytes of the buffer to the file. The last `rest` of them stay in the buffer,
 * too, so that the next write begins at a page's border, which is faster. What a group of stores is
 * still writing stays in the buffer alone. If the process is killed in the meantime, the recording
 * holds the bytes once. */
static bool flush(struct memory_file *f, size_t bytes, size_t rest)
{
    struct memory_head *h = head_of(f);
    struct writing w = begin_writing(f->path, O_RDWR);
    if (w.fd >= 0 && f->open)
        reserve(f, w.fd, f->flushed + bytes);
    bool good = w.fd >= 0 && put_at(w.fd, f->at, bytes, MEMORY_LOG + f->flushed);
    end_writing(&w);
    if (!good)
        return false;
    atomic_store_explicit(&h->tail, (f->flushed + bytes) | MEMORY_MOVED, memory_order_release);
    f->filed = f->filed > f->flushed + bytes ? f->filed : f->flushed + bytes;
    f->flushed += bytes - rest;
    size_t kept = smaller(PIECE - (bytes - rest), rest + (f->open ? 2 * GROUP : 0));
    memmove(f->at, f->at + bytes - rest, kept);
    memset(f->at + kept, 0, PIECE - kept);
    f->used = 0;
    atomic_store_explicit(&h->tail, f->flushed, memory_order_release);
    return true;
}

/* Returns the offset in the buffer at which the next segment may begin. */
static size_t next_place(const struct memory_file *f)
{
    return (size_t)(((f->flushed + f->used + HEAD - 1) & ~(uint64_t)(HEAD - 1)) - f->flushed);
}

static bool name_images(struct memory_file *f)
{
    return memory_copies_images(NULL, 0) == f->image_count || put_images(f);
}

void memory_file_name_images(struct memory_file *f)
{
    if (f->made && !f->failed && !name_images(f))
        (void)fail(f);
}

bool memory_file_begin(struct memory_file *f, int32_t window, const struct memory_origin *of)
{
    if (f->failed)
        return false;
    if (!f->made && !make(f, of->level))
        return fail(f);
    f->made = true;
    size_t wanted = next_place(f) + HEAD;
    bool fits = wanted + 4 * GROUP <= PIECE, full = is_full(f, fits ? 0 : f->used);
    if (!name_images(f) || ((full ? wanted > PIECE : !fits) && !flush(f, f->used, 0)))
        return fail(f);
    /* Bytes written outside of segments must not look like the recording of a killed thread. */
    size_t at = next_place(f), end = f->wrapped ? PIECE : smaller(written(f) + GROUP, PIECE);
    if (end > f->used)
        memset(f->at + f->used, 0, end - f->used);
    f->wrapped = false;
    head_of(f)->rank = atomic_load(&recorder_stream.header->rank);
    *(struct memory_segment *)(void *)(f->at + at) =
        (struct memory_segment){.magic = MEMORY_SEGMENT_MAGIC,
                                .window = window,
                                .bytes = MEMORY_OPEN,
                                .signal = of->signal,
                                .outer = of->outer};
    atomic_store_explicit(&head_of(f)->closed, MEMORY_OPEN, memory_order_release);
    f->segment = f->flushed + at;
    f->open = true;
    *f->pointer = (uint64_t)(uintptr_t)f->at + at + HEAD;
    if (!full)
        return true;
    /* An empty segment says that its window and those to come are missing. */
    (void)memory_file_end(f, MEMORY_NO_ROOM, memory_file_at(f), false);
    return fail_full(f);
}

/* Completes the segment's header, which may already be in the file. */
static bool put_end(struct memory_file *f, uint64_t bytes, enum memory_end how)
{
    struct memory_segment s = {.bytes = bytes, .end = how};
    if (f->segment >= f->flushed) {
        struct memory_segment *there =
            (struct memory_segment *)(void *)(f->at + (f->segment - f->flushed));
        there->end = s.end;
        atomic_thread_fence(memory_order_release);
        there->bytes = bytes;
        return true;
    }
    struct writing w = begin_writing(f->path, O_RDWR);
    uint64_t at = MEMORY_LOG + f->segment;
    bool good = w.fd >= 0 &&
                put_at(w.fd, &s.end, sizeof s.end, at + offsetof(struct memory_segment, end)) &&
                put_at(w.fd, &s.bytes, sizeof s.bytes, at + offsetof(struct memory_segment, bytes));
    end_writing(&w);
    return good;
}

uint64_t memory_file_end(struct memory_file *f, enum memory_end how, uint64_t at, bool whole)
{
    uint64_t bytes = at + whole - f->segment - HEAD;
    if (at < f->flushed) { /* drop what follows, in the file as well */
        f->flushed = at;
        atomic_store_explicit(&head_of(f)->tail, at, memory_order_release);
    }
    size_t end = (size_t)(at - f->flushed), dropped = smaller(written(f) + GROUP, PIECE);
    if (end == PIECE && whole && flush(f, end, 0))
        end = dropped = 0;
    if (dropped > end)
        memset(f->at + end, 0, dropped - end); /* TOKEN_END is 0 */
    f->used = smaller(end + whole, PIECE);
    f->open = false;
    *f->pointer = (uint64_t)(uintptr_t)f->at + f->used;
    memory_file_name_images(f); /* other threads may have loaded images */
    if (!put_end(f, bytes, how) && !f->failed)
        (void)fail(f);
    release(f);
    atomic_store_explicit(&head_of(f)->closed, f->segment + HEAD + bytes, memory_order_release);
    return bytes;
}

bool memory_file_has(const struct memory_file *f, uintptr_t at)
{
    return at - (uintptr_t)f->at < PIECE + GUARD;
}

uintptr_t memory_file_more(struct memory_file *f, uintptr_t pointer)
{
    uintptr_t start = (uintptr_t)f->at;
    if (pointer + GROUP < start + PIECE) { /* the buffer is not mapped: an unseen child */
        memory_file_forget(f);
        return pointer;
    }
    size_t bytes = pointer - start;
    *f->pointer = pointer;
    if (!f->open) {
        f->wrapped = true;
        if (f->used > PIECE / 2 && !flush(f, f->used, 0))
            (void)fail(f);
        return start + f->used;
    }
    bool full = is_full(f, bytes);
    size_t rest = (size_t)((f->flushed + bytes) % MEMORY_PAGE);
    if (!full && flush(f, bytes, rest))
        return start + rest;
    f->cut = memory_file_end(f, MEMORY_NO_ROOM, f->flushed + bytes, false);
    (void)(full ? fail_full(f) : fail(f));
    return start;
}

void memory_file_put(struct memory_file *f, const void *bytes, size_t n)
{
    if (written(f) + n > PIECE)
        *f->pointer = memory_file_more(f, (uintptr_t)*f->pointer);
    memcpy((void *)(uintptr_t)*f->pointer, bytes, n); /* NOLINT: the file's memory */
    *f->pointer += n;
}

void memory_file_close(struct memory_file *f)
{
    (void)sys_call6(SYS_munmap, (long)(f->at - MEMORY_PAGE), MEMORY_LOG + GUARD, 0, 0, 0, 0);
    (void)sys_call6(SYS_munmap, (long)f, sizeof *f, 0, 0, 0, 0);
}

void memory_file_forget(struct memory_file *f)
{
    f->made = f->failed = f->open = false;
    f->flushed = f->used = 0;
    (void)use_scratch(f);
}

#endif
