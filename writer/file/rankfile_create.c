/* SPDX-License-Identifier: BSD-3-Clause
 * Creates a rank file: attributes, datasets, alarms and functions, all before SWMR writing
 * starts. */
#include "writer/file/rankfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "unknown"
#endif

#define MPI_FUNCTION_LIMIT 512

struct creation {
    struct rankfile *f;
    int rc;
};

static int put_u32(hid_t file, const char *name, uint32_t v)
{
    return schema_put_number(file, name, H5T_NATIVE_UINT32, &v);
}
static int put_i32(hid_t file, const char *name, int32_t v)
{
    return schema_put_number(file, name, H5T_NATIVE_INT32, &v);
}
static int put_u64(hid_t file, const char *name, uint64_t v)
{
    return schema_put_number(file, name, H5T_NATIVE_UINT64, &v);
}
static int put_i64(hid_t file, const char *name, int64_t v)
{
    return schema_put_number(file, name, H5T_NATIVE_INT64, &v);
}

int rankfile_update(struct rankfile *f, const struct rankfile_identity *id)
{
    int bad = put_i32(f->file, "rank", id->rank) | put_i32(f->file, "size", id->size) |
              put_i32(f->file, "confirmed", id->confirmed) |
              put_i64(f->file, "clock_offset_ns", id->clock_offset_ns) |
              put_i64(f->file, "clock_error_ns", id->clock_error_ns) |
              schema_put_number(f->file, "clock_drift", H5T_NATIVE_DOUBLE, &id->clock_drift) |
              put_u64(f->file, "fired_total", id->fired_total) |
              put_u64(f->file, "ignored_total", id->ignored_total) |
              put_u32(f->file, "windows_opened", id->windows_opened);
    return bad != 0 ? -EIO : 0;
}

static int put_identity(struct rankfile *f, const struct rankfile_identity *id)
{
    hid_t file = f->file;
    int bad = put_u32(file, "schema_version", RT_SCHEMA_VERSION) |
              schema_put_text(file, "regtrace_version", PACKAGE_VERSION, 0) |
              schema_put_text(file, "host", id->host, 0) |
              schema_put_text(file, "boot_id", id->boot_id, 0) |
              schema_put_text(file, "stream", id->stream, 0) | put_u32(file, "pid", id->pid) |
              put_u32(file, "parent_pid", id->parent_pid) | put_u32(file, "uid", id->uid) |
              put_u64(file, "pid_start_time", id->pid_start_time) |
              put_u32(file, "clock_source", id->clock_source) |
              schema_put_number(file, "nominal_ns_per_tick", H5T_NATIVE_DOUBLE,
                                &id->nominal_ns_per_tick) |
              put_u32(file, "writer_pid", id->writer_pid) |
              put_u64(file, "writer_start_time", id->writer_start_time) |
              schema_put_text(file, "state", "open", SCHEMA_STATE_WIDTH) |
              schema_put_text(file, "end_reason", "", SCHEMA_REASON_WIDTH);
    return bad != 0 ? -EIO : rankfile_update(f, id);
}

/* Copies one field, up to `stop`, and undoes the escapes of base/format/stream_text.c. Returns
 * where the next field begins. */
static const char *take_field(const char *from, const char *end, char stop, char *to)
{
    while (from < end && *from != stop) {
        char c = *from++;
        if (c == '\\' && from < end) {
            c = *from++;
            c = (char)(c == 'n' ? '\n' : c == 'e' ? '=' : c);
        }
        if (c != '\0')
            *to++ = c;
    }
    *to = '\0';
    return from < end ? from + 1 : end;
}

int rankfile_each_metadata(const char *text, size_t bytes,
                           void (*visit)(void *context, const char *key, const char *value),
                           void *context)
{
    char *key = malloc(bytes + 1), *value = malloc(bytes + 1);
    const char *at = text, *end = text + bytes;
    bool memory = key != NULL && value != NULL;
    while (memory && at < end) {
        at = take_field(at, end, '=', key);
        at = take_field(at, end, '\n', value);
        visit(context, key, value);
    }
    free(key);
    free(value);
    return memory ? 0 : -ENOMEM;
}

/* Parses "chain TAB position TAB event TAB type TAB text". */
static void add_alarm(struct creation *c, const char *number, const char *value)
{
    struct rt_alarm row = {.alarm = (int32_t)strtol(number, NULL, 10), .chain = -1};
    char *copy = strdup(value);
    char *rest = copy;
    char *fields[5] = {0};
    for (int i = 0; i < 5 && rest != NULL; i++)
        fields[i] = i < 4 ? strsep(&rest, "\t") : rest;
    if (fields[0] != NULL)
        row.chain = (int32_t)strtol(fields[0], NULL, 10);
    if (fields[1] != NULL)
        row.position = (int32_t)strtol(fields[1], NULL, 10);
    if (fields[2] != NULL)
        (void)snprintf(row.event, sizeof row.event, "%s", fields[2]);
    if (fields[3] != NULL)
        (void)snprintf(row.type, sizeof row.type, "%s", fields[3]);
    if (fields[4] != NULL)
        (void)snprintf(row.text, sizeof row.text, "%s", fields[4]);
    free(copy);
    if (table_append(&c->f->tables[SCHEMA_ALARMS], &row, 1) != 0)
        c->rc = -ENOMEM;
}

int rankfile_add_mpi_function(struct rankfile *f, uint32_t number)
{
    if (number >= RANKFILE_MPI_FUNCTIONS || f->mpi_known[number])
        return 0;
    const char *name = event_mpi_name(number);
    struct rt_function rows[2] = {
        {.code = EVENT_MPI_ENTER(number),
         .label = "enter",
         .a = "peer (i32) | tag (i32) << 32",
         .b = "bytes (48 bits) | comm id << 48"},
        {.code = EVENT_MPI_LEAVE(number),
         .label = "leave",
         .a = "request, 0 = none",
         .b = "as the enter's b where that lacks something, else 0"},
    };
    for (int i = 0; i < 2; i++)
        (void)snprintf(rows[i].name, sizeof rows[i].name, "%s",
                       name != NULL ? name : "MPI function unknown here");
    f->mpi_known[number] = true;
    return table_append(&f->tables[SCHEMA_FUNCTIONS], rows, 2);
}

static bool key_may_be_attribute(const char *key, const char *value)
{
    size_t n = strlen(key);
    return n > 0 && n < 64 && strlen(value) < 60000 && strchr(key, '/') == NULL;
}

static void visit_metadata(void *context, const char *key, const char *value)
{
    struct creation *c = context;
    if (strncmp(key, "alarm.", 6) == 0)
        add_alarm(c, key + 6, value);
    else if (key_may_be_attribute(key, value) && H5Aexists(c->f->file, key) == 0 &&
             schema_put_text(c->f->file, key, value, 0) != 0)
        c->rc = -EIO;
}

static int add_own_functions(struct rankfile *f)
{
    for (const struct event_text *t = event_table; t->code != 0; t++) {
        struct rt_function row = {.code = t->code};
        (void)snprintf(row.name, sizeof row.name, "%s", t->name);
        (void)snprintf(row.label, sizeof row.label, "%s", t->label);
        (void)snprintf(row.a, sizeof row.a, "%s", t->a);
        (void)snprintf(row.b, sizeof row.b, "%s", t->b);
        if (table_append(&f->tables[SCHEMA_FUNCTIONS], &row, 1) != 0)
            return -ENOMEM;
    }
    return 0;
}

/* Tables that only some runs have. */
struct optional_tables {
    bool values, profile;
};

static void find_optional(void *context, const char *key, const char *value)
{
    struct optional_tables *with = context;
    with->values |= strcmp(key, "values") == 0 && value[0] != '\0';
    with->profile |= strcmp(key, "option.mode") == 0 && strcmp(value, "profile") == 0;
}

static bool has_table(const struct optional_tables *with, int table)
{
    if (table >= SCHEMA_VALUE_INSTRUCTIONS)
        return with->values;
    return table < SCHEMA_MPI_PROFILE || with->profile;
}

static int fill(struct rankfile *f, const struct rankfile_identity *id, const char *metadata,
                size_t bytes, unsigned deflate)
{
    struct creation c = {.f = f};
    struct optional_tables with = {0};
    int rc = rankfile_each_metadata(metadata, bytes, find_optional, &with);
    if (rc != 0)
        return rc;
    for (int i = 0; i < SCHEMA_TABLES; i++) {
        if (!has_table(&with, i))
            continue;
        rc = table_create(&f->tables[i], f->file, (enum schema_table)i, deflate);
        if (rc != 0)
            return rc;
    }
    rc = put_identity(f, id);
    if (rc == 0)
        rc = add_own_functions(f);
    if (rc == 0)
        rc = rankfile_each_metadata(metadata, bytes, visit_metadata, &c);
    if (rc == 0)
        rc = c.rc;
    if (rc == 0)
        rc = table_append(&f->tables[SCHEMA_METADATA], metadata, bytes);
    if (rc == 0)
        rc = table_flush(&f->tables[SCHEMA_ALARMS]);
    if (rc == 0)
        rc = table_flush(&f->tables[SCHEMA_FUNCTIONS]);
    if (rc == 0)
        rc = table_flush(&f->tables[SCHEMA_METADATA]);
    return rc;
}

int rankfile_create(struct rankfile *f, const char *path, const struct rankfile_identity *identity,
                    const char *metadata, size_t metadata_bytes, unsigned deflate, bool swmr,
                    struct rt_error *e)
{
    *f = (struct rankfile){.file = -1, .fd = -1, .swmr = swmr, .deflate = deflate};
    errno = 0;
    hid_t access = schema_file_access();
    f->file = access < 0 ? -1 : H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    if (access >= 0)
        (void)H5Pclose(access);
    int rc = f->file < 0 ? (errno != 0 ? -errno : -EIO) : 0;
    if (rc == 0)
        rc = fill(f, identity, metadata, metadata_bytes, deflate);
    if (rc == 0 && swmr && H5Fstart_swmr_write(f->file) < 0)
        rc = errno != 0 ? -errno : -EIO;
    if (rc == 0 && (f->fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
        rc = -errno;
    if (rc != 0)
        rt_error_set(e, "cannot create %s: %s", path, strerror(-rc));
    return rc;
}
