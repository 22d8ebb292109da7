/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay -format hdf5`: several recordings are replayed at once, each read by a thread of its own, which compresses what it reads. */
#include "tools/output.h"
#include "tools/skel_player.h"
#include "tools/skel_shapes.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct output_kind kind = {.option = "output"};

enum { RECORDS = 1 << 15, LANES_MOST = 256 };

struct hdf5 {
    struct skel_folder *folder;
    struct rt_accesses *file;
    pthread_mutex_t lock; /* of what follows, and lanes' `done` */
    pthread_cond_t ended;
    size_t running;
    bool unwritten; /* the file cannot be written, which has been said */
};

/* A recording on its way. */
struct lane {
    struct hdf5 *whole;
    const struct skel_recording *recording;
    uint32_t number;
    struct skel_player player;
    struct rt_accesses_rows *rows;
    pthread_t thread;
    bool started, done;
    struct rt_accesses_stretch *stretches;
    size_t stretch_count;
    bool inside; /* a stretch, the last of them */
    bool failed; /* it has been said why */
};

/* Of the file; in all threads the first of them counts. */
static bool unwritten(struct hdf5 *h, const struct rt_error *e)
{
    (void)pthread_mutex_lock(&h->lock);
    if (!h->unwritten)
        message_error("skel", "%s", e->text);
    h->unwritten = true;
    (void)pthread_mutex_unlock(&h->lock);
    return false;
}

/* --- records ------------------------------------------------------------------------------------------------------- */

static bool no_memory(void)
{
    message_error("skel", "there is no memory left");
    return false;
}

static bool begin_stretch(struct lane *l, const struct accesses_record *r)
{
    struct accesses_whose whose;
    struct rt_accesses_stretch *more = realloc(l->stretches, (l->stretch_count + 1) * sizeof *more);
    if (more == NULL)
        return no_memory();
    memcpy(&whose, r, sizeof whose);
    l->stretches = more;
    l->stretches[l->stretch_count++] =
        (struct rt_accesses_stretch){.rank = whose.rank,
                                     .pid = whose.pid,
                                     .program = l->recording->program,
                                     .thread = whose.thread,
                                     .window = whose.window,
                                     .signal = whose.signal,
                                     .recording = l->number};
    l->inside = true;
    return true;
}

static bool is_access(const struct accesses_record *r)
{
    return r->kind == ACCESSES_READ || r->kind == ACCESSES_WRITE || r->kind == ACCESSES_BOTH;
}

static bool take_other(struct lane *l, const struct accesses_record *r)
{
    struct rt_accesses_stretch *s = l->inside ? &l->stretches[l->stretch_count - 1] : NULL;
    if (r->kind == ACCESSES_STRETCH && s == NULL)
        return begin_stretch(l, r);
    if (r->kind == ACCESSES_END && s != NULL && s->rows == r->pc) {
        s->functions = r->address;
        s->end = r->bytes;
        l->inside = false;
        return true;
    }
    message_error("skel", "the accesses of %s are not as they should be", l->recording->path);
    return false;
}

static bool take_records(struct lane *l, const struct accesses_record *list, size_t count)
{
    struct rt_error e = {{0}};
    for (size_t i = 0, n; i < count; i += n + (i + n < count)) {
        for (n = 0; i + n < count && is_access(&list[i + n]); n++)
            continue;
        if (n > 0 && !l->inside) {
            message_error("skel", "the accesses of %s belong to nothing", l->recording->path);
            return false;
        }
        if (n > 0)
            l->stretches[l->stretch_count - 1].rows += n;
        if (n > 0 && rt_accesses_put(l->rows, list + i, n, &e) != 0)
            return unwritten(l->whole, &e);
        if (i + n < count && !take_other(l, &list[i + n]))
            return false;
    }
    return true;
}

/* All that comes through the pipe. */
static bool take_all(struct lane *l)
{
    size_t have = 0, most = RECORDS * sizeof(struct accesses_record);
    char *room = malloc(most);
    bool good = room != NULL || no_memory();
    while (good) {
        ssize_t n = read(l->player.out, room + have, most - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
        size_t whole = have / sizeof(struct accesses_record),
               bytes = whole * sizeof(struct accesses_record);
        good = take_records(l, (const void *)room, whole);
        memmove(room, room + bytes, have - bytes);
        have -= bytes;
    }
    free(room);
    return good;
}

static void *run_lane(void *argument)
{
    struct lane *l = argument;
    struct hdf5 *h = l->whole;
    bool good = take_all(l);
    if (!good)
        skel_player_stop(&l->player);
    else if (skel_player_wait(&l->player, l->recording) != ACCESSES_DONE)
        good = false;
    if (l->rows != NULL)
        rt_accesses_rest(l->rows);
    (void)pthread_mutex_lock(&h->lock);
    l->failed = !good || l->inside;
    l->done = true;
    h->running--;
    (void)pthread_cond_signal(&h->ended);
    (void)pthread_mutex_unlock(&h->lock);
    return NULL;
}

/* --- lanes ----------------------------------------------------------------------------------------------------------- */

static bool start(struct lane *l)
{
    struct hdf5 *h = l->whole;
    struct rt_error e = {{0}};
    const struct skel_play how = {
        .folder = h->folder, .recording = l->recording, .format = "binary", .out = SKEL_PIPE};
    char name[64];
    const char *slash = strrchr(l->recording->path, '/');
    (void)snprintf(name, sizeof name, "%.60s", slash != NULL ? slash + 1 : l->recording->path);
    name[strlen(name) - strlen(".rec")] = '\0';
    if (rt_accesses_begin(h->file, name, &l->rows, &e) != 0)
        return unwritten(h, &e);
    if (!skel_player_start(&l->player, &how))
        return false;
    (void)pthread_mutex_lock(&h->lock);
    l->started = pthread_create(&l->thread, NULL, run_lane, l) == 0;
    h->running += l->started;
    (void)pthread_mutex_unlock(&h->lock);
    if (!l->started) {
        message_error("skel", "no thread can be made");
        skel_player_stop(&l->player);
    }
    return l->started;
}

/* Until fewer than that many run. False: one has failed. */
static bool wait_for_room(struct hdf5 *h, struct lane *lanes, size_t count, size_t jobs)
{
    bool good = true;
    (void)pthread_mutex_lock(&h->lock);
    while (h->running >= jobs)
        (void)pthread_cond_wait(&h->ended, &h->lock);
    for (size_t i = 0; i < count; i++) {
        struct lane *l = &lanes[i];
        if (l->started && l->done) {
            (void)pthread_join(l->thread, NULL);
            l->started = false;
        }
        good = good && !l->failed;
    }
    (void)pthread_mutex_unlock(&h->lock);
    return good;
}

static bool run_lanes(struct hdf5 *h, struct lane *lanes)
{
    const struct skel_folder *f = h->folder;
    size_t jobs = skel_jobs(f->wishes, LANES_MOST), i = 0;
    bool good = true;
    for (; i < f->count && good; i++) {
        good = wait_for_room(h, lanes, i, jobs);
        lanes[i] = (struct lane){.whole = h, .recording = &f->list[i], .number = (uint32_t)i};
        good = good && start(&lanes[i]);
    }
    return wait_for_room(h, lanes, i, 1) && good;
}

/* --- tables ---------------------------------------------------------------------------------------------------------- */

static bool gather_stretches(const struct skel_folder *f, const struct lane *lanes,
                             struct rt_accesses_about *about)
{
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        count += lanes[i].stretch_count;
    about->stretches = calloc(count + 1, sizeof *about->stretches);
    for (size_t i = 0; about->stretches != NULL && i < f->count; i++) {
        memcpy(about->stretches + about->stretch_count, lanes[i].stretches,
               lanes[i].stretch_count * sizeof *about->stretches);
        about->stretch_count += lanes[i].stretch_count;
    }
    return about->stretches != NULL || no_memory();
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
        const struct memory_head *head = &f->list[i].head;
        for (uint32_t k = 0; k < head->image_count; k++) {
            const struct rt_accesses_base b = {
                .rank = head->rank,
                .pid = head->pid,
                .program = f->list[i].program,
                .image = skel_shapes_image(shapes, head->images[k].skeleton),
                .base = head->images[k].bias};
            if (b.image != SKEL_NO_IMAGE && !has_base(list, *count, &b))
                list[(*count)++] = b;
        }
    }
    return list;
}

static bool finish(struct hdf5 *h, const struct lane *lanes, struct rt_accesses_about *about)
{
    struct rt_error e = {{0}};
    struct skel_shapes shapes;
    struct rt_accesses_base *bases = NULL;
    bool good = gather_stretches(h->folder, lanes, about);
    good = skel_shapes_read(&shapes, h->folder) && good;
    if (good) {
        skel_shapes_resolve(&shapes);
        bases = find_bases(h->folder, &shapes, &about->base_count);
        good = bases != NULL || no_memory();
    }
    about->program = h->folder->list[0].head.program;
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

/* --- all of it ---------------------------------------------------------------------------------------------------------- */

static void print_sums(const struct hdf5 *h, const struct rt_accesses_about *about)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < about->stretch_count; i++)
        rows += about->stretches[i].rows;
    (void)printf("%s: %" PRIu64 " accesses, %zu stretches of %zu recordings\n",
                 h->folder->wishes->output, rows, about->stretch_count, h->folder->count);
}

static bool write_file(struct hdf5 *h, const char *path)
{
    struct rt_error e = {{0}};
    struct rt_accesses_about about = {.program = NULL};
    struct lane *lanes = calloc(h->folder->count, sizeof *lanes);
    bool good = lanes != NULL || no_memory();
    if (good && rt_accesses_open(&h->file, path, (unsigned)h->folder->wishes->compress, &e) != 0)
        good = unwritten(h, &e);
    good = good && run_lanes(h, lanes) && finish(h, lanes, &about);
    if (good)
        print_sums(h, &about);
    rt_accesses_discard(h->file);
    for (size_t i = 0; lanes != NULL && i < h->folder->count; i++)
        free(lanes[i].stretches);
    free(about.stretches);
    free(lanes);
    return good;
}

int skel_hdf5(struct skel_folder *f)
{
    struct hdf5 h = {.folder = f};
    struct output o;
    struct rt_error e = {{0}};
    int rc = output_begin(&o, f->wishes->output, &kind, f->wishes->force, &e);
    if (rc != 0) {
        message_error("skel", "%s", e.text);
        return TOOL_FAILURE;
    }
    (void)pthread_mutex_init(&h.lock, NULL);
    (void)pthread_cond_init(&h.ended, NULL);
    bool written = write_file(&h, o.working);
    rc = output_end(&o, written ? 0 : -EIO, &e);
    if (rc != 0 && written)
        message_error("skel", "%s", e.text);
    else if (!written && !h.unwritten)
        message_error("skel",
                      "%s is not made; -rank, -thread and -window leave out what cannot be "
                      "replayed",
                      f->wishes->output);
    (void)pthread_cond_destroy(&h.ended);
    (void)pthread_mutex_destroy(&h.lock);
    return rc == 0 ? output_finish("skel", TOOL_OK) : TOOL_FAILURE;
}
