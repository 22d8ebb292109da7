/* SPDX-License-Identifier: BSD-3-Clause
 * What `regtrace emulate`, `prv` and `timeline` share: options, and what they say. */
#ifndef REGTRACE_TOOLS_REPLAYED_H
#define REGTRACE_TOOLS_REPLAYED_H

#include "tools/emu/replay.h"

struct replay_wishes {
    const char *command; /* its name */
    const char *path, *out;
    struct replay_options options;
    uint64_t wait;
};

/* Rows of their tables of options; the last three are not for all. */
#define REPLAY_OPTIONS                                                                             \
    {"policy", "POLICY",                                                                           \
     "what is done where a file is not whole or an event cannot be right: strict (the default) "   \
     "stops there, lint also wants everything left and ended at the end, salvage marks it as "     \
     "unknown, goes on and counts",                                                                \
     0},                                                                                           \
        {"cpu", "WHERE",                                                                           \
         "rows of processors: bound (the default) has a thread where it is bound to, observed "    \
         "where each of its events was recorded",                                                  \
         0},                                                                                       \
        {"rank", "LIST", "only these ranks, as in 0-3,8", 0},                                      \
    {                                                                                              \
        "wait", "SECONDS", "wait so long for writers that are still closing (default 10)", 0       \
    }

/* One of these, or -output. TOOL_OK, or TOOL_USAGE and a message. */
int replay_take_option(void *wishes, const struct arguments *a);

/* The run, and its replay ready to run. TOOL_OK, or what the command ends with and a message. */
int replay_begin(const struct replay_wishes *w, struct rt_run **run, struct replay **replay);

/* What is told of an event that is not right, or a file that cannot be read. */
void replay_tell(const char *text);
void replay_tell_skipped(const char *file, const char *why);

#endif
