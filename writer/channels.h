/* SPDX-License-Identifier: BSD-3-Clause
 * What the files that make a channels.h5 share. Of writer/ alone. */
#ifndef REGTRACE_WRITER_CHANNELS_H
#define REGTRACE_WRITER_CHANNELS_H

#include "writer/schema.h"

/* An empty dataset, compressed, that does not remember when it was made; negative on failure. */
hid_t channels_make_dataset(hid_t in, const char *name, hid_t type);
/* A group, likewise. */
hid_t channels_make_group(hid_t in, const char *name);
bool channels_append(hid_t dataset, hid_t type, uint64_t first, const void *rows, size_t count);

/* -errno of what failed last, with the text; of `path`. */
int channels_failed(const char *path, struct rt_error *e);
int channels_no_memory(struct rt_error *e);

enum { CHANNELS_TEXT_ROWS = 512 }; /* of a chunk with texts */
/* /rows and /labels. 0 or -errno with the text. */
RT_MUST_CHECK int channels_put_tables(hid_t file, const char *path,
                                      const struct rt_channels_about *about, struct rt_error *e);

#endif
