/* SPDX-License-Identifier: BSD-3-Clause
 * Writes channels.h5: what the channels of threads and processors show, one dataset each, appended
 * in whole chunks.
 *
 * Nothing in the file depends on when or where it is made: the same changes give the same bytes. */
#include "writer/file/channels.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const side_names[2] = {"thread", "cpu"};

static const struct schema_field change_fields[] = {
    {"time", offsetof(struct rt_channel_change, time), KIND_I64, 0},
    {"row", offsetof(struct rt_channel_change, row), KIND_U32, 0},
    {"state", offsetof(struct rt_channel_change, state), KIND_I64, 0},
};

/* Changes of one channel of threads or of processors. Pending changes are in the order of time. */
struct changes {
    hid_t dataset; /* -1: not created yet */
    struct rt_channel_change *pending;
    size_t count, room;
    uint64_t on_file;
};

struct rt_channels {
    char path[PATH_MAX];
    hid_t file, sides[2], type, stored; /* type: of rows in memory; stored: in the file */
    const char *const *names;
    uint32_t count;
    struct changes *changes; /* by channel, those of threads first */
    struct growing_table matches[CHANNELS_MATCHES];
};

/* --- errors ----------------------------------------------------------------------------------- */

int channels_failed(const char *path, struct rt_error *e)
{
    int error = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EROFS ||
                        errno == EACCES || errno == ENOENT || errno == ENOTDIR || errno == EISDIR
                    ? errno
                    : EIO;
    rt_error_set(e, "cannot write %s: %s; -output FILE names another", path, strerror(error));
    return -error;
}

int channels_no_memory(struct rt_error *e)
{
    rt_error_set(e, "no memory");
    return -ENOMEM;
}

/* --- objects ---------------------------------------------------------------------------------- */

hid_t channels_timeless(hid_t class)
{
    hid_t list = H5Pcreate(class);
    if (list >= 0 && H5Pset_obj_track_times(list, false) < 0) {
        (void)H5Pclose(list);
        return -1;
    }
    return list;
}

hid_t channels_make_group(hid_t in, const char *name)
{
    hid_t list = channels_timeless(H5P_GROUP_CREATE);
    hid_t group = list < 0 ? -1 : H5Gcreate2(in, name, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        (void)H5Pclose(list);
    return group;
}

hid_t channels_make_dataset(hid_t in, const char *name, hid_t type)
{
    hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = CHANNELS_CHUNK;
    hid_t space = H5Screate_simple(1, &none, &unlimited),
          list = channels_timeless(H5P_DATASET_CREATE), access = H5Pcreate(H5P_DATASET_ACCESS),
          dataset = -1;
    if (H5Tget_size(type) > 128) /* with texts */
        chunk = CHANNELS_TEXT_ROWS;
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

bool channels_append(hid_t dataset, hid_t type, uint64_t first, const void *rows, size_t count)
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

/* --- changes ---------------------------------------------------------------------------------- */

static int write_changes(struct rt_channels *c, size_t at, size_t count, struct rt_error *e)
{
    struct changes *ch = &c->changes[at];
    errno = 0;
    if (ch->dataset < 0)
        ch->dataset =
            channels_make_dataset(c->sides[at / c->count], c->names[at % c->count], c->stored);
    if (ch->dataset < 0 || !channels_append(ch->dataset, c->type, ch->on_file, ch->pending, count))
        return channels_failed(c->path, e);
    ch->on_file += count;
    ch->count -= count;
    memmove(ch->pending, ch->pending + count, ch->count * sizeof *ch->pending);
    return 0;
}

static int make_room(struct rt_channels *c, size_t at, struct rt_error *e)
{
    struct changes *ch = &c->changes[at];
    /* Changes of the last ns may still get others before them. */
    size_t fixed = ch->count;
    while (fixed > 0 && ch->pending[fixed - 1].time + 1 >= ch->pending[ch->count - 1].time)
        fixed--;
    if (fixed >= CHANNELS_CHUNK)
        return write_changes(c, at, fixed / CHANNELS_CHUNK * CHANNELS_CHUNK, e);
    size_t room = ch->room == 0 ? 64 : 2 * ch->room;
    struct rt_channel_change *more = realloc(ch->pending, room * sizeof *more);
    if (more == NULL)
        return channels_no_memory(e);
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

/* --- matches ---------------------------------------------------------------------------------- */

int rt_channels_put_message(struct rt_channels *c, const struct rt_channels_message *m,
                            struct rt_error *e)
{
    return channels_put_match(&c->matches[CHANNELS_MESSAGES], c->path, m, e);
}

int rt_channels_put_unmatched(struct rt_channels *c, const struct rt_channels_unmatched *u,
                              struct rt_error *e)
{
    return channels_put_match(&c->matches[CHANNELS_UNMATCHED], c->path, u, e);
}

int rt_channels_put_wait(struct rt_channels *c, const struct rt_channels_wait *w,
                         struct rt_error *e)
{
    return channels_put_match(&c->matches[CHANNELS_WAITS], c->path, w, e);
}

/* --- files ------------------------------------------------------------------------------------ */

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
    if (!channels_close_matches(c->matches))
        good = false;
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
        (void)unlink(c->path);
    free(c);
}

static bool make_file(struct rt_channels *c)
{
    hid_t creation = channels_timeless(H5P_FILE_CREATE), access = schema_file_access(), all = -1;
    if (creation >= 0 && access >= 0)
        c->file = H5Fcreate(c->path, H5F_ACC_TRUNC, creation, access);
    if (creation >= 0)
        (void)H5Pclose(creation);
    if (access >= 0)
        (void)H5Pclose(access);
    c->type = schema_compound(sizeof(struct rt_channel_change), change_fields, 3);
    c->stored = c->type < 0 ? -1 : H5Tcopy(c->type);
    if (c->file < 0 || c->stored < 0 || H5Tpack(c->stored) < 0)
        return false;
    all = channels_make_group(c->file, "channels");
    for (unsigned i = 0; all >= 0 && i < 2; i++)
        c->sides[i] = channels_make_group(all, side_names[i]);
    if (all >= 0)
        (void)H5Gclose(all);
    return c->sides[0] >= 0 && c->sides[1] >= 0;
}

int rt_channels_open(struct rt_channels **channels, const char *path, const char *const *names,
                     uint32_t count, struct rt_error *e)
{
    *channels = NULL;
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    struct rt_channels *c = calloc(1, sizeof *c);
    if (c == NULL)
        return channels_no_memory(e);
    c->file = c->sides[0] = c->sides[1] = c->type = c->stored = -1;
    for (size_t i = 0; i < CHANNELS_MATCHES; i++)
        c->matches[i].dataset = c->matches[i].type = -1;
    c->names = names;
    c->count = count;
    c->changes = calloc(2 * (size_t)count + 1, sizeof *c->changes);
    for (size_t i = 0; c->changes != NULL && i < 2 * (size_t)count; i++)
        c->changes[i].dataset = -1;
    int n = snprintf(c->path, sizeof c->path, "%s", path);
    errno = 0;
    rc = c->changes == NULL ? channels_no_memory(e) : 0;
    if (rc == 0 && n >= (int)sizeof c->path) {
        rt_error_set(e, "%.100s...: the name is too long", path);
        rc = -ENAMETOOLONG;
    }
    if (rc == 0 && !make_file(c))
        rc = channels_failed(c->path, e);
    if (rc == 0)
        rc = channels_make_matches(c->file, c->path, c->matches, e);
    if (rc != 0) {
        rt_channels_discard(c);
        return rc;
    }
    *channels = c;
    return 0;
}

/* Writes the pending changes and the attributes of a channel. Removes the dataset of an unused
 * channel. */
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
        return H5Ldelete(c->sides[side], c->names[at % c->count], H5P_DEFAULT) < 0
                   ? channels_failed(c->path, e)
                   : 0;
    }
    int rc = write_changes(c, at, ch->count, e);
    if (rc == 0 &&
        (schema_put_text(ch->dataset, "title", about->title, 0) < 0 ||
         schema_put_text(ch->dataset, "kind", about->kind, 0) < 0 ||
         schema_put_number(ch->dataset, "paraver_type", H5T_NATIVE_UINT32, &about->paraver) < 0))
        rc = channels_failed(c->path, e);
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
        schema_put_text(c->file, "cpu", a->cpu, 0) < 0 ||
        schema_put_text(c->file, "messages", a->messages, 0) < 0)
        return channels_failed(c->path, e);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (schema_put_number(c->file, numbers[i].name, numbers[i].type, numbers[i].value) < 0)
            return channels_failed(c->path, e);
    return 0;
}

int rt_channels_finish(struct rt_channels *c, const struct rt_channels_about *about,
                       struct rt_error *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < 2 * (size_t)c->count; i++)
        rc = finish_channel(c, i, &about->channels[i % c->count], e);
    if (rc == 0)
        rc = channels_finish_matches(c->matches, c->path, about, e);
    if (rc == 0)
        rc = channels_put_tables(c->file, c->path, about, e);
    if (rc == 0)
        rc = put_attributes(c, about, e);
    errno = 0;
    bool closed = close_all(c);
    if (rc == 0 && !closed)
        rc = channels_failed(c->path, e);
    if (rc != 0)
        (void)unlink(c->path);
    free(c);
    return rc;
}
