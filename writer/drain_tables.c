/* SPDX-License-Identifier: BSD-3-Clause
 * Sets up a drain, and copies the tables of a stream that grow: strings, metadata, threads. */
#include "writer/drain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void find_alarm(void *context, const char *key, const char *value)
{
    struct drain *d = context;
    if (strncmp(key, "alarm.", 6) != 0)
        return;
    unsigned long i = strtoul(key + 6, NULL, 10);
    if (i >= 0xffff)
        return;
    if (i >= d->alarm_count) {
        size_t count = i + 1;
        int32_t *grown = realloc(d->alarm_chain, count * sizeof *grown);
        if (grown == NULL)
            return;
        for (size_t k = d->alarm_count; k < count; k++)
            grown[k] = -1;
        d->alarm_chain = grown;
        d->alarm_count = count;
    }
    d->alarm_chain[i] = (int32_t)strtol(value, NULL, 10);
}

/* Parses chain_region.CHAIN = ID TAB WEIGHT TAB MULTIPLIER. Weight and multiplier are as in the
 * regions file, or empty. */
static void find_region(struct drain *d, const char *key, const char *value)
{
    unsigned long chain = strtoul(key, NULL, 10);
    size_t n = strcspn(value, "\t");
    if (chain >= 0xffff || n == 0)
        return;
    if (chain >= d->region_count) {
        struct drain_region *grown = realloc(d->regions, (chain + 1) * sizeof *grown);
        if (grown == NULL)
            return;
        memset(grown + d->region_count, 0, (chain + 1 - d->region_count) * sizeof *grown);
        d->regions = grown;
        d->region_count = chain + 1;
    }
    struct drain_region *r = &d->regions[chain];
    const char *weight = value + n + (value[n] == '\t');
    const char *multiplier = weight + strcspn(weight, "\t");
    r->weight = strtod(weight, NULL);
    r->multiplier = strtod(multiplier + (*multiplier == '\t'), NULL);
    struct rt_string_row row = {DRAIN_OWN_STRINGS + (uint32_t)chain, (uint32_t)n, d->string_bytes};
    if (table_append(&d->file->tables[SCHEMA_STRINGS], value, n) != 0 ||
        table_append(&d->file->tables[SCHEMA_STRING_INDEX], &row, 1) != 0)
        return;
    d->string_bytes += n;
    r->name = row.id;
}

static void find_chains(void *context, const char *key, const char *value)
{
    find_alarm(context, key, value);
    if (strncmp(key, "chain_region.", 13) == 0)
        find_region(context, key + 13, value);
}

int drain_init(struct drain *d, const struct stream *s)
{
    const struct stream_header *h = s->header;
    *d = (struct drain){
        .stream = s,
        .chunk_bytes = h->chunk_bytes,
        .chunk_count = h->chunk_count,
        .chunk_room = h->chunk_room,
        .chunk_slots = stream_chunk_slots(s),
        .thread_capacity = h->thread_capacity,
        .string_capacity = h->string_capacity,
        .path_capacity = h->path_capacity,
        .profile_capacity = h->profile_capacity,
        .profile_offset = h->profile_offset,
        .chunks_offset = h->chunks_offset,
        .threads_offset = h->threads_offset,
        .meta_offset = h->meta_offset,
        .meta_bytes = h->meta_bytes,
    };
    d->threads = calloc(d->thread_capacity + 1u, sizeof *d->threads);
    d->chunks = calloc(d->chunk_room, sizeof *d->chunks);
    d->string_done = calloc(d->string_capacity, 1);
    d->path_done = calloc(d->path_capacity, 1);
    if (d->threads == NULL || d->chunks == NULL || d->string_done == NULL || d->path_done == NULL ||
        drain_profile_init(d) != 0) {
        drain_free(d);
        return -ENOMEM;
    }
    return 0;
}

void drain_free(struct drain *d)
{
    free(d->threads);
    free(d->chunks);
    free(d->open);
    free(d->closes);
    free(d->alarm_chain);
    free(d->regions);
    free(d->string_done);
    free(d->path_done);
    free(d->profile);
    values_end(d->values);
    *d = (struct drain){0};
}

bool drain_header_intact(const struct drain *d)
{
    const struct stream_header *h = d->stream->header;
    return memcmp(h->magic, STREAM_MAGIC, sizeof h->magic) == 0 &&
           h->chunk_bytes == d->chunk_bytes && h->chunk_count == d->chunk_count &&
           h->chunk_room == d->chunk_room && h->string_capacity == d->string_capacity &&
           h->profile_capacity == d->profile_capacity && h->profile_offset == d->profile_offset &&
           h->path_capacity == d->path_capacity && h->paths_offset < d->chunks_offset &&
           (uint64_t)h->path_capacity * sizeof(struct stream_path) <=
               d->chunks_offset - h->paths_offset &&
           h->threads_offset == d->threads_offset && h->meta_offset == d->meta_offset &&
           h->strings_offset < d->chunks_offset && h->string_bytes_offset < d->chunks_offset &&
           h->string_bytes <= d->chunks_offset - h->string_bytes_offset &&
           (uint64_t)h->string_capacity * sizeof(struct stream_string) <=
               d->chunks_offset - h->strings_offset;
}

const char *drain_metadata(const struct drain *d, uint32_t *bytes)
{
    uint32_t used = atomic_load_explicit(&d->stream->header->meta_used, memory_order_acquire);
    *bytes = used <= d->meta_bytes ? used : d->meta_bytes;
    return (const char *)d->stream->base + d->meta_offset;
}

int drain_set_file(struct drain *d, struct rankfile *f)
{
    uint32_t bytes;
    d->file = f;
    const char *text = drain_metadata(d, &bytes);
    int rc = rankfile_each_metadata(text, bytes, find_chains, d);
    if (!d->resumed)
        d->metadata_done = (uint32_t)table_rows(&f->tables[SCHEMA_METADATA]);
    return rc;
}

static int copy_strings(struct drain *d)
{
    struct stream_header *h = d->stream->header;
    uint32_t used = atomic_load_explicit(&h->strings_used, memory_order_acquire);
    if (used == d->strings_written || !drain_header_intact(d))
        return 0;
    for (uint32_t id = 1; id < d->string_capacity; id++) {
        const char *text = d->string_done[id] ? NULL : stream_string_text(d->stream, id);
        if (text == NULL)
            continue;
        size_t room = (size_t)((const char *)d->stream->base + d->chunks_offset - text);
        size_t n = strnlen(text, room);
        struct rt_string_row row = {id, (uint32_t)n, d->string_bytes};
        int rc = table_append(&d->file->tables[SCHEMA_STRINGS], text, n);
        if (rc == 0)
            rc = table_append(&d->file->tables[SCHEMA_STRING_INDEX], &row, 1);
        if (rc != 0)
            return rc;
        d->string_bytes += n;
        d->string_done[id] = 1;
        d->strings_written++;
    }
    return 0;
}

void drain_has_path(struct drain *d, uint32_t path)
{
    if (path >= d->path_capacity || d->path_done[path])
        return;
    d->path_done[path] = 1;
    d->paths_written++;
}

static int copy_paths(struct drain *d)
{
    uint32_t used = atomic_load_explicit(&d->stream->header->paths_used, memory_order_acquire);
    int rc = 0;
    if (used == d->paths_written || !drain_header_intact(d))
        return 0;
    for (uint32_t i = 1; i < d->path_capacity && rc == 0; i++) {
        const struct stream_path *p = &stream_paths(d->stream)[i];
        uint32_t state = atomic_load_explicit(&p->state, memory_order_acquire);
        if (d->path_done[i] || (state != PATH_READY && state != PATH_OVER))
            continue;
        const struct rt_path row = {i, p->parent, p->image, p->build_id, p->offset};
        rc = table_append(&d->file->tables[SCHEMA_PATHS], &row, 1);
        drain_has_path(d, i);
    }
    return rc;
}

static int copy_metadata(struct drain *d)
{
    uint32_t bytes;
    const char *text = drain_metadata(d, &bytes);
    if (bytes <= d->metadata_done)
        return 0;
    int rc = table_append(&d->file->tables[SCHEMA_METADATA], text + d->metadata_done,
                          bytes - d->metadata_done);
    d->metadata_done = bytes;
    return rc;
}

static int copy_thread(struct drain *d, uint32_t i, bool update)
{
    struct stream_thread *s = drain_thread_row(d, i);
    struct table *t = &d->file->tables[SCHEMA_THREADS];
    const struct rt_thread *last = &d->threads[i].written;
    if (!update && i < table_rows(t) && atomic_load(&s->dropped) == last->dropped &&
        atomic_load(&s->state) == last->state)
        return 0;
    struct rt_thread row = {
        .thread = (int32_t)s->tid,
        .kernel_tid = s->kernel_tid,
        .name = s->name,
        .start_image = s->start_image,
        .start_routine = s->start_routine,
        .started = s->started,
        .ended = s->ended,
        .rows = d->threads[i].rows,
        .recorded = atomic_load(&s->recorded),
        .dropped = atomic_load(&s->dropped),
        .waits = atomic_load(&s->waits),
        .wait_ticks = atomic_load(&s->wait_ticks),
        .incomplete = d->threads[i].incomplete,
        .own_ticks = s->own_ticks,
        .interrupted = s->interrupted,
        .state = atomic_load(&s->state),
        .instructions = atomic_load(&s->instructions),
    };
    if (i >= table_rows(t)) {
        d->threads[i].written = row;
        return table_append(t, &row, 1);
    }
    if (memcmp(&row, &d->threads[i].written, sizeof row) == 0)
        return 0;
    d->threads[i].written = row;
    return table_update(t, i, &row);
}

int drain_copy_tables(struct drain *d, bool update)
{
    int rc = copy_paths(d);
    if (rc == 0)
        rc = copy_strings(d); /* after the paths that name them */
    if (rc == 0)
        rc = copy_metadata(d);
    uint32_t count = atomic_load(&d->stream->header->thread_count);
    count = count < d->thread_capacity ? count : d->thread_capacity;
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = copy_thread(d, i, update);
    return rc;
}

static int thread_losses(struct drain *d, uint32_t i)
{
    const struct drain_thread *t = &d->threads[i];
    struct stream_thread *s = drain_thread_row(d, i);
    uint64_t dropped = atomic_load(&s->dropped);
    int rc = 0;
    if (dropped > t->dropped_reported)
        rc = drain_add_loss(d, RT_LOSS_DROPPED, (int32_t)s->tid, dropped - t->dropped_reported);
    if (rc == 0 && t->incomplete > 0)
        rc = drain_add_loss(d, RT_LOSS_INCOMPLETE, (int32_t)s->tid, t->incomplete);
    if (rc == 0 && t->unstored > 0)
        rc = drain_add_loss(d, RT_LOSS_STORAGE, (int32_t)s->tid, t->unstored);
    return rc;
}

int drain_end(struct drain *d)
{
    struct stream_header *h = d->stream->header;
    int rc = drain_close_windows(d);
    uint32_t count = atomic_load(&h->thread_count);
    count = count < d->thread_capacity ? count : d->thread_capacity;
    for (uint32_t i = 0; i < count && rc == 0; i++) {
        d->threads[i].seen = true;
        rc = thread_losses(d, i);
    }
    if (rc == 0)
        rc = drain_copy_profile(d);
    if (rc == 0)
        rc = drain_copy_tables(d, true);
    if (rc == 0 && atomic_load(&h->dropped_unthreaded) > 0)
        rc = drain_add_loss(d, RT_LOSS_UNTHREADED, -1, atomic_load(&h->dropped_unthreaded));
    if (rc == 0 && atomic_load(&h->strings_lost) > 0)
        rc = drain_add_loss(d, RT_LOSS_STRINGS, -1, atomic_load(&h->strings_lost));
    if (rc == 0 && d->values != NULL) {
        rc = values_process(d->values, true);
        values_save(d->values, true);
    }
    if (rc == 0 && d->damaged_chunks > 0)
        rc = drain_add_loss(d, RT_LOSS_CHUNKS, -1, d->damaged_chunks);
    return rc;
}
