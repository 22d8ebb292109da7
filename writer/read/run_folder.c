/* SPDX-License-Identifier: BSD-3-Clause
 * The folder of a run: finds its rank files, and sorts them. */
#include "writer/claim.h"
#include "writer/drain.h"
#include "writer/starting.h"

#include "base/identity.h"
#include "base/toolkit/array.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIST_ATTEMPTS 50

struct file_name {
    struct file_name *before; /* its name before, which callers may hold */
    char text[];
};

struct folder_entry {
    struct file_name *name;
    dev_t dev;
    ino_t ino; /* 0: not known */
};

struct rt_run {
    char *dir;
    struct folder_entry *files;
    size_t count, room;
    bool one_file;
};

/* Parses rank-NNNNN.h5 or rank-NNNNN.PID.N.h5. */
static bool parse_name(const char *name, int *rank, unsigned *pid, int *n)
{
    int end = 0;
    *pid = 0;
    *n = -1;
    if (sscanf(name, "rank-%d.h5%n", rank, &end) == 1 && end > 0 && name[end] == '\0')
        return true;
    end = 0;
    return sscanf(name, "rank-%d.%u.%d.h5%n", rank, pid, n, &end) == 3 && end > 0 &&
           name[end] == '\0';
}

static bool path_of(const struct rt_run *run, const struct folder_entry *f, char out[PATH_MAX])
{
    return snprintf(out, PATH_MAX, "%s/%s", run->dir, f->name->text) < PATH_MAX;
}

static int by_rank(const void *a, const void *b)
{
    int rank_a = 0, rank_b = 0, n_a, n_b;
    unsigned pid_a, pid_b;
    const char *x = ((const struct folder_entry *)a)->name->text,
               *y = ((const struct folder_entry *)b)->name->text;
    (void)parse_name(x, &rank_a, &pid_a, &n_a);
    (void)parse_name(y, &rank_b, &pid_b, &n_b);
    if (rank_a != rank_b)
        return rank_a < rank_b ? -1 : 1;
    if (pid_a != pid_b)
        return pid_a < pid_b ? -1 : 1;
    return n_a != n_b ? (n_a < n_b ? -1 : 1) : strcmp(x, y);
}

static bool name_file(struct folder_entry *f, const char *text)
{
    size_t n = strlen(text) + 1;
    struct file_name *name = malloc(sizeof *name + n);
    if (name == NULL)
        return false;
    name->before = f->name;
    memcpy(name->text, text, n);
    f->name = name;
    return true;
}

static int add_file(struct rt_run *run, const char *name)
{
    struct stat st;
    char path[PATH_MAX];
    struct folder_entry *grown = array_grown(run->files, run->count, &run->room, sizeof *grown);
    if (grown == NULL)
        return -ENOMEM;
    run->files = grown;
    struct folder_entry *f = &run->files[run->count];
    *f = (struct folder_entry){0};
    if (!name_file(f, name))
        return -ENOMEM;
    run->count++;
    if (path_of(run, f, path) && stat(path, &st) == 0) {
        f->dev = st.st_dev;
        f->ino = st.st_ino;
    }
    return 0;
}

static void forget_files(struct rt_run *run)
{
    for (size_t i = 0; i < run->count; i++)
        for (struct file_name *n = run->files[i].name, *before; n != NULL; n = before) {
            before = n->before;
            free(n);
        }
    free(run->files);
    run->files = NULL;
    run->count = run->room = 0;
}

static int list_once(struct rt_run *run, struct rt_error *e)
{
    DIR *d = opendir(run->dir);
    if (d == NULL) {
        int rc = -errno;
        rt_error_set(e, "cannot read the folder %s: %s", run->dir, strerror(-rc));
        return rc;
    }
    int rc = 0, rank, n;
    unsigned pid;
    for (struct dirent *entry; rc == 0 && (entry = readdir(d)) != NULL;)
        if (parse_name(entry->d_name, &rank, &pid, &n))
            rc = add_file(run, entry->d_name);
    (void)closedir(d);
    if (run->count > 0)
        qsort(run->files, run->count, sizeof *run->files, by_rank);
    return rc;
}

static bool is_same(const struct folder_entry *a, const struct folder_entry *b)
{
    return a->ino == b->ino && a->dev == b->dev;
}

static bool same_lists(const struct rt_run *a, const struct rt_run *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = strcmp(a->files[i].name->text, b->files[i].name->text) == 0 &&
               is_same(&a->files[i], &b->files[i]);
    return same;
}

/* Fills in the error of a folder without rank files. `regtrace split` makes one that holds a folder
 * for each window. */
static int no_files(const struct rt_run *run, struct rt_error *e)
{
    char window[64] = "";
    DIR *d = opendir(run->dir);
    for (struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;)
        if (strncmp(entry->d_name, "window-", 7) == 0 &&
            (window[0] == '\0' || strcmp(entry->d_name, window) < 0))
            (void)snprintf(window, sizeof window, "%.60s", entry->d_name);
    if (d != NULL)
        (void)closedir(d);
    if (window[0] != '\0')
        rt_error_set(e,
                     "%s holds windows of a run (regtrace split): name one of them, for example "
                     "%s/%s",
                     run->dir, run->dir, window);
    else
        rt_error_set(e,
                     "%s holds no rank-*.h5: nothing was recorded there, or it is not the folder "
                     "of a run; its regtrace.log may say why, `regtrace recover` finds what a "
                     "killed writer left",
                     run->dir);
    return -ENOENT;
}

/* While processes begin to record, files are created and renamed (claim.h), and readdir() may show
 * a renamed file once, twice or not at all. So this lists until two lists in a row are equal: that
 * list was right at some moment. */
static int list_files(struct rt_run *run, struct rt_error *e)
{
    int rc = list_once(run, e);
    for (int i = 0; i < LIST_ATTEMPTS && rc == 0; i++) {
        struct rt_run again = {.dir = run->dir};
        rc = list_once(&again, e);
        bool same = rc == 0 && same_lists(run, &again);
        forget_files(run);
        run->files = again.files;
        run->count = again.count;
        run->room = again.room;
        if (same)
            break;
    }
    return rc == 0 && run->count == 0 ? no_files(run, e) : rc;
}

static int open_at(struct rt_run *run, const char *path, struct rt_error *e)
{
    struct stat st;
    if (path[0] == '\0') {
        rt_error_set(e, "the name of the folder is empty");
        return -ENOENT;
    }
    if (stat(path, &st) != 0) {
        int rc = -errno;
        rt_error_set(e, "cannot open %s: %s%s", path, strerror(-rc),
                     rc == -ENOENT ? " (`regtrace run` prints the folder of a run at its end)"
                                   : "");
        return rc;
    }
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    bool folder = S_ISDIR(st.st_mode);
    run->dir = folder          ? strdup(path)
               : slash == NULL ? strdup(".")
               : slash == path ? strdup("/")
                               : strndup(path, (size_t)(slash - path));
    if (run->dir == NULL)
        return -ENOMEM;
    if (folder || strcmp(name, "regtrace.h5") == 0)
        return list_files(run, e);
    run->one_file = true;
    return add_file(run, name);
}

bool rt_run_is_one_file(const struct rt_run *run)
{
    return run->one_file;
}

int rt_run_open(struct rt_run **run, const char *path, struct rt_error *e)
{
    *run = NULL;
    struct rt_run *r = calloc(1, sizeof *r);
    int rc = r == NULL ? -ENOMEM : open_at(r, path, e);
    if (rc == -ENOMEM)
        rt_error_set(e, "out of memory");
    if (rc != 0) {
        rt_run_close(r);
        return rc;
    }
    *run = r;
    return 0;
}

void rt_run_close(struct rt_run *run)
{
    if (run == NULL)
        return;
    forget_files(run);
    free(run->dir);
    free(run);
}

const char *rt_run_dir(const struct rt_run *run)
{
    return run->dir;
}

size_t rt_run_count(const struct rt_run *run)
{
    return run->count;
}

const char *rt_run_file(const struct rt_run *run, size_t i)
{
    return i < run->count ? run->files[i].name->text : NULL;
}

/* Returns true if `path` still leads to the listed file. */
static bool stayed(const struct folder_entry *f, const char *path)
{
    struct stat st;
    return f->ino == 0 || (stat(path, &st) == 0 &&
                           is_same(f, &(struct folder_entry){.dev = st.st_dev, .ino = st.st_ino}));
}

/* Returns true if the listed file has another name now, and notes that name. Returns false if the
 * file was removed or replaced as a whole. */
static bool find_moved(const struct rt_run *run, struct folder_entry *f)
{
    struct rt_run again = {.dir = run->dir};
    bool found = false;
    if (!run->one_file && list_once(&again, NULL) == 0)
        for (size_t k = 0; k < again.count && !found; k++)
            found = is_same(f, &again.files[k]) && name_file(f, again.files[k].name->text);
    forget_files(&again);
    return found;
}

/* A process with precedence takes rank-N.h5 when it begins to record, and the file of the previous
 * holder is renamed meanwhile. */
int rt_rank_open(struct rt_rank **rank, const struct rt_run *run, size_t i, struct rt_error *e)
{
    char path[PATH_MAX];
    *rank = NULL;
    if (i >= run->count || !path_of(run, &run->files[i], path)) {
        rt_error_set(e, "no rank file %zu in %s", i, run->dir);
        return -EINVAL;
    }
    for (int attempt = 0;; attempt++) {
        int rc = rt_rank_open_file(rank, path, e);
        if (stayed(&run->files[i], path) || attempt == LIST_ATTEMPTS ||
            !find_moved(run, &run->files[i]) || !path_of(run, &run->files[i], path))
            return rc;
        rt_rank_close(*rank);
    }
}

/* Returns true if the stream holds events. Its writer then creates a file within a second. */
static bool stream_has_events(const char *path)
{
    struct rt_error e;
    struct stream stream = {.fd = -1};
    struct drain drain = {0};
    int fd = path[0] == '\0' ? -1 : open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (stream_open(&stream, fd, &e) != 0) {
        (void)close(fd);
        return false;
    }
    bool has = drain_init(&drain, &stream) == 0 && drain_has_events(&drain, true);
    drain_free(&drain);
    stream_close(&stream);
    return has;
}

struct run_counts {
    struct rt_processes *out;
    char host[65], boot_id[40];
    uint32_t *writers; /* of all claims */
    size_t writer_count;
};

static void note_writer(struct run_counts *n, uint32_t pid)
{
    uint32_t *more = realloc(n->writers, (n->writer_count + 1) * sizeof *more);
    if (more == NULL)
        return;
    n->writers = more;
    n->writers[n->writer_count++] = pid;
}

/* Reads the entry again: its writer may have closed the file after we read it, and has ended. */
static bool is_unfinished(const struct claim *old)
{
    struct claim c = *old;
    if (claim_reload(&c) != 0)
        return false;
    return c.state == CLAIM_FAILED || c.state == CLAIM_OPEN ||
           (c.state == CLAIM_WAITING && stream_has_events(c.stream));
}

static void count_one(void *context, const struct claim *c)
{
    struct run_counts *n = context;
    note_writer(n, c->writer_pid);
    if (c->state == CLAIM_CLOSED || c->state == CLAIM_RECOVERED)
        return;
    if (claim_writer_lives(c, n->host, n->boot_id) == 0) {
        n->out->unfinished += is_unfinished(c);
        return;
    }
    if (c->state == CLAIM_FAILED)
        return;
    n->out->living++;
    n->out->closing +=
        strcmp(c->boot_id, n->boot_id) == 0 && identity_start_time(c->pid) != c->pid_start_time;
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", c->dir, c->file);
    if (c->file[0] != '\0' ? access(path, F_OK) != 0 : stream_has_events(c->stream))
        n->out->file_follows++;
}

void rt_run_processes(const char *dir, struct rt_processes *out)
{
    struct run_counts n = {.out = out};
    *out = (struct rt_processes){0};
    claim_this_host(n.host, n.boot_id);
    (void)!claim_each(dir, count_one, &n);
    /* A writer that has made its claim since then counts as starting too. Callers that wait look
     * again. */
    out->starting = starting_count(dir, n.writers, n.writer_count);
    out->living += out->starting;
    free(n.writers);
}
