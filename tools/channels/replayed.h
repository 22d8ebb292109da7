/* SPDX-License-Identifier: BSD-3-Clause
 * What `regtrace emulate`, `prv` and `timeline` share: options, and what they say. */
#ifndef REGTRACE_TOOLS_CHANNELS_REPLAYED_H
#define REGTRACE_TOOLS_CHANNELS_REPLAYED_H

#include "tools/channels/replay.h"

struct replay_wishes {
    const char *command; /* its name */
    const char *path, *out;
    struct replay_options options;
    uint64_t wait;
    bool force; /* what is there is replaced */
};

/* One of the options of replayed.def, or -output. TOOL_OK, or TOOL_USAGE and a message. */
int replay_take_option(void *wishes, const struct arguments *a);

/* The run, and its replay ready to run. TOOL_OK, or what the command ends with and a message. `out`, or the run's name with `ending`: where
 * several processes that convert it meet (tools/streams/parts.h). */
int replay_begin(const struct replay_wishes *w, const char *out, const char *ending,
                 struct rt_run **run, struct replay **replay);

/* What is told of an event that is not right, or a file that cannot be read. */
void replay_tell(const char *text);
void replay_tell_skipped(const char *file, const char *why);

#endif
