/* SPDX-License-Identifier: BSD-3-Clause
 * Draws a picture: rows of threads with their lanes, an axis of time, and a legend of the colours.
 * Few threads are shown with all their lanes, many with one line each. Tracks with more items than
 * one can tell apart are drawn as bins. */
#include "tools/timeline/picture/draw.h"

#include "tools/timeline/bins.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FRONT "#1d2430"
#define FAINT "#5b6675"
#define MIXED "#b0b7c1"

enum {
    WIDTH = 1000,
    LEFT = 132,
    RIGHT = 12,
    TOP = 24,
    BINS = 1400,
    FULL_ROWS = 16, /* up to so many threads, or processors, have all lanes */
    DEPTHS = 6,     /* of functions */
    LEGEND = 12,    /* names of a lane */
};

struct drawn_part {
    uint32_t track;
    double y, height;
    bool text, named; /* names in its boxes; the lane's name beside it */
};

struct drawn {
    struct drawn_box box;
    uint32_t value; /* UINT32_MAX: all other values */
    bool is_named;
};

struct sum {
    uint64_t time;
    uint32_t value;
};

struct picture {
    struct timeline *t;
    struct drawn_part *parts;
    uint32_t part_count;
    struct row {
        uint32_t stream;
        double y;
    } * rows;
    uint32_t row_count, threads; /* a row's stream is a thread, or threads + a processor */
    double bottom, height;
    struct lane_texts *texts; /* by lane */
    struct sum **sums;        /* by lane: time of each value */
    /* The track that is drawn: */
    struct drawn *boxes;
    size_t count, room;
    const struct drawn_part *part;
    int64_t from, to;
    double scale; /* points a ns */
    struct binner binner;
};

/* --- layout ----------------------------------------------------------------------------------- */

static const char *const order[] = {"region.window", "region.name",  "region.mark",
                                    "mpi.activity",  "mpi.function", "func.name"};
enum { ORDERS = sizeof order / sizeof order[0] };

static bool is_of(const struct timeline *t, uint32_t track, const char *name)
{
    return strncmp(replay_channel(t->replay, t->tracks[track].lane).name, name, strlen(name)) == 0;
}

static double height_of(const struct timeline *t, uint32_t track)
{
    return is_of(t, track, "region.window") ? 7 : is_of(t, track, "mpi.activity") ? 6 : 12;
}

static void add_part(struct picture *p, uint32_t track, double *y, double height)
{
    const struct track *t = &p->t->tracks[track];
    p->parts[p->part_count++] =
        (struct drawn_part){track, *y, height - 1, height >= 12, t->depth == 0};
    *y += height;
}

/* Adds all lanes of a thread. Returns false if it has none. */
static bool add_full(struct picture *p, uint32_t stream, double *y)
{
    uint32_t before = p->part_count;
    for (unsigned k = 0; k < ORDERS; k++)
        for (uint32_t depth = 0; depth < DEPTHS; depth++)
            for (uint32_t i = 0; i < p->t->track_count; i++)
                if (p->t->tracks[i].stream == stream && p->t->tracks[i].depth == depth &&
                    is_of(p->t, i, order[k]))
                    add_part(p, i, y, height_of(p->t, i));
    return p->part_count != before;
}

/* Adds the lanes that show which thread runs, and its activity. */
static bool add_processor(struct picture *p, uint32_t stream, bool full, double *y)
{
    static const char *const lanes[] = {"ovni.tid", "mpi.activity"};
    uint32_t before = p->part_count;
    for (unsigned k = 0; k < 2; k++)
        for (uint32_t i = 0; i < p->t->track_count; i++)
            if (p->t->tracks[i].stream == stream && is_of(p->t, i, lanes[k]))
                add_part(p, i, y, full ? (k == 0 ? 12 : 8) : k == 0 ? 8 : 4);
    return p->part_count != before;
}

/* Adds a thread's windows, and the first lane of `best` that it has. */
static bool add_line(struct picture *p, uint32_t stream, double *y)
{
    static const char *const best[] = {"mpi.function", "func.name", "region.name", "region.mark"};
    uint32_t window = UINT32_MAX, other = UINT32_MAX;
    for (unsigned k = 0; k < sizeof best / sizeof best[0] && other == UINT32_MAX; k++)
        for (uint32_t i = 0; i < p->t->track_count; i++)
            if (p->t->tracks[i].stream == stream && p->t->tracks[i].depth == 0) {
                window = is_of(p->t, i, "region.window") ? i : window;
                other = is_of(p->t, i, best[k]) ? i : other;
            }
    if (window != UINT32_MAX)
        add_part(p, window, y, 3);
    if (other != UINT32_MAX)
        add_part(p, other, y, 10);
    return window != UINT32_MAX || other != UINT32_MAX;
}

static bool has_tracks(const struct timeline *t, uint32_t stream)
{
    for (uint32_t i = 0; i < t->track_count; i++)
        if (t->tracks[i].stream == stream)
            return true;
    return false;
}

static bool add_row(struct picture *p, uint32_t stream, bool full, double *y)
{
    if (stream >= p->threads)
        return add_processor(p, stream, full, y);
    return full ? add_full(p, stream, y) : add_line(p, stream, y);
}

static void lay_out(struct picture *p, uint32_t processors)
{
    uint32_t used = 0, first = p->t->options.processors ? p->threads : 0;
    uint32_t end = first + (p->t->options.processors ? processors : p->threads);
    double y = TOP + 6;
    for (uint32_t i = first; i < end; i++)
        used += has_tracks(p->t, i);
    bool full = used <= FULL_ROWS;
    for (uint32_t i = first; i < end; i++) {
        p->rows[p->row_count] = (struct row){i, y};
        if (add_row(p, i, full, &y)) {
            p->row_count++;
            y += full ? 8 : 2;
        }
    }
    p->bottom = y;
}

/* --- the boxes of a track --------------------------------------------------------------------- */

static int add_box(struct picture *p, double x, double width, double y, double height,
                   uint32_t value, bool named)
{
    struct drawn *more = array_grown(p->boxes, p->count, &p->room, sizeof *more);
    if (more == NULL)
        return -ENOMEM;
    p->boxes = more;
    p->boxes[p->count++] = (struct drawn){{LEFT + x, y, width, height}, value, named};
    return 0;
}

static int take_bin(void *context, const struct bin *bin)
{
    struct picture *p = context;
    double width = (double)p->binner.width * p->scale, x = (double)bin->first * width;
    double of = fmax(1, p->part->height * bin->share / 255);
    double all = fmax(of, p->part->height * bin->all / 255), low = p->part->y + p->part->height;
    width *= (double)bin->count;
    int rc = add_box(p, x, width, low - of, of, (uint32_t)bin->value, bin->share == 255);
    if (rc == 0 && all > of)
        rc = add_box(p, x, width, low - all, all - of, UINT32_MAX, false);
    return rc;
}

static int take_item(void *context, const struct item *all)
{
    struct picture *p = context;
    const struct track *t = &p->t->tracks[p->part->track];
    struct item cut = *all, *item = &cut;
    if (item->start >= p->to || item->end < p->from)
        return 0;
    cut.start = cut.start < p->from ? p->from : cut.start;
    cut.end = cut.end > p->to ? p->to : cut.end;
    p->sums[t->lane][item->value].time += (uint64_t)(item->end - item->start);
    if (t->items > BINS)
        return binner_put(&p->binner, item);
    double x = (double)(item->start - p->from) * p->scale;
    return add_box(p, x, fmax(0.3, (double)(item->end - item->start) * p->scale), p->part->y,
                   p->part->height, (uint32_t)item->value, true);
}

static int by_value(const void *a, const void *b)
{
    const struct drawn *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->box.x < y->box.x ? -1 : x->box.x > y->box.x;
}

static const char *text_of(const struct picture *p, uint32_t lane, uint32_t value)
{
    const struct lane_texts *l = &p->texts[lane];
    return l->texts != NULL && value < l->count && l->texts[value] != NULL ? l->texts[value] : "?";
}

/* Returns black or white, whichever is readable on the colour. */
static const char *ink_on(const char *colour)
{
    unsigned long rgb = strtoul(colour + 1, NULL, 16);
    return 299 * (rgb >> 16) + 587 * (rgb >> 8 & 255) + 114 * (rgb & 255) > 125000 ? "#000000"
                                                                                   : "#ffffff";
}

/* Cuts a text to so many characters, with an ellipsis. */
static void cut_text(char out[SHORTER], const char *text, size_t room)
{
    size_t n = 0, letters = 0, all = 0;
    for (const char *p = text; *p != '\0'; p++)
        all += ((unsigned char)*p & 0xc0) != 0x80;
    if (all > room)
        room -= room > 1;
    for (; n < SHORTER - 4 && text[n] != '\0'; n++)
        if (((unsigned char)text[n] & 0xc0) != 0x80 && letters++ == room)
            break;
    (void)snprintf(out, SHORTER, "%.*s%s", (int)n, text, text[n] != '\0' ? "\342\200\246" : "");
}

static void draw_texts(const struct picture *p, const struct surface *s, uint32_t lane)
{
    char text[SHORTER], room[SHORTER], colour[8];
    for (size_t i = 0; p->part->text && i < p->count; i++) {
        const struct drawn *b = &p->boxes[i];
        size_t letters = b->box.width > 18 ? (size_t)((b->box.width - 4) / 5.2) : 0;
        if (!b->is_named || letters < 3 || b->value == UINT32_MAX)
            continue;
        const char *name = text_of(p, lane, b->value);
        cut_text(text, lane_short_text(p->t, lane, name, room), letters);
        s->text(s->context, b->box.x + 2, b->box.y + b->box.height - 2.5, 8.5, false,
                ink_on(colour_of(p->t, lane, b->value, name, colour)), text);
    }
}

static int draw_part(struct picture *p, const struct surface *s, struct rt_error *e)
{
    const struct track *t = &p->t->tracks[p->part->track];
    struct drawn_box *same;
    char room[8];
    p->count = 0;
    p->binner = (struct binner){.kind = p->t->lanes[t->lane].kind,
                                .origin = p->from,
                                .width = (p->to - p->from) / BINS + 1,
                                .take = take_bin,
                                .context = p};
    int rc = binner_open(&p->binner, p->t->lanes[t->lane].values.count);
    if (rc == 0)
        rc = track_read(p->t, p->part->track, take_item, p, e);
    if (rc == 0)
        rc = binner_end(&p->binner);
    binner_close(&p->binner);
    same = rc == 0 ? malloc((p->count + 1) * sizeof *same) : NULL;
    if (same == NULL)
        return rc == 0 ? -ENOMEM : rc;
    qsort(p->boxes, p->count, sizeof *p->boxes, by_value);
    for (size_t i = 0, n = 0; i < p->count; i++) {
        uint32_t value = p->boxes[i].value;
        same[n++] = p->boxes[i].box;
        if (i + 1 < p->count && p->boxes[i + 1].value == value)
            continue;
        s->boxes(s->context,
                 value == UINT32_MAX
                     ? MIXED
                     : colour_of(p->t, t->lane, value, text_of(p, t->lane, value), room),
                 same, n);
        n = 0;
    }
    free(same);
    draw_texts(p, s, t->lane);
    return 0;
}

/* --- axis, names, legend ---------------------------------------------------------------------- */

static void draw_axis(const struct picture *p, const struct surface *s)
{
    static const struct {
        const char *name;
        double size;
    } units[] = {{"s", 1e9}, {"ms", 1e6}, {"\302\265s", 1e3}, {"ns", 1}};
    double span = (double)(p->to - p->from), step = pow(10, floor(log10(span / 9)));
    unsigned u = 0;
    char text[64];
    step *= step * 9 >= span ? 1 : step * 18 >= span ? 2 : step * 45 >= span ? 5 : 10;
    while (u < 3 && span < units[u].size)
        u++;
    double digits = fmax(0, ceil(log10(units[u].size / step) - 1e-9));
    for (double t = ceil((double)p->from / step) * step; t <= (double)p->to; t += step) {
        double x = LEFT + (t - (double)p->from) * p->scale;
        s->boxes(s->context, "#d5dae1", &(struct drawn_box){x, TOP - 4, 0.6, p->bottom - TOP + 4},
                 1);
        if (x + 60 > WIDTH)
            continue;
        (void)snprintf(text, sizeof text, "%.*f %s", (int)digits, t / units[u].size, units[u].name);
        s->text(s->context, x + 2, TOP - 8, 10, false, FRONT, text);
    }
}

static const char *short_name(const struct picture *p, uint32_t track)
{
    static const struct {
        const char *channel, *name;
    } names[] = {{"region.window", "windows"}, {"region.name", "regions"},
                 {"mpi.activity", "state"},    {"mpi.function", "MPI"},
                 {"func.name", "functions"},   {"ovni.tid", "thread"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (is_of(p->t, track, names[i].channel))
            return names[i].name;
    return replay_channel(p->t->replay, p->t->tracks[track].lane).title;
}

static void draw_names(const struct picture *p, const struct surface *s)
{
    char text[160];
    for (uint32_t i = 0; i < p->row_count; i++) {
        if (p->rows[i].stream < p->threads)
            thread_text(p->t, p->rows[i].stream, text);
        else
            processor_text(p->t, p->rows[i].stream - p->threads, text);
        s->text(s->context, 4, p->rows[i].y + 9, 10, false, FRONT, text);
    }
    for (uint32_t i = 0; i < p->part_count; i++)
        if (p->parts[i].named && (p->parts[i].text || p->parts[i].height >= 5) &&
            p->row_count <= FULL_ROWS)
            s->text(s->context, LEFT - 6, p->parts[i].y + p->parts[i].height / 2 + 2.8, 8, true,
                    FAINT, short_name(p, p->parts[i].track));
}

static int by_time(const void *a, const void *b)
{
    const struct sum *x = a, *y = b;
    if (x->time != y->time)
        return x->time > y->time ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Explains the values with the most time: of MPI, functions and regions; for processors, of
 * states. */
static void draw_legend(const struct picture *p, const struct surface *s)
{
    static const char *const lanes[] = {"mpi.function", "func.name", "region.name"};
    static const char *const states[] = {"mpi.activity"};
    bool processors = p->t->options.processors;
    double x = LEFT, y = p->bottom + 12;
    for (unsigned k = 0; k < (processors ? 1 : 3); k++) {
        const char *name = processors ? states[k] : lanes[k];
        uint32_t lane = 0;
        while (lane < p->t->lane_count &&
               strcmp(replay_channel(p->t->replay, lane).name, name) != 0)
            lane++;
        uint32_t count = lane < p->t->lane_count ? p->t->lanes[lane].values.count : 0;
        if (count != 0)
            qsort(p->sums[lane], count, sizeof **p->sums, by_time);
        for (uint32_t i = 0;
             i < count && i < LEGEND && p->sums[lane][i].time > p->sums[lane][0].time / 200; i++) {
            const char *name_of = text_of(p, lane, p->sums[lane][i].value);
            char text[SHORTER], colour[8], short_room[SHORTER];
            cut_text(text, lane_short_text(p->t, lane, name_of, short_room), 60);
            double width = 20 + 5.6 * (double)strlen(text);
            if (x + width > WIDTH - RIGHT && x > LEFT) {
                x = LEFT;
                y += 14;
            }
            if (y > p->height - 4)
                return;
            s->boxes(s->context, colour_of(p->t, lane, p->sums[lane][i].value, name_of, colour),
                     &(struct drawn_box){x, y - 8, 9, 9}, 1);
            s->text(s->context, x + 12, y, 9.5, false, FRONT, text);
            x += width;
        }
    }
}

int picture_draw(struct picture *p, const struct surface *s, struct rt_error *e)
{
    s->boxes(s->context, "#ffffff", &(struct drawn_box){0, 0, WIDTH, p->height}, 1);
    draw_axis(p, s);
    for (uint32_t i = 0; i < p->part_count; i++) {
        p->part = &p->parts[i];
        int rc = draw_part(p, s, e);
        if (rc == -ENOMEM)
            rt_error_set(e, "no memory");
        if (rc != 0)
            return rc;
    }
    draw_names(p, s);
    draw_legend(p, s);
    return 0;
}

/* Chooses the range of time to show: that of the windows, if it is less than 60% of all. */
static void choose_time(struct picture *p)
{
    const struct timeline *t = p->t;
    int64_t windows = t->windows_to - t->windows_from;
    bool part = windows > 0 && (double)windows < 0.6 * (double)(t->to - t->from);
    p->from = part ? t->windows_from : t->from;
    p->to = part ? t->windows_to : t->to > t->from ? t->to : t->from + 1;
    p->scale = (WIDTH - LEFT - RIGHT) / (double)(p->to - p->from);
}

int picture_open(struct picture **picture, struct timeline *t, double *width, double *height,
                 struct rt_error *e)
{
    struct picture *p = calloc(1, sizeof *p);
    uint32_t processors;
    bool good = p != NULL;
    (void)replay_processors(t->replay, &processors);
    *picture = p;
    if (good) {
        p->t = t;
        (void)replay_threads(t->replay, &p->threads);
        choose_time(p);
        p->parts = calloc(t->track_count + 1u, sizeof *p->parts);
        p->rows = calloc(p->threads + processors + 1u, sizeof *p->rows);
        p->texts = calloc(t->lane_count + 1u, sizeof *p->texts);
        p->sums = calloc(t->lane_count + 1u, sizeof *p->sums);
        good = p->parts != NULL && p->rows != NULL && p->texts != NULL && p->sums != NULL;
    }
    for (uint32_t k = 0; good && k < t->lane_count; k++) {
        p->texts[k] = lane_texts_open(t, k);
        p->sums[k] = calloc(t->lanes[k].values.count + 1u, sizeof **p->sums);
        good = p->texts[k].texts != NULL && p->sums[k] != NULL;
        for (uint32_t v = 0; good && v < t->lanes[k].values.count; v++)
            p->sums[k][v].value = v;
    }
    if (!good) {
        rt_error_set(e, "no memory");
        return -ENOMEM;
    }
    lay_out(p, processors);
    p->height = p->bottom + 54;
    *width = WIDTH;
    *height = p->height;
    return 0;
}

void picture_close(struct picture *p)
{
    if (p == NULL)
        return;
    for (uint32_t k = 0; k < p->t->lane_count; k++) {
        if (p->texts != NULL)
            lane_texts_free(&p->texts[k]);
        if (p->sums != NULL)
            free(p->sums[k]);
    }
    free(p->texts);
    free((void *)p->sums);
    free(p->parts);
    free(p->rows);
    free(p->boxes);
    free(p);
}
