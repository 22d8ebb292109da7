/* SPDX-License-Identifier: BSD-3-Clause
 * Opens rank files: a child process reads them, this process holds the rows. */
#include "writer/read/reader.h"

#include "base/identity.h"
#include "base/search.h"
#include "base/toolkit/array.h"
#include "writer/claim.h"
#include "writer/file/rankfile.h"
#include "writer/perf_map_copy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ROWS (1u << 20)

struct socket_pair {
    char *key, *value;
};

struct rt_rank {
    struct reader_link link;
    char *path;
    struct reader_info raw;
    struct rt_rank_info info;
    struct rt_rank_tables tables;
    void *rows[SCHEMA_TABLES];
    uint64_t counts[SCHEMA_TABLES];
    char *texts; /* all strings, terminated */
    struct {
        uint32_t id;
        const char *text;
    } * strings;
    size_t string_count;
    struct socket_pair *metadata;
    size_t metadata_count, metadata_room;
    bool metadata_left_out; /* no memory */
    struct clock_map map;
};

static int receive(struct rt_rank *r, struct rt_error *e)
{
    for (;;) {
        struct reader_message m;
        void *payload;
        int rc = reader_link_take(&r->link, &m, &payload, e);
        if (rc != 0)
            return rc;
        if (m.kind == READER_INFO && m.bytes == sizeof r->raw) {
            memcpy(&r->raw, payload, sizeof r->raw);
        } else if (m.kind < SCHEMA_TABLES && r->rows[m.kind] == NULL) {
            r->rows[m.kind] = payload;
            r->counts[m.kind] = m.bytes / schema_tables[m.kind].row_bytes;
            continue; /* r->rows holds the payload */
        }
        free(payload);
        if (m.kind == READER_READY)
            return 0;
    }
}

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b; /* the id is the first member */
    return x < y ? -1 : x > y;
}

static int build_strings(struct rt_rank *r)
{
    const struct rt_string_row *index = r->rows[SCHEMA_STRING_INDEX];
    const char *heap = r->rows[SCHEMA_STRINGS];
    uint64_t n = r->counts[SCHEMA_STRING_INDEX], bytes = r->counts[SCHEMA_STRINGS], need = 0;
    for (uint64_t i = 0; i < n; i++)
        if (index[i].offset <= bytes && index[i].length <= bytes - index[i].offset)
            need += index[i].length + 1u;
    r->texts = malloc(need + 1);
    r->strings = malloc((n + 1) * sizeof *r->strings);
    if (r->texts == NULL || r->strings == NULL)
        return -ENOMEM;
    char *at = r->texts;
    for (uint64_t i = 0; i < n; i++) {
        if (index[i].offset > bytes || index[i].length > bytes - index[i].offset)
            continue; /* damaged: the id stays unknown */
        memcpy(at, heap + index[i].offset, index[i].length);
        at[index[i].length] = '\0';
        r->strings[r->string_count].id = index[i].id;
        r->strings[r->string_count++].text = at;
        at += index[i].length + 1u;
    }
    qsort(r->strings, r->string_count, sizeof *r->strings, by_id);
    return 0;
}

static void keep_pair(void *context, const char *key, const char *value)
{
    struct rt_rank *r = context;
    struct socket_pair *grown =
        array_grown(r->metadata, r->metadata_count, &r->metadata_room, sizeof *grown);
    if (grown == NULL) {
        r->metadata_left_out = true;
        return;
    }
    r->metadata = grown;
    struct socket_pair p = {strdup(key), strdup(value)};
    r->metadata_left_out |= p.key == NULL || p.value == NULL;
    r->metadata[r->metadata_count++] = p;
}

static enum rt_file_state state_of(const struct reader_info *i)
{
    char host[65], boot_id[40];
    struct claim c = {.writer_pid = i->writer_pid, .writer_start_time = i->writer_start_time};
    if (strcmp(i->state, "closed") == 0)
        return RT_FILE_CLOSED;
    if (strcmp(i->state, "recovered") == 0)
        return RT_FILE_RECOVERED;
    claim_this_host(host, boot_id);
    (void)snprintf(c.host, sizeof c.host, "%.64s", i->host);
    memcpy(c.boot_id, i->boot_id, sizeof c.boot_id);
    c.boot_id[sizeof c.boot_id - 1] = '\0';
    return claim_writer_lives(&c, host, boot_id) == 0 ? RT_FILE_ABANDONED : RT_FILE_LIVE;
}

/* The pid alone may be another process's by now. */
static bool process_lives(const struct reader_info *i)
{
    char host[65], boot_id[40];
    claim_this_host(host, boot_id);
    return strcmp(i->host, host) == 0 && strcmp(i->boot_id, boot_id) == 0 &&
           i->pid_start_time != 0 && identity_start_time(i->pid) == i->pid_start_time;
}

static void fill_info(struct rt_rank *r)
{
    const struct reader_info *i = &r->raw;
    const char *file = identity_base_name(r->path);
    const char *world = rt_rank_metadata(r, "world");
    int consumed = 0, rank = 0;
    bool is_main = sscanf(file, "rank-%d.h5%n", &rank, &consumed) == 1 && consumed > 0 &&
                   file[consumed] == '\0';
    enum rt_file_state state = state_of(i);
    r->info = (struct rt_rank_info){
        .file = file,
        .rank = i->rank,
        .size = i->size,
        .confirmed = i->confirmed != 0,
        .is_main = is_main,
        .world = world != NULL ? (uint32_t)strtoul(world, NULL, 10) : 0,
        .pid = i->pid,
        .process_lives = state == RT_FILE_LIVE && process_lives(i),
        .state = state,
        .host = i->host,
        .program = i->program,
        .end_reason = i->end_reason,
        .clock_source = i->clock_source,
        .nominal_ns_per_tick = i->nominal_ns_per_tick,
        .clock_offset_ns = i->clock_offset_ns,
        .clock_error_ns = i->clock_error_ns,
        .clock_drift = i->clock_drift,
        .fired_total = i->fired_total,
        .ignored_total = i->ignored_total,
        .event_count = i->event_count,
        .left_out = i->tail_left_out,
    };
}

static void fill_tables(struct rt_rank *r)
{
#define GIVE(field, count, table)                                                                  \
    r->tables.field = r->rows[table];                                                              \
    r->tables.count = (size_t)r->counts[table]
    GIVE(fired, fired_count, SCHEMA_FIRED);
    GIVE(windows, window_count, SCHEMA_WINDOWS);
    GIVE(threads, thread_count, SCHEMA_THREADS);
    GIVE(calibration, calibration_count, SCHEMA_CALIBRATION);
    GIVE(alarms, alarm_count, SCHEMA_ALARMS);
    GIVE(losses, loss_count, SCHEMA_LOSSES);
    GIVE(maps, map_count, SCHEMA_MAPS);
    GIVE(comms, comm_count, SCHEMA_COMMS);
    GIVE(functions, function_count, SCHEMA_FUNCTIONS);
    GIVE(pieces, piece_count, SCHEMA_PIECES);
    GIVE(paths, path_count, SCHEMA_PATHS);
    GIVE(mpi_profile, mpi_profile_count, SCHEMA_MPI_PROFILE);
    GIVE(mpi_profile_times, mpi_profile_time_count, SCHEMA_MPI_PROFILE_TIMES);
    GIVE(value_instructions, value_instruction_count, SCHEMA_VALUE_INSTRUCTIONS);
    GIVE(value_hot, value_hot_count, SCHEMA_VALUE_HOT);
    GIVE(value_threads, value_thread_count, SCHEMA_VALUE_THREADS);
#undef GIVE
    if (r->counts[SCHEMA_FUNCTIONS] > 0)
        qsort(r->rows[SCHEMA_FUNCTIONS], r->counts[SCHEMA_FUNCTIONS], sizeof(struct rt_function),
              by_id);
    if (r->counts[SCHEMA_PATHS] > 0)
        qsort(r->rows[SCHEMA_PATHS], r->counts[SCHEMA_PATHS], sizeof(struct rt_path), by_id);
    struct rt_function *functions = r->rows[SCHEMA_FUNCTIONS];
    for (uint64_t i = 0; i < r->counts[SCHEMA_FUNCTIONS]; i++) {
        functions[i].name[sizeof functions[i].name - 1] =
            functions[i].label[sizeof functions[i].label - 1] = '\0';
        functions[i].a[sizeof functions[i].a - 1] = functions[i].b[sizeof functions[i].b - 1] =
            '\0';
    }
    struct rt_value_instruction *instructions = r->rows[SCHEMA_VALUE_INSTRUCTIONS];
    for (uint64_t i = 0; i < r->counts[SCHEMA_VALUE_INSTRUCTIONS]; i++)
        instructions[i].code[sizeof instructions[i].code - 1] = '\0';
    struct rt_alarm *alarms = r->rows[SCHEMA_ALARMS];
    for (uint64_t i = 0; i < r->counts[SCHEMA_ALARMS]; i++) {
        alarms[i].event[sizeof alarms[i].event - 1] = alarms[i].type[sizeof alarms[i].type - 1] =
            '\0';
        alarms[i].text[sizeof alarms[i].text - 1] = '\0';
    }
}

static void make_map(struct rt_rank *r)
{
    static const struct rt_calibration none;
    const struct rt_calibration *c =
        r->tables.calibration_count > 0 ? r->tables.calibration : &none;
    const struct rt_calibration *last =
        r->tables.calibration_count > 0 ? c + r->tables.calibration_count - 1 : c;
    struct clock_point a = {c->ticks, c->monotonic_ns, c->realtime_ns, c->uncertainty};
    struct clock_point b = {last->ticks, last->monotonic_ns, last->realtime_ns, last->uncertainty};
    r->map = clock_map_make(&a, &b, r->raw.nominal_ns_per_tick);
}

static int open_once(struct rt_rank **rank, const char *path, struct rt_error *e)
{
    *rank = NULL;
    struct rt_rank *r = calloc(1, sizeof *r);
    if (r == NULL || (r->path = strdup(path)) == NULL) {
        free(r);
        rt_error_set(e, "out of memory");
        return -ENOMEM;
    }
    int rc = reader_link_start(&r->link, r->path, e);
    if (rc == 0)
        rc = receive(r, e);
    if (rc == 0)
        rc = build_strings(r);
    if (rc == 0 && r->rows[SCHEMA_METADATA] != NULL)
        rc = rankfile_each_metadata(r->rows[SCHEMA_METADATA], r->counts[SCHEMA_METADATA], keep_pair,
                                    r);
    if (rc == -ENOMEM || r->metadata_left_out) {
        rt_error_set(e, "%s: out of memory", path);
        rc = -ENOMEM;
    }
    if (rc != 0) {
        rt_rank_close(r);
        return rc;
    }
    fill_tables(r);
    fill_info(r);
    make_map(r);
    *rank = r;
    return 0;
}

int rt_rank_open_file(struct rt_rank **rank, const char *path, struct rt_error *e)
{
    int rc = open_once(rank, path, e);
    if (rc != 0 || (*rank)->info.state != RT_FILE_ABANDONED)
        return rc;
    /* The writer may have closed the file and ended after we read it. Read again: the file of a
     * dead writer does not change any more. */
    rt_rank_close(*rank);
    return open_once(rank, path, e);
}

void rt_rank_release(struct rt_rank *r)
{
    reader_link_stop(&r->link);
}

void rt_rank_close(struct rt_rank *r)
{
    if (r == NULL)
        return;
    int keep = errno;
    reader_link_stop(&r->link);
    for (int i = 0; i < SCHEMA_TABLES; i++)
        free(r->rows[i]);
    for (size_t i = 0; i < r->metadata_count; i++) {
        free(r->metadata[i].key);
        free(r->metadata[i].value);
    }
    free(r->metadata);
    free(r->texts);
    free(r->strings);
    free(r->path);
    free(r);
    errno = keep;
}

const struct rt_rank_info *rt_rank_info(const struct rt_rank *rank)
{
    return &rank->info;
}

const struct rt_rank_tables *rt_rank_tables(const struct rt_rank *rank)
{
    return &rank->tables;
}

const struct reader_info *rt_rank_raw_info(const struct rt_rank *rank)
{
    return &rank->raw;
}

const char *rt_rank_raw_metadata(const struct rt_rank *rank, size_t *bytes)
{
    *bytes = (size_t)rank->counts[SCHEMA_METADATA];
    return rank->rows[SCHEMA_METADATA];
}

const char *rt_rank_string_at(const struct rt_rank *rank, size_t i, uint32_t *id)
{
    if (i >= rank->string_count)
        return NULL;
    *id = rank->strings[i].id;
    return rank->strings[i].text;
}

const char *rt_rank_string(const struct rt_rank *rank, uint32_t id)
{
    if (id == 0)
        return "";
    size_t n;
    SEARCH_FIRST(n, rank->string_count, rank->strings[n].id < id);
    return n < rank->string_count && rank->strings[n].id == id ? rank->strings[n].text : "?";
}

const char *rt_rank_metadata(const struct rt_rank *rank, const char *key)
{
    for (size_t i = 0; i < rank->metadata_count; i++)
        if (rank->metadata[i].key != NULL && strcmp(rank->metadata[i].key, key) == 0)
            return rank->metadata[i].value;
    return NULL;
}

bool rt_rank_perf_map(const struct rt_rank *rank, char out[PATH_MAX])
{
    char dir[PATH_MAX] = ".";
    int n = (int)(rank->info.file - rank->path); /* of the folder, with the slash */
    if (n > 0 && snprintf(dir, sizeof dir, "%.*s", n, rank->path) != n)
        return false;
    return perf_map_path(out, PATH_MAX, dir, rank->info.host, rank->info.pid);
}

const char *rt_rank_function(const struct rt_rank *rank, uint32_t code, const char **label)
{
    const struct rt_function *f = NULL;
    if (rank->tables.function_count > 0)
        f = bsearch(&code, rank->tables.functions, rank->tables.function_count, sizeof *f, by_id);
    if (label != NULL)
        *label = f != NULL ? f->label : "";
    return f != NULL ? f->name : "?";
}

int rt_rank_read_events(struct rt_rank *rank, uint64_t first, size_t count, struct rt_event *out,
                        size_t *got, struct rt_error *e)
{
    uint64_t left = first < rank->info.event_count ? rank->info.event_count - first : 0;
    size_t some = 1, done = 0;
    *got = 0;
    count = count < BLOCK_ROWS ? count : BLOCK_ROWS;
    count = count < left ? count : (size_t)left;
    while (done < count && some > 0) {
        int rc = reader_link_read(&rank->link, first + done, count - done, out + done, &some, e);
        if (rc != 0)
            return rc;
        done += some;
    }
    *got = done;
    return 0;
}

int rt_rank_load_events(struct rt_rank *rank, struct rt_event **out, size_t *count,
                        struct rt_error *e)
{
    uint64_t total = rank->info.event_count;
    *out = NULL;
    *count = 0;
    struct rt_event *rows =
        total < SIZE_MAX / sizeof *rows ? malloc((total + 1) * sizeof *rows) : NULL;
    if (rows == NULL) {
        rt_error_set(e, "out of memory for %llu events of %s", (unsigned long long)total,
                     rank->path);
        return -ENOMEM;
    }
    uint64_t done = 0;
    while (done < total) {
        size_t got;
        int rc = rt_rank_read_events(rank, done, (size_t)(total - done), rows + done, &got, e);
        if (rc != 0 || got == 0) {
            free(rows);
            return rc != 0 ? rc : -EBADMSG;
        }
        done += got;
    }
    *out = rows;
    *count = (size_t)total;
    return 0;
}

int64_t rt_rank_ns(const struct rt_rank *rank, uint64_t ticks)
{
    int64_t ns = clock_map_ns(&rank->map, ticks);
    if (rank->info.clock_drift == 0) /* on rank 0's node: called for each event */
        return ns + rank->info.clock_offset_ns;
    double since_start = (double)(ns - (int64_t)rank->map.ns0);
    return ns + rank->info.clock_offset_ns + (int64_t)(since_start * rank->info.clock_drift);
}

double rt_rank_span_ns(const struct rt_rank *rank, uint64_t ticks)
{
    return (double)ticks * rank->map.ns_per_tick * (1.0 + rank->info.clock_drift);
}
