/* SPDX-License-Identifier: BSD-3-Clause
 * See skel_build.h. Compilers take long for skeletons of large programs: only what is entered is compiled. */
#include "tools/skel_build.h"

#include "tools/skel.h"
#include "tools/skel_kept.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Numbers of functions in recordings: more are not looked for, and replay says so. */
#define FUNCTIONS_MOST (1u << 22)
#define SOON (UINT64_C(8) << 20) /* bytes of a recording */
enum { PIECE = 1 << 20 };

static bool failed(const char *what, const char *path)
{
    message_error("skel", "%s %s: %s", what, path, strerror(errno));
    return false;
}

bool skel_builds_open(struct skel_builds *b, const char *folder)
{
    const char *temporary = getenv("TMPDIR");
    *b = (struct skel_builds){.folder = folder};
    int n = snprintf(b->temporary, sizeof b->temporary, "%s/regtrace-skel-XXXXXX",
                     temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (n >= (int)sizeof b->temporary || mkdtemp(b->temporary) == NULL)
        return failed("no folder for compiled skeletons:", b->temporary);
    return true;
}

void skel_builds_close(struct skel_builds *b)
{
    for (size_t i = 0; i < b->built_count; i++) {
        if (b->built[i]->path[0] != '\0')
            (void)unlink(b->built[i]->path);
        free(b->built[i]->functions);
        free(b->built[i]);
    }
    (void)rmdir(b->temporary);
    free(b->built);
}

/* --- which functions ---------------------------------------------------------------------------------------------------- */

struct selection {
    uint8_t bits[FUNCTIONS_MOST / 8];
    uint8_t piece[PIECE];
};

static void select_one(struct selection *s, uint32_t n)
{
    s->bits[n / 8] |= (uint8_t)(1u << n % 8);
}

static bool is_selected(const struct selection *s, uint32_t n)
{
    return (s->bits[n / 8] >> n % 8 & 1) != 0;
}

/* What may be numbers of functions that are entered (isa/skel/stream.h: a token, and 4 bytes), from `first` on, in a part of a file: more than
 * there are, but none is missing. */
static void note_entered(struct selection *s, const char *path, uint32_t first, uint32_t count,
                         uint64_t from, uint64_t to)
{
    enum { TOKEN_ENTER = 1, ENTRY = 5 };
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t have = 0;
    while (fd >= 0 && from < to) {
        ssize_t got = pread(fd, s->piece + have, PIECE - have, (off_t)from);
        if (got <= 0)
            break;
        have += (size_t)got;
        from += (uint64_t)got;
        const uint8_t *at = s->piece, *end = at + have;
        while ((at = memchr(at, TOKEN_ENTER, (size_t)(end - at))) != NULL && end - at >= ENTRY) {
            uint32_t n;
            memcpy(&n, ++at, sizeof n);
            if (n - first < count)
                select_one(s, n - first);
        }
        /* An entry may go on in the next piece. */
        have = at != NULL ? (size_t)(end - at) : 0;
        if (have > 0)
            memmove(s->piece, at, have);
    }
    if (fd >= 0)
        (void)close(fd);
}

/* In all recordings that have this skeleton. */
static void note_all(const struct skel_builds *b, const char *name, struct selection *s)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct memory_head *h = &b->list[i]->head;
        for (uint32_t k = 0; k < h->image_count; k++)
            if (strcmp(h->images[k].skeleton, name) == 0)
                note_entered(s, b->list[i]->path, h->images[k].first,
                             h->images[k].count < FUNCTIONS_MOST ? h->images[k].count
                                                                 : FUNCTIONS_MOST,
                             0, UINT64_MAX);
        if (strcmp(h->late, name) == 0)
            note_entered(s, b->list[i]->path, 0, FUNCTIONS_MOST, 0, UINT64_MAX);
    }
}

/* Who calls whom directly, as the skeleton's text says (isa/skel/job.c). */
struct calls {
    uint32_t (*list)[2];
    size_t count, room;
};

static bool add_call(struct calls *c, uint32_t from, uint32_t to)
{
    if (c->count == c->room) {
        size_t room = 2 * c->room + 1024;
        uint32_t(*more)[2] = realloc(c->list, room * sizeof *more);
        if (more == NULL)
            return false;
        c->list = more;
        c->room = room;
    }
    c->list[c->count][0] = from;
    c->list[c->count++][1] = to;
    return true;
}

static bool read_calls(struct calls *c, const char *source)
{
    FILE *in = fopen(source, "re");
    char *line = NULL;
    size_t room = 0;
    bool good = in != NULL;
    while (good && getline(&line, &room, in) > 0) {
        uint32_t from;
        int at = 0;
        if (line[0] != '/' || sscanf(line, "/* %" SCNu32 " calls%n", &from, &at) < 1 || at == 0)
            continue;
        for (char *p = line + at, *end; good; p = end) {
            unsigned long to = strtoul(p, &end, 10);
            if (end == p || from >= FUNCTIONS_MOST || to >= FUNCTIONS_MOST)
                break;
            good = add_call(c, from, (uint32_t)to);
        }
    }
    free(line);
    if (in != NULL)
        (void)fclose(in);
    return good;
}

/* Whoever is called directly is entered by no token. */
static bool note_called(const char *source, struct selection *s)
{
    struct calls c = {0};
    bool good = read_calls(&c, source);
    for (bool changed = good; changed;) {
        changed = false;
        for (size_t k = 0; k < c.count; k++) {
            uint32_t to = c.list[k][1];
            if (!is_selected(s, c.list[k][0]) || is_selected(s, to))
                continue;
            select_one(s, to);
            changed = true;
        }
    }
    free(c.list);
    return good;
}

/* False: it cannot be written. */
static bool write_selection(const struct selection *s, bool counts, const char *path,
                            struct skel_built *out)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    (void)fputs(counts ? "#define SKELETON_COUNTS\n#define SKELETON_SOME\n"
                       : "#define SKELETON_SOME\n",
                file);
    for (uint32_t n = 0; n < FUNCTIONS_MOST; n++)
        out->count += is_selected(s, n);
    out->functions = malloc((out->count + 1) * sizeof *out->functions);
    out->count = 0;
    for (uint32_t n = 0; n < FUNCTIONS_MOST && out->functions != NULL; n++)
        if (is_selected(s, n)) {
            (void)fprintf(file, "#define SKELETON_%" PRIu32 "\n", n);
            out->functions[out->count++] = n;
        }
    bool bad = ferror(file) != 0 || out->functions == NULL;
    return fclose(file) == 0 && !bad;
}

/* --- compiling ------------------------------------------------------------------------------------------------------------ */

/* Late skeletons grow while the program runs, a function at a time, of which the last may not be whole. The same file, or a copy of what is. */
static bool whole_part(const struct skel_builds *b, const char *source, char part[PATH_MAX + 64])
{
    static const char last[] = "\n#endif\n";
    FILE *in = fopen(source, "re"), *out = NULL;
    char *text = NULL;
    size_t room = 0;
    (void)snprintf(part, PATH_MAX + 64, "%s", source);
    /* No byte of it is 0. */
    ssize_t n = in != NULL ? getdelim(&text, &room, '\0', in) : -1;
    if (in != NULL)
        (void)fclose(in);
    char *end = NULL;
    for (char *p = n > 0 ? text : NULL; p != NULL && (p = strstr(p, last)) != NULL; p++)
        end = p + sizeof last - 1;
    bool good = n > 0;
    if (good && end != text + n) {
        (void)snprintf(part, PATH_MAX + 64, "%s/part.c", b->temporary);
        out = fopen(part, "we");
        good = out != NULL && fwrite(text, 1, end != NULL ? (size_t)(end - text) : 0, out) ==
                                  (end != NULL ? (size_t)(end - text) : 0);
        good = out != NULL && fclose(out) == 0 && good;
    }
    free(text);
    return good;
}

enum { COMPILER_WORDS = 16, OWN_WORDS = 10 };

/* CC: a program and options, as make has it; how many words. text: what they are in. */
static unsigned compiler_words(char text[PATH_MAX], const char **words)
{
    const char *wanted = getenv("CC");
    unsigned n = 0;
    (void)snprintf(text, PATH_MAX, "%s", wanted != NULL ? wanted : "");
    if (strchr(text, '/') != NULL && access(text, X_OK) == 0) { /* blanks may be in its path */
        words[0] = text;
        return 1;
    }
    for (char *rest, *word = strtok_r(text, " \t", &rest); word != NULL && n < COMPILER_WORDS;
         word = strtok_r(NULL, " \t", &rest))
        words[n++] = word;
    if (n == 0)
        words[n++] = "cc";
    return n;
}

/* Or what was kept of that before. */
static bool run_compiler(const struct skel_builds *b, const char *some, const char *source,
                         const char *out)
{
    static const char *const how[] = {"-O2", "-w", "-shared", "-fPIC"};
    char text[PATH_MAX];
    const char *words[COMPILER_WORDS + OWN_WORDS];
    unsigned n = compiler_words(text, words);
    for (unsigned k = 0; k < sizeof how / sizeof *how; k++)
        words[n++] = how[k];
    words[n] = NULL;
    struct skel_kept kept;
    bool keeps = b->keeps && skel_kept_key(&kept, b->folder, words, some, source);
    if (keeps && skel_kept_get(&kept, out))
        return true;
    const char *const rest[] = {"-o", out, "-include", some, source, NULL};
    memcpy(words + n, rest, sizeof rest);
    if (skel_run(words, b->temporary) == 0) {
        if (keeps)
            skel_kept_put(&kept, out);
        return true;
    }
    message_error("skel", "%s cannot be compiled by %s (the variable CC names another C compiler)",
                  source, words[0]);
    return false;
}

static bool compile(const struct skel_builds *b, struct selection *s, struct skel_built *out)
{
    char source[PATH_MAX + 64], part[PATH_MAX + 64], some[PATH_MAX + 32];
    (void)snprintf(source, sizeof source, "%s/%s", b->folder, out->name);
    (void)snprintf(out->path, sizeof out->path, "%s/%zu.so", b->temporary, b->built_count);
    (void)snprintf(some, sizeof some, "%s/some.h", b->temporary);
    if (access(source, R_OK) != 0 || !whole_part(b, source, part))
        return failed("no skeleton:", source);
    bool written = note_called(part, s) && write_selection(s, b->counts, some, out);
    bool good = written && (out->count == 0 || run_compiler(b, some, part, out->path));
    if (!written)
        (void)failed("cannot be written:", some);
    (void)unlink(some);
    if (strcmp(part, source) != 0)
        (void)unlink(part);
    if (out->count == 0)
        out->path[0] = '\0';
    return good;
}

/* With what is selected; NULL, and a message. */
static const char *add(struct skel_builds *b, const char *name, struct selection *s)
{
    struct skel_built **more = realloc(b->built, (b->built_count + 1) * sizeof *more),
                      *built = calloc(1, sizeof *built);
    if (more != NULL)
        b->built = more;
    if (more == NULL || built == NULL) {
        free(built);
        return failed("no memory for", name), NULL;
    }
    (void)snprintf(built->name, sizeof built->name, "%s", name);
    if (s != NULL && !compile(b, s, built)) {
        free(built->functions);
        free(built);
        return NULL;
    }
    b->built[b->built_count++] = built;
    return built->path;
}

const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image)
{
    const char *name = image < 0 ? r->head.late : r->head.images[image].skeleton;
    char late[PATH_MAX + 64];
    for (size_t i = 0; i < b->built_count; i++)
        if (strcmp(b->built[i]->name, name) == 0)
            return b->built[i]->path;
    (void)snprintf(late, sizeof late, "%s/%s", b->folder, name);
    if (image < 0 && access(late, F_OK) != 0)
        return "";
    struct selection *s = calloc(1, sizeof *s);
    if (s == NULL)
        return failed("no memory for", name), NULL;
    note_all(b, name, s);
    const char *path = add(b, name, s);
    free(s);
    return path;
}

/* --- while the program runs ----------------------------------------------------------------------------------------------- */

static bool has(const struct skel_built *built, uint32_t function)
{
    for (size_t k = 0; k < built->count; k++)
        if (built->functions[k] == function)
            return true;
    return false;
}

const char *skel_build_more(struct skel_builds *b, const struct skel_recording *r, uint32_t number,
                            uint64_t from, int *image)
{
    const struct memory_head *h = &r->head;
    uint32_t k = 0;
    while (k < h->image_count && number - h->images[k].first >= h->images[k].count)
        k++;
    bool late = k == h->image_count;
    const char *name = late ? h->late : h->images[k].skeleton;
    uint32_t first = late ? 0 : h->images[k].first,
             count =
                 late || h->images[k].count > FUNCTIONS_MOST ? FUNCTIONS_MOST : h->images[k].count;
    *image = late ? -1 : (int)k;
    for (size_t i = 0; i < b->built_count; i++)
        if (strcmp(b->built[i]->name, name) == 0 && has(b->built[i], number - first))
            return b->built[i]->path;
    struct selection *s = number - first < count ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    select_one(s, number - first);
    note_entered(s, r->path, first, count, MEMORY_LOG + from, MEMORY_LOG + from + SOON);
    note_entered(s, r->path, first, count, MEMORY_PAGE, MEMORY_LOG); /* the log's last bytes */
    for (size_t i = 0; i < b->built_count; i++)
        for (size_t n = 0; strcmp(b->built[i]->name, name) == 0 && n < b->built[i]->count; n++)
            s->bits[b->built[i]->functions[n] / 8] &=
                (uint8_t) ~(1u << b->built[i]->functions[n] % 8);
    const char *path = add(b, name, s);
    free(s);
    return path;
}
