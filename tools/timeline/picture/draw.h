/* SPDX-License-Identifier: BSD-3-Clause
 * Draws a picture of a timeline for papers, on any surface that can draw boxes and texts; also
 * chooses the colours of values, which pages use too. For tools/timeline only. */
#ifndef REGTRACE_TOOLS_TIMELINE_PICTURE_DRAW_H
#define REGTRACE_TOOLS_TIMELINE_PICTURE_DRAW_H

#include "tools/timeline/tracks.h"

struct drawn_box {
    double x, y, width, height;
};

/* A surface. Positions are points from the upper left corner; colours are "#rrggbb". */
struct surface {
    /* Draws boxes of one colour. */
    void (*boxes)(void *context, const char *colour, const struct drawn_box *boxes, size_t count);
    /* Draws a text. y: its base line. right: the text ends at x; otherwise it begins there. */
    void (*text)(void *context, double x, double y, double size, bool right, const char *colour,
                 const char *text);
    void *context;
};

struct picture;

/* Chooses what the picture shows and sets its size in points. Call picture_close() even after a
 * failure. */
RT_MUST_CHECK int picture_open(struct picture **p, struct timeline *t, double *width,
                               double *height, struct rt_error *e);
RT_MUST_CHECK int picture_draw(struct picture *p, const struct surface *s, struct rt_error *e);
void picture_close(struct picture *p);

/* Returns the colour "#rrggbb" of a lane's value with this number and text; `room` may hold it. A
 * function has the same colour everywhere. */
const char *colour_of(const struct timeline *t, uint32_t lane, uint32_t number, const char *text,
                      char room[8]);

#endif
