/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel: what of a program's functions must be recorded for their memory traces.
 *
 * A program of its own, since it holds a decoder; `regtrace skel analyze` runs it. Exit status: 0; 1 where the file cannot be read or no
 * function has a name that was asked for; 2 for a wrong command line. */
#include "isa/skel/clones.h"
#include "isa/skel/late.h"
#include "isa/skel/recording.h"
#include "isa/skel/replay.h"
#include "isa/skel/source.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: regtrace-skel [--function REGEX] [--dot|--summary|--source|--clones FILE [--skeleton "
    "FILE] [--opens NAME]...] IMAGE\n"
    "       regtrace-skel --replay STREAM [--base ADDRESS] SKELETON\n"
    "       regtrace-skel --recording FILE [--first N] [--last N] [--format text|lackey|count] "
    "SKELETON\n"
    "Says what of an image's functions must be recorded to compute their memory accesses. For "
    "regtrace's own use.\n";

enum { STACK = 1 << 30 }; /* analyses recurse as deeply as a function is long */

struct job {
    struct image *image;
    struct code *code;
    struct arena arena;
    struct addresses claims;
    regex_t pattern;
    bool has_pattern, dot, summary, source;
    struct skel_source text;
    struct clones clones;
    struct late_names openers;
    const char *clones_path, *skeleton_path;
    FILE *skeleton;
    struct skel_counts counts;
    uint64_t wanted;
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

/* By any of its names; what has none is called by its address. */
static bool is_wanted(const struct job *j, const char *name, uint64_t start)
{
    const struct image *m = j->image;
    bool named = false;
    if (!j->has_pattern)
        return true;
    for (size_t k = image_symbols_from(m, start);
         k < m->symbol_count && m->symbols[k].address == start; k++) {
        named = named || image_is_function(&m->symbols[k]);
        if (image_is_function(&m->symbols[k]) && image_name_fits(&j->pattern, m->symbols[k].name))
            return true;
    }
    return !named && regexec(&j->pattern, name, 0, NULL, 0) == 0;
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
    struct function f = {.code = j->code,
                         .claims = &j->claims,
                         .arena = &j->arena,
                         .name = name,
                         .start = start,
                         .end = end};
    if (!is_wanted(j, name, start))
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

static const char *name_at(const struct job *j, uint64_t start, char unnamed[32])
{
    const struct image_symbol *s = graph_symbol_at(j->image, start);
    (void)snprintf(unnamed, 32, "0x%" PRIx64, start);
    return s != NULL ? s->name : unnamed;
}

/* Where it has none, windows that open there begin with what is entered next. */
static void analyse_late(struct job *j)
{
    struct late_list late;
    if (j->openers.count == 0 || late_find(j->code, &j->openers, &late) != 0)
        return;
    for (size_t k = 0; k < late.count; k++) {
        const struct code_range *r = code_range_of(j->code, late.list[k].call);
        char unnamed[32], name[512];
        const char *of = name_at(j, r->start, unnamed);
        if (!is_wanted(j, of, r->start) || late.list[k].next >= r->end)
            continue;
        (void)snprintf(name, sizeof name, "%.480s+0x%" PRIx64, of, late.list[k].next - r->start);
        struct function f = {.code = j->code,
                             .claims = &j->claims,
                             .arena = &j->arena,
                             .name = name,
                             .call = late.list[k].call,
                             .start = late.list[k].next,
                             .end = r->end};
        skel_analyse(&f);
        if (f.reason == NULL)
            (void)add_clone(j, &f);
        arena_empty(&j->arena);
    }
    free(late.list);
}

/* Parts that a compiler has moved away from a function are analysed with it; stubs of the PLT are no functions. */
static void *analyse_all(void *p)
{
    struct job *j = p;
    skel_find_claims(j->code, &j->claims);
    for (size_t k = 0; k < j->code->range_count; k++) {
        const struct code_range *r = &j->code->ranges[k];
        const struct image_symbol *s = graph_symbol_at(j->image, r->start);
        char unnamed[32];
        if (!code_is_sure(j->code, r->start) ||
            (s != NULL && (s->origin == IMAGE_PLT || graph_is_part(s))))
            continue;
        analyse(j, name_at(j, r->start, unnamed), r->start, r->end);
    }
    analyse_late(j);
    return NULL;
}

static int open_image(struct job *j, const char *path)
{
    struct rt_error e = {{0}};
    j->image = image_open(path, &e);
    if (j->image == NULL) {
        (void)fprintf(stderr, "regtrace-skel: %s\n", e.text);
        return 1;
    }
    j->code = code_open_jumps(j->image);
    if (j->code == NULL) {
        (void)fprintf(stderr, "regtrace-skel: no memory left\n");
        return 1;
    }
    return 0;
}

/* --- replay ----------------------------------------------------------------------------------------------------------------- */

struct replay_job {
    struct replay r;
    const char *stream, *recording, *skeleton;
    struct recording_wishes wishes;
    int code;
};

static int replay_stream(struct replay_job *j, struct rt_error *e)
{
    int rc = replay_map(j->stream, &j->r.stream, &j->r.bytes, e);
    if (rc != 0)
        return rc;
    j->r.sink = replay_print;
    rc = replay_load(&j->r, j->skeleton, e);
    return rc != 0 ? rc : replay_run(&j->r, e);
}

static void *replay_all(void *p)
{
    struct replay_job *j = p;
    struct rt_error e = {{0}};
    int rc = j->recording != NULL ? recording_replay(j->recording, j->skeleton, &j->wishes, &e)
                                  : replay_stream(j, &e);
    if (rc != 0 || fflush(stdout) != 0) {
        (void)fprintf(stderr, "regtrace-skel: %s\n",
                      rc != 0 ? e.text : "the trace cannot be written");
        j->code = 1;
    }
    return NULL;
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

static int finish(struct job *j, const char *pattern)
{
    if (j->wanted == 0 && j->skeleton_path != NULL)
        return (void)printf("missing\nend\n"), 0;
    if (j->wanted == 0) {
        (void)fprintf(stderr, "regtrace-skel: no function%s%s in %s\n",
                      pattern != NULL ? " matches " : "", pattern != NULL ? pattern : " is known",
                      j->image->path);
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

static int analyse_image(struct job *j, const char *path, const char *pattern)
{
    j->has_pattern = pattern != NULL;
    if (j->has_pattern && regcomp(&j->pattern, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        (void)fprintf(stderr, "regtrace-skel: %s is no extended regular expression\n", pattern);
        return 2;
    }
    int code = open_image(j, path);
    if (code == 0 && j->source && !skel_source_begin(&j->text, stdout, j->image)) {
        (void)fprintf(stderr, "regtrace-skel: no temporary file: %s\n", strerror(errno));
        code = 1;
    }
    j->skeleton = code == 0 && j->skeleton_path != NULL ? fopen(j->skeleton_path, "we") : NULL;
    if (code == 0 && j->skeleton_path != NULL &&
        (j->skeleton == NULL || !skel_source_begin(&j->text, j->skeleton, j->image))) {
        (void)fprintf(stderr, "regtrace-skel: %s cannot be written: %s\n", j->skeleton_path,
                      strerror(errno));
        code = 1;
    }
    if (code == 0)
        code = in_thread(analyse_all, j);
    if (code == 0)
        code = finish(j, pattern);
    arena_free(&j->arena);
    free(j->claims.at);
    code_close(j->code);
    image_close(j->image);
    if (j->has_pattern)
        regfree(&j->pattern);
    return code;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"function", required_argument, NULL, 'f'}, {"dot", no_argument, NULL, 'd'},
        {"summary", no_argument, NULL, 's'},        {"clones", required_argument, NULL, 'l'},
        {"source", no_argument, NULL, 'c'},         {"replay", required_argument, NULL, 'r'},
        {"base", required_argument, NULL, 'b'},     {"skeleton", required_argument, NULL, 'k'},
        {"opens", required_argument, NULL, 'o'},    {"recording", required_argument, NULL, 'R'},
        {"first", required_argument, NULL, 'w'},    {"last", required_argument, NULL, 'W'},
        {"format", required_argument, NULL, 'F'},   {NULL, 0, NULL, 0}};
    struct job j = {0};
    struct replay_job replay = {.wishes = {.last = INT64_MAX}};
    const char *pattern = NULL;
    int o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        switch (o) {
        case 'f': pattern = optarg; break;
        case 'd': j.dot = true; break;
        case 's': j.summary = true; break;
        case 'l': j.clones_path = optarg; break;
        case 'k': j.skeleton_path = optarg; break;
        case 'o':
            if (j.openers.count < sizeof j.openers.names / sizeof *j.openers.names)
                j.openers.names[j.openers.count++] = optarg;
            break;
        case 'c': j.source = true; break;
        case 'r': replay.stream = optarg; break;
        case 'R': replay.recording = optarg; break;
        case 'w': replay.wishes.first = strtoll(optarg, NULL, 10); break;
        case 'W': replay.wishes.last = strtoll(optarg, NULL, 10); break;
        case 'F':
            replay.wishes.format = strcmp(optarg, "lackey") == 0  ? RECORDING_LACKEY
                                   : strcmp(optarg, "count") == 0 ? RECORDING_COUNT
                                                                  : RECORDING_TEXT;
            break;
        case 'b': replay.r.image = strtoull(optarg, NULL, 16); break;
        default: return (void)fputs(usage, stderr), 2;
        }
    }
    if (optind + 1 != argc)
        return (void)fputs(usage, stderr), 2;
    if (replay.stream != NULL || replay.recording != NULL) {
        replay.skeleton = argv[optind];
        return in_thread(replay_all, &replay) != 0 || replay.code != 0;
    }
    return analyse_image(&j, argv[optind], pattern);
}
