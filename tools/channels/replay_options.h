/* SPDX-License-Identifier: BSD-3-Clause
 * Options and messages that `regtrace emulate`, `prv` and `timeline` share. */
#ifndef REGTRACE_TOOLS_CHANNELS_REPLAY_OPTIONS_H
#define REGTRACE_TOOLS_CHANNELS_REPLAY_OPTIONS_H

#include "tools/channels/event_replay.h"

struct conversion {
    const char *command; /* name of the command */
    const char *path, *out;
    struct replay_options options;
    uint64_t wait;
    bool force; /* replace an existing file */
};

/* Takes an option of replay_options.def, or -output. Returns TOOL_OK, or prints a message and
 * returns
 * TOOL_USAGE. */
int replay_take_option(void *options, const struct arguments *a);

/* Opens the run and its replay. Several processes that convert one run meet under the name `out`,
 * or if that is NULL, the run's name with `ending` (tools/streams/joint_processes.h). Returns
 * TOOL_OK, or prints a message and returns the command's exit code. */
int replay_begin(const struct conversion *command, const char *out, const char *ending,
                 struct rt_run **run, struct event_replay **replay);

#endif
