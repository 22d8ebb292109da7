/* SPDX-License-Identifier: BSD-3-Clause
 * A picture of a timeline for papers, on whatever can draw boxes and texts; and the colours of values, which pages have too. Of tools/timeline
 * alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_PICTURE_DRAW_H
#define REGTRACE_TOOLS_TIMELINE_PICTURE_DRAW_H

#include "tools/timeline/tracks.h"

struct drawn_box {
    double x, y, width, height;
};

/* Places are points from the left upper corner; colours "#rrggbb". */
struct surface {
    /* Boxes of one colour. */
    void (*boxes)(void *context, const char *colour, const struct drawn_box *boxes, size_t count);
    /* y: of the base line; right: the text ends at x. */
    void (*text)(void *context, double x, double y, double size, bool right, const char *colour,
                 const char *text);
    void *context;
};

struct picture;

/* What is to be drawn, and how large it is. */
RT_MUST_CHECK int picture_open(struct picture **p, struct timeline *t, double *width,
                               double *height, struct rt_error *e);
RT_MUST_CHECK int picture_draw(struct picture *p, const struct surface *s, struct rt_error *e);
void picture_close(struct picture *p);

/* Of a value of a lane (its number, and what it is called): "#rrggbb". The same function has the same wherever it is shown. */
const char *colour_of(const struct timeline *t, uint32_t lane, uint32_t number, const char *text,
                      char room[8]);

#endif
