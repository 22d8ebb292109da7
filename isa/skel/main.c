/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel: what of a program's functions must be recorded for their memory traces.
 *
 * A program of its own, since it holds a decoder; `regtrace skel analyze` runs it. Exit status: 0; 1 where the file cannot be read or no
 * function has a name that was asked for; 2 for a wrong command line; of replays enum accesses_exit. */
#include "isa/skel/clones.h"
#include "isa/skel/kept.h"
#include "isa/skel/late.h"
#include "isa/skel/opened.h"
#include "isa/skel/play.h"
#include "isa/skel/serve.h"
#include "isa/skel/source.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: regtrace-skel [--function REGEX] [--plan skeleton|registers|addresses] "
    "[--dot|--summary|--source|--clones FILE [--skeleton FILE] [--opens NAME]... [--kept]] "
    "IMAGE\n" PLAY_USAGE "       regtrace-skel [--plan PLAN] --serve SKELETONS\n"
    "Says what of an image's functions must be recorded to compute their memory accesses. For "
    "regtrace's own use.\n";

enum { STACK = 1 << 30 }; /* analyses recurse as deeply as a function is long */

struct job {
    struct opened o;
    struct arena arena;
    const char *pattern;
    enum skel_plan plan;
    bool dot, summary, source, kept;
    char *options; /* that clones and skeletons depend on, each with a 0 behind it */
    size_t option_bytes;
    struct skel_source text;
    struct clones clones;
    struct late_names openers;
    const char *path, *clones_path, *skeleton_path, *serve;
    FILE *skeleton;
    struct skel_counts counts;
    uint64_t wanted;
    int code;
    struct why {
        const char *reason;
        uint64_t count;
    } why[16];
};

static void note_reason(struct job *j, const char *reason)
{
    unsigned n = 0;
    while (n < 15 && j->why[n].reason != NULL && strcmp(j->why[n].reason, reason) != 0)
        n++;
    j->why[n].reason = reason;
    j->why[n].count++;
}

static void note_clone(struct job *j, const char *name, const char *reason)
{
    note_reason(j, reason);
    if (j->skeleton_path != NULL)
        (void)printf("none\t%s\t%s\n", name, reason);
}

/* What is analysed goes into both, by one number. */
static const char *add_clone(struct job *j, struct function *f)
{
    if (j->skeleton != NULL)
        skel_source_function(&j->text, f);
    return clones_add(&j->clones, f);
}

static void analyse(struct job *j, const char *name, uint64_t start, uint64_t end)
{
    struct function f = {.code = j->o.code,
                         .claims = &j->o.claims,
                         .arena = &j->arena,
                         .name = name,
                         .cloned = j->clones_path != NULL,
                         .plan = j->plan,
                         .start = start,
                         .end = end};
    if (!opened_wants(&j->o, name, start))
        return;
    j->wanted++;
    skel_analyse(&f);
    skel_count(&f, &j->counts);
    if (f.reason != NULL && j->clones_path == NULL)
        note_reason(j, f.reason);
    if (j->clones_path != NULL && f.reason == NULL)
        f.reason = add_clone(j, &f);
    if (j->clones_path != NULL && f.reason != NULL)
        note_clone(j, name, f.reason);
    else if (j->source && f.reason == NULL)
        skel_source_function(&j->text, &f);
    else if (j->source)
        (void)printf("\n/* %s at 0x%" PRIx64 " has no skeleton: %s (at 0x%" PRIx64 ") */\n", name,
                     start, f.reason, f.reason_at);
    else if (j->dot)
        skel_print_dot(stdout, &f);
    else if (!j->summary && j->clones_path == NULL)
        skel_print(stdout, &f);
    arena_empty(&j->arena);
}

/* Where it has none, windows that open there begin with what is entered next. */
static void analyse_late(struct job *j)
{
    struct late_list late;
    if (j->openers.count == 0 || late_find(j->o.code, &j->openers, &late) != 0)
        return;
    for (size_t k = 0; k < late.count; k++) {
        struct function f;
        char name[512];
        opened_late(&j->o, &j->arena, late.list[k].call, late.list[k].next, name, &f);
        if (f.reason == NULL)
            (void)add_clone(j, &f);
        arena_empty(&j->arena);
    }
    free(late.list);
}

/* Parts that a compiler has moved away from a function are analysed with it; stubs of the PLT are no functions. */
static void analyse_all(struct job *j)
{
    for (size_t k = 0; k < j->o.code->range_count; k++) {
        const struct code_range *r = &j->o.code->ranges[k];
        const struct image_symbol *s = graph_symbol_at(j->o.image, r->start);
        char unnamed[32];
        if (!code_is_sure(j->o.code, r->start) ||
            (s != NULL && (s->origin == IMAGE_PLT || graph_is_part(s))))
            continue;
        analyse(j, opened_name(&j->o, r->start, unnamed), r->start, r->end);
    }
    analyse_late(j);
}

/* --- the program ------------------------------------------------------------------------------------------------------------- */

/* In a thread with as much stack as any analysis or recursion takes. */
static int in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int rc = pthread_attr_init(&attributes);
    rc = rc != 0 ? rc : pthread_attr_setstacksize(&attributes, STACK);
    rc = rc != 0 ? rc : pthread_create(&thread, &attributes, function, argument);
    if (rc != 0)
        (void)fprintf(stderr, "regtrace-skel: no thread can be made: %s\n", strerror(rc));
    else
        (void)pthread_join(thread, NULL);
    return rc != 0;
}

static int finish(struct job *j)
{
    if (j->wanted == 0 && j->skeleton_path != NULL)
        return (void)printf("missing\nend\n"), 0;
    if (j->wanted == 0) {
        (void)fprintf(stderr, "regtrace-skel: no function%s%s in %s\n",
                      j->pattern != NULL ? " matches " : "",
                      j->pattern != NULL ? j->pattern : " is known", j->o.image->path);
        return 1;
    }
    if ((j->source || j->skeleton != NULL) &&
        (skel_source_end(&j->text) != 0 || (j->skeleton != NULL && fclose(j->skeleton) != 0))) {
        (void)fprintf(stderr, "regtrace-skel: the source cannot be written\n");
        return 1;
    }
    if (j->clones_path != NULL && clones_write(&j->clones, j->clones_path) != 0) {
        (void)fprintf(stderr, "regtrace-skel: %s cannot be written\n", j->clones_path);
        return 1;
    }
    if (j->clones_path != NULL)
        (void)printf("%" PRIu64 " clones, %" PRIu64 " late ones, of %" PRIu64 " bytes; ",
                     j->clones.function_count, j->clones.late_count, (uint64_t)j->clones.e.bytes);
    if (j->dot || j->source)
        return 0;
    (void)printf("%" PRIu64 " functions, %" PRIu64 " analysed (%.1f %%), %" PRIu64 " bytes; ",
                 j->counts.functions, j->counts.analysed,
                 100 * (double)j->counts.analysed / (double)j->counts.functions, j->counts.bytes);
    skel_print_summary(stdout, &j->counts);
    for (unsigned n = 0; n < 16 && j->why[n].reason != NULL; n++)
        (void)printf("not analysed: %" PRIu64 " (%s)\n", j->why[n].count, j->why[n].reason);
    if (j->skeleton != NULL)
        (void)printf("end\n"); /* base/ask.h */
    return 0;
}

static int begin_source(struct job *j)
{
    j->skeleton = j->skeleton_path != NULL ? fopen(j->skeleton_path, "we") : NULL;
    if (j->skeleton_path != NULL && j->skeleton == NULL) {
        (void)fprintf(stderr, "regtrace-skel: %s cannot be written: %s\n", j->skeleton_path,
                      strerror(errno));
        return 1;
    }
    j->text.out = j->source ? stdout : j->skeleton;
    if (j->text.out != NULL)
        skel_source_begin(j->text.out, j->o.image);
    return 0;
}

static void *analyse_image(void *p)
{
    struct job *j = p;
    struct rt_error e = {{0}};
    struct kept kept = {.out = -1};
    if (j->kept &&
        kept_begin(&kept, j->path, j->options, j->option_bytes, j->clones_path, j->skeleton_path))
        return NULL;
    int rc = opened_open(&j->o, j->path, j->pattern, &e);
    if (rc != 0)
        (void)fprintf(stderr, "regtrace-skel: %s\n", e.text);
    j->o.plan = j->plan;
    j->code = rc == 0 ? begin_source(j) : rc == -EINVAL ? 2 : 1;
    if (j->code == 0) {
        analyse_all(j);
        j->code = finish(j);
    }
    kept_end(&kept, j->code == 0, j->clones_path, j->skeleton_path);
    arena_free(&j->arena);
    if (rc == 0)
        opened_close(&j->o);
    return NULL;
}

static void *serve_all(void *p)
{
    struct job *j = p;
    j->code = serve(j->serve, j->plan);
    return NULL;
}

static bool take_option(struct job *j, struct play *play, int option)
{
    switch (option) {
    case 'f': j->pattern = optarg; return true;
    case 'd': j->dot = true; return true;
    case 's': j->summary = true; return true;
    case 'p': return skel_plan_parse(optarg, &j->plan);
    case 'l': j->clones_path = optarg; return true;
    case 'k': j->skeleton_path = optarg; return true;
    case 'o':
        if (j->openers.count < sizeof j->openers.names / sizeof *j->openers.names)
            j->openers.names[j->openers.count++] = optarg;
        return true;
    case 'c': j->source = true; return true;
    case 'S': j->serve = optarg; return true;
    case 'K': j->kept = true; return true;
    default: return play_take(play, option, optarg);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"function", required_argument, NULL, 'f'},
                                            {"dot", no_argument, NULL, 'd'},
                                            {"summary", no_argument, NULL, 's'},
                                            {"clones", required_argument, NULL, 'l'},
                                            {"source", no_argument, NULL, 'c'},
                                            {"skeleton", required_argument, NULL, 'k'},
                                            {"opens", required_argument, NULL, 'o'},
                                            {"serve", required_argument, NULL, 'S'},
                                            {"plan", required_argument, NULL, 'p'},
                                            {"kept", no_argument, NULL, 'K'},
                                            PLAY_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    struct job j = {0};
    FILE *kept = open_memstream(&j.options, &j.option_bytes);
    struct play play = {.wishes = {.last = INT64_MAX}};
    int o;
    if (kept == NULL)
        return 1;
    while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (!take_option(&j, &play, o))
            return (void)fputs(usage, stderr), 2;
        if (o != 'l' && o != 'k' && o != 'K')
            (void)fprintf(kept, "%c%s%c", o, optarg != NULL ? optarg : "", 0);
    }
    j.kept = fclose(kept) == 0 && j.kept && j.clones_path != NULL && j.skeleton_path != NULL;
    if (j.serve != NULL && optind == argc)
        return in_thread(serve_all, &j) != 0 || j.code != 0;
    if (optind + 1 != argc && play.recording == NULL && play.shapes == NULL)
        return (void)fputs(usage, stderr), 2;
    if (play_is_meant(&play)) {
        play.skeletons.images = (const char *const *)&argv[optind];
        play.skeletons.count = (unsigned)(argc - optind);
        return in_thread(play_all, &play) != 0 ? ACCESSES_FAILED : play.code;
    }
    j.path = argv[optind];
    return in_thread(analyse_image, &j) != 0 ? 1 : j.code;
}
