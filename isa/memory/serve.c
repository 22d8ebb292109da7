/* SPDX-License-Identifier: BSD-3-Clause
 * Answers the questions of a traced process for instrumented copies. */
#include "isa/memory/serve.h"

#include "isa/memory/copy/copies.h"
#include "isa/memory/analysis_session.h"
#include "isa/memory/source/source.h"

#include "base/format/memory_recording.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 15 }; /* longest instruction */

struct served {
    char *path, *functions;
    struct address_list sites;
    struct analysis_session o;
    bool open, failed;
};

struct server {
    enum skel_plan plan;
    char *skeletons;
    int fd; /* file of skeletons; -1: not made yet */
    struct served images[MEMORY_IMAGES];
    struct arena arena;
};

static bool get(void *to, size_t n)
{
    for (size_t got = 0; got < n;) {
        ssize_t rc = read(STDIN_FILENO, (char *)to + got, n - got);
        if (rc == 0 || (rc < 0 && errno != EINTR))
            return false;
        got += rc > 0 ? (size_t)rc : 0;
    }
    return true;
}

static bool answer(uint64_t address, bool none, const void *bytes, size_t n)
{
    struct copy_answer a = {.address = address, .bytes = (uint32_t)n, .none = none};
    return sys_write_all(STDIN_FILENO, &a, sizeof a) == 0 &&
           (n == 0 || sys_write_all(STDIN_FILENO, bytes, n) == 0);
}

static void take_image(struct server *s, const struct copy_question *q)
{
    struct served *m = &s->images[q->image];
    if (m->open)
        session_close(&m->o);
    free(m->path);
    free(m->functions);
    free(m->sites.at);
    *m = (struct served){.path = strndup(q->path, sizeof q->path - 1),
                         .functions = strndup(q->functions, sizeof q->functions - 1)};
    for (uint32_t k = 0; k < q->site_count && k < COPY_SITES_MAX; k++)
        m->failed = !code_append(&m->sites, q->sites[k]) || m->failed;
    code_sort(&m->sites);
}

static void take_file(struct server *s, const struct copy_question *q)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s->skeletons);
    s->skeletons = strndup(q->path, sizeof q->path - 1);
    s->fd = -1;
}

/* Opens and decodes the image, if it is not open yet. Returns whether it is open. */
static bool open_image(struct served *m)
{
    struct rt_error e = {{0}};
    if (!m->open && !m->failed && m->path != NULL && m->functions != NULL)
        m->open = session_open(&m->o, m->path, m->functions, &e) == 0;
    if (m->open && m->sites.at != NULL) {
        m->o.sites = m->sites;
        m->sites = (struct address_list){.at = NULL};
    }
    m->failed = !m->open;
    return m->open;
}

/* Decodes images in advance, so that the traced process need not wait for it. */
static void use_idle_time(struct server *s)
{
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    for (unsigned k = 0; k < MEMORY_IMAGES; k++) {
        struct served *m = &s->images[k];
        if (m->path == NULL || m->open || m->failed)
            continue;
        if (poll(&p, 1, 0) != 0)
            return;
        (void)open_image(m);
    }
}

/* Returns the address of the call that returns to `next`; 0: none is known. */
static uint64_t call_before(const struct code *c, uint64_t next)
{
    for (unsigned n = 2; n <= MOST_BYTES; n++) {
        const uint8_t *flags = code_at(c, next - n);
        struct instruction i;
        if (flags != NULL && (*flags & CODE_START) != 0 && (*flags & CODE_UNSURE) == 0 &&
            code_decode(c, next - n, &i) && i.next == next &&
            (i.form.flow == FLOW_CALL || i.form.flow == FLOW_CALL_POINTER))
            return i.at;
    }
    return 0;
}

/* Writes the function in one piece: if this process is killed, the file holds whole functions. */
static bool write_skeleton(struct server *s, struct function *f, const struct copy_question *q)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (out == NULL)
        return false;
    if (s->fd < 0)
        skel_source_prelude(out);
    struct skel_source source = {.out = out, .number = q->number, .image = q->image};
    skel_source_function(&source, f);
    bool good = skel_source_end(&source) == 0;
    good = fclose(out) == 0 && good;
    if (good && s->fd < 0)
        s->fd = open(s->skeletons, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    good = good && s->fd >= 0 && sys_write_all(s->fd, text, n) == 0;
    free(text);
    return good;
}

struct made {
    struct function f;
    struct copies copies;
    struct copy_part part;
    char name[512];
    const char *reason; /* why there is no copy; NULL: there is one */
    bool meant;
};

static void analyse(struct server *s, const struct copy_question *q, enum skel_plan plan,
                    struct made *k)
{
    struct analysis_session *o = &s->images[q->image].o;
    uint64_t call = q->kind == COPY_ASK_BEHIND ? call_before(o->code, q->address) : 0;
    /* COPY_ASK_AT: a thread is there, so there is code */
    k->meant = q->kind != COPY_ASK_BEHIND || call != 0;
    k->reason = "no call stands before it";
    if (!k->meant)
        return;
    arena_empty(&s->arena);
    o->plan = plan;
    session_late(o, &s->arena, call, q->address, k->name, &k->f);
    k->reason = k->f.reason;
    k->meant = k->reason == NULL || k->f.reason_at != 0;
    if (k->reason == NULL)
        k->reason = copies_make(&k->copies, &k->f, q->number, &k->part);
}

/* If the plan cannot compute addresses from mid-function, PLAN_ADDRESSES records each of them. */
static void make(struct server *s, const struct copy_question *q, struct made *k)
{
    *k = (struct made){.copies.number = q->number + 1, .reason = "its image cannot be read"};
    if (!open_image(&s->images[q->image]))
        return;
    analyse(s, q, s->plan, k);
    if (k->reason != NULL && k->meant && s->plan != PLAN_ADDRESSES)
        analyse(s, q, PLAN_ADDRESSES, k);
    if (k->reason == NULL && !write_skeleton(s, &k->f, q))
        k->reason = "its skeleton cannot be written";
}

/* Returns the file of copies in memory, for the caller to free; NULL: no memory is left. */
static char *put(struct made *k, size_t *bytes)
{
    char *file = NULL;
    copies_add(&k->copies, &k->part, COPIES_LATE);
    FILE *out = open_memstream(&file, bytes);
    if (out != NULL && (copies_put(&k->copies, out) != 0) + (fclose(out) != 0) != 0) {
        free(file);
        file = NULL;
    }
    return file;
}

static bool give_answer(struct server *s, const struct copy_question *q)
{
    static struct made k;
    char why[640];
    size_t bytes = 0;
    if (s->skeletons == NULL)
        return answer(q->address, false, NULL, 0);
    make(s, q, &k);
    char *file = k.reason == NULL ? put(&k, &bytes) : NULL;
    int n = snprintf(why, sizeof why, "%s (%s)", k.name,
                     k.reason != NULL ? k.reason : "there is no memory for it");
    bool good = file != NULL ? answer(q->address, false, file, bytes)
                             : answer(q->address, k.meant, why, k.meant ? (size_t)n + 1 : 0);
    free(file);
    copies_free(&k.copies);
    arena_empty(&s->arena);
    return good;
}

int serve(enum skel_plan plan)
{
    static struct server s;
    static struct copy_question q;
    s.plan = plan;
    s.fd = -1;
    for (bool good = true; good && get(&q, sizeof q); use_idle_time(&s)) {
        if (q.image >= MEMORY_IMAGES)
            return 1;
        q.path[sizeof q.path - 1] = q.functions[sizeof q.functions - 1] = '\0';
        switch ((enum copy_question_kind)q.kind) {
        case COPY_ASK_IMAGE: take_image(&s, &q); break;
        case COPY_ASK_FILE: take_file(&s, &q); break;
        case COPY_ASK_BEHIND:
        case COPY_ASK_AT: good = give_answer(&s, &q); break;
        }
    }
    return 0;
}
