/* SPDX-License-Identifier: BSD-3-Clause
 * Draws the picture as PNG with libcairo. Only this file opens the library, on demand, so that
 * other commands neither need it nor wait for its dependencies. It stays open, since fontconfig
 * keeps what it has read.
 *
 * Source: cairo's manual (cairographics.org/manual), whose ABI is stable since 1.0. */
#include "tools/json.h"
#include "tools/timeline/picture/draw.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { ARGB32 = 0, SUCCESS = 0, SCALE = 2, LARGEST = 32000 };

struct text_extents {
    double x_bearing, y_bearing, width, height, x_advance, y_advance;
};

#define FUNCTIONS(X)                                                                               \
    X(void *, image_surface_create, (int format, int width, int height))                           \
    X(void *, create, (void *surface))                                                             \
    X(void, scale, (void *cr, double x, double y))                                                 \
    X(void, set_source_rgb, (void *cr, double r, double g, double b))                              \
    X(void, rectangle, (void *cr, double x, double y, double width, double height))                \
    X(void, fill, (void *cr))                                                                      \
    X(void, select_font_face, (void *cr, const char *family, int slant, int weight))               \
    X(void, set_font_size, (void *cr, double size))                                                \
    X(void, text_extents, (void *cr, const char *text, struct text_extents *out))                  \
    X(void, move_to, (void *cr, double x, double y))                                               \
    X(void, show_text, (void *cr, const char *text))                                               \
    X(int, status, (void *cr))                                                                     \
    X(int, surface_write_to_png_stream,                                                            \
      (void *surface, int (*write)(void *context, const unsigned char *bytes, unsigned n),         \
       void *context))                                                                             \
    X(void, destroy, (void *cr))                                                                   \
    X(void, surface_destroy, (void *surface))                                                      \
    X(const char *, status_to_string, (int status))

#define MEMBER(type, name, arguments) type(*name) arguments;
struct cairo {
    void *library, *surface, *cr;
    FUNCTIONS(MEMBER)
};

static int open_cairo(struct cairo *c, struct rt_error *e)
{
    bool all = true;
    c->library = dlopen("libcairo.so.2", RTLD_NOW | RTLD_LOCAL);
    if (c->library == NULL) {
        rt_error_set(e,
                     "PNG is drawn by libcairo, which cannot be opened: %s; install it (Debian: "
                     "libcairo2), or take -svg, which needs nothing",
                     dlerror());
        return -ENOSYS;
    }
#define FIND(type, name, arguments)                                                                \
    *(void **)&c->name = dlsym(c->library, "cairo_" #name);                                        \
    all = all && c->name != NULL;
    FUNCTIONS(FIND)
    if (all)
        return 0;
    rt_error_set(e, "libcairo.so.2 lacks functions that PNG is drawn by; take -svg");
    return -ENOSYS;
}

static void boxes(void *context, const char *colour, const struct drawn_box *b, size_t count)
{
    const struct cairo *c = context;
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    c->set_source_rgb(c->cr, (double)(rgb >> 16) / 255, (double)(rgb >> 8 & 255) / 255,
                      (double)(rgb & 255) / 255);
    for (size_t i = 0; i < count; i++)
        c->rectangle(c->cr, b[i].x, b[i].y, b[i].width, b[i].height);
    c->fill(c->cr);
}

/* Replaces bytes that are not UTF-8: once cairo gets one, it draws nothing more. */
static void clean(char out[256], const char *text)
{
    size_t n = 0;
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0' && n < 250;) {
        size_t length = text_drawable(p);
        if (length == 0)
            out[n++] = '?';
        for (size_t i = 0; i < length; i++)
            out[n++] = (char)p[i];
        p += length > 0 ? length : 1;
    }
    out[n] = '\0';
}

static void text(void *context, double x, double y, double size, bool right, const char *colour,
                 const char *name)
{
    const struct cairo *c = context;
    char what[256];
    clean(what, name);
    struct text_extents extents = {.width = 0};
    boxes(context, colour, NULL, 0);
    c->set_font_size(c->cr, size);
    if (right)
        c->text_extents(c->cr, what, &extents);
    c->move_to(c->cr, x - extents.width, y);
    c->show_text(c->cr, what);
}

static int write_bytes(void *context, const unsigned char *bytes, unsigned n)
{
    enum { WRITE_ERROR = 11 };
    return fwrite(bytes, 1, n, context) == n ? SUCCESS : WRITE_ERROR;
}

static int draw(struct cairo *c, struct picture *p, double width, double height, FILE *out,
                struct rt_error *e)
{
    struct surface s = {boxes, text, c};
    double scale = height * SCALE > LARGEST ? LARGEST / height : SCALE;
    c->surface = c->image_surface_create(ARGB32, (int)(width * scale), (int)(height * scale));
    c->cr = c->create(c->surface);
    c->scale(c->cr, scale, scale);
    c->select_font_face(c->cr, "DejaVu Sans", 0, 0);
    int rc = picture_draw(p, &s, e);
    int status = c->status(c->cr);
    if (rc == 0 && status == SUCCESS)
        status = c->surface_write_to_png_stream(c->surface, write_bytes, out);
    if (rc == 0 && status != SUCCESS) {
        rt_error_set(e, "libcairo: %s", c->status_to_string(status));
        rc = -EIO;
    }
    c->destroy(c->cr);
    c->surface_destroy(c->surface);
    return rc;
}

int timeline_write_png(struct timeline *t, FILE *out, struct rt_error *e)
{
    struct cairo c = {.library = NULL};
    struct picture *p = NULL;
    double width, height;
    int rc = open_cairo(&c, e);
    if (rc == 0)
        rc = picture_open(&p, t, &width, &height, e);
    if (rc == 0)
        rc = draw(&c, p, width, height, out, e);
    picture_close(p);
    return rc;
}
