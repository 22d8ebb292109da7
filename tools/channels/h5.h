/* SPDX-License-Identifier: BSD-3-Clause
 * What channels show, as HDF5: share/doc/schema.md has the file. */
#ifndef REGTRACE_TOOLS_CHANNELS_H5_H
#define REGTRACE_TOOLS_CHANNELS_H5_H

#include "tools/channels/replay.h"

struct h5_found {
    struct replay_found replay;
    uint64_t changes;  /* those of channels that are left out too */
    uint64_t messages; /* of which send and receive are known */
    uint32_t channels; /* of threads or processors, that are in it */
};

/* options: as the replay was opened with. The file at `path` is overwritten. 0 or -errno with the reason; then it is gone. */
RT_MUST_CHECK int h5_write(struct replay *r, const struct replay_options *options, const char *path,
                           struct h5_found *found, struct rt_error *e);

#endif
