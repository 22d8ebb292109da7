/* SPDX-License-Identifier: BSD-3-Clause
 * See skel_build.h. Compilers take long for skeletons of large programs: only what is entered is compiled. */
#include "tools/skel_build.h"

#include "tools/run.h"
#include "tools/skel.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Numbers of functions in recordings: more are not looked for, and replay says so. */
#define FUNCTIONS_MOST (1u << 22)

static bool failed(const char *what, const char *path)
{
    message_error("skel", "%s %s: %s", what, path, strerror(errno));
    return false;
}

bool skel_builds_open(struct skel_builds *b, const char *folder, const struct skel_recording *list,
                      size_t count)
{
    const char *temporary = getenv("TMPDIR");
    *b = (struct skel_builds){.folder = folder, .list = list, .count = count};
    int n = snprintf(b->temporary, sizeof b->temporary, "%s/regtrace-skel-XXXXXX",
                     temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    if (n >= (int)sizeof b->temporary || mkdtemp(b->temporary) == NULL)
        return failed("no folder for compiled skeletons:", b->temporary);
    return true;
}

void skel_builds_close(struct skel_builds *b)
{
    for (size_t i = 0; i < b->built_count; i++)
        if (b->built[i].path[0] != '\0')
            (void)unlink(b->built[i].path);
    (void)rmdir(b->temporary);
    free(b->built);
}

/* What may be numbers of functions that are entered (isa/skel/stream.h: a token, and 4 bytes): more than there are, but none is missing. */
static void note_entered(const char *path, uint32_t first, uint32_t count, uint8_t *entered)
{
    enum { TOKEN_ENTER = 1 };
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    const uint8_t *p = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0
                           ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0)
                           : MAP_FAILED;
    if (fd >= 0)
        (void)close(fd);
    if (p == MAP_FAILED)
        return;
    const uint8_t *end = p + st.st_size, *at = p;
    while ((at = memchr(at, TOKEN_ENTER, (size_t)(end - at))) != NULL && end - at >= 5) {
        uint32_t n;
        memcpy(&n, ++at, sizeof n);
        n -= first;
        if (n < count)
            entered[n / 8] |= (uint8_t)(1u << n % 8);
    }
    (void)munmap((void *)(uintptr_t)p, (size_t)st.st_size);
}

/* In all recordings that have this skeleton. */
static void note_all(const struct skel_builds *b, const char *name, uint8_t *entered)
{
    for (size_t i = 0; i < b->count; i++) {
        const struct memory_head *h = &b->list[i].head;
        for (uint32_t k = 0; k < h->image_count; k++)
            if (strcmp(h->images[k].skeleton, name) == 0)
                note_entered(b->list[i].path, h->images[k].first,
                             h->images[k].count < FUNCTIONS_MOST ? h->images[k].count
                                                                 : FUNCTIONS_MOST,
                             entered);
        if (strcmp(h->late, name) == 0)
            note_entered(b->list[i].path, 0, FUNCTIONS_MOST, entered);
    }
}

/* How many functions are selected; -1: it cannot be written. */
static int write_selection(const struct skel_builds *b, const char *name, const char *path)
{
    uint8_t *entered = calloc(FUNCTIONS_MOST / 8, 1);
    FILE *out = entered != NULL ? fopen(path, "we") : NULL;
    int count = 0;
    if (out == NULL) {
        free(entered);
        return -1;
    }
    note_all(b, name, entered);
    (void)fputs(b->counts ? "#define SKELETON_COUNTS\n#define SKELETON_SOME\n"
                          : "#define SKELETON_SOME\n",
                out);
    for (uint32_t n = 0; n < FUNCTIONS_MOST; n++) {
        bool is = (entered[n / 8] >> n % 8 & 1) != 0;
        if (is)
            (void)fprintf(out, "#define SKELETON_%" PRIu32 "\n", n);
        count += is;
    }
    free(entered);
    bool bad = ferror(out) != 0;
    return fclose(out) == 0 && !bad ? count : -1;
}

static bool compile(const struct skel_builds *b, const char *name, struct skel_built *out)
{
    char source[PATH_MAX + 64], some[PATH_MAX + 32];
    const char *compiler = getenv("CC");
    compiler = compiler != NULL && compiler[0] != '\0' ? compiler : "cc";
    (void)snprintf(source, sizeof source, "%s/%s", b->folder, name);
    (void)snprintf(out->path, sizeof out->path, "%s/%zu.so", b->temporary, b->built_count);
    (void)snprintf(some, sizeof some, "%s/some.h", b->temporary);
    const char *const words[] = {compiler, "-include", some,      "-O1",  "-w", "-shared",
                                 "-fPIC",  "-o",       out->path, source, NULL};
    if (access(source, R_OK) != 0)
        return failed("no skeleton:", source);
    int count = write_selection(b, name, some);
    int status = count > 0 ? skel_run(words) : 0;
    (void)unlink(some);
    if (count < 0)
        return failed("cannot be written:", some);
    if (count == 0)
        out->path[0] = '\0';
    if (status != 0)
        message_error("skel",
                      "%s cannot be compiled by %s (the variable CC names another C compiler)",
                      source, compiler);
    return status == 0;
}

const char *skel_build(struct skel_builds *b, const struct skel_recording *r, int image)
{
    const char *name = image < 0 ? r->head.late : r->head.images[image].skeleton;
    char late[PATH_MAX + 64];
    for (size_t i = 0; i < b->built_count; i++)
        if (strcmp(b->built[i].name, name) == 0)
            return b->built[i].path;
    struct skel_built *more = realloc(b->built, (b->built_count + 1) * sizeof *more);
    if (more == NULL)
        return failed("no memory for", name), NULL;
    b->built = more;
    struct skel_built *built = &b->built[b->built_count];
    *built = (struct skel_built){.path = ""};
    (void)snprintf(built->name, sizeof built->name, "%s", name);
    (void)snprintf(late, sizeof late, "%s/%s", b->folder, name);
    if ((image >= 0 || access(late, F_OK) == 0) && !compile(b, name, built))
        return NULL;
    b->built_count++;
    return built->path;
}
