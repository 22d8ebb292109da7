/* SPDX-License-Identifier: BSD-3-Clause
 * Writes tables that have texts, and those of a channels.h5: what rows are, and what states
 * mean. */
#include "writer/file/channels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREAD(member, kind)                                                                       \
    {                                                                                              \
#member, offsetof(struct rt_channels_thread, member), kind, 0                              \
    }
static const struct schema_field thread_fields[] = {
    THREAD(row, KIND_U32), THREAD(rank, KIND_I32),  THREAD(thread, KIND_I32), THREAD(pid, KIND_U32),
    THREAD(tid, KIND_U32), THREAD(host, KIND_TEXT), THREAD(name, KIND_TEXT)};
static const struct schema_field processor_fields[] = {
    {"row", offsetof(struct rt_channels_processor, row), KIND_U32, 0},
    {"number", offsetof(struct rt_channels_processor, number), KIND_I32, 0},
    {"host", offsetof(struct rt_channels_processor, host), KIND_TEXT, 0}};
static const struct schema_field label_fields[] = {
    {"channel", offsetof(struct rt_channels_label, channel), KIND_TEXT, 0},
    {"value", offsetof(struct rt_channels_label, value), KIND_I64, 0},
    {"text", offsetof(struct rt_channels_label, text), KIND_TEXT, 0}};

static const char *text_at(const char *row, const struct schema_field *f)
{
    const char *text;
    memcpy((void *)&text, row + f->offset, sizeof text);
    return text != NULL ? text : "";
}

static size_t width_of(enum schema_kind kind)
{
    return kind == KIND_I64 || kind == KIND_U64 || kind == KIND_F64 ? 8
           : kind == KIND_U16                                       ? 2
           : kind == KIND_U8                                        ? 1
                                                                    : 4;
}

/* Lays out the fields as the file stores them, without gaps. Returns the bytes of a row. */
static size_t lay_out(const struct text_table *t, const char *rows, size_t count,
                      struct schema_field *out)
{
    size_t bytes = 0;
    for (size_t k = 0; k < t->count; k++) {
        out[k] = t->fields[k];
        out[k].offset = bytes;
        size_t width = width_of(out[k].kind);
        for (size_t i = 0; out[k].kind == KIND_TEXT && i < count; i++) {
            size_t n = strlen(text_at(rows + i * t->row_bytes, &t->fields[k]));
            out[k].width = n > out[k].width ? n : out[k].width;
        }
        if (out[k].kind == KIND_TEXT)
            width = out[k].width = out[k].width != 0 ? out[k].width : 1;
        bytes += width;
    }
    return bytes;
}

static void fill(const struct text_table *t, const struct schema_field *to, const char *from,
                 char *row)
{
    for (size_t k = 0; k < t->count; k++) {
        const struct schema_field *f = &t->fields[k];
        if (f->kind == KIND_TEXT)
            memcpy(row + to[k].offset, text_at(from, f), strlen(text_at(from, f)));
        else
            memcpy(row + to[k].offset, from + f->offset, width_of(f->kind));
    }
}

int channels_put_table(const char *path, hid_t in, const struct text_table *t, const void *rows,
                       size_t count, struct rt_error *e)
{
    struct schema_field fields[16];
    size_t bytes = lay_out(t, rows, count, fields);
    char *block = malloc(CHANNELS_TEXT_ROWS * bytes);
    if (block == NULL)
        return channels_no_memory(e);
    errno = 0;
    hid_t type = schema_compound(bytes, fields, t->count);
    hid_t dataset = type < 0 ? -1 : channels_make_dataset(in, t->name, type);
    bool good = dataset >= 0;
    for (size_t done = 0; good && done < count; done += CHANNELS_TEXT_ROWS) {
        size_t n = count - done < CHANNELS_TEXT_ROWS ? count - done : CHANNELS_TEXT_ROWS;
        memset(block, 0, n * bytes);
        for (size_t i = 0; i < n; i++)
            fill(t, fields, (const char *)rows + (done + i) * t->row_bytes, block + i * bytes);
        good = channels_append(dataset, type, done, block, n);
    }
    if (dataset >= 0 && H5Dclose(dataset) < 0)
        good = false;
    if (type >= 0)
        (void)H5Tclose(type);
    free(block);
    return good ? 0 : channels_failed(path, e);
}

int channels_put_tables(hid_t file, const char *path, const struct rt_channels_about *about,
                        struct rt_error *e)
{
    const struct text_table threads = {"thread", sizeof *about->threads, thread_fields, 7},
                            processors = {"cpu", sizeof *about->processors, processor_fields, 3},
                            labels = {"labels", sizeof *about->labels, label_fields, 3};
    errno = 0;
    hid_t rows = channels_make_group(file, "rows");
    int rc = rows < 0 ? channels_failed(path, e) : 0;
    if (rc == 0)
        rc = channels_put_table(path, rows, &threads, about->threads, about->thread_count, e);
    if (rc == 0)
        rc = channels_put_table(path, rows, &processors, about->processors, about->processor_count,
                                e);
    if (rc == 0)
        rc = channels_put_table(path, file, &labels, about->labels, about->label_count, e);
    if (rows >= 0)
        (void)H5Gclose(rows);
    return rc;
}
