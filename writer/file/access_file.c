/* SPDX-License-Identifier: BSD-3-Clause
 * Writes accesses.h5, the memory accesses of a run: one dataset for each recording, in whole chunks
 * that the thread that appends the rows compresses. */
#include "writer/file/access_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- chunks ----------------------------------------------------------------------------------- */

hid_t accesses_type(void)
{
    static const struct schema_field fields[] = {
        {"pc", offsetof(struct accesses_record, pc), KIND_U64, 0},
        {"address", offsetof(struct accesses_record, address), KIND_U64, 0},
        {"bytes", offsetof(struct accesses_record, bytes), KIND_U32, 0},
        {"kind", offsetof(struct accesses_record, kind), KIND_U8, 0}};
    return schema_compound(sizeof(struct accesses_record), fields, 4);
}

static hid_t make_dataset(const struct rt_accesses *a, const char *name)
{
    hsize_t none = 0, unlimited = H5S_UNLIMITED, chunk = ACCESSES_CHUNK;
    hid_t space = H5Screate_simple(1, &none, &unlimited),
          list = channels_timeless(H5P_DATASET_CREATE), dataset = -1;
    bool good = space >= 0 && list >= 0 && H5Pset_chunk(list, 1, &chunk) >= 0;
    if (good && a->deflate > 0)
        good = H5Pset_shuffle(list) >= 0 && H5Pset_deflate(list, a->deflate) >= 0;
    if (good)
        dataset = H5Dcreate2(a->group, name, a->type, space, H5P_DEFAULT, list, H5P_DEFAULT);
    if (list >= 0)
        (void)H5Pclose(list);
    if (space >= 0)
        (void)H5Sclose(space);
    return dataset;
}

/* Makes the chunk as the file stores it: *bytes bytes at *out. Compresses it unless deflate is
 * 0. */
static int pack(struct rt_accesses_rows *r, const void **out, size_t *bytes, struct rt_error *e)
{
    unsigned deflate = r->accesses->deflate;
    *out = r->rows;
    *bytes = ACCESSES_CHUNK * sizeof *r->rows;
    if (deflate == 0)
        return 0;
    if (r->packer == NULL)
        r->packer = chunk_packer_make(ACCESSES_CHUNK, sizeof *r->rows, deflate);
    if (r->packer == NULL)
        return channels_no_memory(e);
    *bytes = chunk_packer_pack(r->packer, r->rows, ACCESSES_CHUNK, out);
    return *bytes > 0 ? 0 : channels_no_memory(e);
}

static bool write_chunk(struct rt_accesses_rows *r, const void *stored, size_t bytes)
{
    hsize_t extent = r->on_file + ACCESSES_CHUNK, at = r->on_file;
    if (H5Dset_extent(r->dataset, &extent) < 0)
        return false;
#if H5_VERSION_GE(1, 10, 3)
    return H5Dwrite_chunk(r->dataset, H5P_DEFAULT, 0, &at, bytes, stored) >= 0;
#else
    (void)stored;
    (void)bytes;
    return channels_append(r->dataset, r->accesses->type, at, r->rows, ACCESSES_CHUNK);
#endif
}

int accesses_put_chunk(struct rt_accesses_rows *r, struct rt_error *e)
{
    struct rt_accesses *a = r->accesses;
    const void *stored;
    size_t bytes;
    int rc = pack(r, &stored, &bytes, e);
    if (rc != 0)
        return rc;
    (void)pthread_mutex_lock(&a->lock);
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* per thread in some builds of HDF5 */
    errno = 0;
    if (!write_chunk(r, stored, bytes))
        rc = channels_failed(a->path, e);
    (void)pthread_mutex_unlock(&a->lock);
    r->on_file += ACCESSES_CHUNK;
    r->pending = 0;
    return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

int rt_accesses_begin(struct rt_accesses *a, const char *name, struct rt_accesses_rows **rows,
                      struct rt_error *e)
{
    struct rt_accesses_rows *r = calloc(1, sizeof *r), **more;
    int rc = 0;
    (void)pthread_mutex_lock(&a->lock);
    more = realloc(a->rows, (a->count + 1) * sizeof *more);
    if (more != NULL)
        a->rows = more;
    if (r == NULL || more == NULL) {
        free(r);
        rc = channels_no_memory(e);
    } else {
        a->rows[a->count++] = r;
        r->accesses = a;
        (void)snprintf(r->name, sizeof r->name, "%s", name);
        errno = 0;
        r->dataset = make_dataset(a, r->name);
        rc = r->dataset < 0 ? channels_failed(a->path, e) : 0;
    }
    (void)pthread_mutex_unlock(&a->lock);
    *rows = rc == 0 ? r : NULL;
    return rc;
}

int rt_accesses_put(struct rt_accesses_rows *r, const struct accesses_record *list, size_t count,
                    struct rt_error *e)
{
    if (count > 0 && r->room < ACCESSES_CHUNK) {
        struct accesses_record *more = realloc(r->rows, ACCESSES_CHUNK * sizeof *more);
        if (more == NULL)
            return channels_no_memory(e);
        r->rows = more;
        r->room = ACCESSES_CHUNK;
    }
    while (count > 0) {
        size_t n = ACCESSES_CHUNK - r->pending < count ? ACCESSES_CHUNK - r->pending : count;
        memcpy(r->rows + r->pending, list, n * sizeof *list);
        r->pending += n;
        list += n;
        count -= n;
        int rc = r->pending == ACCESSES_CHUNK ? accesses_put_chunk(r, e) : 0;
        if (rc != 0)
            return rc;
    }
    return 0;
}

void rt_accesses_rest(struct rt_accesses_rows *r)
{
    struct accesses_record *less = NULL;
    chunk_packer_free(r->packer);
    r->packer = NULL;
    if (r->pending == 0)
        free(r->rows);
    else if ((less = realloc(r->rows, r->pending * sizeof *less)) == NULL)
        return; /* the buffer keeps its size */
    r->rows = less;
    r->room = r->pending;
}

/* Stores the last chunk whole, with zeros after its rows, and then cuts the dataset to its rows. */
static int finish_rows(struct rt_accesses_rows *r, struct rt_error *e)
{
    size_t rest = r->pending;
    hsize_t extent = r->on_file + rest;
    int rc = 0;
    if (rest > 0) {
        struct accesses_record *more = realloc(r->rows, ACCESSES_CHUNK * sizeof *more);
        if (more == NULL)
            return channels_no_memory(e);
        r->rows = more;
        memset(more + rest, 0, (ACCESSES_CHUNK - rest) * sizeof *more);
        rc = accesses_put_chunk(r, e);
        r->on_file = extent;
        errno = 0;
        if (rc == 0 && H5Dset_extent(r->dataset, &extent) < 0)
            rc = channels_failed(r->accesses->path, e);
        r->room = ACCESSES_CHUNK;
        rt_accesses_rest(r);
    }
    return rc;
}

/* --- the file --------------------------------------------------------------------------------- */

static bool make_file(struct rt_accesses *a)
{
    hid_t creation = channels_timeless(H5P_FILE_CREATE), access = schema_file_access();
    if (creation >= 0 && access >= 0)
        a->file = H5Fcreate(a->path, H5F_ACC_TRUNC, creation, access);
    if (creation >= 0)
        (void)H5Pclose(creation);
    if (access >= 0)
        (void)H5Pclose(access);
    a->type = accesses_type();
    a->group = a->file < 0 ? -1 : channels_make_group(a->file, "recordings");
    return a->file >= 0 && a->type >= 0 && a->group >= 0;
}

/* Returns false if something could not be written. */
static bool close_all(struct rt_accesses *a)
{
    bool good = true;
    for (size_t i = 0; i < a->count; i++) {
        struct rt_accesses_rows *r = a->rows[i];
        good = (r->dataset < 0 || H5Dclose(r->dataset) >= 0) && good;
        free(r->rows);
        chunk_packer_free(r->packer);
        free(r);
    }
    if (a->group >= 0)
        (void)H5Gclose(a->group);
    if (a->type >= 0)
        (void)H5Tclose(a->type);
    good = (a->file < 0 || H5Fclose(a->file) >= 0) && good;
    (void)pthread_mutex_destroy(&a->lock);
    free(a->rows);
    return good;
}

int rt_accesses_open(struct rt_accesses **accesses, const char *path, unsigned deflate,
                     struct rt_error *e)
{
    *accesses = NULL;
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    struct rt_accesses *a = calloc(1, sizeof *a);
    if (a == NULL || pthread_mutex_init(&a->lock, NULL) != 0) {
        free(a);
        return channels_no_memory(e);
    }
    a->file = a->group = a->type = -1;
    a->deflate = deflate;
    if (snprintf(a->path, sizeof a->path, "%s", path) >= (int)sizeof a->path)
        errno = ENAMETOOLONG;
    else if (errno = 0, make_file(a)) {
        *accesses = a;
        return 0;
    }
    rc = channels_failed(a->path, e);
    rt_accesses_discard(a);
    return rc;
}

int rt_accesses_finish(struct rt_accesses *a, const struct rt_accesses_about *about,
                       struct rt_error *e)
{
    int rc = 0;
    for (size_t i = 0; i < a->count && rc == 0; i++)
        rc = finish_rows(a->rows[i], e);
    rc = rc != 0 ? rc : accesses_put_tables(a, about, e);
    errno = 0;
    bool closed = close_all(a);
    if (rc == 0 && !closed)
        rc = channels_failed(a->path, e);
    free(a);
    return rc;
}

void rt_accesses_discard(struct rt_accesses *a)
{
    if (a == NULL)
        return;
    (void)close_all(a);
    free(a);
}
