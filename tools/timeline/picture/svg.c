/* SPDX-License-Identifier: BSD-3-Clause
 * Draws the picture as SVG 1.1. */
#include "tools/json.h"
#include "tools/timeline/picture/draw.h"

#include <stdio.h>

static void boxes(void *context, const char *colour, const struct drawn_box *b, size_t count)
{
    FILE *out = context;
    (void)fprintf(out, "<path fill=\"%s\" d=\"", colour);
    for (size_t i = 0; i < count; i++)
        (void)fprintf(out, "M%.4g %.4gh%.3gv%.3gh-%.3gz", b[i].x, b[i].y, b[i].width, b[i].height,
                      b[i].width);
    (void)fputs("\"/>\n", out);
}

static void text(void *context, double x, double y, double size, bool right, const char *colour,
                 const char *what)
{
    FILE *out = context;
    (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\" fill=\"%s\"%s>", x, y, size,
                  colour, right ? " text-anchor=\"end\"" : "");
    text_write_markup(out, what);
    (void)fputs("</text>\n", out);
}

int timeline_write_svg(struct timeline *t, FILE *out, struct rt_error *e)
{
    struct picture *p;
    struct surface s = {boxes, text, out};
    double width, height;
    int rc = picture_open(&p, t, &width, &height, e);
    if (rc == 0) {
        (void)fprintf(out,
                      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg "
                      "xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
                      "height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Arial, "
                      "sans-serif\">\n<title>",
                      width, height, width, height);
        text_write_markup(out, t->options.title);
        (void)fputs("</title>\n", out);
        rc = picture_draw(p, &s, e);
        (void)fputs("</svg>\n", out);
    }
    picture_close(p);
    return rc;
}
