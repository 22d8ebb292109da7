/* SPDX-License-Identifier: BSD-3-Clause
 * The reader's child: opens the file, sends its facts and small tables, then serves blocks of
 * events. */
#include "writer/read/event_chunks.h"
#include "writer/read/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SWMR_READ_ATTEMPTS 16 /* the sleeps between them sum up to 0.1 ms */
#define ATTEMPTS 20           /* a live file may be read between two flushes */
#define DEFLATE_LIMIT 1100u   /* deflate cannot do better than 1032:1 */

struct child {
    int fd;
    struct rt_event *shared; /* shared with the parent */
    const char *path;
    hid_t file, events;
    struct chunks *chunks;   /* of events; NULL: HDF5 reads them all */
    bool live;               /* its writer may be writing now */
    bool has[SCHEMA_TABLES]; /* older files lack pieces; values only if they were profiled */
    /* Size of the file; rows in /events; rows in /events and the tail. */
    uint64_t file_bytes, stored, total;
    struct rt_tail_row *tail;
    size_t tail_rows;
    uint64_t tail_left_out;
    int rc;
    char error[1024];
};

static bool send_all(int fd, const void *data, uint64_t n)
{
    const char *at = data;
    while (n > 0) {
        ssize_t w = send(fd, at, n > (1u << 20) ? 1u << 20 : (size_t)n, MSG_NOSIGNAL);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return false;
        at += w;
        n -= (uint64_t)w;
    }
    return true;
}

static void send_message(int fd, uint32_t kind, int rc, const void *data, uint64_t bytes)
{
    struct reader_message m = {kind, rc, bytes};
    if (!send_all(fd, &m, sizeof m) || !send_all(fd, data, bytes))
        _exit(1);
}

__attribute__((format(printf, 3, 4))) static int failed(struct child *c, int rc, const char *format,
                                                        ...)
{
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(c->error, sizeof c->error, format, ap);
    va_end(ap);
    c->rc = rc;
    return rc;
}

/* Says why the file cannot be read. `errno` is ENOMEM where HDF5 or this file lacked memory. */
static int damaged(struct child *c, const char *what)
{
    if (errno == ENOMEM)
        return failed(c, -ENOMEM, "cannot read %s: no memory", c->path);
    return failed(
        c, -EBADMSG,
        "%s is damaged or cut (%s); `regtrace recover` helps where its writer was killed, "
        "otherwise copy the file again",
        c->path, what);
}

static int open_file(struct child *c)
{
    struct stat st;
    if (stat(c->path, &st) != 0)
        return failed(c, -errno, "cannot open %s: %s", c->path, strerror(errno));
    c->file_bytes = (uint64_t)st.st_size;
    errno = 0;
    int fd = open(c->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return failed(c, -errno, "cannot open %s: %s", c->path, strerror(errno));
    (void)close(fd);
    if (!S_ISREG(st.st_mode) || H5Fis_hdf5(c->path) <= 0)
        return failed(
            c, -EBADMSG,
            "%s is not an HDF5 file (or its beginning is damaged); give the folder of a run, or "
            "one of its rank-*.h5",
            c->path);
    c->file = H5Fopen(c->path, H5F_ACC_RDONLY, H5P_DEFAULT);
    c->live = c->file < 0;
    if (c->live) {
        /* By default HDF5 reads a part of the file with a wrong checksum 100 times, with sleeps
         * that double: a damaged file took half a minute. The caller tries again if a writer may be
         * at work. */
        hid_t access = H5Pcreate(H5P_FILE_ACCESS);
        if (access >= 0 && H5Pset_metadata_read_attempts(access, SWMR_READ_ATTEMPTS) >= 0)
            c->file = H5Fopen(c->path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access);
        if (access >= 0)
            (void)H5Pclose(access);
    }
    /* HDF5 opens a file by SWMR only while it is being written: the writer may have closed it since
     * the first attempt. */
    if (c->file < 0) {
        c->file = H5Fopen(c->path, H5F_ACC_RDONLY, H5P_DEFAULT);
        c->live = c->file < 0;
    }
    return c->file < 0 ? damaged(c, "HDF5 cannot open it") : 0;
}

/* Names the command that wrote a file of regtrace that is no rank file; NULL for a rank file. */
static const char *other_kind(hid_t f)
{
    if (H5Aexists(f, "rank") > 0)
        return NULL;
    return H5Aexists(f, "plugin") > 0 ? "the profile that `regtrace values -output`"
           : H5Lexists(f, "accesses", H5P_DEFAULT) > 0 ? "the accesses that `regtrace skel replay`"
           : H5Lexists(f, "channels", H5P_DEFAULT) > 0 ? "the channels that `regtrace emulate`"
                                                       : NULL;
}

/* Older files lack some attributes. True if HDF5 cannot tell: reading the attribute then fails. */
static bool has_attribute(hid_t file, const char *name)
{
    return H5Aexists(file, name) != 0;
}

static int read_info(struct child *c, struct reader_info *i)
{
    hid_t f = c->file;
    memset(i, 0, sizeof *i);
    if (schema_get_number(f, "schema_version", H5T_NATIVE_UINT32, &i->schema_version) != 0)
        return failed(c, -EPROTO, "%s is an HDF5 file, but not one of regtrace's rank files",
                      c->path);
    if (i->schema_version > RT_SCHEMA_VERSION)
        return failed(
            c, -EPROTO,
            "%s has schema version %u, this regtrace reads up to %u: use the newer regtrace",
            c->path, i->schema_version, RT_SCHEMA_VERSION);
    const char *other = other_kind(f);
    if (other != NULL)
        return failed(c, -EPROTO,
                      "%s has %s wrote: h5py and pandas read it; give regtrace the run's folder",
                      c->path, other);
    int bad =
        schema_get_number(f, "rank", H5T_NATIVE_INT32, &i->rank) |
        schema_get_number(f, "size", H5T_NATIVE_INT32, &i->size) |
        schema_get_number(f, "confirmed", H5T_NATIVE_INT32, &i->confirmed) |
        schema_get_number(f, "pid", H5T_NATIVE_UINT32, &i->pid) |
        schema_get_number(f, "clock_source", H5T_NATIVE_UINT32, &i->clock_source) |
        schema_get_number(f, "writer_pid", H5T_NATIVE_UINT32, &i->writer_pid) |
        schema_get_number(f, "writer_start_time", H5T_NATIVE_UINT64, &i->writer_start_time) |
        schema_get_number(f, "fired_total", H5T_NATIVE_UINT64, &i->fired_total) |
        schema_get_number(f, "ignored_total", H5T_NATIVE_UINT64, &i->ignored_total) |
        schema_get_number(f, "nominal_ns_per_tick", H5T_NATIVE_DOUBLE, &i->nominal_ns_per_tick) |
        schema_get_number(f, "clock_drift", H5T_NATIVE_DOUBLE, &i->clock_drift) |
        schema_get_number(f, "clock_offset_ns", H5T_NATIVE_INT64, &i->clock_offset_ns) |
        schema_get_number(f, "clock_error_ns", H5T_NATIVE_INT64, &i->clock_error_ns) |
        schema_get_text(f, "host", i->host, sizeof i->host) |
        schema_get_text(f, "state", i->state, sizeof i->state) |
        schema_get_text(f, "stream", i->stream, sizeof i->stream) |
        schema_get_text(f, "boot_id", i->boot_id, sizeof i->boot_id) |
        schema_get_text(f, "end_reason", i->end_reason, sizeof i->end_reason);
    if (has_attribute(f, "parent_pid"))
        bad |= schema_get_number(f, "parent_pid", H5T_NATIVE_UINT32, &i->parent_pid);
    if (has_attribute(f, "uid"))
        bad |= schema_get_number(f, "uid", H5T_NATIVE_UINT32, &i->uid);
    if (has_attribute(f, "pid_start_time"))
        bad |= schema_get_number(f, "pid_start_time", H5T_NATIVE_UINT64, &i->pid_start_time);
    if (has_attribute(f, "program"))
        bad |= schema_get_text(f, "program", i->program, sizeof i->program);
    i->swmr = c->live;
    return bad != 0 ? damaged(c, "its attributes") : 0;
}

static int64_t row_count(hid_t dataset)
{
    hsize_t n = 0;
    hid_t space = H5Dget_space(dataset);
    bool good = space >= 0 && H5Sget_simple_extent_ndims(space) == 1 &&
                H5Sget_simple_extent_dims(space, &n, NULL) == 1 && n < UINT64_C(1) << 48;
    if (space >= 0)
        (void)H5Sclose(space);
    return good ? (int64_t)n : -1;
}

static int read_rows(hid_t dataset, enum schema_table table, uint64_t first, uint64_t count,
                     void *out)
{
    hsize_t start = first, n = count;
    hid_t type = schema_memory_type(table);
    hid_t space = H5Dget_space(dataset), memory = H5Screate_simple(1, &n, NULL);
    herr_t bad = -1;
    if (type >= 0 && space >= 0 && memory >= 0 &&
        H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, NULL, &n, NULL) >= 0)
        bad = H5Dread(dataset, type, memory, space, H5P_DEFAULT, out);
    if (memory >= 0)
        (void)H5Sclose(memory);
    if (space >= 0)
        (void)H5Sclose(space);
    if (type >= 0)
        (void)H5Tclose(type);
    return bad < 0 ? -1 : 0;
}

/* Reads all rows of a small table into malloc'ed memory. */
static int read_table(struct child *c, enum schema_table table, void **out, uint64_t *rows)
{
    const struct schema_table_info *t = &schema_tables[table];
    hid_t dataset = H5Dopen2(c->file, t->name, H5P_DEFAULT);
    int64_t n = dataset < 0 ? -1 : row_count(dataset);
    *out = NULL;
    *rows = 0;
    int rc = 0;
    /* Most tables are not compressed, so more rows than the file has bytes for are damage. The rows
     * of a file have no padding: to count half of the C struct for each is generous. */
    uint64_t most = 2 * c->file_bytes * (table == SCHEMA_VALUE_HOT ? DEFLATE_LIMIT : 1) + 4096;
    if (n < 0 || (uint64_t)n * (t->row_bytes / 2 + 1) > most)
        rc = damaged(c, t->name);
    if (rc == 0 && n > 0) {
        *out = calloc((size_t)n, t->row_bytes);
        if (*out == NULL || read_rows(dataset, table, 0, (uint64_t)n, *out) != 0)
            rc = damaged(c, t->name);
        *rows = (uint64_t)n;
    }
    if (dataset >= 0)
        (void)H5Dclose(dataset);
    return rc;
}

/* Accepts the rows of older files, whose tails have no checks. */
static void trust_unchecked(const struct child *c, struct rt_tail_row *rows, uint64_t n)
{
    hid_t dataset = H5Dopen2(c->file, schema_tables[SCHEMA_TAIL].name, H5P_DEFAULT);
    hid_t type = dataset < 0 ? -1 : H5Dget_type(dataset);
    if (type >= 0 && H5Tget_class(type) == H5T_COMPOUND && H5Tget_member_index(type, "check") < 0)
        for (uint64_t i = 0; i < n; i++)
            rows[i].check = schema_tail_check(&rows[i]);
    if (type >= 0)
        (void)H5Tclose(type);
    if (dataset >= 0)
        (void)H5Dclose(dataset);
}

static int by_row(const void *a, const void *b)
{
    const struct rt_tail_row *x = a, *y = b;
    return x->row < y->row ? -1 : x->row > y->row;
}

/* Keeps the rows that follow those of /events without a gap, up to the first that is torn. Counts
 * the rows that would come from there on. */
static void choose_tail(struct child *c, uint64_t n)
{
    size_t kept = 0;
    uint64_t left_out = 0;
    for (uint64_t i = 0; i < n; i++) {
        bool whole = c->tail[i].check == schema_tail_check(&c->tail[i]);
        uint64_t next = c->stored + kept;
        if (c->tail[i].row == next && whole && left_out == 0)
            c->tail[kept++] = c->tail[i];
        else if (c->tail[i].row == next || (c->tail[i].row > next && whole))
            left_out++;
    }
    c->tail_rows = kept;
    c->tail_left_out = left_out;
    c->total = c->stored + kept;
}

/* Reads the tail before the length of /events: rows that moved in between are then found in
 * /events. */
static int find_extent(struct child *c, bool with_tail)
{
    void *rows = NULL;
    uint64_t n = 0;
    int rc = with_tail ? read_table(c, SCHEMA_TAIL, &rows, &n) : 0;
    if (rc != 0)
        return rc;
    c->tail = rows;
    c->events = H5Dopen2(c->file, schema_tables[SCHEMA_EVENTS].name, H5P_DEFAULT);
    int64_t stored = -1;
    if (c->events >= 0 && (!c->live || H5Drefresh(c->events) >= 0))
        stored = row_count(c->events);
    if (stored < 0 || (uint64_t)stored > c->file_bytes * DEFLATE_LIMIT + SCHEMA_EVENT_CHUNK)
        return damaged(c, "events");
    c->stored = (uint64_t)stored;
    if (n > 0) {
        trust_unchecked(c, c->tail, n);
        qsort(c->tail, n, sizeof *c->tail, by_row);
    }
    choose_tail(c, n);
    return 0;
}

/* Removes derived rows whose events are not there yet: the writer writes derived rows before the
 * rows of /events to which they belong. Returns the number of rows that stay. */
static uint64_t trim_rows(const struct child *c, enum schema_table table, char *rows, uint64_t n)
{
    const struct schema_table_info *t = &schema_tables[table];
    if (t->row_offset == SIZE_MAX)
        return n;
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row;
        memcpy(&row, rows + i * t->row_bytes + t->row_offset, sizeof row);
        if (row < c->total)
            memmove(rows + kept++ * t->row_bytes, rows + i * t->row_bytes, t->row_bytes);
    }
    if (table == SCHEMA_WINDOWS)
        for (uint64_t i = 0; i < kept; i++) {
            struct rt_window *w = (struct rt_window *)(void *)rows + i;
            /* The window is not closed yet, or its end is half written. (A window that was cut off
             * has no close_row.) */
            if (w->close_row >= c->total && !(w->close_row == RT_NO_ROW && w->truncated)) {
                w->close_row = RT_NO_ROW;
                w->stop_clock = w->stop_late = 0;
                w->stop_icount = w->stop_requested = RT_NULL;
                w->stop_alarm = RT_NO_ALARM;
                w->reason = RT_WINDOW_OPEN;
                w->truncated = 0;
            }
        }
    return kept;
}

static const enum schema_table sent[] = {SCHEMA_FIRED,
                                         SCHEMA_WINDOWS,
                                         SCHEMA_THREADS,
                                         SCHEMA_STRINGS,
                                         SCHEMA_STRING_INDEX,
                                         SCHEMA_COMMS,
                                         SCHEMA_CALIBRATION,
                                         SCHEMA_ALARMS,
                                         SCHEMA_LOSSES,
                                         SCHEMA_MAPS,
                                         SCHEMA_FUNCTIONS,
                                         SCHEMA_METADATA,
                                         SCHEMA_PIECES,
                                         SCHEMA_PATHS,
                                         SCHEMA_MPI_PROFILE,
                                         SCHEMA_MPI_PROFILE_TIMES,
                                         SCHEMA_VALUE_INSTRUCTIONS,
                                         SCHEMA_VALUE_HOT,
                                         SCHEMA_VALUE_THREADS};
#define SENT (sizeof sent / sizeof sent[0])

static int load(struct child *c, struct reader_info *info, void *tables[SENT], uint64_t rows[SENT])
{
    int rc = open_file(c);
    if (rc == 0)
        rc = read_info(c, info);
    if (rc == 0)
        rc = find_extent(c, strcmp(info->state, "open") == 0);
    for (size_t i = 0; i < SENT && rc == 0; i++) {
        htri_t there = sent[i] < SCHEMA_PIECES
                           ? 1
                           : H5Lexists(c->file, schema_tables[sent[i]].name, H5P_DEFAULT);
        c->has[sent[i]] = there > 0;
        if (there == 0)
            continue;
        rc = there < 0 ? damaged(c, schema_tables[sent[i]].name)
                       : read_table(c, sent[i], &tables[i], &rows[i]);
        if (rc == 0)
            rows[i] = trim_rows(c, sent[i], tables[i], rows[i]);
    }
    if (rc == 0) {
        info->event_count = c->total;
        info->tail_left_out = c->tail_left_out;
    }
    return rc;
}

static void unload(struct child *c, void *tables[SENT])
{
    for (size_t i = 0; i < SENT; i++) {
        free(tables[i]);
        tables[i] = NULL;
    }
    free(c->tail);
    c->tail = NULL;
    if (c->events >= 0)
        (void)H5Dclose(c->events);
    if (c->file >= 0)
        (void)H5Fclose(c->file);
    c->file = c->events = -1;
}

static int copy_events(struct child *c, uint64_t first, uint64_t count, struct rt_event *out)
{
    uint64_t from_file = first >= c->stored ? 0 : c->stored - first;
    from_file = from_file < count ? from_file : count;
    if (from_file > 0 && (c->chunks == NULL || !chunks_read(c->chunks, first, from_file, out)) &&
        read_rows(c->events, SCHEMA_EVENTS, first, from_file, out) != 0)
        return damaged(c, "events");
    for (uint64_t i = from_file; i < count; i++)
        out[i] = c->tail[first + i - c->stored].event;
    return 0;
}

static void serve(struct child *c, const struct reader_request *r)
{
    uint64_t count = r->first >= c->total ? 0 : c->total - r->first;
    count = count < r->count ? count : r->count;
    count = count < READER_SHARED ? count : READER_SHARED;
    /* Rows of a live file do not move between two requests: each chunk of /events is written
     * once. */
    if (copy_events(c, r->first, count, c->shared) != 0)
        send_message(c->fd, READER_ERROR, c->rc, c->error, strlen(c->error));
    else
        send_message(c->fd, READER_ROWS, 0, &count, sizeof count);
}

#define BOUND_SECONDS 2 /* for a small file, which needs milliseconds */
#define BOUND_RATE                                                                                 \
    (UINT64_C(4) << 20) /* bytes of the file per second: several times slower than any disk */

void reader_child_bound(uint64_t file_bytes)
{
    uint64_t seconds = BOUND_SECONDS + file_bytes / BOUND_RATE;
    struct itimerval bound = {.it_value.tv_sec = (time_t)seconds};
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGPROF);
    (void)signal(SIGPROF, SIG_DFL);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL);
    (void)setitimer(ITIMER_PROF, &bound, NULL);
}

static void be_harmless(int fd)
{
    struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    static const int fatal[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGINT, SIGTERM};
    for (size_t i = 0; i < sizeof fatal / sizeof fatal[0]; i++)
        (void)signal(fatal[i], SIG_DFL);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i <= 2 && null >= 0; i++)
        if (i != fd)
            (void)dup2(null, i);
}

void reader_child_run(int fd, struct rt_event *shared, const char *path)
{
    struct child c = {.fd = fd, .shared = shared, .path = path, .file = -1, .events = -1};
    struct reader_info info;
    void *tables[SENT] = {0};
    uint64_t rows[SENT] = {0};
    struct stat st = {.st_size = 0};
    int rc = 0;
    be_harmless(fd);
    (void)stat(path, &st); /* open_file() reports an error */
    reader_child_bound((uint64_t)st.st_size);
    if (schema_start_hdf5(NULL) != 0)
        rc = failed(&c, -ENOMEM, "cannot read %s: no memory to start the HDF5 library", path);
    for (int i = 0; rc == 0 && i < ATTEMPTS; i++) {
        rc = load(&c, &info, tables, rows);
        if (rc == 0 || !c.live)
            break;
        unload(&c, tables);
        struct timespec ts = {.tv_nsec = 20000000};
        (void)nanosleep(&ts, NULL);
    }
    if (rc != 0) {
        send_message(fd, READER_ERROR, rc, c.error, strlen(c.error));
        _exit(0);
    }
    send_message(fd, READER_INFO, 0, &info, sizeof info);
    for (size_t i = 0; i < SENT; i++) {
        if (c.has[sent[i]])
            send_message(fd, (uint32_t)sent[i], 0, tables[i],
                         rows[i] * schema_tables[sent[i]].row_bytes);
        free(tables[i]);
    }
    send_message(fd, READER_READY, 0, NULL, 0);
    c.chunks = c.live ? NULL : chunks_open(c.events);
    struct reader_request request;
    while (recv(fd, &request, sizeof request, MSG_WAITALL) == (ssize_t)sizeof request) {
        reader_child_bound(READER_SHARED * sizeof *shared);
        serve(&c, &request);
    }
    _exit(0);
}
