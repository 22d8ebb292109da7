/* SPDX-License-Identifier: BSD-3-Clause
 * Fills in the attributes of a rank file from a stream's header and metadata. */
#include "writer/stream_facts.h"
#include "writer/read/reader.h"

#include "base/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void visit(void *context, const char *key, const char *value)
{
    struct stream_facts *f = context;
    if (strcmp(key, "host") == 0)
        (void)snprintf(f->host, sizeof f->host, "%s", value);
    else if (strcmp(key, "boot_id") == 0)
        (void)snprintf(f->boot_id, sizeof f->boot_id, "%s", value);
    else if (strcmp(key, "program") == 0)
        (void)snprintf(f->program, sizeof f->program, "%s", value);
    else if (strcmp(key, "job") == 0)
        (void)snprintf(f->job, sizeof f->job, "%s", value);
    else if (strcmp(key, "values") == 0)
        (void)snprintf(f->values, sizeof f->values, "%s", value);
    else if (strcmp(key, "option.compress") == 0)
        f->deflate = (unsigned)strtoul(value, NULL, 10);
    else if (strcmp(key, "option.max_size") == 0)
        f->max_bytes = strtoull(value, NULL, 10);
    else if (strcmp(key, "world") == 0)
        f->world = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "ctl.signal") == 0)
        f->signal_number = (int)strtol(value, NULL, 10);
}

static void find_path(struct stream_facts *f, int fd)
{
    char link[64];
    struct stat mine, there;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, f->stream_path, sizeof f->stream_path - 1);
    f->stream_path[n > 0 ? n : 0] = '\0';
    if (n <= 0 || fstat(fd, &mine) != 0 || stat(f->stream_path, &there) != 0 ||
        mine.st_ino != there.st_ino || mine.st_dev != there.st_dev)
        f->stream_path[0] = '\0';
}

int stream_facts_read(struct stream_facts *f, const struct drain *d)
{
    uint32_t bytes;
    *f = (struct stream_facts){.deflate = 1};
    const char *text = drain_metadata(d, &bytes);
    int rc = rankfile_each_metadata(text, bytes, visit, f);
    if (f->deflate > 9)
        f->deflate = 9;
    find_path(f, d->stream->fd);
    return rc;
}

void stream_facts_claim(struct claim *c, const struct stream_facts *f, const struct stream *s,
                        const char *dir)
{
    struct stream_header *h = s->header;
    *c = (struct claim){.rank = atomic_load(&h->rank),
                        .size = atomic_load(&h->size),
                        .pid = h->pid,
                        .pid_start_time = h->pid_start_time,
                        .mpi = atomic_load(&h->mpi_state) != STREAM_MPI_NONE,
                        .world = f->world,
                        .child = (h->flags & STREAM_FLAG_CHILD) != 0};
    claim_this_host(c->host, c->boot_id);
    memcpy(c->program, f->program, sizeof c->program);
    memcpy(c->stream, f->stream_path, sizeof c->stream);
    (void)snprintf(c->dir, sizeof c->dir, "%s", dir);
}

void stream_facts_identity(struct rankfile_identity *id, const struct stream_facts *f,
                           const struct stream *s)
{
    struct stream_header *h = s->header;
    *id = (struct rankfile_identity){
        .rank = atomic_load(&h->rank),
        .size = atomic_load(&h->size),
        .confirmed = (int32_t)atomic_load(&h->rank_confirmed),
        .pid = h->pid,
        .parent_pid = h->parent_pid,
        .uid = h->uid,
        .pid_start_time = h->pid_start_time,
        .clock_source = h->clock_source,
        .nominal_ns_per_tick = h->nominal_ns_per_tick,
        .clock_drift = h->clock_drift,
        .clock_offset_ns = atomic_load(&h->clock_offset_ns),
        .clock_error_ns = atomic_load(&h->clock_error_ns),
        .fired_total = atomic_load(&h->fired_total),
        .ignored_total = atomic_load(&h->ignored_total),
        .windows_opened = atomic_load(&h->windows_opened),
        .writer_pid = (uint32_t)getpid(),
        .writer_start_time = identity_start_time((uint32_t)getpid()),
        .host = f->host,
        .boot_id = f->boot_id,
        .stream = f->stream_path,
    };
}

void rank_identity(struct rankfile_identity *id, const struct rt_rank *old)
{
    const struct reader_info *i = rt_rank_raw_info(old);
    *id = (struct rankfile_identity){
        .rank = i->rank,
        .size = i->size,
        .confirmed = i->confirmed,
        .pid = i->pid,
        .parent_pid = i->parent_pid,
        .uid = i->uid,
        .pid_start_time = i->pid_start_time,
        .clock_source = i->clock_source,
        .nominal_ns_per_tick = i->nominal_ns_per_tick,
        .clock_drift = i->clock_drift,
        .clock_offset_ns = i->clock_offset_ns,
        .clock_error_ns = i->clock_error_ns,
        .fired_total = i->fired_total,
        .ignored_total = i->ignored_total,
        .host = i->host,
        .boot_id = i->boot_id,
        .stream = i->stream,
    };
}
