/* SPDX-License-Identifier: BSD-3-Clause
 * The host of a compiled skeleton: handles tokens between functions, reads input a piece at a time,
 * and buffers output. */
#include "isa/memory/replay/skeleton_host.h"

#include "isa/memory/replay/recording_format.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER = 1024, /* accesses: half of a first-level cache; skeletons want room for 64 at once */
    INPUT = 1 << 18,
    REPLAY_FUNCTIONS = 1 << 28,
    MARGIN = 1 << 20, /* bytes of stack, for a function's own frame and what we call */
};

_Static_assert(offsetof(replay_access, bytes) == 16 && offsetof(replay_access, kind) == 20 &&
                   sizeof(replay_access) == 24,
               "as isa/memory/source/prelude.c has it");

struct host {
    struct replay *r;
    struct rt_error *e;
    int status;
    bool sink_failed;
    jmp_buf out;
    uint64_t before; /* bytes of the stream that came before those in `input` */
    struct skeleton s;
    replay_access buffer[BUFFER];
    uint8_t input[INPUT];
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
    int rc = count != 0 ? h->r->sink(h->r->sink_context, h->buffer, count) : 0;
    h->r->accesses += count;
    s->out = h->buffer;
    if (rc != 0) {
        h->sink_failed = true;
        rt_error_set(h->e, "the trace cannot be written: %s", strerror(rc));
        stop(h, -rc);
    }
}

/* The source may wait, so all accesses so far are passed on first. */
static bool refill(struct skeleton *s)
{
    struct host *h = s->host;
    size_t left = (size_t)(s->in_end - s->in), got = 0;
    flush(s);
    h->before += (uint64_t)(s->in - h->input);
    memmove(h->input, s->in, left);
    s->in = h->input;
    s->in_end = h->input + left;
    int rc = h->r->source(h->r->source_context, h->input + left, INPUT - left, &got, h->e);
    if (rc != 0)
        stop(h, rc);
    s->in_end += got;
    return got > 0;
}

/* A value that is cut off means damage, unless the recording may end anywhere. */
static void more(struct skeleton *s, unsigned bytes)
{
    struct host *h = s->host;
    while ((uint64_t)(s->in_end - s->in) < bytes && refill(s))
        continue;
    if ((uint64_t)(s->in_end - s->in) >= bytes)
        return;
    if (s->in == s->in_end || h->r->cut)
        stop(h, 0);
    rt_error_set(h->e, "the recording ends within a value");
    stop(h, -EINVAL);
}

static int turn(struct skeleton *s)
{
    if (!refill(s))
        stop(s->host, 0);
    return 0;
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
    replay_access a = {.pc = take(s, 8)};
    a.address = take(s, 8);
    a.bytes = (uint32_t)take(s, 2);
    a.kind = (uint8_t)take(s, 1);
    *s->out++ = a; /* take() may have emptied the buffer */
}

__attribute__((noreturn)) static void deep(struct skeleton *s)
{
    struct host *h = s->host;
    rt_error_set(h->e, "the recording nests calls more deeply than any stack is");
    stop(h, -EINVAL);
}

/* The recording copy has met this jump too, and has ended the segment there. */
__attribute__((noreturn)) static void lost(struct skeleton *s, unsigned long long pc)
{
    struct host *h = s->host;
    if (take(s, 1) == TOKEN_END && s->in == s->in_end && !refill(s))
        stop(h, 0);
    rt_error_set(h->e, "the jump at 0x%llx leads where no skeleton goes on", pc);
    stop(h, -EINVAL);
}

static bool is_there(const struct replay *r, uint64_t n)
{
    return n < r->function_count && r->functions[n].run != NULL;
}

static int enter(struct host *h, uint32_t n)
{
    struct replay *r = h->r;
    int rc = is_there(r, n) || r->missing == NULL ? 0 : r->missing(r->source_context, r, n, h->e);
    if (rc != 0)
        stop(h, rc);
    if (!is_there(r, n)) {
        rt_error_set(h->e, "the recording enters function %" PRIu32 ", which no skeleton has", n);
        stop(h, -EINVAL);
    }
    if ((uintptr_t)__builtin_frame_address(0) < h->s.lowest)
        deep(&h->s);
    r->entered++;
    h->s.image = r->functions[n].image;
    return r->functions[n].run(&h->s);
}

static void note_missing(struct host *h, uint64_t at)
{
    if (h->r->missing_count++ == 0)
        h->r->missing_first = at;
}

/* Runs the called function, and what it calls back, until control returns to the caller. */
static int call(struct skeleton *s)
{
    struct host *h = s->host;
    for (;;) {
        switch ((enum skel_token)take(s, 1)) {
        case TOKEN_END: return 1;
        case TOKEN_RESUME: return 0;
        case TOKEN_ACCESS: access_itself(s); break;
        case TOKEN_MISSING: note_missing(h, take(s, 8)); break;
        case TOKEN_ENTER:
            if (enter(h, (uint32_t)take(s, 4)) != 0)
                return 1;
            break;
        default:
            rt_error_set(h->e, "the recording has what is no token at its byte %" PRIu64,
                         h->before + (uint64_t)(s->in - h->input) - 1);
            stop(h, -EINVAL);
        }
    }
}

static int run(struct host *h)
{
    if (setjmp(h->out) == 0)
        while (call(&h->s) == 0)
            continue;
    /* Accesses before damage are passed on as well. */
    if (!h->sink_failed && setjmp(h->out) == 0)
        flush(&h->s);
    return h->status;
}

static uintptr_t find_stack_end(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t bytes = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        (void)pthread_attr_getstack(&attributes, &low, &bytes);
        (void)pthread_attr_destroy(&attributes);
    }
    return low != NULL && bytes > MARGIN ? (uintptr_t)low + MARGIN : 0;
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
    h->s = (struct skeleton){.in = h->input,
                             .in_end = h->input,
                             .out = h->buffer,
                             .out_end = h->buffer + BUFFER,
                             .fs = r->fs,
                             .gs = r->gs,
                             .call = call,
                             .more = more,
                             .turn = turn,
                             .flush = flush,
                             .host = h,
                             .lowest = find_stack_end(),
                             .deep = deep,
                             .lost = lost};
    int rc = run(h);
    r->values = h->s.values;
    r->outcomes = h->s.outcomes;
    r->entered += h->s.entered;
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

static void *load_library(const char *path, struct rt_error *e)
{
    char *full = realpath(path, NULL); /* dlopen() searches elsewhere for a name without a slash */
    if (full == NULL) {
        rt_error_set(e, "%s cannot be read: %s", path, strerror(errno));
        return NULL;
    }
    void *library = dlopen(full, RTLD_NOW | RTLD_LOCAL);
    free(full);
    if (library == NULL)
        rt_error_set(e, "%s: it cannot be loaded: %s", path, dlerror());
    return library;
}

static int find_functions(void *library, const char *path, const struct skeleton_function **list,
                          unsigned *count, struct rt_error *e)
{
    const struct skeleton_function *(*functions)(unsigned *);
    *(void **)&functions = dlsym(library, "skeleton_functions");
    if (functions == NULL) {
        rt_error_set(e, "%s is no skeleton", path);
        return -EINVAL;
    }
    *list = functions(count);
    return 0;
}

int replay_load(struct replay *r, const char *path, uint32_t first, const uint64_t *images,
                uint32_t image_count, struct rt_error *e)
{
    unsigned count = 0;
    void *library = load_library(path, e);
    const struct skeleton_function *list = NULL;
    int rc = library != NULL ? find_functions(library, path, &list, &count, e) : -ENOENT;
    for (unsigned i = 0; i < count && rc == 0; i++) {
        uint64_t image = list[i].image < image_count ? images[list[i].image] : 0;
        rc = add_function(r, first + list[i].number, (struct replay_function){list[i].run, image},
                          e);
    }
    return rc;
}
