/* SPDX-License-Identifier: BSD-3-Clause
 * Chooses the colours of values, which people with colour vision deficiency can also tell apart
 * (after Okabe and Ito, and Tol), on white and on black. */
#include "tools/timeline/picture/draw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { COLOURS = 12 };

static const char *const strong[COLOURS] = {"#4477aa", "#ee8866", "#44aa99", "#cc79a7",
                                            "#ddaa33", "#66ccee", "#aa4499", "#999933",
                                            "#bb5566", "#6699cc", "#228833", "#b3907a"};
static const char *const soft[COLOURS] = {"#9fb8d6", "#e8c39e", "#a3cfc0", "#d9b3d0",
                                          "#d6cf8f", "#b4d4e6", "#c5b5dd", "#c0cc98",
                                          "#e3b0b0", "#aebfe0", "#a9d1a0", "#d2bfae"};

/* Colours of the states of mpi.activity, by the texts of activity_names
 * (tools/channels/mpi/mpi_model.c). A text without a row is grey. */
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
    {"Several threads", "#b9c3d0"},
    {"Send Receive", "#6699cc"},
    {"Memory transfer", "#44aa99"},
};

/* Makes the colours after those of the tables: hues that differ by the golden angle, with three
 * lightnesses in turn. The first hue of each kind is the one with which 40 colours are easiest to
 * tell apart. */
struct makings {
    double hue, lightness[3], saturation[3];
};
static const struct makings strong_makings = {138, {0.42, 0.62, 0.52}, {0.62, 0.40, 0.85}};
static const struct makings soft_makings = {6, {0.55, 0.76, 0.66}, {0.30, 0.70, 0.50}};

static double channel_of(double hue, double lightness, double saturation, double shift)
{
    double k = fmod(shift + hue / 30, 12), most = fmin(k - 3, fmin(9 - k, 1));
    return lightness - saturation * fmin(lightness, 1 - lightness) * fmax(-1, most);
}

static void make_colour(const struct makings *m, uint64_t i, char colour[8])
{
    double hue = fmod(m->hue + (double)(i % 3600) * 137.50776, 360);
    double l = m->lightness[i % 3], s = m->saturation[i / 3 % 3];
    (void)snprintf(colour, 8, "#%02x%02x%02x",
                   (unsigned)lround(255 * channel_of(hue, l, s, 0)) & 0xff,
                   (unsigned)lround(255 * channel_of(hue, l, s, 8)) & 0xff,
                   (unsigned)lround(255 * channel_of(hue, l, s, 4)) & 0xff);
}

static const char *colour_of_state(const char *text)
{
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (strcmp(text, states[i].name) == 0)
            return states[i].colour;
    return "#808080";
}

const char *colour_of(const struct timeline *t, uint32_t lane, uint32_t number, const char *text,
                      char room[8])
{
    const char *name = replay_channel(t->replay, lane).name;
    enum lane_kind kind = t->lanes[lane].kind;
    int64_t value = lane_value(&t->lanes[lane], number);
    bool is_strong = kind == LANE_CALLS || kind == LANE_TICKS;
    uint64_t i = number;
    if (strncmp(text, "unknown:", 8) == 0)
        return "#808080";
    if (strcmp(name, "region.window") == 0)
        return number % 2 == 0 ? "#9aa7b8" : "#b9c3d0";
    if (strcmp(name, "mpi.activity") == 0)
        return colour_of_state(text);
    if (lane == t->runs && value < 0)
        return "#b9c3d0";
    if (strcmp(name, "func.name") == 0 || strcmp(name, "sample.function") == 0) {
        i = value > 0 ? (uint64_t)value - 1 : 0; /* the same colour in both channels */
        is_strong = false;
    } else if (lane == t->runs) {
        i = (uint64_t)value - 1;
    } else if (strcmp(name, "region.name") == 0) {
        i = number < COLOURS ? (number + 5) % COLOURS : number;
    }
    if (i < COLOURS)
        return (is_strong ? strong : soft)[i];
    make_colour(is_strong ? &strong_makings : &soft_makings, i, room);
    return room;
}
