/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel: finds what must be recorded of a program's functions for memory traces.
 *
 * It is a separate program since it contains a decoder; `regtrace skel analyze` runs it. Exit
 * status: 0; 1 if the file cannot be read or no function has a requested name; 2 for a wrong
 * command line; enum accesses_exit for replays. */
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
    "Usage: regtrace-skel [--function REGEX] [--plan skeleton|registers|addresses] "
    "[--dot|--summary|--source|--copies FILE [--skeleton FILE] [--opens NAME]... "
    "[--awaits NAME]... [--site ADDRESS]... [--tokens] [--clobber] [--kept]] IMAGE\n" PLAY_USAGE
    "       regtrace-skel [--plan PLAN] --serve\n"
    "Says what of an image's functions must be recorded to compute their memory accesses. For "
    "regtrace's own use.\n";

enum { STACK = 1 << 30 }; /* bytes; analyses recurse as deeply as a function is long */

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
    uint64_t bytes = 0;
    struct skel_source text = {.out = j->skeleton != NULL ? j->skeleton : stdout};
    if ((j->source || j->skeleton != NULL) &&
        (skel_source_end(&text) != 0 || (j->skeleton != NULL && fclose(j->skeleton) != 0))) {
        (void)fprintf(stderr, "regtrace-skel: the source cannot be written\n");
        return 1;
    }
    if (j->copies_path != NULL && copies_write(&j->copies, j->copies_path) != 0) {
        (void)fprintf(stderr, "regtrace-skel: %s cannot be written\n", j->copies_path);
        return 1;
    }
    for (uint64_t n = 0; n < copies_count(&j->copies); n++)
        bytes += j->copies.parts[n].f.bytes;
    if (j->copies_path != NULL)
        (void)printf("%" PRIu64 " copies, %" PRIu64 " mid-function entries, of %" PRIu64 " bytes; ",
                     j->copies.counts[COPIES_FUNCTIONS], j->copies.counts[COPIES_LATE], bytes);
    if (j->dot || j->source)
        return 0;
    (void)printf("%" PRIu64 " functions, %" PRIu64 " analysed (%.1f %%), %" PRIu64 " bytes; ",
                 j->counts.functions, j->counts.analysed,
                 100 * (double)j->counts.analysed / (double)j->counts.functions, j->counts.bytes);
    skel_print_summary(stdout, &j->counts);
    for (unsigned n = 0; n < 16 && j->why[n].reason != NULL; n++)
        (void)printf("not analysed: %" PRIu64 " (%s)\n", j->why[n].count, j->why[n].reason);
    if (j->skeleton != NULL)
        (void)printf("end\n"); /* end of the answer (base/toolkit/ask.h) */
    return 0;
}

static int open_skeleton(struct job *j)
{
    j->skeleton = j->skeleton_path != NULL ? fopen(j->skeleton_path, "we") : NULL;
    if (j->skeleton_path != NULL && j->skeleton == NULL) {
        (void)fprintf(stderr, "regtrace-skel: %s cannot be written: %s\n", j->skeleton_path,
                      strerror(errno));
        return 1;
    }
    return 0;
}

static void *analyse_image(void *p)
{
    struct job *j = p;
    struct rt_error e = {{0}};
    struct copy_cache cache = {.out = -1};
    if (j->cached && copy_cache_begin(&cache, j->path, j->options, j->option_bytes, j->copies_path,
                                      j->skeleton_path))
        return NULL;
    int rc = session_open(&j->o, j->path, j->pattern, &e);
    if (rc != 0)
        (void)fprintf(stderr, "regtrace-skel: %s\n", e.text);
    j->o.plan = j->plan;
    j->o.sites = j->sites;
    code_sort(&j->o.sites);
    j->code = rc == 0 ? open_skeleton(j) : rc == -EINVAL ? 2 : 1;
    if (j->code == 0 && job_analyse(j) != 0) {
        (void)fprintf(stderr, "regtrace-skel: no memory left\n");
        j->code = 1;
    }
    if (j->code == 0)
        j->code = finish(j);
    copy_cache_end(&cache, j->code == 0, j->copies_path, j->skeleton_path);
    job_free(j);
    if (rc == 0)
        session_close(&j->o);
    return NULL;
}

static void *serve_all(void *p)
{
    struct job *j = p;
    j->code = serve(j->plan);
    return NULL;
}

static void take_name(struct late_names *list, const char *name)
{
    if (list->count < sizeof list->names / sizeof *list->names)
        list->names[list->count++] = name;
}

static bool take_option(struct job *j, struct play *play, int option)
{
    switch (option) {
    case 'f': j->pattern = optarg; return true;
    case 'd': j->dot = true; return true;
    case 's': j->summary = true; return true;
    case 'p': return skel_plan_parse(optarg, &j->plan);
    case 'l': j->copies_path = optarg; return true;
    case 'k': j->skeleton_path = optarg; return true;
    case 'o': take_name(&j->openers, optarg); return true;
    case 'a': take_name(&j->awaited, optarg); return true;
    case 'i': return code_append(&j->sites, strtoull(optarg, NULL, 16));
    case 't': j->tokens = true; return true;
    case 'P': return j->copies.e.clobbers = true;
    case 'c': j->source = true; return true;
    case 'S': j->serve = true; return true;
    case 'K': j->cached = true; return true;
    default: return play_take(play, option, optarg);
    }
}

int main(int argc, char **argv)
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
    struct job j = {0};
    FILE *given = open_memstream(&j.options, &j.option_bytes);
    struct play play = {.options = {.last = INT64_MAX}};
    int o;
    if (given == NULL)
        return 1;
    while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (!take_option(&j, &play, o))
            return (void)fputs(usage, stderr), 2;
        if (o != 'l' && o != 'k' && o != 'K')
            (void)fprintf(given, "%c%s%c", o, optarg != NULL ? optarg : "", 0);
    }
    j.cached = fclose(given) == 0 && j.cached && j.copies_path != NULL && j.skeleton_path != NULL;
    if (j.serve && optind == argc)
        return in_thread(serve_all, &j) != 0 || j.code != 0;
    if (optind + 1 != argc && play.recording == NULL)
        return (void)fputs(usage, stderr), 2;
    if (play_is_meant(&play)) {
        play.skeletons.images = (const char *const *)&argv[optind];
        play.skeletons.count = (unsigned)(argc - optind);
        return in_thread(play_all, &play) != 0 ? ACCESSES_FAILED : play.code;
    }
    j.path = argv[optind];
    if (in_thread(analyse_image, &j) != 0)
        return 1;
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && errno != EPIPE && j.code == 0) {
        (void)fprintf(stderr, "regtrace-skel: the output could not be written: %s\n",
                      strerror(errno));
        return 1;
    }
    return j.code;
}
