/* SPDX-License-Identifier: BSD-3-Clause
 * Which alarms stand where.
 *
 * The table of sites is never changed, but replaced as a whole: a thread that has met an int3 looks it up in whichever it finds.
 * Old ones stay, and so do copies of instructions, which a thread may be in. */
#include "preload/probes.h"

#include "base/identity.h"
#include "base/log.h"
#include "preload/probe_sites.h"
#include "preload/valgrind.h"

#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REQUEST_ROOM 1100u
#define QUESTIONS 1000u
#define MISSING_SAID 4u

/* What is asked of each image, and the alarms that ask it. */
struct wish {
    const uint16_t *alarms;
    unsigned alarm_count;
    bool found;       /* somewhere */
    bool one_image;   /* the first that has it is the one meant */
    bool kept;        /* what instructions are is looked up in the whole image: plans are kept */
    char masked[128]; /* the image that has it, but runs with SIGTRAP blocked */
    uint64_t refused; /* places that cannot be patched */
    char refused_in[128]; /* the first image with one */
    char nearest[512];    /* what the program had to say */
};

static struct wish *wishes; /* by their first alarm */
static unsigned wish_count;
static uint16_t *wished; /* alarms, by what they ask */
static _Atomic(const struct probe_sites *) sites;

const struct probe_sites *probe_sites_now(void)
{
    return atomic_load_explicit(&sites, memory_order_acquire);
}

static bool is_place_type(unsigned type)
{
    return type == CTL_ADDRESS || type == CTL_SSC || type == CTL_ITEXT ||
           type == CTL_ISA_EXTENSION || type == CTL_ISA_CATEGORY || type == CTL_INT3 ||
           type == CTL_MAGIC || type == CTL_CPUID;
}

static bool is_function_type(unsigned type)
{
    return type == CTL_ENTER_FUNC || type == CTL_EXIT_FUNC;
}

static unsigned count_alarms(bool places)
{
    unsigned n = 0;
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++) {
        unsigned type = ctl_config_alarm(process.config, i)->type;
        n += (places ? is_place_type(type) : is_function_type(type)) &&
             ctl_config_alarm_reachable(process.config, i);
    }
    return n;
}

/* --- what is asked ------------------------------------------------------------------------------------------------ */

static bool is_image(const struct probe_image *image, const char *name)
{
    return strcmp(name, image->path) == 0 || strcmp(name, identity_base_name(image->path)) == 0;
}

static void write_bytes(char *text, const struct ctl_alarm *a)
{
    size_t n = (size_t)snprintf(text, REQUEST_ROOM, "itext:");
    for (unsigned i = 0; i < a->byte_count; i++)
        n += (size_t)snprintf(text + n, REQUEST_ROOM - n, "%02x", a->bytes[i]);
}

/* The request for an alarm in this image; false: it has none there. */
static bool write_request(const struct ctl_alarm *a, const struct probe_image *image,
                          char text[REQUEST_ROOM])
{
    uintptr_t number = (uintptr_t)a->number;
    switch (a->type) {
    case CTL_ADDRESS:
        if (a->value_kind == CTL_VALUE_ABSOLUTE)
            (void)snprintf(text, REQUEST_ROOM, "address:0x%" PRIxPTR, number - image->bias);
        else if (a->value_kind == CTL_VALUE_NAME_OFFSET && is_image(image, a->value))
            (void)snprintf(text, REQUEST_ROOM, "offset:0x%" PRIxPTR, number);
        else if (a->value_kind == CTL_VALUE_NAME_OFFSET)
            (void)snprintf(text, REQUEST_ROOM, "symbol:%s+0x%" PRIxPTR, a->value, number);
        else
            (void)snprintf(text, REQUEST_ROOM, "symbol:%s", a->value);
        return a->value_kind != CTL_VALUE_ABSOLUTE || (number >= image->from && number < image->to);
    case CTL_ENTER_FUNC:
    case CTL_EXIT_FUNC: /* who is in it is known by its entries */
        (void)snprintf(text, REQUEST_ROOM, "enter:%s", a->value);
        return !image->instrumented;
    case CTL_SSC: (void)snprintf(text, REQUEST_ROOM, "ssc:%" PRIxPTR, number); return true;
    case CTL_ITEXT: write_bytes(text, a); return true;
    case CTL_ISA_EXTENSION:
        (void)snprintf(text, REQUEST_ROOM, "isa_extension:%s", a->value);
        return true;
    case CTL_ISA_CATEGORY:
        (void)snprintf(text, REQUEST_ROOM, "isa_category:%s", a->value);
        return true;
    default: (void)snprintf(text, REQUEST_ROOM, "%s", ctl_type_name(a->type)); return true;
    }
}

static const struct ctl_alarm *first_alarm(const struct wish *w)
{
    return ctl_config_alarm(process.config, w->alarms[0]);
}

/* All that write_request() reads. */
static int compare_requests(const struct ctl_alarm *a, const struct ctl_alarm *b)
{
    if (a->type != b->type && !(is_function_type(a->type) && is_function_type(b->type)))
        return a->type < b->type ? -1 : 1;
    if (a->value_kind != b->value_kind)
        return a->value_kind < b->value_kind ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    if (a->byte_count != b->byte_count)
        return a->byte_count < b->byte_count ? -1 : 1;
    int bytes = memcmp(a->bytes, b->bytes, a->byte_count);
    return bytes != 0 ? bytes : strcmp(a->value, b->value);
}

static int by_request(const void *a, const void *b)
{
    uint16_t i = *(const uint16_t *)a, j = *(const uint16_t *)b;
    int order =
        compare_requests(ctl_config_alarm(process.config, i), ctl_config_alarm(process.config, j));
    return order != 0 ? order : (i > j) - (i < j);
}

static int by_first_alarm(const void *a, const void *b)
{
    uint16_t i = ((const struct wish *)a)->alarms[0], j = ((const struct wish *)b)->alarms[0];
    return (i > j) - (i < j);
}

static int make_wishes(struct rt_error *e)
{
    unsigned all = ctl_config_alarm_count(process.config), n = 0;
    wishes = calloc(all, sizeof *wishes);
    wished = calloc(all, sizeof *wished);
    if (wishes == NULL || wished == NULL) {
        rt_error_set(e, "no memory for the places that the chains name");
        return -ENOMEM;
    }
    for (unsigned i = 0; i < all; i++) {
        unsigned type = ctl_config_alarm(process.config, i)->type;
        if ((is_place_type(type) || is_function_type(type)) &&
            ctl_config_alarm_reachable(process.config, i))
            wished[n++] = (uint16_t)i;
    }
    qsort(wished, n, sizeof *wished, by_request);
    for (unsigned i = 0; i < n; i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, wished[i]);
        struct wish *w = &wishes[wish_count];
        if (i == 0 || compare_requests(a, first_alarm(w - 1)) != 0)
            wishes[wish_count++] = (struct wish){
                .alarms = &wished[i],
                .one_image = a->type == CTL_ADDRESS,
                .kept = a->type != CTL_ADDRESS && !is_function_type(a->type),
            };
        wishes[wish_count - 1].alarm_count++;
    }
    qsort(wishes, wish_count, sizeof *wishes, by_first_alarm);
    return 0;
}

/* --- finding the places --------------------------------------------------------------------------------------------- */

static void warn(const struct ctl_alarm *a, const char *what, const char *where)
{
    char text[512];
    (void)snprintf(text, sizeof text, "%.150s: %.250s%.100s", a->text, what, where);
    process_warn(text);
}

/* What one image has for one wish. */
static int take(const struct probe_image *image, struct wish *w, const struct probe_answer *answer,
                struct probe_sites *to, struct rt_error *e)
{
    uint64_t refused = 0;
    if (image->is_program)
        (void)snprintf(w->nearest, sizeof w->nearest, "%s", answer->reason);
    if (answer->plan == NULL || answer->plan->sites.count == 0 || (w->one_image && w->found))
        return 0;
    if (image->no_int3) {
        (void)snprintf(w->masked, sizeof w->masked, "%s", identity_base_name(image->path));
        return 0;
    }
    w->found = true;
    int rc = probe_place(image, answer->plan, w->alarms, w->alarm_count, to, &refused, e);
    if (refused != 0 && w->refused == 0)
        (void)snprintf(w->refused_in, sizeof w->refused_in, "%s", identity_base_name(image->path));
    w->refused += refused;
    return rc;
}

/* Questions of one kind, and whose answers they are. */
struct inquiry {
    struct probe_question question[QUESTIONS];
    struct wish *wish[QUESTIONS];
    struct probe_answer answer[QUESTIONS];
    unsigned count;
    bool kept;
};

static int inquire(struct inquiry *q, struct probe_sites *to, struct rt_error *e)
{
    int rc = q->count != 0 ? probe_ask(q->kept, q->question, q->count, q->answer, e) : 0;
    for (unsigned i = 0; i < q->count; i++) {
        if (rc == 0)
            rc = take(q->question[i].image, q->wish[i], &q->answer[i], to, e);
        probe_answer_free(&q->answer[i]);
        free(q->question[i].request);
    }
    q->count = 0;
    return rc;
}

static int find_kind(struct inquiry *q, const struct probe_image *images, unsigned n,
                     struct probe_sites *to, struct rt_error *e)
{
    char text[REQUEST_ROOM];
    int rc = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned k = 0; k < wish_count && rc == 0; k++) {
            struct wish *w = &wishes[k];
            if (w->kept != q->kept || (images[i].no_int3 && w->kept) ||
                !write_request(first_alarm(w), &images[i], text))
                continue;
            q->wish[q->count] = w;
            q->question[q->count++] = (struct probe_question){&images[i], strdup(text)};
            if (q->count == QUESTIONS)
                rc = inquire(q, to, e);
        }
    return rc != 0 ? rc : inquire(q, to, e);
}

static int find_in(const struct probe_image *images, unsigned n, struct probe_sites *to,
                   struct rt_error *e)
{
    struct inquiry *q = calloc(1, sizeof *q);
    int rc = q == NULL ? -ENOMEM : find_kind(q, images, n, to, e);
    if (rc == 0) {
        q->kept = true;
        rc = find_kind(q, images, n, to, e);
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

static void publish(const struct probe_sites *found)
{
    struct probe_sites *s = malloc(sizeof *s);
    if (s == NULL)
        return;
    *s = *found;
    if (s->count != 0)
        qsort(s->rows, s->count, sizeof *s->rows, by_place);
    atomic_store_explicit(&sites, s, memory_order_release);
}

/* Found nowhere, and to be told: an image that comes later may have it; a function whose program was compiled to say so itself is
 * known without; what instructions are may well not be there. */
static bool is_missing(const struct wish *w, bool instrumented)
{
    unsigned type = first_alarm(w)->type;
    return !w->found && !w->kept && !(is_function_type(type) && instrumented);
}

/* Warnings alone: the same chains are for every program of a job, and each is to run. */
static void say_missing(const struct wish *w)
{
    const struct ctl_alarm *a = first_alarm(w);
    if (w->masked[0] != '\0')
        warn(a, w->masked,
             " has it, which runs with SIGTRAP blocked at times: places there are left alone");
    else
        warn(a, w->nearest[0] != '\0' ? w->nearest : "there is no such place",
             " (in the program; an image that is loaded later may have it)");
}

static void say_unresolved(bool instrumented)
{
    unsigned missing = 0;
    char text[256];
    for (unsigned i = 0; i < wish_count; i++) {
        const struct wish *w = &wishes[i];
        if (is_missing(w, instrumented) && missing++ < MISSING_SAID)
            say_missing(w);
        (void)snprintf(text, sizeof text,
                       "%" PRIu64 " places cannot be patched and are left alone, the first in %s",
                       w->refused, w->refused_in);
        if (w->refused != 0)
            warn(first_alarm(w), text, "");
    }
    (void)snprintf(text, sizeof text, "%u more places are not in what is loaded so far",
                   missing - MISSING_SAID);
    if (missing > MISSING_SAID)
        process_warn(text);
}

/* In all images that have not been looked at. */
static int find_all(struct probe_sites *found, bool *instrumented, struct rt_error *e)
{
    struct probe_image *images;
    long n = probe_images(&images);
    int rc = n > 0 ? find_in(images, (unsigned)n, found, e) : (int)n;
    if (n < 0)
        rt_error_set(e, "no memory for a list of what is loaded");
    for (long i = 0; i < n; i++)
        *instrumented = *instrumented || images[i].instrumented;
    free(images);
    return rc;
}

/* Nobody else can be in the code that is about to be changed. */
static bool is_alone(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) == 0 && st.st_nlink == 3;
}

int probes_prepare(struct rt_error *e)
{
    unsigned places = count_alarms(true), functions = count_alarms(false);
    char path[PATH_MAX];
    bool instrumented = false;
    if (places != 0 && process.steps) {
        rt_error_set(e,
                     "alarms that name places of the program cannot be combined with counting by "
                     "steps (REGTRACE_PMU=step, the token exact) in this build");
        return -ENOTSUP;
    }
    if (places != 0 && valgrind_request(VALGRIND_RUNNING, 0, 0) != 0) {
        rt_error_set(
            e, "alarms that name places of the program do not work under valgrind, which runs "
               "a translation of it");
        return -ENOTSUP;
    }
    /* Functions of programs that were compiled for it are known without. */
    if (places == 0 && (functions == 0 || process.steps || !probe_can_ask(path) ||
                        valgrind_request(VALGRIND_RUNNING, 0, 0) != 0))
        return 0;
    struct probe_sites found = {0};
    probe_may_jump = probe_jump_prepare();
    probe_poke_prepare();
    int rc = make_wishes(e);
    if (rc == 0)
        rc = find_all(&found, &instrumented, e);
    if (rc != 0)
        return rc;
    say_unresolved(instrumented);
    publish(&found);
    probe_ask_prepare();
    process.probes = true;
    return 0;
}

static void patch(const struct probe_site *rows, size_t count, bool alone)
{
    uint64_t changed = 0;
    if (probe_patch(rows, count, alone, &changed) != 0)
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
    patch(s->rows, s->count, alone);
}

/* One at a time: the table is read, added to and published. */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

void probes_images_loaded(void)
{
    struct rt_error e = {{0}};
    struct probe_sites found = {0};
    if (!process.probes)
        return;
    (void)pthread_mutex_lock(&changing);
    const struct probe_sites *old = atomic_load(&sites);
    bool instrumented = false, alone = is_alone();
    int rc = find_all(&found, &instrumented, &e);
    size_t n = found.count;
    if (n != 0)
        qsort(found.rows, n, sizeof *found.rows, by_place);
    probe_choose(found.rows, n, alone);
    probe_seal();
    struct probe_site *rows = rc == 0 && n != 0 ? malloc((old->count + n) * sizeof *rows) : NULL;
    if (rows != NULL) {
        memcpy(rows, found.rows, n * sizeof *rows);
        memcpy(rows + n, old->rows, old->count * sizeof *rows);
        publish(&(struct probe_sites){rows, old->count + n});
        patch(found.rows, n, alone);
    }
    free(found.rows);
    (void)pthread_mutex_unlock(&changing);
    if (rc != 0)
        log_detail(LOG_ERROR, "images that were loaded later have no probes", e.text);
}

void probes_forked(void)
{
    static const pthread_mutex_t free_again = PTHREAD_MUTEX_INITIALIZER;
    memcpy(&changing, &free_again, sizeof changing);
    probe_returns_forked();
    probe_rest_forked();
    probe_poke_forked();
}

struct remaining {
    struct probe_sites left;
    const struct probe_sites *all;
};

static int keep_those(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    struct remaining *r = context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t from = info->dlpi_addr + p->p_vaddr;
        for (size_t k = 0; p->p_type == PT_LOAD && k < r->all->count; k++)
            if (r->all->rows[k].at >= from && r->all->rows[k].at - from < p->p_memsz)
                r->left.rows[r->left.count++] = r->all->rows[k];
    }
    return 0;
}

static bool has_alarm(const struct probe_sites *s, uint16_t alarm)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->rows[i].alarm == alarm)
            return true;
    return false;
}

/* Another image may come to lie where one was. */
void probes_images_gone(void)
{
    if (!process.probes)
        return;
    (void)pthread_mutex_lock(&changing);
    struct remaining r = {.all = atomic_load(&sites)};
    if (probe_images_forget())
        r.left.rows = malloc((r.all->count + 1) * sizeof *r.left.rows);
    if (r.left.rows != NULL)
        (void)dl_iterate_phdr(keep_those, &r);
    if (r.left.rows != NULL && r.left.count < r.all->count) {
        publish(&r.left);
        for (unsigned i = 0; i < wish_count; i++)
            wishes[i].found = has_alarm(&r.left, wishes[i].alarms[0]);
    } else {
        free(r.left.rows);
    }
    (void)pthread_mutex_unlock(&changing);
}
