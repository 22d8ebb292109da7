/* SPDX-License-Identifier: BSD-3-Clause
 * Writes the tables of a channels.h5 that say which calls of ranks belong together: messages, ends
 * without a partner, waits. */
#include "writer/file/channels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(row, member, kind)                                                                   \
    {                                                                                              \
#member, offsetof(struct row, member), kind, 0                                             \
    }
#define MESSAGE(member, kind) FIELD(rt_channels_message, member, kind)
#define UNMATCHED(member, kind) FIELD(rt_channels_unmatched, member, kind)
#define WAIT(member, kind) FIELD(rt_channels_wait, member, kind)

static const struct schema_field message_fields[] = {
    MESSAGE(send_ns, KIND_I64),     MESSAGE(sent_ns, KIND_I64),
    MESSAGE(receive_ns, KIND_I64),  MESSAGE(received_ns, KIND_I64),
    MESSAGE(bytes, KIND_U64),       MESSAGE(send_row, KIND_U32),
    MESSAGE(receive_row, KIND_U32), MESSAGE(sender, KIND_I32),
    MESSAGE(receiver, KIND_I32),    MESSAGE(tag, KIND_I32),
    MESSAGE(send_window, KIND_I32), MESSAGE(receive_window, KIND_I32)};
static const struct schema_field unmatched_fields[] = {
    UNMATCHED(time_ns, KIND_I64), UNMATCHED(bytes, KIND_U64),  UNMATCHED(row, KIND_U32),
    UNMATCHED(window, KIND_I32),  UNMATCHED(sender, KIND_I32), UNMATCHED(receiver, KIND_I32),
    UNMATCHED(tag, KIND_I32),     UNMATCHED(is_send, KIND_U8), UNMATCHED(reason, KIND_U8)};
static const struct schema_field wait_fields[] = {
    WAIT(begin_ns, KIND_I64), WAIT(wait_ns, KIND_I64),  WAIT(row, KIND_U32),
    WAIT(window, KIND_I32),   WAIT(rank, KIND_I32),     WAIT(for_rank, KIND_I32),
    WAIT(code, KIND_U32),     WAIT(path, KIND_U32),     WAIT(for_row, KIND_U32),
    WAIT(for_code, KIND_U32), WAIT(for_path, KIND_U32), WAIT(kind, KIND_U8)};

#define COUNT(fields) (sizeof(fields) / sizeof(fields)[0])
static const struct {
    const char *name;
    size_t row_bytes;
    const struct schema_field *fields;
    size_t count;
} kinds[CHANNELS_MATCHES] = {
    [CHANNELS_MESSAGES] = {"messages", sizeof(struct rt_channels_message), message_fields,
                           COUNT(message_fields)},
    [CHANNELS_UNMATCHED] = {"unmatched", sizeof(struct rt_channels_unmatched), unmatched_fields,
                            COUNT(unmatched_fields)},
    [CHANNELS_WAITS] = {"waits", sizeof(struct rt_channels_wait), wait_fields, COUNT(wait_fields)},
};

int channels_make_matches(hid_t file, const char *path, struct growing_table *tables,
                          struct rt_error *e)
{
    for (size_t i = 0; i < CHANNELS_MATCHES; i++) {
        struct growing_table *t = &tables[i];
        t->row_bytes = kinds[i].row_bytes;
        t->pending = calloc(CHANNELS_CHUNK, t->row_bytes);
        if (t->pending == NULL)
            return channels_no_memory(e);
        errno = 0;
        t->type = schema_compound(t->row_bytes, kinds[i].fields, kinds[i].count);
        hid_t packed = t->type < 0 ? -1 : H5Tcopy(t->type);
        if (packed >= 0 && H5Tpack(packed) >= 0)
            t->dataset = channels_make_dataset(file, kinds[i].name, packed);
        if (packed >= 0)
            (void)H5Tclose(packed);
        if (t->dataset < 0)
            return channels_failed(path, e);
    }
    return 0;
}

static int write_pending(struct growing_table *t, const char *path, struct rt_error *e)
{
    errno = 0;
    if (t->count > 0 && !channels_append(t->dataset, t->type, t->on_file, t->pending, t->count))
        return channels_failed(path, e);
    t->on_file += t->count;
    t->count = 0;
    return 0;
}

int channels_put_match(struct growing_table *t, const char *path, const void *row,
                       struct rt_error *e)
{
    int rc = t->count == CHANNELS_CHUNK ? write_pending(t, path, e) : 0;
    if (rc == 0)
        memcpy(t->pending + t->count++ * t->row_bytes, row, t->row_bytes);
    return rc;
}

int channels_finish_matches(struct growing_table *tables, const char *path,
                            const struct rt_channels_about *about, struct rt_error *e)
{
    const struct {
        int table;
        const char *name;
        const uint64_t *value;
    } numbers[] = {{CHANNELS_MESSAGES, "unmatched_sends", &about->unmatched_sends},
                   {CHANNELS_MESSAGES, "unmatched_receives", &about->unmatched_receives},
                   {CHANNELS_WAITS, "unmatched_collectives", &about->unmatched_collectives}};
    for (size_t i = 0; i < CHANNELS_MATCHES; i++) {
        int rc = write_pending(&tables[i], path, e);
        if (rc != 0)
            return rc;
    }
    errno = 0;
    bool good =
        schema_put_text(tables[CHANNELS_UNMATCHED].dataset, "reasons", about->reasons, 0) >= 0 &&
        schema_put_text(tables[CHANNELS_WAITS].dataset, "kinds", about->kinds, 0) >= 0;
    for (size_t i = 0; i < COUNT(numbers) && good; i++)
        good = schema_put_number(tables[numbers[i].table].dataset, numbers[i].name,
                                 H5T_NATIVE_UINT64, numbers[i].value) >= 0;
    return good ? 0 : channels_failed(path, e);
}

bool channels_close_matches(struct growing_table *tables)
{
    bool good = true;
    for (size_t i = 0; i < CHANNELS_MATCHES; i++) {
        good = (tables[i].dataset < 0 || H5Dclose(tables[i].dataset) >= 0) && good;
        if (tables[i].type >= 0)
            (void)H5Tclose(tables[i].type);
        free(tables[i].pending);
    }
    return good;
}
