/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel: what of a program's functions must be recorded for their memory traces.
 *
 * A program of its own, since it holds a decoder; `regtrace skel analyze` runs it. Exit status: 0; 1 where the file cannot be read or no
 * function has a name that was asked for; 2 for a wrong command line. */
#include "isa/skel/skel.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "Usage: regtrace-skel [--function REGEX] [--dot] [--summary] IMAGE\n"
    "Says what of an image's functions must be recorded to compute their memory accesses. For "
    "regtrace's own use.\n";

enum { STACK = 1 << 30 }; /* analyses recurse as deeply as a function is long */

struct job {
    struct image *image;
    struct code *code;
    struct arena arena;
    regex_t pattern;
    bool has_pattern, dot, summary;
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

static void analyse(struct job *j, const char *name, uint64_t start, uint64_t end)
{
    struct function f = {
        .code = j->code, .arena = &j->arena, .name = name, .start = start, .end = end};
    if (j->has_pattern && regexec(&j->pattern, name, 0, NULL, 0) != 0)
        return;
    j->wanted++;
    skel_analyse(&f);
    skel_count(&f, &j->counts);
    if (f.reason != NULL)
        note_reason(j, f.reason);
    if (j->dot)
        skel_print_dot(stdout, &f);
    else if (!j->summary)
        skel_print(stdout, &f);
    arena_empty(&j->arena);
}

/* Parts that a compiler has moved away from a function are analysed with it; stubs of the PLT are no functions. */
static void *analyse_all(void *p)
{
    struct job *j = p;
    for (size_t k = 0; k < j->code->range_count; k++) {
        const struct code_range *r = &j->code->ranges[k];
        const struct image_symbol *s = graph_symbol_at(j->image, r->start);
        char unnamed[32];
        if (!code_is_sure(j->code, r->start) ||
            (s != NULL && (s->origin == IMAGE_PLT || graph_is_part(s))))
            continue;
        (void)snprintf(unnamed, sizeof unnamed, "0x%" PRIx64, r->start);
        analyse(j, s != NULL ? s->name : unnamed, r->start, r->end);
    }
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

static int finish(struct job *j, const char *pattern)
{
    if (j->wanted == 0) {
        (void)fprintf(stderr, "regtrace-skel: no function%s%s in %s\n",
                      pattern != NULL ? " matches " : "", pattern != NULL ? pattern : " is known",
                      j->image->path);
        return 1;
    }
    if (j->dot)
        return 0;
    (void)printf("%" PRIu64 " functions, %" PRIu64 " analysed (%.1f %%), %" PRIu64 " bytes; ",
                 j->counts.functions, j->counts.analysed,
                 100 * (double)j->counts.analysed / (double)j->counts.functions, j->counts.bytes);
    skel_print_summary(stdout, &j->counts);
    for (unsigned n = 0; n < 16 && j->why[n].reason != NULL; n++)
        (void)printf("not analysed: %" PRIu64 " (%s)\n", j->why[n].count, j->why[n].reason);
    return 0;
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"function", required_argument, NULL, 'f'},
                                            {"dot", no_argument, NULL, 'd'},
                                            {"summary", no_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    struct job j = {0};
    const char *pattern = NULL;
    int o;
    while ((o = getopt_long(argc, argv, "", options, NULL)) >= 0) {
        if (o == 'f')
            pattern = optarg;
        else if (o == 'd')
            j.dot = true;
        else if (o == 's')
            j.summary = true;
        else
            return (void)fputs(usage, stderr), 2;
    }
    if (optind + 1 != argc)
        return (void)fputs(usage, stderr), 2;
    j.has_pattern = pattern != NULL;
    if (j.has_pattern && regcomp(&j.pattern, pattern, REG_EXTENDED | REG_NOSUB) != 0) {
        (void)fprintf(stderr, "regtrace-skel: %s is no extended regular expression\n", pattern);
        return 2;
    }
    int code = open_image(&j, argv[optind]);
    pthread_t thread;
    pthread_attr_t attributes;
    if (code == 0 && (pthread_attr_init(&attributes) != 0 ||
                      pthread_attr_setstacksize(&attributes, STACK) != 0 ||
                      pthread_create(&thread, &attributes, analyse_all, &j) != 0)) {
        (void)fprintf(stderr, "regtrace-skel: no thread can be made: %s\n", strerror(errno));
        code = 1;
    } else if (code == 0) {
        (void)pthread_join(thread, NULL);
        code = finish(&j, pattern);
    }
    arena_free(&j.arena);
    code_close(j.code);
    image_close(j.image);
    if (j.has_pattern)
        regfree(&j.pattern);
    return code;
}
