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

enum { CHANNELS_CHUNK = 8192, CHANNELS_TEXT_ROWS = 512 }; /* rows of a chunk; with texts */
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
/* A table that grows by whole chunks. */
struct growing_table {
    hid_t dataset, type; /* -1: not created yet; type: of rows in memory */
    size_t row_bytes;
    char *pending; /* rows of one chunk */
    size_t count;
    uint64_t on_file;
};
enum { CHANNELS_MESSAGES, CHANNELS_UNMATCHED, CHANNELS_WAITS, CHANNELS_MATCHES };
/* Create the tables of matches, complete them with their attributes, close them; tables:
 * CHANNELS_MATCHES of them. The first two return 0, or -errno with the text in *e; the last one
 * returns false on failure. */
RT_MUST_CHECK int channels_make_matches(hid_t file, const char *path, struct growing_table *tables,
                                        struct rt_error *e);
RT_MUST_CHECK int channels_finish_matches(struct growing_table *tables, const char *path,
                                          const struct rt_channels_about *about,
                                          struct rt_error *e);
RT_MUST_CHECK bool channels_close_matches(struct growing_table *tables);
/* Appends a row. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int channels_put_match(struct growing_table *t, const char *path, const void *row,
                                     struct rt_error *e);
/* Returns creation properties of objects that do not record when they were created. */
hid_t channels_timeless(hid_t class);
/* Writes /rows and /labels. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int channels_put_tables(hid_t file, const char *path,
                                      const struct rt_channels_about *about, struct rt_error *e);

#endif
