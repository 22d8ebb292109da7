/* SPDX-License-Identifier: BSD-3-Clause
 * See memory_file.h. Clones write into pages of the file that stay mapped: what they hold when the process is killed is there. When they
 * are full they are written behind what is in the file, by write(2), six times as fast here as ever new pages. No descriptor is
 * kept: the program may close it. */
#include "preload/memory_file.h"

#if defined(__x86_64__)

#include "base/log.h"
#include "base/sys.h"
#include "preload/internal.h"
#include "preload/probe_clones.h"

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
#define GROUP 128u /* bytes that one group of stores reaches: less than GUARD */
#define PAGE ((uint64_t)4096)

struct memory_file {
    uint8_t *at; /* PIECE bytes, and GUARD */
    uint64_t *pointer;
    uint64_t data;             /* offset in the file of what is at `at` */
    uint64_t stretch;          /* offset of the open one, 0: none */
    uint64_t last;             /* of the one before, 0: none */
    bool made;                 /* the file is there */
    bool failed;               /* ... or cannot be */
    bool wrapped;              /* all of the piece may be written */
    uint32_t tid, image_count; /* images that the head names */
    char path[PATH_MAX];
};

static long map(void *at, size_t bytes, int protection, int flags, int fd, uint64_t offset)
{
    return sys_call6(SYS_mmap, (long)at, (long)bytes, protection, flags, fd, (long)offset);
}

static void close_fd(int fd)
{
    (void)sys_call6(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Memory that is nobody's, to be written over and over. */
static bool use_scratch(struct memory_file *f)
{
    return map(f->at, PIECE, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == (long)f->at;
}

struct memory_file *memory_file_make(uint32_t tid, uint64_t *pointer)
{
    long own = map(NULL, sizeof(struct memory_file), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long at =
        map(NULL, PIECE + GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if ((own < 0 && own > -4096) || (at < 0 && at > -4096))
        return NULL;
    struct memory_file *f = (struct memory_file *)own; /* NOLINT: the kernel's address */
    f->at = (uint8_t *)at;                             /* NOLINT */
    f->pointer = pointer;
    f->tid = tid;
    *pointer = (uint64_t)at;
    return f;
}

/* --- the file ------------------------------------------------------------------------------------------------- */

static int open_it(const char *path, int flags)
{
    return (int)sys_call6(SYS_openat, AT_FDCWD, (long)path, flags | O_CLOEXEC | O_NOFOLLOW, 0666, 0,
                          0);
}

/* The thread's own, to be written: a limit of the program's on files must not kill it. */
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

/* A hole in it could not be filled on a full disk, and would kill. */
static bool map_piece(struct memory_file *f, int fd)
{
    static const uint8_t zeros[PAGE];
    long rc = sys_call6(SYS_fallocate, fd, 0, (long)PAGE, (long)PIECE, 0, 0);
    for (uint64_t at = PAGE; rc == -EOPNOTSUPP && at < PAGE + PIECE; at += sizeof zeros)
        if (!put_at(fd, zeros, sizeof zeros, at))
            return false;
    if ((rc != 0 && rc != -EOPNOTSUPP) ||
        map(f->at, PIECE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, PAGE) != (long)f->at)
        return false;
    (void)sys_call6(SYS_madvise, (long)f->at, (long)PIECE, MADV_DONTFORK, 0, 0, 0);
    return true;
}

/* The same for all threads and ranks: the first of them writes it. */
static bool put_skeleton(const char *path, const char *text, size_t bytes)
{
    char part[PATH_MAX + 32];
    int fd = open_it(path, O_RDONLY);
    if (fd >= 0) {
        close_fd(fd);
        return true;
    }
    (void)snprintf(part, sizeof part, "%s.%u-%u", path, process.pid, recorder_self.tid);
    struct writing w = begin_writing(part, O_WRONLY | O_CREAT | O_TRUNC);
    bool good = w.fd >= 0 && sys_write_all(w.fd, text, bytes) == 0;
    end_writing(&w);
    return good && sys_call6(SYS_renameat2, AT_FDCWD, (long)part, AT_FDCWD, (long)path, 0, 0) == 0;
}

/* Further images may come: their skeletons are there before the head names them. */
static bool put_images(struct memory_file *f, int fd)
{
    struct memory_image images[MEMORY_IMAGES];
    char path[PATH_MAX];
    uint32_t n = probe_clones_images(images, MEMORY_IMAGES);
    for (uint32_t i = f->image_count; i < n; i++) {
        size_t bytes;
        const char *text = probe_clones_skeleton(i, &bytes);
        int length =
            snprintf(path, sizeof path, "%s/" MEMORY_FOLDER "/%s", process.dir, images[i].skeleton);
        if (length < 0 || length >= (int)sizeof path || !put_skeleton(path, text, bytes))
            return false;
    }
    f->image_count = n;
    return put_at(fd, images, n * sizeof *images, offsetof(struct memory_head, images)) &&
           put_at(fd, &n, sizeof n, offsetof(struct memory_head, image_count));
}

static bool put_head(struct memory_file *f, int fd)
{
    struct memory_head head = {.head_bytes = (uint32_t)PAGE,
                               .pid = process.pid,
                               .tid = f->tid,
                               .rank = -1,
                               .data = f->data,
                               .fs = (uint64_t)(uintptr_t)__builtin_thread_pointer()};
    memcpy(head.magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC);
    (void)snprintf(head.late, sizeof head.late, "%s", probe_clones_late_name());
    (void)snprintf(head.program, sizeof head.program, "%.500s", process.id.executable);
    f->image_count = 0;
    return put_at(fd, &head, sizeof head, 0) && put_images(f, fd);
}

static bool make(struct memory_file *f)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/" MEMORY_FOLDER, process.dir);
    if (n < 0 || n >= (int)sizeof path)
        return false;
    (void)sys_call6(SYS_mkdirat, AT_FDCWD, (long)path, 0777, 0, 0, 0);
    /* Programs that exec keep their number. */
    for (unsigned k = 0; k < PROGRAMS; k++) {
        n = snprintf(f->path, sizeof f->path, "%s/" MEMORY_FOLDER "/%u-%u.%u.rec", process.dir,
                     process.pid, f->tid, k);
        int there = n > 0 && n < (int)sizeof f->path ? open_it(f->path, O_RDONLY) : -1;
        if (there < 0)
            break;
        close_fd(there);
    }
    f->data = PAGE + PIECE;
    f->last = 0;
    if (n <= 0 || n >= (int)sizeof f->path)
        return false;
    struct writing w = begin_writing(f->path, O_RDWR | O_CREAT | O_TRUNC);
    bool good = w.fd >= 0 && put_head(f, w.fd) && map_piece(f, w.fd);
    end_writing(&w);
    *f->pointer = (uint64_t)(uintptr_t)f->at;
    f->wrapped = false;
    return good;
}

/* --- stretches -------------------------------------------------------------------------------------------------- */

static bool fail(struct memory_file *f)
{
    static _Atomic bool told;
    f->failed = true;
    (void)use_scratch(f);
    if (!atomic_exchange(&told, true))
        log_line(LOG_ERROR, "memory traces end: their files in the run's folder cannot be written "
                            "(no room, or no such folder)");
    return false;
}

static size_t used(const struct memory_file *f)
{
    return (size_t)(*f->pointer - (uint64_t)(uintptr_t)f->at);
}

uint64_t memory_file_at(const struct memory_file *f)
{
    return f->data + used(f);
}

bool memory_file_has_failed(const struct memory_file *f)
{
    return f->failed;
}

bool memory_file_is_open(const struct memory_file *f)
{
    return f->stretch != 0;
}

/* Those before lead to it: the head, or the last stretch. */
static bool link_to(const struct memory_file *f, int fd, uint64_t at)
{
    int32_t rank = atomic_load(&recorder_stream.header->rank);
    uint64_t from = f->last != 0 ? f->last + offsetof(struct memory_stretch, next)
                                 : offsetof(struct memory_head, first);
    return put_at(fd, &at, sizeof at, from) &&
           put_at(fd, &rank, sizeof rank, offsetof(struct memory_head, rank));
}

/* From there on the piece holds what follows in the file. */
static bool move_to(struct memory_file *f, int fd, uint64_t data)
{
    f->data = data;
    return put_at(fd, &data, sizeof data, offsetof(struct memory_head, data));
}

bool memory_file_begin(struct memory_file *f, int32_t window)
{
    struct memory_stretch s = {
        .magic = MEMORY_STRETCH_MAGIC, .window = window, .bytes = MEMORY_OPEN};
    if (f->failed)
        return false;
    if (!f->made && !make(f))
        return fail(f);
    f->made = true;
    uint64_t at = (f->data + sizeof s - 1) & ~(uint64_t)(sizeof s - 1);
    struct writing w = begin_writing(f->path, O_RDWR);
    bool good =
        w.fd >= 0 && (probe_clones_images(NULL, 0) == f->image_count || put_images(f, w.fd)) &&
        put_at(w.fd, &s, sizeof s, at) && link_to(f, w.fd, at) && move_to(f, w.fd, at + sizeof s);
    end_writing(&w);
    if (!good)
        return fail(f);
    /* What is there must not be taken for the end of what a killed thread recorded. */
    memset(f->at, 0, f->wrapped || used(f) + GROUP > PIECE ? PIECE : used(f) + GROUP);
    f->wrapped = false;
    *f->pointer = (uint64_t)(uintptr_t)f->at;
    f->stretch = at;
    return true;
}

uint64_t memory_file_end(struct memory_file *f, enum memory_end how, uint64_t at, bool whole)
{
    static const uint8_t token_end; /* isa/skel/stream.h */
    uint64_t bytes = at + whole - f->stretch - sizeof(struct memory_stretch);
    uint32_t end = how;
    struct writing w = begin_writing(f->path, O_RDWR);
    bool good =
        (w.fd >= 0 && put_at(w.fd, f->at, (size_t)(at - f->data), f->data) &&
         put_at(w.fd, &token_end, whole, at) &&
         put_at(w.fd, &end, sizeof end, f->stretch + offsetof(struct memory_stretch, end)) &&
         put_at(w.fd, &bytes, sizeof bytes, f->stretch + offsetof(struct memory_stretch, bytes)));
    end_writing(&w);
    f->data = at + whole;
    f->last = f->stretch;
    f->stretch = 0;
    if (!good && !f->failed) /* the rest is in the buffer: it stays the last */
        (void)fail(f);
    return bytes;
}

bool memory_file_has(const struct memory_file *f, uintptr_t at)
{
    return at - (uintptr_t)f->at < PIECE + GUARD;
}

/* What is there goes into the file. */
static bool put_piece(struct memory_file *f, size_t bytes)
{
    struct writing w = begin_writing(f->path, O_RDWR);
    bool good =
        w.fd >= 0 && put_at(w.fd, f->at, bytes, f->data) && move_to(f, w.fd, f->data + bytes);
    end_writing(&w);
    return good;
}

uintptr_t memory_file_more(struct memory_file *f, uintptr_t pointer)
{
    uintptr_t start = (uintptr_t)f->at;
    if (pointer + GROUP < start + PIECE) { /* the piece is not there: an unseen child */
        memory_file_forget(f);
        return pointer;
    }
    size_t bytes = pointer - start;
    *f->pointer = pointer;
    f->wrapped = true;
    if (f->stretch == 0)
        return start;
    uint64_t most = process.options.number[OPT_max_size];
    if ((most != 0 && f->data + bytes > most) || !put_piece(f, bytes)) {
        (void)memory_file_end(f, MEMORY_NO_ROOM, f->data, false);
        (void)fail(f);
        return start;
    }
    size_t rest = bytes < PIECE ? PIECE - bytes : 0; /* of a group that is being written */
    memmove(f->at, f->at + bytes, rest);
    memset(f->at + rest, 0, PIECE - rest);
    f->wrapped = false;
    return start;
}

void memory_file_close(struct memory_file *f)
{
    (void)sys_call6(SYS_munmap, (long)f->at, PIECE + GUARD, 0, 0, 0, 0);
    (void)sys_call6(SYS_munmap, (long)f, sizeof *f, 0, 0, 0, 0);
}

void memory_file_forget(struct memory_file *f)
{
    f->made = f->failed = false;
    f->stretch = 0;
    (void)use_scratch(f);
}

#endif
