/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles skeletons, or takes them from the cache. gcc -O2 takes some 20 s for a MB of skeletons;
 * -O0 with SKELETON_LIGHT (isa/memory/source/prelude.c) takes 1.5 s. In large programs, most
 * selected functions are selected because others call them, and are never entered. So only
 * functions that may be kernels are compiled with -O2, up to a bound. */
#include "tools/memory/compile/skel_compile.h"

#include "tools/memory/skel_command.h"
#include "tools/memory/compile/compiled_cache.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    COMPILER_WORDS = 16,
    OWN_WORDS = 10,
    FAST_MOST = 256 << 10, /* bytes of text compiled with -O2 */
    FAST_ONE = 64 << 10,   /* bytes of one function: kernels are no larger */
    FAST_UNIT = 64 << 10,
    LIGHT_UNIT = 1 << 20,
    LONG = 160 << 10, /* compiling takes more than 3 s with -O2 */
};

struct cut {
    const struct skel_function **list; /* selected functions, those for -O2 first */
    size_t count, fast;
    uint64_t bytes, fast_bytes;
};

/* --- functions for -O2 ------------------------------------------------------------------------ */

struct ranked {
    const struct skel_function *f;
    unsigned rank; /* lowest first */
};

enum { RANK_LIGHT = 3 };

static unsigned rank_of(const struct skel_function *f, unsigned how)
{
    if (f->bytes > FAST_ONE)
        return RANK_LIGHT;
    if (how >= SKEL_OFTEN || (how >= SKEL_ENTERED && f->loops))
        return 0;
    return f->loops ? 1 : how >= SKEL_ENTERED ? 2 : RANK_LIGHT;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->f->bytes != y->f->bytes)
        return x->f->bytes < y->f->bytes ? -1 : 1;
    return (x->f->at > y->f->at) - (x->f->at < y->f->at);
}

static bool choose(struct cut *c, const struct skel_text *t, const uint8_t *selected)
{
    struct ranked *all = calloc(t->count + 1, sizeof *all);
    *c = (struct cut){.list = calloc(t->count + 1, sizeof(*c->list))};
    for (size_t k = 0; k < t->count && all != NULL && c->list != NULL; k++) {
        const struct skel_function *f = &t->functions[k];
        if (selected[f->number] == 0)
            continue;
        all[c->count++] = (struct ranked){f, rank_of(f, selected[f->number])};
        c->bytes += f->bytes;
    }
    if (c->count > 1)
        qsort(all, c->count, sizeof *all, by_rank);
    for (size_t k = 0; k < c->count; k++) {
        c->list[k] = all[k].f;
        if (c->fast == k && all[k].rank != RANK_LIGHT &&
            c->fast_bytes + all[k].f->bytes <= FAST_MOST) {
            c->fast++;
            c->fast_bytes += all[k].f->bytes;
        }
    }
    free(all);
    return all != NULL && c->list != NULL;
}

/* --- compilers -------------------------------------------------------------------------------- */

struct compiler {
    char text[PATH_MAX];
    const char *words[COMPILER_WORDS + OWN_WORDS];
    unsigned count;
};

/* Splits the variable CC into a program and options, as make does. */
static void find_compiler(struct compiler *c)
{
    const char *wanted = getenv("CC");
    c->count = 0;
    (void)snprintf(c->text, sizeof c->text, "%s", wanted != NULL ? wanted : "");
    if (strchr(c->text, '/') != NULL &&
        access(c->text, X_OK) == 0) { /* its path may contain blanks */
        c->words[c->count++] = c->text;
        return;
    }
    for (char *rest, *word = strtok_r(c->text, " \t", &rest);
         word != NULL && c->count < COMPILER_WORDS; word = strtok_r(NULL, " \t", &rest))
        c->words[c->count++] = word;
    if (c->count == 0)
        c->words[c->count++] = "cc";
}

static bool one_unit(const struct skel_builds *b, const struct compiler *c, const char *some,
                     const char *source, const char *out, struct skel_ended *ended)
{
    const char *words[COMPILER_WORDS + OWN_WORDS], *const rest[] = {
                                                       "-O2", "-w",       "-shared", "-fPIC", "-o",
                                                       out,   "-include", some,      source,  NULL};
    memcpy(words, c->words, c->count * sizeof *words);
    memcpy(words + c->count, rest, sizeof rest);
    return skel_run(words, b->temporary, ended);
}

/* --- units ------------------------------------------------------------------------------------ */

struct unit {
    char source[PATH_MAX + 32], object[PATH_MAX + 32];
    const char *words[COMPILER_WORDS + OWN_WORDS];
};

static bool write_unit(const char *path, const struct skel_text *t, const struct cut *c,
                       size_t first, size_t last, unsigned number, bool counts)
{
    FILE *out = fopen(path, "we");
    if (out == NULL)
        return false;
    (void)fprintf(out, "%s%s#define SKELETON_UNIT %u\n", counts ? "#define SKELETON_COUNTS\n" : "",
                  first >= c->fast ? "#define SKELETON_LIGHT\n" : "", number);
    (void)fwrite(t->text, 1, t->head, out);
    for (size_t k = first; k < last; k++)
        (void)fwrite(t->text + c->list[k]->at, 1, c->list[k]->bytes, out);
    bool bad = ferror(out) != 0;
    return fclose(out) == 0 && !bad;
}

static void set_words(struct unit *u, const struct compiler *c, bool fast)
{
    const char *const rest[] = {
        fast ? "-O2" : "-O0", "-w", "-fPIC", "-c", "-o", u->object, u->source, NULL};
    memcpy(u->words, c->words, c->count * sizeof *u->words);
    memcpy(u->words + c->count, rest, sizeof rest);
}

/* Writes the source files of all units; each unit takes consecutive functions of c->list. Returns
 * the number of units; prints a message and returns 0 if they cannot be written. */
static unsigned write_units(const struct skel_builds *b, const struct compiler *compiler,
                            const struct skel_text *t, const struct cut *c, struct unit *units)
{
    unsigned n = 0;
    for (size_t first = 0, last; first < c->count; first = last, n++) {
        bool fast = first < c->fast;
        uint64_t bytes = 0;
        for (last = first;
             last < (fast ? c->fast : c->count) &&
             (last == first || bytes + c->list[last]->bytes <= (fast ? FAST_UNIT : LIGHT_UNIT));
             last++)
            bytes += c->list[last]->bytes;
        struct unit *u = &units[n];
        (void)snprintf(u->source, sizeof u->source, "%s/unit%u.c", b->temporary, n);
        (void)snprintf(u->object, sizeof u->object, "%s/unit%u.o", b->temporary, n);
        if (!write_unit(u->source, t, c, first, last, n, b->counts)) {
            int why = errno;
            tool_error("skel", "cannot be written: %s: %s%s", u->source, strerror(why),
                       why == ENOSPC ? SKEL_TMPDIR : "");
            (void)unlink(u->source);
            errno = why;
            return 0;
        }
        set_words(u, compiler, fast);
    }
    return n;
}

static bool link_units(const struct skel_builds *b, const struct compiler *c,
                       const struct unit *units, unsigned count, const char *out,
                       struct skel_ended *ended)
{
    const char **words = calloc(c->count + count + OWN_WORDS, sizeof *words);
    unsigned n = 0;
    for (; words != NULL && n < c->count; n++)
        words[n] = c->words[n];
    for (unsigned k = 0; words != NULL && k < count; k++)
        words[n++] = units[k].object;
    bool good = words != NULL;
    if (good) {
        words[n++] = "-shared";
        words[n++] = "-o";
        words[n++] = out;
        good = skel_run(words, b->temporary, ended);
    }
    free(words);
    return good;
}

static bool several_units(const struct skel_builds *b, const struct compiler *c,
                          const struct skel_text *t, const struct cut *cut, const char *out,
                          struct skel_ended *ended)
{
    /* Two adjacent units together exceed the size limit of a unit. */
    size_t most = 4 + 2 * (cut->fast_bytes / FAST_UNIT + cut->bytes / LIGHT_UNIT);
    struct unit *units = calloc(most, sizeof *units);
    const char *const **list = calloc(most, sizeof *list);
    unsigned count = units != NULL && list != NULL ? write_units(b, c, t, cut, units) : 0;
    for (unsigned k = 0; k < count; k++)
        list[k] = units[k].words;
    ended->said = units != NULL && list != NULL && count == 0;
    ended->full = ended->said && errno == ENOSPC;
    bool good = count > 0 && skel_run_all(list, count, b->jobs, b->temporary, ended) &&
                link_units(b, c, units, count, out, ended);
    for (size_t k = 0; k < most && units != NULL && units[k].source[0] != '\0'; k++) {
        (void)unlink(units[k].source);
        (void)unlink(units[k].object);
    }
    free(list);
    free(units);
    return good;
}

/* --- compilation ------------------------------------------------------------------------------ */

static void tell(const struct skel_builds *b, const struct cut *cut)
{
    if (cut->bytes > LONG && isatty(STDERR_FILENO) == 1)
        tool_error("skel", "%zu functions are being compiled%s", cut->count,
                   b->keeps ? ", which is kept for the next replay" : "");
}

bool skel_compile(struct skel_builds *b, const struct skel_text *t, const uint8_t *selected,
                  const char *some, const char *source, const char *out)
{
    struct compiler c;
    struct cut cut;
    struct compiled_cache kept;
    struct skel_ended ended = {.said = false};
    if (!choose(&cut, t, selected)) {
        tool_error("skel", "no memory for %s", source);
        free(cut.list);
        return false;
    }
    bool cuts = cut.bytes > FAST_MOST && strstr(t->text, "SKELETON_UNIT") != NULL;
    find_compiler(&c);
    c.words[c.count] = cuts ? "units" : "-O2 -w -shared -fPIC";
    c.words[c.count + 1] = NULL;
    bool keeps = b->keeps && compiled_cache_key(&kept, b->folder, c.words, some, source);
    bool good = keeps && compiled_cache_get(&kept, out);
    if (!good) {
        tell(b, &cut);
        good = cuts ? several_units(b, &c, t, &cut, out, &ended)
                    : one_unit(b, &c, some, source, out, &ended);
        if (good && keeps)
            compiled_cache_put(&kept, out);
    }
    free(cut.list);
    b->hopeless = !good && (ended.full || ended.lacks);
    if (good || ended.said)
        return good;
    tool_error("skel", "%s cannot be compiled by %s%s", source, c.words[0],
               ended.full ? SKEL_TMPDIR : " (the variable CC names another C compiler)");
    return false;
}
