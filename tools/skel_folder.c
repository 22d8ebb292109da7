/* SPDX-License-Identifier: BSD-3-Clause
 * The recordings of a run, in the order in which they are replayed, and what they are replayed by. */
#include "tools/output.h"
#include "tools/skel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *what, const char *path)
{
    message_error("skel", "%s %s: %s", what, path, strerror(errno));
    return TOOL_FAILURE;
}

/* Of a file beside it. */
static bool is_name(const char *name, size_t room)
{
    return memchr(name, 0, room) != NULL && strchr(name, '/') == NULL && name[0] != '.' &&
           name[0] != '\0';
}

static bool read_head(const char *path, struct memory_head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
                memcmp(head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) == 0 &&
                head->image_count <= MEMORY_IMAGES && is_name(head->late, sizeof head->late);
    for (uint32_t i = 0; good && i < head->image_count; i++)
        good = is_name(head->images[i].skeleton, sizeof head->images[i].skeleton);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

static bool is_wanted(const struct skel_wishes *w, const struct memory_head *h)
{
    return rank_list_has(&w->ranks, h->rank) && (w->thread < 0 || w->thread == (int64_t)h->tid);
}

static int by_thread(const void *a, const void *b)
{
    const struct skel_recording *r = a, *q = b;
    const struct memory_head *x = &r->head, *y = &q->head;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (r->program != q->program)
        return r->program < q->program ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return (x->level > y->level) - (x->level < y->level);
}

/* Of PID-TID.N.rec: how many programs the process had been before. Handlers of signals have files of their own, which count in N too. */
static unsigned program_of(const struct skel_recording *r)
{
    struct memory_head head;
    char path[PATH_MAX];
    unsigned programs = 0;
    const char *slash = strrchr(r->path, '/'), *dot = slash != NULL ? strchr(slash, '.') : NULL;
    unsigned long n = dot != NULL ? strtoul(dot + 1, NULL, 10) : 0;
    for (unsigned long k = 0; k < n; k++)
        if (snprintf(path, sizeof path, "%.*s.%lu.rec", (int)(dot - r->path), r->path, k) <
                (int)sizeof path &&
            read_head(path, &head) && head.level == 0)
            programs++;
    return r->head.level != 0 && programs > 0 ? programs - 1 : programs;
}

static int add(struct skel_folder *f, const char *name)
{
    struct skel_recording r = {.program = 0};
    if (snprintf(r.path, sizeof r.path, "%s/%s", f->folder, name) >= (int)sizeof r.path)
        return TOOL_OK;
    if (!read_head(r.path, &r.head)) {
        message_error("skel", "%s is no recording of memory accesses, or damaged", r.path);
        return TOOL_FAILURE;
    }
    if (!is_wanted(f->wishes, &r.head))
        return TOOL_OK;
    r.program = program_of(&r);
    struct skel_recording *more = realloc(f->list, (f->count + 1) * sizeof *more);
    if (more == NULL)
        return failed("no memory for", f->folder);
    f->list = more;
    f->list[f->count++] = r;
    return TOOL_OK;
}

static int find(struct skel_folder *f)
{
    int code = TOOL_OK;
    (void)snprintf(f->folder, sizeof f->folder, "%.4000s/" MEMORY_FOLDER, f->wishes->path);
    DIR *d = opendir(f->folder);
    if (d == NULL) {
        message_error("skel",
                      "%s has no memory accesses: it is the folder of no run, or of one without "
                      "-memory (regtrace run -memory REGEX PROGRAM)",
                      f->wishes->path);
        return TOOL_FAILURE;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot != NULL && strcmp(dot, ".rec") == 0 && add(f, e->d_name) != TOOL_OK)
            code = TOOL_FAILURE;
    }
    (void)closedir(d);
    if (f->count != 0)
        qsort(f->list, f->count, sizeof *f->list, by_thread);
    else if (code == TOOL_OK) {
        message_error("skel", "nothing was recorded in %s of these ranks and threads", f->folder);
        code = TOOL_FAILURE;
    }
    return code;
}

/* --- the folder ----------------------------------------------------------------------------------------------------- */

int skel_folder_open(struct skel_folder *f, const struct skel_wishes *w)
{
    *f = (struct skel_folder){.wishes = w, .slot = -1};
    if (!skel_program(f->program))
        return TOOL_FAILURE;
    int code = find(f);
    if (f->count == 0)
        return code;
    output_catch_signals();
    output_hold_signals();
    bool good = skel_builds_open(&f->builds, f->folder, f->list, f->count);
    f->slot = good ? output_note(f->builds.temporary) : -1;
    output_release_signals();
    if (good)
        return code;
    f->count = 0;
    skel_folder_close(f);
    return TOOL_FAILURE;
}

void skel_folder_close(struct skel_folder *f)
{
    if (f->count != 0) {
        output_hold_signals();
        skel_builds_close(&f->builds);
        output_forget(f->slot);
        output_release_signals();
    }
    free(f->list);
    *f = (struct skel_folder){.slot = -1};
}
