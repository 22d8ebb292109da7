/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the functions that recordings enter and compiles these alone, since compilers take long for
 * the skeletons of large programs. */
#include "tools/memory/compile/skel_build.h"

#include "base/format/copy.h"

#include "tools/memory/skel_command.h"
#include "tools/memory/compile/skel_compile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOON (UINT64_C(8) << 20) /* bytes of a recording to search ahead */
enum { PIECE = 1 << 20 };

static bool failed(const char *what, const char *path)
{
    tool_error("skel", "%s %s: %s", what, path, strerror(errno));
    return false;
}

bool skel_builds_open(struct skel_builds *b, const char *folder)
{
    const char *temporary = getenv("TMPDIR");
    *b = (struct skel_builds){.folder = folder};
    int n = snprintf(b->temporary, sizeof b->temporary, "%s/regtrace-skel-XXXXXX",
                     temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (n >= (int)sizeof b->temporary || mkdtemp(b->temporary) == NULL)
        return tool_error("skel", "no folder for compiled skeletons: %s: %s%s", b->temporary,
                          strerror(errno), SKEL_TMPDIR),
               false;
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

/* --- selection of functions ------------------------------------------------------------------- */

struct selection {
    uint8_t how[SKEL_FUNCTIONS_MOST]; /* by number: skel_compile.h */
    uint8_t piece[PIECE];
};

static void select_entered(struct selection *s, uint32_t n)
{
    s->how[n] = s->how[n] == 0 ? SKEL_ENTERED : s->how[n] < UINT8_MAX ? s->how[n] + 1 : UINT8_MAX;
}

/* Selects the functions that are entered in bytes `from` to `to` of a file: an entry is a token and
 * a number of 4 bytes (enum skel_token). Other bytes may look like an entry,
 * so the selection may be too large, but lacks no function. Numbers count from `first` on. */
static void note_entered(struct selection *s, const char *path, uint32_t first, uint32_t count,
                         uint64_t from, uint64_t to)
{
    enum { ENTRY = 5 };
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
                select_entered(s, n - first);
        }
        /* An entry may continue in the next piece. */
        have = at != NULL ? (size_t)(end - at) : 0;
        if (have > 0)
            memmove(s->piece, at, have);
    }
    if (fd >= 0)
        (void)close(fd);
}

/* Selects the functions of this skeleton that any recording enters. */
static void note_all(const struct skel_builds *b, const char *name, struct selection *s)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct memory_head *h = &b->list[i]->head;
        for (uint32_t k = 0; k < h->image_count; k++)
            if (strcmp(h->images[k].skeleton, name) == 0)
                note_entered(s, b->list[i]->path, h->images[k].first,
                             h->images[k].count < SKEL_FUNCTIONS_MOST ? h->images[k].count
                                                                      : SKEL_FUNCTIONS_MOST,
                             0, UINT64_MAX);
        if (strcmp(h->late, name) == 0)
            note_entered(s, b->list[i]->path, 0, SKEL_FUNCTIONS_MOST, 0, UINT64_MAX);
    }
}

/* Selects the functions that selected functions call directly: recordings have no token for such a
 * call. */
static void note_called(const struct skel_text *t, struct selection *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < t->call_count; k++) {
            uint32_t to = t->calls[k][1];
            if (s->how[t->calls[k][0]] == 0 || s->how[to] != 0)
                continue;
            s->how[to] = SKEL_CALLED;
            changed = true;
        }
    }
}

/* Writes the selection as macros, and its numbers to *out. Returns false if it cannot be
 * written. */
static bool write_selection(const struct selection *s, bool counts, const char *path,
                            struct skel_built *out)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return false;
    (void)fputs(counts ? "#define SKELETON_COUNTS\n#define SKELETON_SOME\n"
                       : "#define SKELETON_SOME\n",
                file);
    for (uint32_t n = 0; n < SKEL_FUNCTIONS_MOST; n++)
        out->count += s->how[n] != 0;
    out->functions = malloc((out->count + 1) * sizeof *out->functions);
    out->count = 0;
    for (uint32_t n = 0; n < SKEL_FUNCTIONS_MOST && out->functions != NULL; n++)
        if (s->how[n] != 0) {
            (void)fprintf(file, "#define SKELETON_%" PRIu32 "\n", n);
            out->functions[out->count++] = n;
        }
    bool bad = ferror(file) != 0 || out->functions == NULL;
    return fclose(file) == 0 && !bad;
}

/* --- compiling -------------------------------------------------------------------------------- */

/* Writes a copy with the complete functions. The skeleton of mid-function entries grows while the
 * program runs, and its last function may be incomplete. */
static bool write_part(const struct skel_text *t, const char *path)
{
    FILE *out = fopen(path, "we");
    bool good = out != NULL && fwrite(t->text, 1, t->bytes, out) == t->bytes;
    return out != NULL && fclose(out) == 0 && good;
}

/* Is the skeleton of an image complete? It is written before anything is recorded, and contains all
 * functions that its own call. */
static bool is_whole(const struct skel_text *t, const struct selection *s)
{
    size_t called = 0, have = 0;
    for (uint32_t n = 0; n < SKEL_FUNCTIONS_MOST; n++)
        called += s->how[n] == SKEL_CALLED;
    for (size_t k = 0; k < t->count; k++)
        have += s->how[t->functions[k].number] == SKEL_CALLED;
    return !t->cut && have == called;
}

static bool compile_text(struct skel_builds *b, const struct skel_text *t, struct selection *s,
                         const char *source, struct skel_built *out)
{
    char part[PATH_MAX + 32], some[PATH_MAX + 32];
    (void)snprintf(out->path, sizeof out->path, "%s/%zu.so", b->temporary, b->built_count);
    (void)snprintf(some, sizeof some, "%s/some.h", b->temporary);
    (void)snprintf(part, sizeof part, "%s/part.c", b->temporary);
    note_called(t, s);
    if (strstr(out->name, ".late.") == NULL && !is_whole(t, s)) {
        tool_error("skel", "the skeleton %s is damaged or incomplete", source);
        out->path[0] = '\0';
        return false;
    }
    bool written = write_selection(s, b->counts, some, out) && (!t->cut || write_part(t, part));
    bool good = written && (out->count == 0 ||
                            skel_compile(b, t, s->how, some, t->cut ? part : source, out->path));
    if (!written) {
        b->hopeless = errno == ENOSPC;
        tool_error("skel", "cannot be written: %s: %s%s", b->temporary, strerror(errno),
                   b->hopeless ? SKEL_TMPDIR : "");
    }
    (void)unlink(some);
    if (t->cut)
        (void)unlink(part);
    if (out->count == 0)
        out->path[0] = '\0';
    return good;
}

static bool compile(struct skel_builds *b, struct selection *s, struct skel_built *out)
{
    char source[PATH_MAX + 64];
    struct skel_text t;
    (void)snprintf(source, sizeof source, "%s/%s", b->folder, out->name);
    bool good = skel_text_read(&t, source);
    if (!good)
        (void)failed("no skeleton:", source);
    good = good && compile_text(b, &t, s, source, out);
    skel_text_free(&t);
    return good;
}

/* Compiles the selected functions. Returns the path of the shared object, or prints a message and
 * returns NULL. */
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
    built->failed = b->hopeless || !compile(b, s, built);
    b->built[b->built_count++] = built;
    return built->failed ? NULL : built->path;
}

const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image)
{
    const char *name = image < 0 ? r->head.late : r->head.images[image].skeleton;
    char late[PATH_MAX + 64];
    for (size_t i = 0; i < b->built_count; i++)
        if (strcmp(b->built[i]->name, name) == 0)
            return b->built[i]->failed ? NULL : b->built[i]->path;
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

/* --- while the program runs ------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

bool skel_built_has(const struct skel_built *b, uint32_t function)
{
    return bsearch(&function, b->functions, b->count, sizeof function, by_number) != NULL;
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
             count = late || h->images[k].count > SKEL_FUNCTIONS_MOST ? SKEL_FUNCTIONS_MOST
                                                                      : h->images[k].count;
    *image = late ? -1 : (int)k;
    for (size_t i = 0; i < b->built_count; i++)
        if (strcmp(b->built[i]->name, name) == 0 && skel_built_has(b->built[i], number - first))
            return b->built[i]->failed ? NULL : b->built[i]->path;
    struct selection *s = number - first < count ? calloc(1, sizeof *s) : NULL;
    if (s == NULL)
        return NULL;
    select_entered(s, number - first);
    note_entered(s, r->path, first, count, MEMORY_LOG + from, MEMORY_LOG + from + SOON);
    note_entered(s, r->path, first, count, MEMORY_PAGE,
                 MEMORY_LOG); /* the buffer: the log's last bytes */
    for (size_t i = 0; i < b->built_count; i++)
        for (size_t n = 0; strcmp(b->built[i]->name, name) == 0 && n < b->built[i]->count; n++)
            s->how[b->built[i]->functions[n]] = 0;
    const char *path = add(b, name, s);
    free(s);
    return path;
}
