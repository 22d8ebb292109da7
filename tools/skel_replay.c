/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay`: skeletons of the run's folder are compiled, and regtrace-skel runs them over what threads have recorded. */
#include "tools/skel.h"

#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Functions of one skeleton: more are not compiled, and replay says so. */
#define FUNCTIONS_MOST (1u << 22)

struct recorded {
    char path[PATH_MAX];
    struct memory_head head;
};

struct job {
    const struct skel_wishes *wishes;
    char program[PATH_MAX], folder[PATH_MAX];
    char built[64]; /* a folder of ours, for compiled skeletons */
    char source[sizeof((struct memory_head *)0)->skeleton]; /* the one that was compiled last */
    struct recorded *list;
    size_t count;
};

static int failed(const char *what, const char *path)
{
    message_error("skel", "%s %s: %s", what, path, strerror(errno));
    return TOOL_FAILURE;
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

static bool read_head(const char *path, struct memory_head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
                memcmp(head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) == 0 &&
                memchr(head->skeleton, 0, sizeof head->skeleton) != NULL &&
                strchr(head->skeleton, '/') == NULL && head->skeleton[0] != '.';
    if (fd >= 0)
        (void)close(fd);
    return good;
}

static bool is_wanted(const struct skel_wishes *w, const struct memory_head *h)
{
    return rank_list_has(&w->ranks, h->rank) && (w->thread < 0 || w->thread == (int64_t)h->tid);
}

static int by_thread(const void *a, const void *b)
{
    const struct memory_head *x = &((const struct recorded *)a)->head,
                             *y = &((const struct recorded *)b)->head;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int add(struct job *j, const char *name)
{
    struct recorded r;
    if (snprintf(r.path, sizeof r.path, "%s/%s", j->folder, name) >= (int)sizeof r.path)
        return TOOL_OK;
    if (!read_head(r.path, &r.head)) {
        message_error("skel", "%s is no recording of memory accesses, or damaged", r.path);
        return TOOL_FAILURE;
    }
    if (!is_wanted(j->wishes, &r.head))
        return TOOL_OK;
    struct recorded *more = realloc(j->list, (j->count + 1) * sizeof *more);
    if (more == NULL)
        return failed("no memory for", j->folder);
    j->list = more;
    j->list[j->count++] = r;
    return TOOL_OK;
}

static int find(struct job *j)
{
    int code = TOOL_OK;
    (void)snprintf(j->folder, sizeof j->folder, "%.4000s/" MEMORY_FOLDER, j->wishes->path);
    DIR *d = opendir(j->folder);
    if (d == NULL) {
        message_error("skel",
                      "%s has no memory accesses: it is the folder of no run, or of one without "
                      "-memory (regtrace run -memory REGEX PROGRAM)",
                      j->wishes->path);
        return TOOL_FAILURE;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        const char *dot = strrchr(e->d_name, '.');
        if (dot != NULL && strcmp(dot, ".rec") == 0 && add(j, e->d_name) != TOOL_OK)
            code = TOOL_FAILURE;
    }
    (void)closedir(d);
    if (j->count != 0)
        qsort(j->list, j->count, sizeof *j->list, by_thread);
    else if (code == TOOL_OK) {
        message_error("skel", "nothing was recorded in %s of these ranks and threads", j->folder);
        code = TOOL_FAILURE;
    }
    return code;
}

/* --- running others ------------------------------------------------------------------------------------------------- */

/* Its exit status, -1 where it did not end by itself. */
static int run(const char *const *words)
{
    int status = 0;
    (void)fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        (void)execvp(words[0], (char *const *)words);
        (void)fprintf(stderr, "regtrace skel: %s cannot be run: %s\n", words[0], strerror(errno));
        _exit(127);
    }
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return pid > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* What may be numbers of functions that are entered (isa/skel/stream.h: a token, and 4 bytes): more than there are, but none is missing. */
static void note_entered(const char *path, uint8_t *entered)
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
        if (n < FUNCTIONS_MOST)
            entered[n / 8] |= (uint8_t)(1u << n % 8);
    }
    (void)munmap((void *)(uintptr_t)p, (size_t)st.st_size);
}

/* Compilers take long for skeletons of large programs: only what is entered is compiled. */
static bool select_functions(const struct job *j, const struct memory_head *h, const char *path)
{
    uint8_t *entered = calloc(FUNCTIONS_MOST / 8, 1);
    FILE *out = fopen(path, "we");
    for (size_t i = 0; i < j->count && entered != NULL; i++)
        if (strcmp(j->list[i].head.skeleton, h->skeleton) == 0)
            note_entered(j->list[i].path, entered);
    if (out != NULL && entered != NULL)
        (void)fputs("#define SKELETON_SOME\n", out);
    for (uint32_t n = 0; out != NULL && entered != NULL && n < FUNCTIONS_MOST; n++)
        if ((entered[n / 8] >> n % 8 & 1) != 0)
            (void)fprintf(out, "#define SKELETON_%" PRIu32 "\n", n);
    bool good = out != NULL && entered != NULL && ferror(out) == 0;
    free(entered);
    return out != NULL && fclose(out) == 0 && good;
}

static int compile(struct job *j, const struct memory_head *h)
{
    char source[PATH_MAX + 64], built[128], some[128];
    const char *compiler = getenv("CC");
    if (strcmp(j->source, h->skeleton) == 0)
        return TOOL_OK;
    compiler = compiler != NULL && compiler[0] != '\0' ? compiler : "cc";
    (void)snprintf(source, sizeof source, "%s/%s", j->folder, h->skeleton);
    (void)snprintf(built, sizeof built, "%s/skeleton.so", j->built);
    (void)snprintf(some, sizeof some, "%s/some.h", j->built);
    const char *const words[] = {compiler, "-include", some,  "-O1",  "-w", "-shared",
                                 "-fPIC",  "-o",       built, source, NULL};
    if (access(source, R_OK) != 0)
        return failed("no skeleton:", source);
    (void)unlink(built);
    bool selected = select_functions(j, h, some);
    int status = selected ? run(words) : -1;
    (void)unlink(some);
    if (!selected)
        return failed("cannot be written:", some);
    if (status != 0) {
        message_error("skel",
                      "%s cannot be compiled by %s (the variable CC names another C compiler)",
                      source, compiler);
        return TOOL_FAILURE;
    }
    memcpy(j->source, h->skeleton, sizeof j->source);
    return TOOL_OK;
}

static int replay(struct job *j, const struct recorded *r)
{
    char first[16], last[16], built[128];
    const struct window_span *w = &j->wishes->windows;
    (void)snprintf(first, sizeof first, "%d", w->given ? w->first : 0);
    (void)snprintf(last, sizeof last, "%d", w->given ? w->last : INT32_MAX);
    (void)snprintf(built, sizeof built, "%s/skeleton.so", j->built);
    const char *const words[] = {j->program, "--recording", r->path,    "--first",         first,
                                 "--last",   last,          "--format", j->wishes->format, built,
                                 NULL};
    int code = compile(j, &r->head);
    return code != TOOL_OK ? code : run(words) == 0 ? TOOL_OK : TOOL_FAILURE;
}

int skel_replay(const struct skel_wishes *w)
{
    struct job j = {.wishes = w};
    const char *temporary = getenv("TMPDIR");
    char built[128];
    if (!skel_program(j.program))
        return TOOL_FAILURE;
    int code = find(&j);
    if (snprintf(j.built, sizeof j.built, "%s/regtrace-skel-XXXXXX",
                 temporary != NULL && strlen(temporary) < 32 ? temporary : "/tmp") < 0 ||
        (j.count != 0 && mkdtemp(j.built) == NULL))
        return failed("no folder for compiled skeletons:", j.built);
    for (size_t i = 0; i < j.count; i++)
        if (replay(&j, &j.list[i]) != TOOL_OK)
            code = TOOL_FAILURE;
    (void)snprintf(built, sizeof built, "%s/skeleton.so", j.built);
    if (j.count != 0) {
        (void)unlink(built);
        (void)rmdir(j.built);
    }
    free(j.list);
    return code;
}
