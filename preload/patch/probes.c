/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the sites of all probes and publishes them in a table.
 *
 * The table never changes; a new one replaces it as a whole, because a thread that has met an int3
 * looks it up in whichever table it finds. Old tables stay, and so do copies of instructions,
 * because a thread may be executing them. */
#include "preload/patch/probes.h"

#include "base/identity.h"
#include "base/log.h"
#include "preload/count/counting.h"
#include "preload/libc/interpose.h"
#include "preload/memory/memory.h"
#include "preload/memory/memory_copies.h"
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/plans/probe_plans.h"
#include "preload/patch/plans/probe_wishes.h"
#include "preload/patch/probe_sites.h"
#include "preload/process.h"
#include "preload/valgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define QUESTIONS 1000u

static _Atomic(const struct probe_sites *) sites;

const struct probe_sites *probe_sites_now(void)
{
    return atomic_load_explicit(&sites, memory_order_acquire);
}

/* --- finding the sites ------------------------------------------------------------------------ */

static void note_masked(struct probe_wish *w, const struct probe_image *image)
{
    (void)snprintf(w->masked, sizeof w->masked, "%s", identity_base_name(image->path));
}

/* Removes the sites of functions without an instrumented copy: they need no probe. */
static void keep_copied(struct probe_sites *to, size_t from)
{
    size_t n = from;
    for (size_t i = from; i < to->count; i++)
        if (memory_copy_of(to->rows[i].at - to->rows[i].after) != NULL)
            to->rows[n++] = to->rows[i];
    to->count = n;
}

/* Takes the sites that one image has for one wish. */
static int take(const struct probe_image *image, struct probe_wish *w,
                const struct probe_answer *answer, struct probe_sites *to, struct rt_error *e)
{
    struct probe_refused refused = {.count = 0};
    if (image->is_program)
        probe_missing_note(w, image, answer->reason);
    if (answer->plan != NULL && !image->no_int3 && w->of == NULL)
        w->unsure += answer->plan->unsure;
    if (answer->plan == NULL || answer->plan->sites.count == 0 || (w->one_image && w->found) ||
        (w->of != NULL && !w->of->found))
        return 0;
    if (image->no_int3) {
        note_masked(w, image);
        return 0;
    }
    w->found = true;
    size_t before = to->count;
    int rc = probe_place(image, answer->plan, w->rows, w->row_count, to, &refused, e);
    if (w->rows[0] == PROBE_COPIED)
        keep_copied(to, before);
    /* Refusals do not count: probe_returns.c patches further return sites as it meets them. */
    if (w->of != NULL)
        return rc;
    if (w->refused.count == 0 && refused.count != 0) {
        (void)snprintf(w->refused_in, sizeof w->refused_in, "%s", identity_base_name(image->path));
        w->refused = refused;
    } else {
        w->refused.count += refused.count;
    }
    return rc;
}

/* Questions of one kind, and the wishes that ask them. */
struct inquiry {
    struct probe_question question[QUESTIONS];
    struct probe_wish *wish[QUESTIONS];
    struct probe_answer answer[QUESTIONS];
    unsigned count;
    bool kept;
};

static int inquire(struct inquiry *q, struct probe_sites *to, struct rt_error *e)
{
    int rc = q->count != 0 ? probe_ask(q->kept, q->question, q->count, q->answer, e) : 0;
    /* Return sites matter only if their functions were found, perhaps in a later image: they come
     * second. */
    for (int exits = 0; exits < 2; exits++)
        for (unsigned i = 0; i < q->count && rc == 0; i++)
            if ((q->wish[i]->of != NULL) == (exits != 0))
                rc = take(q->question[i].image, q->wish[i], &q->answer[i], to, e);
    for (unsigned i = 0; i < q->count; i++) {
        probe_answer_free(&q->answer[i]);
        free(q->question[i].request);
    }
    q->count = 0;
    return rc;
}

/* Returns true, with the request in `text`, if this batch of requests must ask regtrace-isa about
 * `w` in this image. copied: the batch is for instrumented copies. */
static bool concerns(const struct inquiry *q, struct probe_wish *w, const struct probe_image *image,
                     bool copied, struct probe_names *names, char text[PROBE_REQUEST_ROOM])
{
    if (w->unkept == q->kept || (w->rows[0] == PROBE_COPIED) != copied ||
        !probe_write_request(w, image, text))
        return false;
    if (image->no_int3 && w->scans) {
        note_masked(w, image);
        return false;
    }
    const char *name = probe_wish_name(w, image);
    if (name != NULL && names->file == NULL)
        probe_names_open(names, image);
    return name == NULL || probe_names_may_have(names, name);
}

static int find_kind(struct inquiry *q, const struct probe_image *images, unsigned n, bool copied,
                     struct probe_sites *to, struct rt_error *e)
{
    char text[PROBE_REQUEST_ROOM];
    int rc = 0;
    for (unsigned i = 0; i < n; i++) {
        struct probe_names names = {.file = NULL};
        for (unsigned k = 0; k < probe_wish_count && rc == 0; k++) {
            struct probe_wish *w = &probe_wishes[k];
            if (!concerns(q, w, &images[i], copied, &names, text))
                continue;
            q->wish[q->count] = w;
            q->question[q->count++] = (struct probe_question){&images[i], strdup(text)};
            if (q->count == QUESTIONS)
                rc = inquire(q, to, e);
        }
        probe_names_close(&names);
    }
    return rc != 0 ? rc : inquire(q, to, e);
}

static int find_in(const struct probe_image *images, unsigned n, bool copied,
                   struct probe_sites *to, struct rt_error *e)
{
    struct inquiry *q = calloc(1, sizeof *q);
    int rc = q == NULL ? -ENOMEM : find_kind(q, images, n, copied, to, e);
    if (rc == 0) {
        q->kept = true;
        rc = find_kind(q, images, n, copied, to, e);
    }
    free(q);
    return rc;
}

static int by_place(const void *a, const void *b)
{
    const struct probe_site *p = a, *q = b;
    return p->at != q->at ? (p->at > q->at) - (p->at < q->at)
                          : (p->alarm > q->alarm) - (p->alarm < q->alarm);
}

/* A table with a link to the one that it replaced. The old tables stay reachable, because otherwise
 * LeakSanitizer would report them and end the program with an error. */
struct stored {
    struct probe_sites sites;
    const struct probe_sites *before;
};

static void store(const struct probe_sites *found)
{
    struct stored *s = malloc(sizeof *s);
    if (s == NULL)
        return;
    *s = (struct stored){.sites = *found, .before = atomic_load(&sites)};
    atomic_store_explicit(&sites, &s->sites, memory_order_release);
}

static void sort_rows(struct probe_sites *s)
{
    if (s->count != 0)
        qsort(s->rows, s->count, sizeof *s->rows, by_place);
}

/* Publishes the rows and all that is made from them. */
static void publish(struct probe_sites found)
{
    sort_rows(&found);
    if (!probe_make_groups(&found))
        return;
    store(&found);
    probe_functions_published(probe_sites_now());
}

static bool has_copied(const struct probe_sites *s, size_t from, uintptr_t at)
{
    for (size_t i = from; i < s->count; i++)
        if (s->rows[i].at == at)
            return true;
    return false;
}

/* After an alarm in mid-function, a thread may go on in the instrumented copy from that site: adds
 * a row for each such site. */
static int add_sites(struct probe_sites *to, struct rt_error *e)
{
    size_t count = to->count;
    for (size_t i = 0; i < count; i++) {
        struct probe_site s = to->rows[i];
        uintptr_t at = s.at - s.after;
        if (!probe_is_place(&s) || memory_copy_of(at) != NULL || memory_copy_from(at) == NULL ||
            has_copied(to, count, s.at))
            continue;
        struct probe_site *more = realloc(to->rows, (to->count + 1) * sizeof *more);
        if (more == NULL) {
            rt_error_set(e, "no memory for the sites of alarms");
            return -ENOMEM;
        }
        s.alarm = PROBE_COPIED;
        to->rows = more;
        to->rows[to->count++] = s;
    }
    return 0;
}

/* Called after the sites of alarms have been found, because copies depend on them. */
static int make_copies(const struct probe_image *images, long n, struct probe_sites *found,
                       struct rt_error *e)
{
    int rc = 0;
    for (long i = 0; i < n && rc == 0; i++)
        if (!images[i].no_int3)
            rc = memory_copies_make(&images[i], found, e);
    if (rc == 0)
        rc = add_sites(found, e);
    return rc != 0 ? rc : find_in(images, (unsigned)n, true, found, e);
}

/* Finds the sites in all images that have not been searched yet. */
static int find_all(struct probe_sites *found, bool *instrumented, struct rt_error *e)
{
    struct probe_image *images;
    long n = probe_images(&images);
    int rc = n > 0 ? find_in(images, (unsigned)n, false, found, e) : (int)n;
    if (rc == 0 && n > 0 && memory_copies_wanted())
        rc = make_copies(images, n, found, e);
    if (n < 0)
        rt_error_set(e, "no memory for a list of what is loaded");
    for (long i = 0; i < n; i++)
        *instrumented = *instrumented || images[i].instrumented;
    if (rc == 0 && n > 0 && !code_is_patched)
        probe_missing_search(images, (unsigned)n, *instrumented);
    free(images);
    return rc;
}

/* Is this the only thread, so that no other thread can be in the code that we change? */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

/* Reports that `what` cannot have the probes that it needs. */
static int refuse(struct rt_error *e, const char *what, const char *why)
{
    rt_error_set(e, "%s %s", what, why);
    return -ENOTSUP;
}

int probes_prepare(struct rt_error *e)
{
    unsigned places = probe_count_alarms(true), functions = probe_count_alarms(false);
    bool recorded = probe_functions_wanted(), copied = memory_copies_wanted(),
         translated = valgrind_request(VALGRIND_RUNNING, 0, 0) != 0;
    const char *what = copied ? "memory traces (REGTRACE_MEMORY)"
                       : places != 0
                           ? "alarms that name places of the program"
                           : "functions that were not compiled for it (REGTRACE_FUNCTIONS=REGEX)";
    char path[PATH_MAX];
    bool instrumented = false;
    if (copied && strlen(process.options.text[OPT_memory]) >= COPY_PATTERN_ROOM - 64)
        return refuse(e, what, "take shorter expressions: less than 960 bytes in all");
    if ((places != 0 || recorded || copied) && translated)
        return refuse(e, what, "do not work under valgrind, which runs a translation of it");
#if !defined(__x86_64__)
    if (recorded || copied)
        return refuse(e, what, "are not recorded on this architecture, but on x86-64 alone");
#endif
    /* Functions of programs that were compiled with -finstrument-functions need no probes. */
    if (places == 0 && !recorded && !copied &&
        (functions == 0 || !probe_can_ask(path) || translated))
        return 0;
    struct probe_sites found = {0};
    /* No jumps for stepped threads: the steps would count the code of our blocks. */
    probe_may_jump = !threads_are_stepped && probe_jump_prepare();
    probe_poke_prepare();
    probe_kept_prepare();
    int rc = probe_make_wishes(e);
    if (rc == 0)
        rc = find_all(&found, &instrumented, e);
    if (rc != 0)
        return rc;
    probe_missing_say(instrumented);
    sort_rows(&found);
    store(&found);
    probe_ask_prepare();
    code_is_patched = true;
    memory_is_traced = copied && (memory_copies_exist() || memory_copies_may_come());
    return 0;
}

static void patch(const struct probe_sites *s, bool alone)
{
    uint64_t changed = 0;
    int rc = 0;
    for (int g = 0; g < PROBE_GROUPS && rc == 0; g++)
        if (probe_group_is_in(g))
            rc = probe_patch(s->groups[g].rows, s->groups[g].count,
                             alone && g != PROBE_OF_FUNCTIONS, &changed);
    if (rc != 0)
        log_line(LOG_ERROR, "the program's text cannot be written here (/proc/self/mem, mprotect): "
                            "alarms that name places of the program do not fire");
    if (changed != 0)
        log_line(LOG_WARNING,
                 "some places hold other bytes in memory than in their file: left alone");
}

void probes_begin(void)
{
    const struct probe_sites *s = atomic_load(&sites);
    if (s == NULL)
        return;
    bool alone = is_alone();
    probe_choose(s->rows, s->count, alone);
    probe_seal();
    publish(*s);
    memory_copies_link();
    memory_copies_expect();
    probe_rest_begin();
    patch(probe_sites_now(), alone);
}

static void free_groups(struct probe_sites *s)
{
    for (int g = 0; g < PROBE_GROUPS; g++)
        free(s->groups[g].rows);
}

/* Held while the table is read, extended and published. */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

void probes_images_loaded(void)
{
    struct rt_error e = {{0}};
    struct probe_sites found = {0};
    if (!code_is_patched)
        return;
    (void)pthread_mutex_lock(&table_lock);
    const struct probe_sites *old = atomic_load(&sites);
    bool instrumented = false, alone = is_alone();
    int rc = find_all(&found, &instrumented, &e);
    size_t n = found.count;
    sort_rows(&found);
    probe_choose(found.rows, n, alone);
    probe_seal();
    struct probe_site *rows = rc == 0 && n != 0 ? malloc((old->count + n) * sizeof *rows) : NULL;
    if (rows != NULL) {
        memcpy(rows, found.rows, n * sizeof *rows);
        memcpy(rows + n, old->rows, old->count * sizeof *rows);
        publish((struct probe_sites){.rows = rows, .count = old->count + n});
        memory_copies_link();
        memory_copies_expect();
        memory_images_came();
        if (probe_make_groups(&found))
            patch(&found, alone);
    }
    free_groups(&found);
    free(found.rows);
    probe_refused_say();
    (void)pthread_mutex_unlock(&table_lock);
    if (rc != 0)
        log_detail(LOG_ERROR, "images that were loaded later have no probes", e.text);
}

void probes_forked(void)
{
    static const pthread_mutex_t free_again = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&table_lock, &free_again, sizeof table_lock);
    memory_copies_forked();
    probe_returns_forked();
    probe_functions_forked();
    probe_rest_forked();
    probe_poke_forked();
}

struct remaining {
    struct probe_sites left;
    const struct probe_sites *all;
};

static bool keep_those(const struct loaded_image *m, void *context)
{
    struct remaining *r = context;
    for (size_t k = 0; k < r->all->count; k++)
        if (image_has(m, r->all->rows[k].at))
            r->left.rows[r->left.count++] = r->all->rows[k];
    return false;
}

static bool has_alarm(const struct probe_sites *s, uint16_t alarm)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].alarm == alarm)
            return true;
    return false;
}

bool probes_have_alarm(uint16_t alarm)
{
    const struct probe_sites *s = atomic_load(&sites);
    return s != NULL && has_alarm(s, alarm);
}

/* Removes the rows of unloaded images, because another image may be loaded at their addresses. */
void probes_images_gone(void)
{
    if (!code_is_patched)
        return;
    (void)pthread_mutex_lock(&table_lock);
    memory_copies_gone();
    struct remaining r = {.all = atomic_load(&sites)};
    if (probe_images_forget())
        r.left.rows = malloc((r.all->count + 1) * sizeof *r.left.rows);
    if (r.left.rows != NULL)
        (void)images_each(keep_those, &r);
    if (r.left.rows != NULL && r.left.count < r.all->count) {
        publish(r.left);
        for (unsigned i = 0; i < probe_wish_count; i++)
            probe_wishes[i].found = has_alarm(&r.left, probe_wishes[i].rows[0]);
    } else {
        free(r.left.rows);
    }
    (void)pthread_mutex_unlock(&table_lock);
}
