/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay -format hdf5`: replays several recordings at once. One thread for each
 * reads its accesses and compresses them. */
#include "base/identity.h"
#include "tools/output.h"
#include "tools/memory/skel_records.h"
#include "tools/memory/stats/skel_shapes.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct output_kind kind = {.option = "output"};

struct hdf5 {
    struct skel_folder *folder;
    struct rt_accesses *file;
    struct row_lane **lanes; /* parallel to folder->list; NULL: nothing read yet */
    size_t count;
    pthread_mutex_t lock; /* protects `unwritten` */
    bool unwritten;       /* the file cannot be written; a message was printed */
};

/* One recording on its way into the file. */
struct row_lane {
    struct hdf5 *whole;
    struct skel_records records;
    uint32_t number;
    struct rt_accesses_rows *rows;
    struct rt_accesses_segment *segments;
    size_t segment_count;
};

/* Reports that the file cannot be written. Prints only the first error of all threads. */
static bool unwritten(struct hdf5 *h, const struct rt_error *e)
{
    (void)pthread_mutex_lock(&h->lock);
    if (!h->unwritten)
        tool_error("skel", "%s", e->text);
    h->unwritten = true;
    (void)pthread_mutex_unlock(&h->lock);
    return false;
}

/* --- records ---------------------------------------------------------------------------------- */

static bool no_memory(void)
{
    tool_error("skel", "there is no memory left");
    return false;
}

static bool begin_segment(void *context, const struct accesses_whose *whose)
{
    struct row_lane *l = context;
    struct rt_accesses_segment *more = realloc(l->segments, (l->segment_count + 1) * sizeof *more);
    if (more == NULL)
        return no_memory();
    l->segments = more;
    l->segments[l->segment_count++] =
        (struct rt_accesses_segment){.rank = whose->rank,
                                     .pid = whose->pid,
                                     .program = l->records.recording->program,
                                     .thread = whose->thread,
                                     .window = whose->window,
                                     .signal = whose->signal,
                                     .recording = l->number};
    return true;
}

static bool put_rows(void *context, const struct accesses_record *list, size_t count)
{
    struct row_lane *l = context;
    struct rt_error e = {{0}};
    l->segments[l->segment_count - 1].rows += count;
    return rt_accesses_put(l->rows, list, count, &e) == 0 || unwritten(l->whole, &e);
}

static bool end_segment(void *context, uint64_t functions, uint32_t how)
{
    const struct row_lane *l = context;
    l->segments[l->segment_count - 1].functions = functions;
    l->segments[l->segment_count - 1].end = how;
    return true;
}

static void rest(void *context)
{
    rt_accesses_rest(((struct row_lane *)context)->rows);
}

static const struct skel_records_use records_use = {
    .begin = begin_segment, .put = put_rows, .end = end_segment, .rest = rest};

/* --- lanes ------------------------------------------------------------------------------------ */

static int opens(void *context, size_t i)
{
    (void)context;
    (void)i;
    return SKEL_PIPE;
}

/* The dataset in the file has the recording's name, without .rec. */
static struct row_lane *make_lane(struct hdf5 *h, size_t i)
{
    struct rt_error e = {{0}};
    struct row_lane *l = calloc(1, sizeof *l);
    char name[64];
    (void)snprintf(name, sizeof name, "%.60s", identity_base_name(h->folder->list[i]->path));
    name[strlen(name) - strlen(".rec")] = '\0';
    if (l == NULL) {
        (void)no_memory();
        return NULL;
    }
    *l = (struct row_lane){.whole = h, .number = (uint32_t)i};
    l->records =
        (struct skel_records){.use = &records_use, .context = l, .recording = h->folder->list[i]};
    if (rt_accesses_begin(h->file, name, &l->rows, &e) == 0)
        return l;
    (void)unwritten(h, &e);
    free(l);
    return NULL;
}

/* Datasets come in the order of the list. */
static bool make_lanes(struct hdf5 *h)
{
    struct row_lane **more = realloc(h->lanes, (h->folder->count + 1) * sizeof *more);
    if (more == NULL)
        return no_memory();
    h->lanes = more;
    for (; h->count < h->folder->count; h->count++)
        if ((h->lanes[h->count] = make_lane(h, h->count)) == NULL)
            return false;
    return true;
}

static bool begins(void *context, size_t i, struct skel_player *p)
{
    struct hdf5 *h = context;
    return make_lanes(h) && skel_records_start(&h->lanes[i]->records, p);
}

/* The file is complete or is not made: one recording that fails ends all. */
static int ended(void *context, size_t i, int status)
{
    struct hdf5 *h = context;
    bool good = i < h->count && skel_records_wait(&h->lanes[i]->records);
    return status == ACCESSES_DONE && good ? ACCESSES_DONE : ACCESSES_UNWRITTEN;
}

static bool run_lanes(struct hdf5 *h)
{
    const struct skel_use use = {
        .format = "binary", .opens = opens, .begins = begins, .ended = ended, .context = h};
    int status =
        h->folder->options->follow ? skel_follow(h->folder, &use) : skel_each(h->folder, &use);
    return status == ACCESSES_DONE && make_lanes(h);
}

/* --- tables ----------------------------------------------------------------------------------- */

static bool gather_segments(const struct hdf5 *h, struct rt_accesses_about *about)
{
    size_t count = 0;
    for (size_t i = 0; i < h->count; i++)
        count += h->lanes[i]->segment_count;
    about->segments = calloc(count + 1, sizeof *about->segments);
    for (size_t i = 0; about->segments != NULL && i < h->count; i++) {
        const struct row_lane *l = h->lanes[i];
        if (l->segment_count > 0)
            memcpy(about->segments + about->segment_count, l->segments,
                   l->segment_count * sizeof *about->segments);
        about->segment_count += l->segment_count;
    }
    return about->segments != NULL || no_memory();
}

static bool has_base(const struct rt_accesses_base *list, size_t count,
                     const struct rt_accesses_base *b)
{
    for (size_t k = count; k-- > 0 && list[k].pid == b->pid;)
        if (list[k].program == b->program && list[k].image == b->image)
            return true;
    return false;
}

static struct rt_accesses_base *find_bases(const struct skel_folder *f,
                                           const struct skel_shapes *shapes, size_t *count)
{
    struct rt_accesses_base *list = calloc(f->count * MEMORY_IMAGES + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list != NULL && i < f->count; i++) {
        const struct memory_head *head = &f->list[i]->head;
        for (uint32_t k = 0; k < head->image_count; k++) {
            const struct rt_accesses_base b = {
                .rank = head->rank,
                .pid = head->pid,
                .program = f->list[i]->program,
                .image = skel_shapes_image(shapes, head->images[k].skeleton),
                .base = head->images[k].bias};
            if (b.image != SKEL_NO_IMAGE && !has_base(list, *count, &b))
                list[(*count)++] = b;
        }
    }
    return list;
}

static bool finish(struct hdf5 *h, struct rt_accesses_about *about)
{
    struct rt_error e = {{0}};
    struct skel_shapes shapes;
    struct rt_accesses_base *bases = NULL;
    bool good = gather_segments(h, about);
    good = skel_shapes_read(&shapes, h->folder) && good;
    if (good) {
        skel_shapes_resolve(&shapes);
        bases = find_bases(h->folder, &shapes, &about->base_count);
        good = bases != NULL || no_memory();
    }
    about->program = h->folder->list[0]->head.program;
    about->images = shapes.images;
    about->image_count = shapes.image_count;
    about->bases = bases;
    about->functions = shapes.functions;
    about->function_count = shapes.function_count;
    about->loops = shapes.loops;
    about->loop_count = shapes.loop_count;
    about->places = shapes.places;
    about->place_count = shapes.place_count;
    if (good) {
        good = rt_accesses_finish(h->file, about, &e) == 0 || unwritten(h, &e);
        h->file = NULL;
    }
    free(bases);
    skel_shapes_free(&shapes);
    return good;
}

/* --- the file --------------------------------------------------------------------------------- */

static void print_sums(const struct hdf5 *h, const struct rt_accesses_about *about)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < about->segment_count; i++)
        rows += about->segments[i].rows;
    (void)printf("%s: %" PRIu64 " accesses, %zu segments of %zu recordings\n",
                 h->folder->options->output, rows, about->segment_count, h->folder->count);
}

static bool write_file(struct hdf5 *h, const char *path)
{
    struct rt_error e = {{0}};
    struct rt_accesses_about about = {.program = NULL};
    bool good = rt_accesses_open(&h->file, path, (unsigned)h->folder->options->compress, &e) == 0 ||
                unwritten(h, &e);
    good = good && run_lanes(h);
    if (good && !skel_folder_had_some(h->folder)) {
        (void)skel_folder_lacks(h->folder);
        good = false;
        h->unwritten = true;
    }
    good = good && finish(h, &about);
    if (good)
        print_sums(h, &about);
    rt_accesses_discard(h->file);
    for (size_t i = 0; i < h->count; i++) {
        free(h->lanes[i]->segments);
        free(h->lanes[i]);
    }
    free(h->lanes);
    free(about.segments);
    return good;
}

int skel_hdf5(struct skel_folder *f)
{
    struct hdf5 h = {.folder = f};
    struct output o;
    struct rt_error e = {{0}};
    int rc = output_begin(&o, f->options->output, &kind, f->options->force, &e);
    if (rc != 0) {
        tool_error("skel", "%s", e.text);
        return TOOL_FAILURE;
    }
    (void)pthread_mutex_init(&h.lock, NULL);
    bool written = write_file(&h, o.working);
    rc = output_end(&o, written ? 0 : -EIO, &e);
    if (rc != 0 && written)
        tool_error("skel", "%s", e.text);
    else if (!written && !h.unwritten)
        tool_error("skel",
                   "%s is not made; -rank, -thread and -window leave out what cannot be "
                   "replayed",
                   f->options->output);
    (void)pthread_mutex_destroy(&h.lock);
    return rc == 0 ? output_finish("skel", TOOL_OK) : TOOL_FAILURE;
}
