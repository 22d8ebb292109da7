/* SPDX-License-Identifier: BSD-3-Clause
 * Writes what an accesses.h5 has besides the accesses of each recording: one dataset over all of
 * them, and tables that say to which threads and instructions they belong. */
#include "writer/file/access_file.h"

#include <errno.h>

#define FIELD(row, member, kind)                                                                   \
    {                                                                                              \
#member, offsetof(struct row, member), kind, 0                                             \
    }
static const struct schema_field segment_fields[] = {
    FIELD(rt_accesses_segment, first, KIND_U64),     FIELD(rt_accesses_segment, rows, KIND_U64),
    FIELD(rt_accesses_segment, functions, KIND_U64), FIELD(rt_accesses_segment, rank, KIND_I32),
    FIELD(rt_accesses_segment, pid, KIND_U32),       FIELD(rt_accesses_segment, program, KIND_U32),
    FIELD(rt_accesses_segment, thread, KIND_U32),    FIELD(rt_accesses_segment, window, KIND_I32),
    FIELD(rt_accesses_segment, end, KIND_U32),       FIELD(rt_accesses_segment, signal, KIND_U32),
    FIELD(rt_accesses_segment, recording, KIND_U32)};
static const struct schema_field image_fields[] = {FIELD(rt_accesses_image, path, KIND_TEXT),
                                                   FIELD(rt_accesses_image, build_id, KIND_TEXT)};
static const struct schema_field base_fields[] = {
    FIELD(rt_accesses_base, rank, KIND_I32), FIELD(rt_accesses_base, pid, KIND_U32),
    FIELD(rt_accesses_base, program, KIND_U32), FIELD(rt_accesses_base, image, KIND_U32),
    FIELD(rt_accesses_base, base, KIND_U64)};
static const struct schema_field function_fields[] = {
    FIELD(rt_accesses_function, image, KIND_U32), FIELD(rt_accesses_function, address, KIND_U64),
    FIELD(rt_accesses_function, name, KIND_TEXT)};
static const struct schema_field loop_fields[] = {
    FIELD(rt_accesses_loop, function, KIND_U32), FIELD(rt_accesses_loop, parent, KIND_I32),
    FIELD(rt_accesses_loop, depth, KIND_U32),    FIELD(rt_accesses_loop, head, KIND_U64),
    FIELD(rt_accesses_loop, line, KIND_TEXT),    FIELD(rt_accesses_loop, counter, KIND_TEXT)};
static const struct schema_field place_fields[] = {
    FIELD(rt_accesses_place, image, KIND_U32),    FIELD(rt_accesses_place, address, KIND_U64),
    FIELD(rt_accesses_place, function, KIND_U32), FIELD(rt_accesses_place, loop, KIND_I32),
    FIELD(rt_accesses_place, line, KIND_TEXT),    FIELD(rt_accesses_place, expression, KIND_TEXT)};

/* --- all accesses as one dataset -------------------------------------------------------------- */

static bool map_rows(hid_t list, hid_t space, const struct rt_accesses_rows *r, hsize_t first)
{
    hsize_t rows = r->on_file;
    char name[sizeof r->name + 32];
    (void)snprintf(name, sizeof name, "/recordings/%s", r->name);
    hid_t source = H5Screate_simple(1, &rows, NULL);
    bool good = source >= 0 &&
                H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, NULL, &rows, NULL) >= 0 &&
                H5Pset_virtual(list, space, ".", name, source) >= 0;
    if (source >= 0)
        (void)H5Sclose(source);
    return good;
}

static bool put_all(const struct rt_accesses *a)
{
    hsize_t total = 0, first = 0;
    for (size_t i = 0; i < a->count; i++)
        total += a->rows[i]->on_file;
    hid_t space = H5Screate_simple(1, &total, NULL), list = channels_timeless(H5P_DATASET_CREATE),
          dataset = -1;
    bool good = space >= 0 && list >= 0;
    for (size_t i = 0; good && i < a->count; i++) {
        if (a->rows[i]->on_file > 0)
            good = map_rows(list, space, a->rows[i], first);
        first += a->rows[i]->on_file;
    }
    if (good && H5Sselect_all(space) >= 0)
        dataset = H5Dcreate2(a->file, "accesses", a->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (space >= 0)
        (void)H5Sclose(space);
    if (list >= 0)
        (void)H5Pclose(list);
    return dataset >= 0 && H5Dclose(dataset) >= 0;
}

/* The segments have the order of their recordings, and so do their rows. */
static void find_first_rows(const struct rt_accesses_about *about)
{
    uint64_t row = 0;
    for (size_t i = 0; i < about->segment_count; i++) {
        about->segments[i].first = row;
        row += about->segments[i].rows;
    }
}

/* --- tables ----------------------------------------------------------------------------------- */

static int put_attributes(const struct rt_accesses *a, const struct rt_accesses_about *about,
                          struct rt_error *e)
{
    const uint32_t version = RT_SCHEMA_VERSION, finished = 1;
    errno = 0;
    bool good =
        schema_put_number(a->file, "schema_version", H5T_NATIVE_UINT32, &version) >= 0 &&
        schema_put_text(a->file, "program", about->program != NULL ? about->program : "", 0) >= 0 &&
        schema_put_number(a->file, "finished", H5T_NATIVE_UINT32, &finished) >= 0;
    return good ? 0 : channels_failed(a->path, e);
}

int accesses_put_tables(struct rt_accesses *a, const struct rt_accesses_about *about,
                        struct rt_error *e)
{
#define TABLE(name, rows, fields)                                                                  \
    {                                                                                              \
        {name, sizeof *about->rows, fields, sizeof fields / sizeof *fields}, about->rows,          \
    }
    const struct {
        struct text_table table;
        const void *rows;
    } tables[] = {TABLE("stretches", segments, segment_fields),
                  TABLE("images", images, image_fields),
                  TABLE("bases", bases, base_fields),
                  TABLE("functions", functions, function_fields),
                  TABLE("loops", loops, loop_fields),
                  TABLE("places", places, place_fields)};
#undef TABLE
    const size_t counts[] = {about->segment_count,  about->image_count, about->base_count,
                             about->function_count, about->loop_count,  about->place_count};
    find_first_rows(about);
    errno = 0;
    int rc = put_all(a) ? 0 : channels_failed(a->path, e);
    for (size_t k = 0; rc == 0 && k < sizeof counts / sizeof *counts; k++)
        rc = channels_put_table(a->path, a->file, &tables[k].table, tables[k].rows, counts[k], e);
    return rc != 0 ? rc : put_attributes(a, about, e);
}
