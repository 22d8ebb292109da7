/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the recordings of a run, sorts them in the order of replay, and opens the folder for
 * compiled skeletons. */
#include "base/toolkit/map.h"
#include "tools/output.h"
#include "tools/memory/skel_command.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *what, const char *path)
{
    tool_error("skel", "%s %s: %s", what, path, strerror(errno));
    return TOOL_FAILURE;
}

/* Can this be the name of a file beside the recording: printable, without a slash? Messages about
 * that file print the name. */
static bool is_name(const char *name, size_t room)
{
    if (memchr(name, 0, room) == NULL || name[0] == '.' || name[0] == '\0')
        return false;
    while (*name > ' ' && *name < 0x7f && *name != '/')
        name++;
    return *name == '\0';
}

static bool read_head(const char *path, struct memory_head *head)
{
    int fd = open_regular(path);
    bool good = fd >= 0 && read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
                memcmp(head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) == 0 &&
                head->image_count <= MEMORY_IMAGES && is_name(head->late, sizeof head->late);
    for (uint32_t i = 0; good && i < head->image_count; i++)
        good = is_name(head->images[i].skeleton, sizeof head->images[i].skeleton);
    if (fd >= 0)
        (void)close(fd);
    return good;
}

bool skel_recording_refresh(struct skel_recording *r)
{
    struct memory_head head;
    bool good = read_head(r->path, &head);
    if (good)
        r->head = head;
    return good;
}

static bool is_wanted(const struct skel_options *o, const struct memory_head *h)
{
    return rank_list_has(&o->ranks, h->rank) && (o->thread < 0 || o->thread == (int64_t)h->tid);
}

static int by_thread(const void *a, const void *b)
{
    const struct skel_recording *r = *(struct skel_recording *const *)a,
                                *q = *(struct skel_recording *const *)b;
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

/* --- programs of a process -------------------------------------------------------------------- */

/* Returns BORN of the name PID-BORN.late.c: it differs between the programs of a process, and
 * grows. */
static uint64_t born_of(const struct memory_head *h)
{
    const char *dash = memchr(h->late, '-', sizeof h->late);
    return dash != NULL ? strtoull(dash + 1, NULL, 16) : 0;
}

/* Returns false if there is no memory. */
static bool note_program(struct skel_folder *f, const struct memory_head *h)
{
    const struct skel_born b = {.pid = h->pid, .born = born_of(h)};
    for (size_t i = f->born_count; i-- > 0;)
        if (f->born[i].pid == b.pid && f->born[i].born == b.born)
            return true;
    struct skel_born *more = realloc(f->born, (f->born_count + 1) * sizeof *more);
    if (more == NULL)
        return false;
    f->born = more;
    f->born[f->born_count++] = b;
    return true;
}

/* Returns how many earlier programs of the process have recordings, selected or not. N of
 * PID-TID.N.rec does not tell: a thread need not have existed in all of them. */
static unsigned program_of(const struct skel_folder *f, const struct memory_head *h)
{
    unsigned programs = 0;
    for (size_t i = 0; i < f->born_count; i++)
        programs += f->born[i].pid == h->pid && f->born[i].born < born_of(h);
    return programs;
}

/* --- recordings ------------------------------------------------------------------------------- */

static bool is_known(const struct skel_folder *f, const char *path)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->list[i]->path, path) == 0)
            return true;
    return false;
}

/* Adds a recording to the list if it is selected. grows: skips it if it has no segment yet
 * (head.closed is 0), since its rank is unknown until then. */
static int add(struct skel_folder *f, const char *name, bool grows)
{
    struct skel_recording r = {.had_some = false};
    if (snprintf(r.path, sizeof r.path, "%s/%s", f->folder, name) >= (int)sizeof r.path ||
        is_known(f, r.path))
        return TOOL_OK;
    bool good = read_head(r.path, &r.head);
    if (!good && !grows)
        tool_error("skel", "%s is no recording of memory accesses, or damaged", r.path);
    if (!good)
        return grows ? TOOL_OK : TOOL_FAILURE;
    /* The thread stores its rank in the head before its first segment. The first read may have seen
     * `closed` together with an older rank: read again. */
    if (grows && (r.head.closed == 0 || !skel_recording_refresh(&r)))
        return TOOL_OK;
    if (r.head.closed != 0 && !note_program(f, &r.head))
        return failed("no memory for", f->folder);
    if (!is_wanted(f->options, &r.head))
        return TOOL_OK;
    struct skel_recording **more = realloc(f->list, (f->count + 1) * sizeof *more),
                          *copy = malloc(sizeof *copy);
    if (more != NULL)
        f->builds.list = f->list = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return failed("no memory for", f->folder);
    }
    *copy = r;
    f->list[f->count++] = copy;
    f->builds.count = f->count;
    return TOOL_OK;
}

int skel_folder_look(struct skel_folder *f, bool grows)
{
    int code = TOOL_OK;
    size_t known = f->count;
    DIR *d = opendir(f->folder);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot != NULL && strcmp(dot, ".rec") == 0 && add(f, e->d_name, grows) != TOOL_OK)
            code = TOOL_FAILURE;
    }
    if (d != NULL)
        (void)closedir(d);
    for (size_t i = known; i < f->count; i++)
        f->list[i]->program = program_of(f, &f->list[i]->head);
    if (f->count > known)
        qsort(f->list + known, f->count - known, sizeof *f->list, by_thread);
    return code;
}

bool skel_folder_had_some(const struct skel_folder *f)
{
    bool some = false;
    for (size_t i = 0; i < f->count && !some; i++)
        some = f->list[i]->had_some;
    return some;
}

int skel_folder_lacks(const struct skel_folder *f)
{
    struct stat st;
    char span[48];
    if (stat(f->options->path, &st) != 0)
        tool_error("skel", "cannot open %s: %s", f->options->path, strerror(errno));
    else if (stat(f->folder, &st) != 0 || !S_ISDIR(st.st_mode) ||
             access(f->folder, R_OK | X_OK) != 0)
        tool_error("skel",
                   "%s has no memory accesses: it is the folder of no run, or of one without "
                   "-memory (regtrace run -memory REGEX PROGRAM) or with one that names no "
                   "function there is",
                   f->options->path);
    else if (f->count > 0)
        tool_error("skel",
                   "nothing was recorded in %s of these ranks and threads in %s (regtrace skel "
                   "replay -format count %s names what was)",
                   f->folder, window_span_text(span, &f->options->windows), f->options->path);
    else
        tool_error("skel", "nothing was recorded in %s of these ranks and threads", f->folder);
    return TOOL_FAILURE;
}

/* --- the folder ------------------------------------------------------------------------------- */

int skel_folder_open(struct skel_folder *f, const struct skel_options *o)
{
    *f = (struct skel_folder){.options = o, .slot = -1};
    (void)snprintf(f->folder, sizeof f->folder, "%.4000s/" MEMORY_FOLDER, o->path);
    if (!skel_program(f->program))
        return TOOL_FAILURE;
    output_catch_signals();
    output_hold_signals();
    f->is_open = skel_builds_open(&f->builds, f->folder);
    /* With -follow, the functions that are compiled together depend on timing: do not cache
     * them. */
    f->builds.keeps = !o->follow;
    f->builds.jobs = skel_jobs(o, 256);
    f->slot = f->is_open ? output_note(f->builds.temporary) : -1;
    output_release_signals();
    return f->is_open ? TOOL_OK : TOOL_FAILURE;
}

void skel_folder_close(struct skel_folder *f)
{
    if (f->is_open) {
        output_hold_signals();
        skel_builds_close(&f->builds);
        output_forget(f->slot);
        output_release_signals();
    }
    for (size_t i = 0; i < f->count; i++)
        free(f->list[i]);
    free(f->list);
    free(f->born);
    *f = (struct skel_folder){.slot = -1};
}
