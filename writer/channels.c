/* SPDX-License-Identifier: BSD-3-Clause
 * channels.h5: what channels of threads and processors show, a dataset for each, appended in whole chunks. It has another name until it is
 * complete. Nothing in it depends on when or where it was made: the same changes give the same bytes. */
#include "writer/schema.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 8192, TEXT_ROWS = 512 };

static const char *const side_names[2] = {"thread", "cpu"};

static const struct schema_field change_fields[] = {
    {"time", offsetof(struct rt_channel_change, time), KIND_I64, 0},
    {"row", offsetof(struct rt_channel_change, row), KIND_U32, 0},
    {"state", offsetof(struct rt_channel_change, state), KIND_I64, 0},
};

/* Changes of one channel on one side. Pending ones are in the order of time. */
struct changes {
    hid_t dataset; /* -1: not made yet */
    struct rt_channel_change *pending;
    size_t count, room;
    uint64_t on_file;
};

struct rt_channels {
    char path[PATH_MAX], made[PATH_MAX]; /* made: its name until it is complete */
    hid_t file, sides[2], type, stored;  /* type: in memory, stored: in the file */
    const char *const *names;
    uint32_t count;
    struct changes *changes; /* by channel, those of threads first */
};

/* --- errors -------------------------------------------------------------------------------------------------------------- */

static int failed(const struct rt_channels *c, struct rt_error *e)
{
    int error = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EROFS ||
                        errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == EISDIR
                    ? errno
                    : EIO;
    rt_error_set(e, "cannot write %s: %s; -output FILE names another", c->path, strerror(error));
    return -error;
}

static int no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* --- objects ------------------------------------------------------------------------------------------------------------- */

/* Creation properties of objects that do not remember when they were made. */
static hid_t timeless(hid_t class)
{
    hid_t list = H5Pcreate(class);
    if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
}

static hid_t make_group(hid_t in, const char *name)
{
    hid_t list = timeless(H5P_GROUP_CREATE);
    hid_t group = list < 0 ? -1 : H5Gcreate2(in, name, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        (void)H5Pclose(list);
    return group;
}

static hid_t make_dataset(hid_t in, const char *name, hid_t type)
{
    hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = CHUNK;
    hid_t space = H5Screate_simple(1, &none, &unlimited), list = timeless(H5P_DATASET_CREATE),
          access = H5Pcreate(H5P_DATASET_ACCESS), dataset = -1;
    if (H5Tget_size(type) > 128) /* with texts */
        chunk = TEXT_ROWS;
    if (space >= 0 && list >= 0 && access >= 0 && H5Pset_chunk(list, 1, &chunk) >= 0 &&
        H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, 1) >= 0 &&
        H5Pset_chunk_cache(access, 3, chunk * H5Tget_size(type), 1.0) >= 0)
        dataset = H5Dcreate2(in, name, type, space, H5P_DEFAULT, list, access);
    if (access >= 0)
        (void)H5Pclose(access);
    if (list >= 0)
        (void)H5Pclose(list);
    if (space >= 0)
        (void)H5Sclose(space);
    return dataset;
}

static bool append(hid_t dataset, hid_t type, uint64_t first, const void *rows, size_t count)
{
    hsize_t start = first, n = count, extent = first + count;
    if (H5Dset_extent(dataset, &extent) < 0)
        return false;
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &n, NULL);
    herr_t bad = space < 0 || memory < 0
                     ? -1
                     : H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL);
    if (bad >= 0)
        bad = H5Dwrite(dataset, type, memory, space, H5P_DEFAULT, rows);
    if (memory >= 0)
        (void)H5Sclose(memory);
    if (space >= 0)
        (void)H5Sclose(space);
    return bad >= 0;
}

/* --- changes ------------------------------------------------------------------------------------------------------------- */

static int write_changes(struct rt_channels *c, size_t at, size_t count, struct rt_error *e)
{
    struct changes *ch = &c->changes[at];
    errno = 0;
    if (ch->dataset < 0)
        ch->dataset = make_dataset(c->sides[at / c->count], c->names[at % c->count], c->stored);
    if (ch->dataset < 0 || !append(ch->dataset, c->type, ch->on_file, ch->pending, count))
        return failed(c, e);
    ch->on_file += count;
    ch->count -= count;
    memmove(ch->pending, ch->pending + count, ch->count * sizeof *ch->pending);
    return 0;
}

static int make_room(struct rt_channels *c, size_t at, struct rt_error *e)
{
    struct changes *ch = &c->changes[at];
    /* Those of the last ns may get others before them. */
    size_t fixed = ch->count;
    while (fixed > 0 && ch->pending[fixed - 1].time + 1 >= ch->pending[ch->count - 1].time)
        fixed--;
    if (fixed >= CHUNK)
        return write_changes(c, at, fixed / CHUNK * CHUNK, e);
    size_t room = ch->room == 0 ? 64 : 2 * ch->room;
    struct rt_channel_change *more = realloc(ch->pending, room * sizeof *more);
    if (more == NULL)
        return no_memory(e);
    ch->pending = more;
    ch->room = room;
    return 0;
}

int rt_channels_put(struct rt_channels *c, bool processor, uint32_t channel,
                    const struct rt_channel_change *change, struct rt_error *e)
{
    size_t at = (processor ? c->count : 0) + channel;
    struct changes *ch = &c->changes[at];
    if (ch->count == ch->room) {
        int rc = make_room(c, at, e);
        if (rc != 0)
            return rc;
    }
    size_t i = ch->count++;
    for (; i > 0 && ch->pending[i - 1].time > change->time; i--)
        ch->pending[i] = ch->pending[i - 1];
    ch->pending[i] = *change;
    return 0;
}

/* --- tables with texts ------------------------------------------------------------------------------------------------------ */

/* Columns of a row in memory: numbers as they are, texts as pointers that are copied into fields of the longest's width. */
struct text_table {
    const char *name;
    size_t row_bytes; /* of the C struct */
    const struct schema_field *fields;
    size_t count;
};

#define THREAD(member, kind)                                                                       \
    {                                                                                              \
#member, offsetof(struct rt_channels_thread, member), kind, 0                              \
    }
static const struct schema_field thread_fields[] = {
    THREAD(row, KIND_U32), THREAD(rank, KIND_I32),  THREAD(thread, KIND_I32), THREAD(pid, KIND_U32),
    THREAD(tid, KIND_U32), THREAD(host, KIND_TEXT), THREAD(name, KIND_TEXT)};
static const struct schema_field processor_fields[] = {
    {"row", offsetof(struct rt_channels_processor, row), KIND_U32, 0},
    {"number", offsetof(struct rt_channels_processor, number), KIND_I32, 0},
    {"host", offsetof(struct rt_channels_processor, host), KIND_TEXT, 0}};
static const struct schema_field label_fields[] = {
    {"channel", offsetof(struct rt_channels_label, channel), KIND_TEXT, 0},
    {"value", offsetof(struct rt_channels_label, value), KIND_I64, 0},
    {"text", offsetof(struct rt_channels_label, text), KIND_TEXT, 0}};

static const char *text_at(const char *row, const struct schema_field *f)
{
    const char *text;
    memcpy((void *)&text, row + f->offset, sizeof text);
    return text != NULL ? text : "";
}

/* The fields as they are stored, one behind the other. Returns the bytes of a row. */
static size_t lay_out(const struct text_table *t, const char *rows, size_t count,
                      struct schema_field *out)
{
    size_t bytes = 0;
    for (size_t k = 0; k < t->count; k++) {
        out[k] = t->fields[k];
        out[k].offset = bytes;
        size_t width = out[k].kind == KIND_I64 ? 8 : 4;
        for (size_t i = 0; out[k].kind == KIND_TEXT && i < count; i++) {
            size_t n = strlen(text_at(rows + i * t->row_bytes, &t->fields[k]));
            out[k].width = n > out[k].width ? n : out[k].width;
        }
        if (out[k].kind == KIND_TEXT)
            width = out[k].width = out[k].width != 0 ? out[k].width : 1;
        bytes += width;
    }
    return bytes;
}

static void fill(const struct text_table *t, const struct schema_field *to, const char *from,
                 char *row)
{
    for (size_t k = 0; k < t->count; k++) {
        const struct schema_field *f = &t->fields[k];
        if (f->kind == KIND_TEXT)
            memcpy(row + to[k].offset, text_at(from, f), strlen(text_at(from, f)));
        else
            memcpy(row + to[k].offset, from + f->offset, f->kind == KIND_I64 ? 8 : 4);
    }
}

static int put_table(const struct rt_channels *c, hid_t in, const struct text_table *t,
                     const void *rows, size_t count, struct rt_error *e)
{
    struct schema_field fields[8];
    size_t bytes = lay_out(t, rows, count, fields);
    char *block = malloc(TEXT_ROWS * bytes);
    if (block == NULL)
        return no_memory(e);
    errno = 0;
    hid_t type = schema_compound(bytes, fields, t->count);
    hid_t dataset = type < 0 ? -1 : make_dataset(in, t->name, type);
    bool good = dataset >= 0;
    for (size_t done = 0; good && done < count; done += TEXT_ROWS) {
        size_t n = count - done < TEXT_ROWS ? count - done : TEXT_ROWS;
        memset(block, 0, n * bytes);
        for (size_t i = 0; i < n; i++)
            fill(t, fields, (const char *)rows + (done + i) * t->row_bytes, block + i * bytes);
        good = append(dataset, type, done, block, n);
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = false;
    if (type >= 0)
        (void)H5Tclose(type);
    free(block);
    return good ? 0 : failed(c, e);
}

static int put_tables(const struct rt_channels *c, const struct rt_channels_about *about,
                      struct rt_error *e)
{
    const struct text_table threads = {"thread", sizeof *about->threads, thread_fields, 7},
                            processors = {"cpu", sizeof *about->processors, processor_fields, 3},
                            labels = {"labels", sizeof *about->labels, label_fields, 3};
    errno = 0;
    hid_t rows = make_group(c->file, "rows");
    int rc = rows < 0 ? failed(c, e) : 0;
    if (rc == 0)
        rc = put_table(c, rows, &threads, about->threads, about->thread_count, e);
    if (rc == 0)
        rc = put_table(c, rows, &processors, about->processors, about->processor_count, e);
    if (rc == 0)
        rc = put_table(c, c->file, &labels, about->labels, about->label_count, e);
    if (rows >= 0)
        (void)H5Gclose(rows);
    return rc;
}

/* --- a file ------------------------------------------------------------------------------------------------------------------- */

static bool close_all(struct rt_channels *c)
{
    bool good = true;
    for (size_t i = 0; c->changes != NULL && i < 2 * (size_t)c->count; i++) {
        free(c->changes[i].pending);
        if (c->changes[i].dataset >= 0 && H5Dclose(c->changes[i].dataset) < 0)
            good = false;
    }
    for (unsigned i = 0; i < 2; i++)
        if (c->sides[i] >= 0)
            (void)H5Gclose(c->sides[i]);
    if (c->type >= 0)
        (void)H5Tclose(c->type);
    if (c->stored >= 0)
        (void)H5Tclose(c->stored);
    if (c->file >= 0 && H5Fclose(c->file) < 0)
        good = false;
    free(c->changes);
    c->changes = NULL;
    c->file = -1;
    return good;
}

void rt_channels_discard(struct rt_channels *c)
{
    if (c == NULL)
        return;
    bool made = c->file >= 0;
    (void)close_all(c);
    if (made)
        (void)unlink(c->made);
    free(c);
}

static bool make_file(struct rt_channels *c)
{
    hid_t creation = timeless(H5P_FILE_CREATE), access = schema_file_access(), all = -1;
    if (creation >= 0 && access >= 0)
        c->file = H5Fcreate(c->made, H5F_ACC_TRUNC, creation, access);
    if (creation >= 0)
        (void)H5Pclose(creation);
    if (access >= 0)
        (void)H5Pclose(access);
    c->type = schema_compound(sizeof(struct rt_channel_change), change_fields, 3);
    c->stored = c->type < 0 ? -1 : H5Tcopy(c->type);
    if (c->file < 0 || c->stored < 0 || H5Tpack(c->stored) < 0)
        return false;
    all = make_group(c->file, "channels");
    for (unsigned i = 0; all >= 0 && i < 2; i++)
        c->sides[i] = make_group(all, side_names[i]);
    if (all >= 0)
        (void)H5Gclose(all);
    return c->sides[0] >= 0 && c->sides[1] >= 0;
}

int rt_channels_open(struct rt_channels **channels, const char *path, const char *const *names,
                     uint32_t count, struct rt_error *e)
{
    struct rt_channels *c = calloc(1, sizeof *c);
    *channels = NULL;
    if (c == NULL)
        return no_memory(e);
    schema_quiet_hdf5();
    c->file = c->sides[0] = c->sides[1] = c->type = c->stored = -1;
    c->names = names;
    c->count = count;
    c->changes = calloc(2 * (size_t)count + 1, sizeof *c->changes);
    for (size_t i = 0; c->changes != NULL && i < 2 * (size_t)count; i++)
        c->changes[i].dataset = -1;
    int n = snprintf(c->path, sizeof c->path, "%s", path),
        m = snprintf(c->made, sizeof c->made, "%s.%d", path, (int)getpid());
    errno = 0;
    int rc = c->changes == NULL ? no_memory(e) : 0;
    if (rc == 0 && (n >= (int)sizeof c->path || m >= (int)sizeof c->made)) {
        rt_error_set(e, "%.100s...: the name is too long", path);
        rc = -ENAMETOOLONG;
    }
    if (rc == 0 && !make_file(c))
        rc = failed(c, e);
    if (rc != 0) {
        rt_channels_discard(c);
        return rc;
    }
    *channels = c;
    return 0;
}

/* What is pending, and what the channel is; one that nobody used is taken out again. */
static int finish_channel(struct rt_channels *c, size_t at, const struct rt_channel_about *about,
                          struct rt_error *e)
{
    struct changes *ch = &c->changes[at];
    unsigned side = at >= c->count;
    if (!about->used[side]) {
        if (ch->dataset < 0)
            return 0;
        (void)H5Dclose(ch->dataset);
        ch->dataset = -1;
        return H5Ldelete(c->sides[side], c->names[at % c->count], H5P_DEFAULT) < 0 ? failed(c, e)
                                                                                   : 0;
    }
    int rc = write_changes(c, at, ch->count, e);
    if (rc == 0 &&
        (schema_put_text(ch->dataset, "title", about->title, 0) < 0 ||
         schema_put_text(ch->dataset, "kind", about->kind, 0) < 0 ||
         schema_put_number(ch->dataset, "paraver_type", H5T_NATIVE_UINT32, &about->paraver) < 0))
        rc = failed(c, e);
    return rc;
}

static int put_attributes(const struct rt_channels *c, const struct rt_channels_about *a,
                          struct rt_error *e)
{
    const uint32_t version = RT_SCHEMA_VERSION, finished = 1;
    const struct {
        const char *name;
        hid_t type;
        const void *value;
    } numbers[] = {{"schema_version", H5T_NATIVE_UINT32, &version},
                   {"origin_ns", H5T_NATIVE_INT64, &a->origin_ns},
                   {"realtime_ns", H5T_NATIVE_INT64, &a->realtime_ns},
                   {"end_ns", H5T_NATIVE_INT64, &a->end_ns},
                   {"events", H5T_NATIVE_UINT64, &a->events},
                   {"wrong", H5T_NATIVE_UINT64, &a->wrong},
                   {"finished", H5T_NATIVE_UINT32, &finished}};
    errno = 0;
    if (schema_put_text(c->file, "policy", a->policy, 0) < 0 ||
        schema_put_text(c->file, "cpu", a->cpu, 0) < 0)
        return failed(c, e);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (schema_put_number(c->file, numbers[i].name, numbers[i].type, numbers[i].value) < 0)
            return failed(c, e);
    return 0;
}

int rt_channels_finish(struct rt_channels *c, const struct rt_channels_about *about,
                       struct rt_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 2 * (size_t)c->count; i++)
        rc = finish_channel(c, i, &about->channels[i % c->count], e);
    if (rc == 0)
        rc = put_tables(c, about, e);
    if (rc == 0)
        rc = put_attributes(c, about, e);
    errno = 0;
    bool closed = close_all(c);
    if (rc == 0 && (!closed || rename(c->made, c->path) != 0))
        rc = failed(c, e);
    if (rc != 0)
        (void)unlink(c->made);
    free(c);
    return rc;
}
