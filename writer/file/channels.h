/* SPDX-License-Identifier: BSD-3-Clause
 * What the files that make a channels.h5 or a profile share. Of writer/ alone. */
#ifndef REGTRACE_WRITER_FILE_CHANNELS_H
#define REGTRACE_WRITER_FILE_CHANNELS_H

#include "writer/file/schema.h"

/* An empty dataset, compressed, that does not remember when it was made; negative on failure. */
hid_t channels_make_dataset(hid_t in, const char *name, hid_t type);
/* A group, likewise. */
hid_t channels_make_group(hid_t in, const char *name);
bool channels_append(hid_t dataset, hid_t type, uint64_t first, const void *rows, size_t count);

/* -errno of what failed last, with the text; of `path`. */
int channels_failed(const char *path, struct rt_error *e);
int channels_no_memory(struct rt_error *e);

enum { CHANNELS_TEXT_ROWS = 512 }; /* of a chunk with texts */
/* Columns of a row in memory, 16 at most: numbers as they are, texts as pointers that are copied into fields of the longest's width. */
struct text_table {
    const char *name;
    size_t row_bytes; /* of the C struct */
    const struct schema_field *fields;
    size_t count;
};
RT_MUST_CHECK int channels_put_table(const char *path, hid_t in, const struct text_table *t,
                                     const void *rows, size_t count, struct rt_error *e);
/* Creation properties of objects that do not remember when they were made. */
hid_t channels_timeless(hid_t class);
/* /rows and /labels. 0 or -errno with the text. */
RT_MUST_CHECK int channels_put_tables(hid_t file, const char *path,
                                      const struct rt_channels_about *about, struct rt_error *e);

#endif
