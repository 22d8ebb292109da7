/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the streams of an ovni trace, and their metadata (stream.json) once all types, labels and
 * processors are known. */
#include "tools/export/ovni.h"

#include "base/sys.h"
#include "tools/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER = 65536, PATH_ROOM = PATH_MAX + 700 };

/* --- looms and processors --------------------------------------------------------------------- */

/* Makes a loom's name, which is also a folder's name, so '/' becomes '_'. */
static void name_loom(const struct rt_rank_info *info, char out[300])
{
    (void)snprintf(out, 300, "%.250s.%" PRId32, info->host[0] != '\0' ? info->host : "host",
                   info->rank);
    for (char *p = out; *p != '\0'; p++)
        if (*p == '/')
            *p = '_';
}

void ovni_name_looms(struct ovni *o)
{
    o->loom_of = calloc(o->x->process_count + 1u, sizeof *o->loom_of);
    if (o->loom_of == NULL) {
        export_fail(o->x, -ENOMEM, "no memory");
        return;
    }
    for (uint32_t i = 0; i < o->x->process_count; i++) {
        char name[300];
        uint32_t k = 0;
        name_loom(rt_rank_info(o->x->processes[i].rank), name);
        while (k < o->loom_count && strcmp(o->looms[k].name, name) != 0)
            k++;
        if (k == o->loom_count)
            memcpy(o->looms[o->loom_count++].name, name, sizeof name);
        o->loom_of[i] = k;
    }
}

static struct ovni_loom *loom_of(const struct ovni *o, uint32_t stream)
{
    return &o->looms[o->loom_of[o->x->process_of[stream]]];
}

void ovni_cpu(struct ovni *o, uint32_t stream, uint16_t cpu)
{
    struct ovni_loom *l = loom_of(o, stream);
    for (uint32_t i = 0; i < l->cpu_count; i++)
        if (l->cpus[i] == cpu)
            return;
    uint16_t *more = realloc(l->cpus, (l->cpu_count + 1u) * sizeof *more);
    if (more == NULL) {
        export_fail(o->x, -ENOMEM, "no memory");
        return;
    }
    l->cpus = more;
    l->cpus[l->cpu_count++] = cpu;
}

/* --- marks ------------------------------------------------------------------------------------ */

int32_t ovni_type(struct ovni *o, enum export_kind kind, uint32_t number, const char *title,
                  bool stack)
{
    for (int32_t i = 0; i < o->type_count; i++) {
        const struct ovni_type *t = &o->types[i];
        if (t->kind == kind && t->number == number && t->stack == stack &&
            (kind != EXPORT_KINDS || strcmp(t->title, title) == 0))
            return i;
    }
    if (o->type_count == OVNI_TYPES)
        return -1;
    struct ovni_type *t = &o->types[o->type_count];
    *t = (struct ovni_type){.kind = kind, .number = number, .stack = stack, .title = strdup(title)};
    if (t->title == NULL) {
        export_fail(o->x, -ENOMEM, "no memory");
        return -1;
    }
    return o->type_count++;
}

static bool label_room(struct ovni_type *t, uint32_t labels)
{
    if (labels <= t->label_room)
        return true;
    size_t room = 2 * (size_t)labels + 16;
    void *more = realloc((void *)t->label_texts, room * sizeof *t->label_texts);
    if (more == NULL)
        return false;
    t->label_texts = more;
    t->label_room = room;
    return true;
}

/* Keeps the first label of a value. */
void ovni_label(struct ovni *o, int32_t type, int64_t value, const char *label)
{
    char key[32];
    struct ovni_type *t = &o->types[type];
    (void)snprintf(key, sizeof key, "%" PRId64, value);
    uint32_t before = t->labels.count;
    uint32_t n = label_room(t, before + 1) ? names_number(&t->labels, key) : 0;
    if (n != 0 && n <= before)
        return;
    if (n == 0 || (t->label_texts[n - 1] = strdup(label)) == NULL)
        export_fail(o->x, -ENOMEM, "no memory");
}

/* --- files ------------------------------------------------------------------------------------ */

/* Returns the kernel's thread id, or one made from our own number if it is not known. */
static uint32_t tid_of(const struct ovni *o, uint32_t stream)
{
    const struct thread_stream *s = &o->x->all[stream];
    if (s->thread != NULL && s->thread->kernel_tid != 0)
        return s->thread->kernel_tid;
    return export_info(o->x, stream)->pid + (uint32_t)s->number;
}

static void folder_of(const struct ovni *o, uint32_t stream, unsigned levels, char out[PATH_ROOM])
{
    int n = snprintf(out, PATH_ROOM, "%s/loom.%s", o->path, loom_of(o, stream)->name);
    if (levels > 1)
        n += snprintf(out + n, PATH_ROOM - (size_t)n, "/proc.%" PRIu32,
                      export_info(o->x, stream)->pid);
    if (levels > 2)
        (void)snprintf(out + n, PATH_ROOM - (size_t)n, "/thread.%" PRIu32 ".%" PRId32,
                       tid_of(o, stream), o->x->all[stream].number);
}

static void failed(struct ovni *o, const char *path)
{
    export_fail(o->x, -errno, "%s could not be written: %s", path, strerror(errno));
}

static bool make_folders(struct ovni *o, uint32_t stream)
{
    char path[PATH_ROOM];
    for (unsigned levels = 1; levels <= 3; levels++) {
        folder_of(o, stream, levels, path);
        if (mkdir(path, 0777) != 0 && (errno != EEXIST || levels == 3)) {
            failed(o, path);
            return false;
        }
    }
    return true;
}

/* Writes the buffer to the thread's file. A file is open only while it is written to: there may be
 * more files than descriptors. */
static void flush(struct ovni *o, uint32_t stream)
{
    struct ovni_thread *t = &o->threads[stream];
    char path[PATH_ROOM + 16];
    if (o->x->rc != 0 || t->filled == 0 || (!t->made && !make_folders(o, stream)))
        return;
    t->made = true;
    folder_of(o, stream, 3, path);
    (void)strcat(path, "/stream.obs");
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    int rc = fd < 0 ? -errno : sys_write_all(fd, t->buffer, t->filled);
    if (rc != 0) {
        errno = -rc;
        failed(o, path);
    }
    if (fd >= 0 && close(fd) != 0)
        failed(o, path);
    t->filled = 0;
}

void ovni_append(struct ovni *o, uint32_t stream, const void *bytes, size_t size)
{
    static const unsigned char head[8] = {'o', 'v', 'n', 'i', 1, 0, 0, 0};
    struct ovni_thread *t = &o->threads[stream];
    if (!streams_is_own(o->x->streams, stream))
        return;
    if (t->buffer == NULL) {
        t->buffer = malloc(BUFFER);
        if (t->buffer == NULL) {
            export_fail(o->x, -ENOMEM, "no memory");
            return;
        }
        memcpy(t->buffer, head, sizeof head);
        t->filled = sizeof head;
    }
    if (t->filled + size > BUFFER)
        flush(o, stream);
    if (o->x->rc != 0)
        return;
    memcpy(t->buffer + t->filled, bytes, size);
    t->filled += size;
}

/* --- stream.json ------------------------------------------------------------------------------ */

static void put_types(struct json *j, const struct ovni *o)
{
    json_object_begin(j, "mark");
    for (int32_t i = 0; i < o->type_count; i++) {
        const struct ovni_type *t = &o->types[i];
        char key[16];
        (void)snprintf(key, sizeof key, "%" PRId32, i);
        json_object_begin(j, key);
        json_text(j, "title", t->title);
        json_text(j, "chan_type", t->stack ? "stack" : "single");
        json_object_begin(j, "labels");
        for (uint32_t n = 0; n < t->labels.count; n++)
            json_text(j, names_text(&t->labels, n + 1), t->label_texts[n]);
        json_object_end(j);
        json_object_end(j);
    }
    json_object_end(j);
}

static void put_cpus(struct json *j, const struct ovni_loom *l)
{
    json_array_begin(j, "loom_cpus");
    for (uint32_t i = 0; i < l->cpu_count || i == 0; i++) {
        json_object_begin(j, NULL);
        json_compact(j);
        json_uint(j, "index", i);
        json_uint(j, "phyid", i < l->cpu_count ? l->cpus[i] : 0);
        json_object_end(j);
    }
    json_array_end(j);
}

static void put_stream(struct json *j, struct ovni *o, uint32_t stream, bool first)
{
    const struct rt_rank_info *info = export_info(o->x, stream);
    struct ovni_loom *l = loom_of(o, stream);
    json_object_begin(j, NULL);
    json_int(j, "version", 3);
    json_object_begin(j, "ovni");
    json_object_begin(j, "lib");
    json_text(j, "version", "1.14.0");
    json_text(j, "commit", "regtrace");
    json_object_end(j);
    json_text(j, "part", "thread");
    json_uint(j, "tid", tid_of(o, stream));
    json_uint(j, "pid", info->pid);
    json_text(j, "loom", l->name);
    json_int(j, "app_id", 1);
    if (info->rank >= 0 && info->size > info->rank) {
        json_int(j, "rank", info->rank);
        json_int(j, "nranks", info->size);
    }
    json_object_begin(j, "require");
    json_text(j, "ovni", "1.1.0");
    json_text(j, "mpi", "1.0.0");
    json_object_end(j);
    if (!l->described)
        put_cpus(j, l);
    l->described = true;
    if (first)
        put_types(j, o);
    json_int(j, "finished", 1);
    json_object_end(j);
    json_object_end(j);
}

static void describe(struct ovni *o, uint32_t stream, bool first)
{
    char path[PATH_ROOM + 16];
    if (!streams_is_own(o->x->streams, stream)) {
        loom_of(o, stream)->described = true;
        return;
    }
    folder_of(o, stream, 3, path);
    (void)strcat(path, "/stream.json");
    struct json j = {.out = export_create(o->x, path), .indented = true};
    if (j.out == NULL)
        return;
    put_stream(&j, o, stream, first);
    export_close_file(o->x, j.out, path);
}

void ovni_write_all(struct ovni *o)
{
    bool first = true;
    for (uint32_t i = 0; i < o->x->count && o->x->rc == 0; i++) {
        if (!o->threads[i].begun)
            continue;
        flush(o, i);
        if (o->x->rc == 0)
            describe(o, i, first);
        first = false;
    }
}

void ovni_free(struct ovni *o)
{
    for (uint32_t i = 0; i < o->x->count; i++)
        free(o->threads[i].buffer);
    for (uint32_t i = 0; i < o->loom_count; i++)
        free(o->looms[i].cpus);
    for (int32_t i = 0; i < o->type_count; i++) {
        for (uint32_t n = 0; n < o->types[i].labels.count; n++)
            free(o->types[i].label_texts[n]);
        free((void *)o->types[i].label_texts);
        names_free(&o->types[i].labels);
        free(o->types[i].title);
    }
    free(o->threads);
    free(o->looms);
    free(o->loom_of);
    free(o->mpi_rows);
    free(o);
}

bool ovni_is_ours(const char *folder)
{
    DIR *d = opendir(folder);
    bool found = false;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        found |= strncmp(e->d_name, "loom.", 5) == 0;
    if (d != NULL)
        (void)closedir(d);
    return found;
}
