/* SPDX-License-Identifier: BSD-3-Clause
 * Writes what channels show to an HDF5 file, which share/doc/schema.md describes. */
#ifndef REGTRACE_TOOLS_CHANNELS_H5_H
#define REGTRACE_TOOLS_CHANNELS_H5_H

#include "tools/channels/event_replay.h"

struct h5_found {
    struct replay_found replay;
    uint64_t changes;  /* of all channels, also of those that the file leaves out */
    uint64_t messages; /* with a known send and receive */
    uint32_t channels; /* channels in the file */
};

/* Runs the replay and writes the file at `path`, overwriting it. options: the same as the replay
 * was opened with. Returns 0; or -errno with the reason in *e, and then the file is gone. */
RT_MUST_CHECK int h5_write(struct event_replay *r, const struct replay_options *options,
                           const char *path, struct h5_found *found, struct rt_error *e);

#endif
