/* SPDX-License-Identifier: BSD-3-Clause
 * See serve.h. */
#include "isa/skel/serve.h"

#include "isa/skel/clones.h"
#include "isa/skel/opened.h"
#include "isa/skel/source.h"

#include "base/memory.h"
#include "base/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 15 }; /* of an instruction */

struct served {
    char *path, *functions;
    struct opened o;
    bool open, failed;
};

struct server {
    enum skel_plan plan;
    char *skeletons;
    int fd; /* of that file; -1: not there yet */
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

static bool answer(uint64_t address, const void *bytes, size_t n)
{
    struct clone_answer a = {.address = address, .bytes = (uint32_t)n};
    return sys_write_all(STDIN_FILENO, &a, sizeof a) == 0 &&
           (n == 0 || sys_write_all(STDIN_FILENO, bytes, n) == 0);
}

static void take_image(struct server *s, const struct clone_question *q)
{
    struct served *m = &s->images[q->image];
    if (m->open)
        opened_close(&m->o);
    free(m->path);
    free(m->functions);
    *m = (struct served){.path = strndup(q->path, sizeof q->path - 1),
                         .functions = strndup(q->functions, sizeof q->functions - 1)};
}

static void take_file(struct server *s, const struct clone_question *q)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    free(s->skeletons);
    s->skeletons = strndup(q->path, sizeof q->path - 1);
    s->fd = -1;
}

/* Decodes it. */
static bool open_image(struct served *m)
{
    struct rt_error e = {{0}};
    if (!m->open && !m->failed && m->path != NULL && m->functions != NULL)
        m->open = opened_open(&m->o, m->path, m->functions, &e) == 0;
    m->failed = !m->open;
    return m->open;
}

/* So that who asks need not wait for it. */
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

/* The call that returns to that address; 0: none is known. */
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

/* One function, in one piece: a process that is killed leaves whole ones. */
static bool write_skeleton(struct server *s, struct function *f, const struct clone_question *q)
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

/* The file of clones; NULL: there can be none. */
static char *make(struct server *s, const struct clone_question *q, size_t *bytes)
{
    struct served *m = &s->images[q->image];
    struct function f;
    struct clones c = {.number = q->number};
    struct clone_part part;
    char name[512], *file = NULL;
    if (!open_image(m))
        return NULL;
    m->o.plan = s->plan;
    uint64_t call = q->kind == CLONE_ASK_BEHIND ? call_before(m->o.code, q->address) : 0;
    if (call == 0 && q->kind == CLONE_ASK_BEHIND) /* who asks for what is at an address is there */
        return NULL;
    opened_late(&m->o, &s->arena, call, q->address, name, &f);
    if (f.reason == NULL && clones_make(&c, &f, c.number++, &part) == NULL &&
        write_skeleton(s, &f, q)) {
        clones_add(&c, &part, true);
        FILE *out = open_memstream(&file, bytes);
        if (out != NULL && (clones_put(&c, out) != 0) + (fclose(out) != 0) != 0) {
            free(file);
            file = NULL;
        }
    }
    clones_free(&c);
    arena_empty(&s->arena);
    return file;
}

static bool give_answer(struct server *s, const struct clone_question *q)
{
    size_t bytes = 0;
    char *file = s->skeletons != NULL ? make(s, q, &bytes) : NULL;
    bool good = answer(q->address, file, file != NULL ? bytes : 0);
    free(file);
    return good;
}

int serve(enum skel_plan plan)
{
    static struct server s;
    static struct clone_question q;
    s.plan = plan;
    s.fd = -1;
    for (bool good = true; good && get(&q, sizeof q); use_idle_time(&s)) {
        if (q.image >= MEMORY_IMAGES)
            return 1;
        q.path[sizeof q.path - 1] = q.functions[sizeof q.functions - 1] = '\0';
        switch ((enum clone_question_kind)q.kind) {
        case CLONE_ASK_IMAGE: take_image(&s, &q); break;
        case CLONE_ASK_FILE: take_file(&s, &q); break;
        case CLONE_ASK_BEHIND:
        case CLONE_ASK_AT: good = give_answer(&s, &q); break;
        }
    }
    return 0;
}
