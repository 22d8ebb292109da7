/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the files that write a channels.h5 or a profile; for writer/ only. */
#ifndef REGTRACE_WRITER_FILE_CHANNELS_H
#define REGTRACE_WRITER_FILE_CHANNELS_H

#include "writer/file/schema.h"

/* Creates an empty, compressed dataset that does not record when it was created. Returns a negative
 * value on failure. */
hid_t channels_make_dataset(hid_t in, const char *name, hid_t type);
/* Creates a group that does not record when it was created. Returns a negative value on failure. */
hid_t channels_make_group(hid_t in, const char *name);
bool channels_append(hid_t dataset, hid_t type, uint64_t first, const void *rows, size_t count);

/* Returns -errno of what failed last (-EIO if errno is not one of a file), and sets a text about
 * `path`. */
int channels_failed(const char *path, struct rt_error *e);
int channels_no_memory(struct rt_error *e);

enum { CHANNELS_TEXT_ROWS = 512 }; /* rows of a chunk that has texts */
/* Columns of a row in memory, at most 16. Numbers are copied as they are. Texts are pointers; they
 * are copied into fields that are as wide as the longest text. */
struct text_table {
    const char *name;
    size_t row_bytes; /* of the C struct */
    const struct schema_field *fields;
    size_t count;
};
RT_MUST_CHECK int channels_put_table(const char *path, hid_t in, const struct text_table *t,
                                     const void *rows, size_t count, struct rt_error *e);
/* Returns creation properties of objects that do not record when they were created. */
hid_t channels_timeless(hid_t class);
/* Writes /rows and /labels. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int channels_put_tables(hid_t file, const char *path,
                                      const struct rt_channels_about *about, struct rt_error *e);

#endif
