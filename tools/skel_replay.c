/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel replay`: skeletons of the run's folder are compiled, and regtrace-skel runs them over what threads have recorded. */
#include "base/accesses.h"
#include "tools/skel.h"
#include "tools/skel_build.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct job {
    const struct skel_wishes *wishes;
    char program[PATH_MAX], folder[PATH_MAX];
    struct skel_recording *list;
    size_t count;
    struct skel_builds builds;
};

static int failed(const char *what, const char *path)
{
    message_error("skel", "%s %s: %s", what, path, strerror(errno));
    return TOOL_FAILURE;
}

/* --- recordings --------------------------------------------------------------------------------------------------- */

/* Of a file beside it. */
static bool is_name(const char *name, size_t room)
{
    return memchr(name, 0, room) != NULL && strchr(name, '/') == NULL && name[0] != '.' &&
           name[0] != '\0';
}

static bool read_head(const char *path, struct memory_head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, head, sizeof *head) == (ssize_t)sizeof *head &&
                memcmp(head->magic, MEMORY_MAGIC, sizeof MEMORY_MAGIC) == 0 &&
                head->image_count <= MEMORY_IMAGES && is_name(head->late, sizeof head->late);
    for (uint32_t i = 0; good && i < head->image_count; i++)
        good = is_name(head->images[i].skeleton, sizeof head->images[i].skeleton);
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
    const struct memory_head *x = &((const struct skel_recording *)a)->head,
                             *y = &((const struct skel_recording *)b)->head;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static int add(struct job *j, const char *name)
{
    struct skel_recording r;
    if (snprintf(r.path, sizeof r.path, "%s/%s", j->folder, name) >= (int)sizeof r.path)
        return TOOL_OK;
    if (!read_head(r.path, &r.head)) {
        message_error("skel", "%s is no recording of memory accesses, or damaged", r.path);
        return TOOL_FAILURE;
    }
    if (!is_wanted(j->wishes, &r.head))
        return TOOL_OK;
    struct skel_recording *more = realloc(j->list, (j->count + 1) * sizeof *more);
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

int skel_run(const char *const *words)
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

/* regtrace-skel's exit status, of one recording. */
static int replay(struct job *j, const struct skel_recording *r)
{
    char first[16], last[16];
    const char *words[16 + MEMORY_IMAGES], *built;
    const struct window_span *w = &j->wishes->windows;
    unsigned n = 0;
    (void)snprintf(first, sizeof first, "%d", w->given ? w->first : 0);
    (void)snprintf(last, sizeof last, "%d", w->given ? w->last : INT32_MAX);
    const char *const begin[] = {j->program, "--recording", r->path,    "--first",        first,
                                 "--last",   last,          "--format", j->wishes->format};
    for (; n < sizeof begin / sizeof *begin; n++)
        words[n] = begin[n];
    if ((built = skel_build(&j->builds, r, -1)) == NULL)
        return ACCESSES_FAILED;
    if (built[0] != '\0') {
        words[n++] = "--late";
        words[n++] = built;
    }
    words[n++] = "--";
    for (uint32_t i = 0; i < r->head.image_count; i++)
        if ((words[n++] = skel_build(&j->builds, r, (int)i)) == NULL)
            return ACCESSES_FAILED;
    words[n] = NULL;
    return skel_run(words);
}

static int replay_each(struct job *j)
{
    int code = TOOL_OK;
    for (size_t i = 0; i < j->count; i++) {
        int status = replay(j, &j->list[i]);
        if (status == ACCESSES_UNREAD || status == ACCESSES_UNWRITTEN)
            return status;
        if (status != ACCESSES_DONE)
            code = TOOL_FAILURE;
    }
    return code;
}

/* --- binary output ------------------------------------------------------------------------------------------------- */

static bool begin_binary(const struct skel_wishes *w)
{
    struct accesses_record head = {
        .address = ACCESSES_VERSION, .bytes = sizeof head, .kind = ACCESSES_HEAD};
    memcpy(&head.pc, ACCESSES_MAGIC, sizeof head.pc);
    if (strcmp(w->format, "binary") != 0)
        return true;
    if (isatty(STDOUT_FILENO) == 1) {
        message_error("skel", "-format binary is for programs: redirect it to a file, or to a "
                              "simulator by a pipe");
        return false;
    }
    (void)fwrite(&head, sizeof head, 1, stdout);
    return output_finish("skel", TOOL_OK) == TOOL_OK;
}

/* As if this process had written it itself. */
static int end_unread(void)
{
    (void)raise(SIGPIPE);
    return TOOL_FAILURE;
}

int skel_replay(const struct skel_wishes *w)
{
    struct job j = {.wishes = w};
    if (!skel_program(j.program))
        return TOOL_FAILURE;
    int code = find(&j), status = ACCESSES_FAILED;
    if (j.count != 0 && begin_binary(w) && skel_builds_open(&j.builds, j.folder, j.list, j.count)) {
        j.builds.counts = strcmp(w->format, "count") == 0;
        status = replay_each(&j);
        skel_builds_close(&j.builds);
    }
    free(j.list);
    if (status == ACCESSES_UNREAD)
        return end_unread();
    return status == ACCESSES_DONE ? code : TOOL_FAILURE;
}
