/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-isa skel: finds what must be recorded of a program's functions for memory traces.
 *
 * `regtrace skel` and the traced process run it. Exit status: 0; 1 if the file cannot be read or no
 * function has a requested name; 2 for a wrong command line; enum accesses_exit for replays. */
#include "isa/commands.h"
#include "isa/memory/analyse_image.h"
#include "isa/memory/copy_cache.h"
#include "isa/memory/replay/replay_command.h"
#include "isa/memory/serve.h"
#include "isa/memory/source/source.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: regtrace-isa skel [--function REGEX] [--plan skeleton|registers|addresses] "
    "[--dot|--summary|--source|--copies FILE [--skeleton FILE] [--opens NAME]... "
    "[--awaits NAME]... [--site ADDRESS]... [--tokens] [--clobber] [--kept]] IMAGE\n" PLAY_USAGE
    "       regtrace-isa skel [--plan PLAN] --serve\n"
    "Says what of an image's functions must be recorded to compute their memory accesses. For "
    "regtrace's own use.\n";

enum { STACK = 1 << 30 }; /* bytes; the depth of recursion grows with the length of a function */

/* --- the program ------------------------------------------------------------------------------ */

/* Runs `function` in a thread whose stack suffices for any analysis or replay. Returns not 0 if no
 * thread can be made. */
static int in_thread(void *(*function)(void *), void *argument)
{
    pthread_t thread;
    pthread_attr_t attributes;
    int rc = pthread_attr_init(&attributes);
    rc = rc != 0 ? rc : pthread_attr_setstacksize(&attributes, STACK);
    rc = rc != 0 ? rc : pthread_create(&thread, &attributes, function, argument);
    if (rc != 0)
        (void)fprintf(stderr, "regtrace-isa: no thread can be made: %s\n", strerror(rc));
    else
        (void)pthread_join(thread, NULL);
    return rc != 0;
}

static int finish(struct image_analysis *a)
{
    if (a->wanted == 0 && a->skeleton_path != NULL)
        return (void)printf("missing\nend\n"), 0;
    if (a->wanted == 0) {
        (void)fprintf(stderr, "regtrace-isa: no function%s%s in %s\n",
                      a->pattern != NULL ? " matches " : "",
                      a->pattern != NULL ? a->pattern : " is known", a->o.image->path);
        return 1;
    }
    uint64_t bytes = 0;
    struct skel_source text = {.out = a->skeleton != NULL ? a->skeleton : stdout};
    if ((a->source || a->skeleton != NULL) &&
        (skel_source_end(&text) != 0 || (a->skeleton != NULL && fclose(a->skeleton) != 0))) {
        (void)fprintf(stderr, "regtrace-isa: the source cannot be written\n");
        return 1;
    }
    if (a->copies_path != NULL && copies_write(&a->copies, a->copies_path) != 0) {
        (void)fprintf(stderr, "regtrace-isa: %s cannot be written\n", a->copies_path);
        return 1;
    }
    for (uint64_t n = 0; n < copies_count(&a->copies); n++)
        bytes += a->copies.parts[n].f.bytes;
    if (a->copies_path != NULL)
        (void)printf("%" PRIu64 " copies, %" PRIu64 " mid-function entries, of %" PRIu64 " bytes; ",
                     a->copies.counts[COPIES_FUNCTIONS], a->copies.counts[COPIES_LATE], bytes);
    if (a->dot || a->source)
        return 0;
    (void)printf("%" PRIu64 " functions, %" PRIu64 " analysed (%.1f %%), %" PRIu64 " bytes; ",
                 a->counts.functions, a->counts.analysed,
                 100 * (double)a->counts.analysed / (double)a->counts.functions, a->counts.bytes);
    skel_print_summary(stdout, &a->counts);
    for (unsigned n = 0; n < 16 && a->why[n].reason != NULL; n++)
        (void)printf("not analysed: %" PRIu64 " (%s)\n", a->why[n].count, a->why[n].reason);
    if (a->skeleton != NULL)
        (void)printf("end\n"); /* end of the answer (base/toolkit/ask.h) */
    return 0;
}

static int open_skeleton(struct image_analysis *a)
{
    a->skeleton = a->skeleton_path != NULL ? fopen(a->skeleton_path, "we") : NULL;
    if (a->skeleton_path != NULL && a->skeleton == NULL) {
        (void)fprintf(stderr, "regtrace-isa: %s cannot be written: %s\n", a->skeleton_path,
                      strerror(errno));
        return 1;
    }
    return 0;
}

static void *analyse(void *p)
{
    struct image_analysis *a = p;
    struct rt_error e = {{0}};
    struct copy_cache cache = {.out = -1};
    if (a->cached && copy_cache_begin(&cache, a->path, a->options, a->option_bytes, a->copies_path,
                                      a->skeleton_path))
        return NULL;
    int rc = session_open(&a->o, a->path, a->pattern, &e);
    if (rc != 0)
        (void)fprintf(stderr, "regtrace-isa: %s\n", e.text);
    a->o.plan = a->plan;
    a->o.sites = a->sites;
    code_sort(&a->o.sites);
    a->code = rc == 0 ? open_skeleton(a) : rc == -EINVAL ? 2 : 1;
    if (a->code == 0 && analyse_image(a) != 0) {
        (void)fprintf(stderr, "regtrace-isa: no memory left\n");
        a->code = 1;
    }
    if (a->code == 0)
        a->code = finish(a);
    copy_cache_end(&cache, a->code == 0, a->copies_path, a->skeleton_path);
    image_analysis_free(a);
    if (rc == 0)
        session_close(&a->o);
    return NULL;
}

static void *serve_all(void *p)
{
    struct image_analysis *a = p;
    a->code = serve(a->plan);
    return NULL;
}

static void take_name(struct name_list *list, const char *name)
{
    if (list->count < sizeof list->names / sizeof *list->names)
        list->names[list->count++] = name;
}

static bool take_option(struct image_analysis *a, struct replay_command *play, int option)
{
    switch (option) {
    case 'f': a->pattern = optarg; return true;
    case 'd': a->dot = true; return true;
    case 's': a->summary = true; return true;
    case 'p': return skel_plan_parse(optarg, &a->plan);
    case 'l': a->copies_path = optarg; return true;
    case 'k': a->skeleton_path = optarg; return true;
    case 'o': take_name(&a->openers, optarg); return true;
    case 'a': take_name(&a->awaited, optarg); return true;
    case 'i': return code_append(&a->sites, strtoull(optarg, NULL, 16));
    case 't': a->tokens = true; return true;
    case 'P': return a->copies.e.clobbers = true;
    case 'c': a->source = true; return true;
    case 'S': a->serve = true; return true;
    case 'K': a->cached = true; return true;
    default: return replay_command_take_option(play, option, optarg);
    }
}

int skel_main(int argc, char **argv)
{
    static const struct option options[] = {{"function", required_argument, NULL, 'f'},
                                            {"dot", no_argument, NULL, 'd'},
                                            {"summary", no_argument, NULL, 's'},
                                            {"copies", required_argument, NULL, 'l'},
                                            {"source", no_argument, NULL, 'c'},
                                            {"skeleton", required_argument, NULL, 'k'},
                                            {"opens", required_argument, NULL, 'o'},
                                            {"serve", no_argument, NULL, 'S'},
                                            {"plan", required_argument, NULL, 'p'},
                                            {"awaits", required_argument, NULL, 'a'},
                                            {"site", required_argument, NULL, 'i'},
                                            {"tokens", no_argument, NULL, 't'},
                                            {"kept", no_argument, NULL, 'K'},
                                            {"clobber", no_argument, NULL, 'P'},
                                            PLAY_OPTIONS,
                                            {NULL, 0, NULL, 0}};
    struct image_analysis a = {0};
    FILE *given = open_memstream(&a.options, &a.option_bytes);
    struct replay_command play = {.options = {.last = INT64_MAX}};
    int o;
    if (given == NULL)
        return 1;
    while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (!take_option(&a, &play, o))
            return (void)fputs(usage, stderr), 2;
        if (o != 'l' && o != 'k' && o != 'K')
            (void)fprintf(given, "%c%s%c", o, optarg != NULL ? optarg : "", 0);
    }
    a.cached = fclose(given) == 0 && a.cached && a.copies_path != NULL && a.skeleton_path != NULL;
    if (a.serve && optind == argc)
        return in_thread(serve_all, &a) != 0 || a.code != 0;
    if (optind + 1 != argc && play.recording == NULL)
        return (void)fputs(usage, stderr), 2;
    if (replay_command_is_meant(&play)) {
        play.skeletons.images = (const char *const *)&argv[optind];
        play.skeletons.count = (unsigned)(argc - optind);
        return in_thread(replay_command_run, &play) != 0 ? ACCESSES_FAILED : play.code;
    }
    a.path = argv[optind];
    if (in_thread(analyse, &a) != 0)
        return 1;
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && errno != EPIPE && a.code == 0) {
        (void)fprintf(stderr, "regtrace-isa: the output could not be written: %s\n",
                      strerror(errno));
        return 1;
    }
    return a.code;
}
