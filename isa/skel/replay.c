/* SPDX-License-Identifier: BSD-3-Clause
 * The host of a skeleton: tokens between functions, input, and buffered output. */
#include "isa/skel/replay.h"

#include "isa/skel/stream.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 4096, REPLAY_FUNCTIONS = 1 << 28 };

struct host {
    struct replay *r;
    struct rt_error *e;
    int status;
    jmp_buf out;
    struct skeleton s;
    struct skeleton_access buffer[BUFFER];
};

__attribute__((noreturn)) static void stop(struct host *h, int status)
{
    h->status = status;
    longjmp(h->out, 1);
}

static void flush(struct skeleton *s)
{
    struct host *h = s->host;
    uint64_t count = (uint64_t)(s->out - h->buffer);
    int rc = count != 0 ? h->r->sink(h->r->context, h->buffer, count) : 0;
    h->r->accesses += count;
    s->out = h->buffer;
    if (rc != 0) {
        rt_error_set(h->e, "the trace cannot be written: %s", strerror(rc));
        stop(h, -rc);
    }
}

/* The whole stream is there: what is missing never comes. A value that is cut off is damage. */
__attribute__((noreturn)) static void more(struct skeleton *s, unsigned bytes)
{
    struct host *h = s->host;
    (void)bytes;
    if (s->in == s->in_end || h->r->cut)
        stop(h, 0);
    rt_error_set(h->e, "the recording ends within a value");
    stop(h, -EINVAL);
}

static int turn(struct skeleton *s)
{
    stop(s->host, 0);
}

static uint64_t take(struct skeleton *s, unsigned bytes)
{
    uint64_t n = 0;
    if ((uint64_t)(s->in_end - s->in) < bytes)
        more(s, bytes);
    memcpy(&n, s->in, bytes);
    s->in += bytes;
    return n;
}

static void access_itself(struct skeleton *s)
{
    if (s->out == s->out_end)
        flush(s);
    struct skeleton_access *a = s->out;
    *a = (struct skeleton_access){.pc = take(s, 8), .address = take(s, 8)};
    a->bytes = (uint32_t)take(s, 2);
    a->kind = (uint8_t)take(s, 1);
    s->out++;
}

static int enter(struct host *h, uint64_t n)
{
    if (n >= h->r->function_count || h->r->functions[n].run == NULL) {
        rt_error_set(h->e, "the recording enters function %" PRIu64 ", which no skeleton has", n);
        stop(h, -EINVAL);
    }
    h->r->entered++;
    h->s.image = h->r->functions[n].image;
    return h->r->functions[n].run(&h->s);
}

/* What is called, and what that calls back, until control is back with who called. */
static int call(struct skeleton *s)
{
    struct host *h = s->host;
    for (;;) {
        switch ((enum skel_token)take(s, 1)) {
        case TOKEN_END: return 1;
        case TOKEN_RESUME: return 0;
        case TOKEN_ACCESS: access_itself(s); break;
        case TOKEN_ENTER:
            if (enter(h, take(s, 4)) != 0)
                return 1;
            break;
        default:
            rt_error_set(h->e,
                         "the recording has what is no token %" PRIu64 " bytes before its end",
                         (uint64_t)(s->in_end - s->in) + 1);
            stop(h, -EINVAL);
        }
    }
}

static int run(struct host *h)
{
    if (setjmp(h->out) == 0)
        while (call(&h->s) == 0)
            continue;
    if (h->status == 0 && setjmp(h->out) == 0)
        flush(&h->s);
    return h->status;
}

int replay_run(struct replay *r, struct rt_error *e)
{
    struct host *h = calloc(1, sizeof *h);
    if (h == NULL) {
        rt_error_set(e, "there is no memory left");
        return -ENOMEM;
    }
    h->r = r;
    h->e = e;
    h->s = (struct skeleton){.in = r->stream,
                             .in_end = r->stream + r->bytes,
                             .out = h->buffer,
                             .out_end = h->buffer + BUFFER,
                             .fs = r->fs,
                             .gs = r->gs,
                             .call = call,
                             .more = more,
                             .turn = turn,
                             .flush = flush,
                             .host = h};
    int rc = run(h);
    r->values = h->s.values;
    r->outcomes = h->s.outcomes;
    free(h);
    return rc;
}

static int add_function(struct replay *r, uint32_t number, struct replay_function f,
                        struct rt_error *e)
{
    if (number >= r->function_count) {
        uint32_t count = number + 1 > 2 * r->function_count ? number + 1 : 2 * r->function_count;
        struct replay_function *more =
            number < REPLAY_FUNCTIONS ? realloc(r->functions, count * sizeof *more) : NULL;
        if (more == NULL) {
            rt_error_set(e, "there is no memory for function %" PRIu32, number);
            return -ENOMEM;
        }
        memset(more + r->function_count, 0, (count - r->function_count) * sizeof *more);
        r->functions = more;
        r->function_count = count;
    }
    r->functions[number] = f;
    return 0;
}

int replay_load(struct replay *r, const char *path, uint32_t first, const uint64_t *images,
                uint32_t image_count, struct rt_error *e)
{
    char *full = realpath(path, NULL); /* a name without a slash would be looked for elsewhere */
    if (full == NULL) {
        rt_error_set(e, "%s cannot be read: %s", path, strerror(errno));
        return -ENOENT;
    }
    void *library = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    free(full);
    if (library == NULL) {
        rt_error_set(e, "%s: it cannot be loaded: %s", path, dlerror());
        return -ENOENT;
    }
    const struct skeleton_function *(*functions)(unsigned *count);
    *(void **)&functions = dlsym(library, "skeleton_functions");
    if (functions == NULL) {
        rt_error_set(e, "%s is no skeleton", path);
        return -EINVAL;
    }
    unsigned count;
    const struct skeleton_function *list = functions(&count);
    int rc = 0;
    for (unsigned i = 0; i < count && rc == 0; i++) {
        uint64_t image = list[i].image < image_count ? images[list[i].image] : 0;
        rc = add_function(r, first + list[i].number, (struct replay_function){list[i].run, image},
                          e);
    }
    return rc;
}

int replay_map(const char *path, const uint8_t **bytes, uint64_t *size, struct rt_error *e)
{
    struct stat s = {.st_size = 0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool known = fd >= 0 && fstat(fd, &s) == 0;
    void *p = known && s.st_size > 0 ? mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                                     : MAP_FAILED;
    if (p == MAP_FAILED)
        rt_error_set(e, "%s cannot be read: %s", path,
                     known && s.st_size == 0 ? "it is empty" : strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    *bytes = p;
    *size = (uint64_t)s.st_size;
    return p == MAP_FAILED ? -EIO : 0;
}

int replay_print(void *context, const struct skeleton_access *list, uint64_t count)
{
    (void)context;
    for (uint64_t i = 0; i < count; i++)
        if (printf("%" PRIx64 " %c %u %" PRIx64 "\n", list[i].pc, list[i].kind, list[i].bytes,
                   list[i].address) < 0)
            return errno;
    return 0;
}
