/* SPDX-License-Identifier: BSD-3-Clause
 * Builds regtrace.h5, which joins all rank files of a run by external links and virtual
 * datasets. */
#include "writer/claim.h"
#include "writer/file/schema.h"

#include "base/toolkit/array.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

/* The virtual datasets: each joins the same dataset of all complete files, in the order of
 * /ranks. */
static const enum schema_table joined[] = {SCHEMA_EVENTS, SCHEMA_FIRED, SCHEMA_WINDOWS,
                                           SCHEMA_THREADS};
#define JOINED (sizeof joined / sizeof joined[0])

/* A row of /ranks. `first` and `count` say which rows of the virtual datasets are the file's;
 * `count` is 0 if the file is not complete. */
struct rank_row {
    int32_t rank, size;
    uint32_t pid, complete, main;
    uint32_t pad;
    uint64_t first[JOINED], count[JOINED];
    int64_t clock_offset_ns;
    double ns_per_tick;
    uint64_t clock_ticks0;
    int64_t clock_ns0;
    char file[80], state[16], host[64], program[64], end_reason[128];
};

#define ROW(member, kind)                                                                          \
    {                                                                                              \
#member, offsetof(struct rank_row, member), kind, 0                                        \
    }
#define ROW_TEXT(member)                                                                           \
    {                                                                                              \
#member, offsetof(struct rank_row, member), KIND_TEXT,                                     \
            sizeof(((struct rank_row *)0)->member)                                                 \
    }
#define ROW_AT(name, i)                                                                            \
    {"first_" name, offsetof(struct rank_row, first[i]), KIND_U64, 0},                             \
    {                                                                                              \
        "count_" name, offsetof(struct rank_row, count[i]), KIND_U64, 0                            \
    }
static const struct schema_field row_fields[] = {
    ROW(rank, KIND_I32),
    ROW(size, KIND_I32),
    ROW(pid, KIND_U32),
    ROW(complete, KIND_U32),
    ROW(main, KIND_U32),
    ROW_AT("events", 0),
    ROW_AT("fired", 1),
    ROW_AT("windows", 2),
    ROW_AT("threads", 3),
    ROW(clock_offset_ns, KIND_I64),
    ROW(clock_ticks0, KIND_U64),
    ROW(clock_ns0, KIND_I64),
    ROW_TEXT(file),
    ROW_TEXT(state),
    ROW_TEXT(host),
    ROW_TEXT(program),
    ROW_TEXT(end_reason),
};

static const char *const state_words[] = {"live", "closed", "recovered", "abandoned"};

static uint64_t rows_of(const struct rt_rank *rank, enum schema_table table)
{
    const struct rt_rank_tables *t = rt_rank_tables(rank);
    switch (table) {
    case SCHEMA_EVENTS: return rt_rank_info(rank)->event_count;
    case SCHEMA_FIRED: return t->fired_count;
    case SCHEMA_WINDOWS: return t->window_count;
    case SCHEMA_THREADS: return t->thread_count;
    default: return 0;
    }
}

/* Notes that the writers made when they closed their files, sorted by file name. */
struct notes {
    struct claim *claims;
    size_t count, room;
};

static void keep_note(void *context, const struct claim *c)
{
    struct notes *n = context;
    if (c->state != CLAIM_CLOSED || c->summary.file_bytes == 0)
        return;
    struct claim *grown = array_grown(n->claims, n->count, &n->room, sizeof *grown);
    if (grown == NULL)
        return; /* describe_by_file() opens the file instead */
    n->claims = grown;
    n->claims[n->count++] = *c;
}

static int by_file(const void *a, const void *b)
{
    return strcmp(((const struct claim *)a)->file, ((const struct claim *)b)->file);
}

/* Returns the note about a file that has not changed since its writer closed it; NULL: open the
 * file. */
static const struct claim *find_note(const struct notes *n, const struct rt_run *run,
                                     const char *file)
{
    struct claim key = {.rank = 0};
    char path[PATH_MAX];
    struct stat st;
    (void)snprintf(key.file, sizeof key.file, "%s", file);
    const struct claim *c =
        n->count > 0 ? bsearch(&key, n->claims, n->count, sizeof *n->claims, by_file) : NULL;
    (void)snprintf(path, sizeof path, "%s/%s", rt_run_dir(run), file);
    if (c == NULL || stat(path, &st) != 0)
        return NULL;
    uint64_t mtime = (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
    bool same = (uint64_t)st.st_size == c->summary.file_bytes && mtime == c->summary.file_mtime_ns;
    return same ? c : NULL;
}

static void describe_by_note(struct rank_row *row, const struct claim *c)
{
    const uint64_t counts[JOINED] = {c->events, c->summary.fired, c->summary.windows,
                                     c->summary.threads};
    int rank = 0, end = 0;
    row->rank = c->rank < 0 ? 0 : c->rank;
    row->size = c->size;
    row->pid = c->pid;
    row->main =
        sscanf(c->file, "rank-%d.h5%n", &rank, &end) == 1 && end > 0 && c->file[end] == '\0';
    row->complete = 1;
    row->clock_offset_ns = c->summary.clock_offset_ns;
    row->clock_ticks0 = c->summary.clock_ticks0;
    row->clock_ns0 = c->summary.clock_ns0;
    row->ns_per_tick = c->summary.ns_per_tick;
    memcpy(row->count, counts, sizeof counts);
    (void)snprintf(row->state, sizeof row->state, "%s", state_words[RT_FILE_CLOSED]);
    (void)snprintf(row->host, sizeof row->host, "%.63s", c->host);
    (void)snprintf(row->program, sizeof row->program, "%s", c->program);
    (void)snprintf(row->end_reason, sizeof row->end_reason, "%s", c->summary.end_reason);
}

static void describe_by_file(struct rank_row *row, const struct rt_run *run, size_t i)
{
    struct rt_error e = {{0}};
    struct rt_rank *rank;
    if (rt_rank_open(&rank, run, i, &e) != 0) {
        (void)snprintf(row->state, sizeof row->state, "damaged");
        (void)sscanf(row->file, "rank-%d", &row->rank);
        return;
    }
    const struct rt_rank_info *info = rt_rank_info(rank);
    (void)snprintf(row->file, sizeof row->file, "%s", info->file); /* its name may have changed */
    row->rank = info->rank < 0 ? 0 : info->rank;
    row->size = info->size;
    row->pid = info->pid;
    row->main = info->is_main;
    row->complete = info->state == RT_FILE_CLOSED || info->state == RT_FILE_RECOVERED;
    row->clock_offset_ns = info->clock_offset_ns;
    if (rt_rank_tables(rank)->calibration_count > 0) {
        row->clock_ticks0 = rt_rank_tables(rank)->calibration[0].ticks;
        row->clock_ns0 = rt_rank_ns(rank, row->clock_ticks0);
    }
    row->ns_per_tick = rt_rank_span_ns(rank, 1u << 20) / (1u << 20);
    (void)snprintf(row->state, sizeof row->state, "%s", state_words[info->state]);
    (void)snprintf(row->host, sizeof row->host, "%s", info->host);
    (void)snprintf(row->program, sizeof row->program, "%s", info->program);
    (void)snprintf(row->end_reason, sizeof row->end_reason, "%s", info->end_reason);
    for (size_t k = 0; k < JOINED && row->complete; k++)
        row->count[k] = rows_of(rank, joined[k]);
    rt_rank_close(rank);
}

static void describe(struct rank_row *row, const struct rt_run *run, size_t i,
                     const struct notes *notes, uint64_t ends[JOINED])
{
    *row = (struct rank_row){.rank = -1, .size = -1};
    (void)snprintf(row->file, sizeof row->file, "%s", rt_run_file(run, i));
    const struct claim *note = find_note(notes, run, row->file);
    if (note != NULL)
        describe_by_note(row, note);
    else
        describe_by_file(row, run, i);
    for (size_t k = 0; k < JOINED; k++) {
        row->first[k] = ends[k];
        ends[k] += row->count[k];
    }
}

static hid_t row_type(void)
{
    hid_t type = schema_compound(sizeof(struct rank_row), row_fields,
                                 sizeof row_fields / sizeof row_fields[0]);
    if (type >= 0 && H5Tinsert(type, "ns_per_tick", offsetof(struct rank_row, ns_per_tick),
                               H5T_NATIVE_DOUBLE) < 0) {
        (void)H5Tclose(type);
        return -1;
    }
    return type;
}

static int put_ranks(hid_t file, const struct rank_row *rows, size_t count)
{
    hsize_t n = count;
    hid_t type = row_type(), packed = type < 0 ? -1 : H5Tcopy(type),
          space = H5Screate_simple(1, &n, NULL), dataset = -1;
    if (packed >= 0 && H5Tpack(packed) >= 0 && space >= 0)
        dataset = H5Dcreate2(file, "ranks", packed, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t bad = dataset < 0 ? -1 : H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, rows);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    if (space >= 0)
        (void)H5Sclose(space);
    if (packed >= 0)
        (void)H5Tclose(packed);
    if (type >= 0)
        (void)H5Tclose(type);
    return bad < 0 ? -1 : 0;
}

/* Links /rank/00003 to the root of rank-00003.h5, and /rank/00003.PID.N to the root of the file of
 * a further process of that rank. */
static int put_links(hid_t file, const struct rank_row *rows, size_t count)
{
    hid_t group = H5Gcreate2(file, "rank", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    herr_t bad = group < 0 ? -1 : 0;
    for (size_t i = 0; i < count && bad >= 0; i++) {
        char name[80];
        if (!rows[i].complete)
            continue;
        (void)snprintf(name, sizeof name, "%s", rows[i].file + strlen("rank-"));
        name[strlen(name) - strlen(".h5")] = '\0';
        bad = H5Lcreate_external(rows[i].file, "/", group, name, H5P_DEFAULT, H5P_DEFAULT);
    }
    if (group >= 0)
        (void)H5Gclose(group);
    return bad < 0 ? -1 : 0;
}

/* Links the results of `regtrace emulate`, if they exist. */
static int put_channels(hid_t file, const char *dir)
{
    static const char *const links[][2] = {{"/channels", "channels"},     {"/rows", "channel_rows"},
                                           {"/labels", "channel_labels"}, {"/messages", "messages"},
                                           {"/unmatched", "unmatched"},   {"/waits", "waits"}};
    char path[PATH_MAX];
    herr_t bad = 0;
    if (snprintf(path, sizeof path, "%s/channels.h5", dir) >= (int)sizeof path ||
        access(path, F_OK) != 0)
        return 0;
    for (size_t i = 0; bad >= 0 && i < sizeof links / sizeof links[0]; i++)
        bad = H5Lcreate_external("channels.h5", links[i][0], file, links[i][1], H5P_DEFAULT,
                                 H5P_DEFAULT);
    return bad < 0 ? -1 : 0;
}

static int add_source(hid_t list, hid_t space, const struct rank_row *row, size_t k)
{
    hsize_t start = row->first[k], n = row->count[k];
    if (n == 0)
        return 0;
    hid_t source = H5Screate_simple(1, &n, NULL);
    herr_t bad =
        source < 0 ? -1 : H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL);
    if (bad >= 0)
        bad = H5Pset_virtual(list, space, row->file, schema_tables[joined[k]].name, source);
    if (source >= 0)
        (void)H5Sclose(source);
    return bad < 0 ? -1 : 0;
}

static int put_joined(hid_t file, size_t k, const struct rank_row *rows, size_t count,
                      uint64_t total)
{
    hsize_t n = total;
    hid_t type = schema_memory_type(joined[k]), space = H5Screate_simple(1, &n, NULL);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    int rc = type < 0 || space < 0 || list < 0 || H5Tpack(type) < 0 ? -1 : 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = add_source(list, space, &rows[i], k);
    if (rc == 0)
        dataset = H5Dcreate2(file, schema_tables[joined[k]].name, type, space, H5P_DEFAULT, list,
                             H5P_DEFAULT);
    rc = dataset < 0 ? -1 : 0;
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    if (list >= 0)
        (void)H5Pclose(list);
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    return rc;
}

/* Writes the ranks of the job that have no complete file. */
static int put_missing(hid_t file, const struct rank_row *rows, size_t count)
{
    int32_t size = 0;
    for (size_t i = 0; i < count; i++)
        size = rows[i].size > size ? rows[i].size : size;
    if (size > 1 << 24)
        return 0; /* a damaged size */
    char *there = calloc((size_t)size + 1, 1);
    int32_t *missing = calloc((size_t)size + 1, sizeof *missing);
    hsize_t n = 0;
    if (there == NULL || missing == NULL) {
        free(there);
        free(missing);
        return -1;
    }
    for (size_t i = 0; i < count; i++)
        if (rows[i].rank >= 0 && rows[i].rank < size && rows[i].complete)
            there[rows[i].rank] = 1;
    for (int32_t r = 0; r < size; r++)
        if (!there[r])
            missing[n++] = r;
    hid_t space = H5Screate_simple(1, &n, NULL), dataset = -1;
    if (space >= 0)
        dataset = H5Dcreate2(file, "missing_ranks", H5T_NATIVE_INT32, space, H5P_DEFAULT,
                             H5P_DEFAULT, H5P_DEFAULT);
    herr_t bad = dataset < 0 ? -1
                 : n == 0
                     ? 0
                     : H5Dwrite(dataset, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, missing);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    if (space >= 0)
        (void)H5Sclose(space);
    free(there);
    free(missing);
    return bad < 0 ? -1 : 0;
}

static int write_index(const char *path, const char *dir, const struct rank_row *rows, size_t count,
                       const uint64_t ends[JOINED])
{
    uint32_t version = RT_SCHEMA_VERSION;
    hid_t access = schema_file_access();
    hid_t file = access < 0 ? -1 : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    int rc = file < 0 ? -1 : schema_put_number(file, "schema_version", H5T_NATIVE_UINT32, &version);
    if (rc == 0)
        rc = put_ranks(file, rows, count);
    if (rc == 0)
        rc = put_missing(file, rows, count);
    if (rc == 0)
        rc = put_links(file, rows, count);
    if (rc == 0)
        rc = put_channels(file, dir);
    for (size_t k = 0; k < JOINED && rc == 0; k++)
        rc = put_joined(file, k, rows, count, ends[k]);
    if (file >= 0 && H5Fclose(file) < 0)
        rc = -1;
    if (access >= 0)
        (void)H5Pclose(access);
    return rc == 0                                                                   ? 0
           : errno == ENOSPC || errno == EACCES || errno == EROFS || errno == EDQUOT ? -errno
                                                                                     : -EIO;
}

static int build(const struct rt_run *run, const char *dir, struct rt_error *e)
{
    char temporary[PATH_MAX], path[PATH_MAX];
    size_t count = rt_run_count(run);
    uint64_t ends[JOINED] = {0};
    struct rank_row *rows = calloc(count, sizeof *rows);
    if (rows == NULL) {
        rt_error_set(e, "out of memory");
        return -ENOMEM;
    }
    struct notes notes = {0};
    if (claim_each(dir, keep_note, &notes) == 0 && notes.count > 0)
        qsort(notes.claims, notes.count, sizeof *notes.claims, by_file);
    for (size_t i = 0; i < count; i++)
        describe(&rows[i], run, i, &notes, ends);
    free(notes.claims);
    (void)snprintf(path, sizeof path, "%s/regtrace.h5", dir);
    /* Copied rank files may have come without .regtrace/. */
    (void)snprintf(temporary, sizeof temporary, "%s/.regtrace", dir);
    const char *side = access(temporary, F_OK) == 0 ? "/.regtrace" : "";
    (void)snprintf(temporary, sizeof temporary, "%s%s/regtrace.h5.%d", dir, side, (int)getpid());
    errno = 0;
    int rc = write_index(temporary, dir, rows, count, ends);
    if (rc == 0 && rename(temporary, path) != 0)
        rc = -errno;
    if (rc != 0) {
        rt_error_set(e, "cannot write %s: %s", path, strerror(-rc));
        (void)unlink(temporary);
    }
    free(rows);
    return rc;
}

/* Lets only one process build the index at a time: the last builder has seen the most files.
 * Returns the locked descriptor; negative: no lock. */
static int lock_build(const char *dir)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/.regtrace/index.lock", dir) >= (int)sizeof path)
        return -1;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
        ;
    return fd;
}

int rt_index_build(const char *dir, struct rt_error *e)
{
    struct rt_run *run;
    int rc = schema_start_hdf5(e);
    if (rc != 0)
        return rc;
    int fd = lock_build(dir);
    rc = rt_run_open(&run, dir, e);
    if (rc == 0) {
        rc = build(run, dir, e);
        rt_run_close(run);
    }
    if (fd >= 0)
        (void)close(fd);
    return rc;
}
