/* SPDX-License-Identifier: BSD-3-Clause
 * Colours of values, told apart also by those who see few colours (after Okabe and Ito, and Tol), on white and on black. */
#include "tools/timeline/draw.h"

#include <string.h>

enum { COLOURS = 12 };

static const char *const strong[COLOURS] = {"#4477aa", "#ee8866", "#44aa99", "#cc79a7",
                                            "#ddaa33", "#66ccee", "#aa4499", "#999933",
                                            "#bb5566", "#6699cc", "#228833", "#b3907a"};
static const char *const soft[COLOURS] = {"#9fb8d6", "#e8c39e", "#a3cfc0", "#d9b3d0",
                                          "#d6cf8f", "#b4d4e6", "#c5b5dd", "#c0cc98",
                                          "#e3b0b0", "#aebfe0", "#a9d1a0", "#d2bfae"};

/* Of mpi.activity. */
static const struct {
    const char *name, *colour;
} states[] = {
    {"Running", "#8fbf8f"},
    {"Waiting a message", "#cc4455"},
    {"Blocking Send", "#ddaa33"},
    {"Synchronization", "#bb5566"},
    {"Test/Probe", "#b3907a"},
    {"Wait/WaitAll", "#e0784f"},
    {"Immediate Send", "#d6cf8f"},
    {"Immediate Receive", "#66ccee"},
    {"I/O", "#aa4499"},
    {"Group Communication", "#ee8866"},
    {"Tracing Disabled", "#d9dde2"},
    {"Others", "#4477aa"},
    {"Send Receive", "#6699cc"},
    {"Memory transfer", "#44aa99"},
};

const char *colour_of(const struct timeline *t, uint32_t lane, uint32_t value, const char *text)
{
    const char *name = replay_channel(t->replay, lane).name;
    enum lane_kind kind = t->lanes[lane].kind;
    if (strncmp(text, "unknown:", 8) == 0)
        return "#808080";
    if (strcmp(name, "region.window") == 0)
        return value % 2 == 0 ? "#9aa7b8" : "#b9c3d0";
    if (strcmp(name, "mpi.activity") == 0) {
        for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
            if (strcmp(text, states[i].name) == 0)
                return states[i].colour;
        return "#808080";
    }
    if (strcmp(name, "region.name") == 0)
        value += 5;
    return (kind == LANE_CALLS || kind == LANE_TICKS ? strong : soft)[value % COLOURS];
}
