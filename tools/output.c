/* SPDX-License-Identifier: BSD-3-Clause
 * Outputs that appear under their name only when they are complete. */
#include "tools/output.h"

#include "base/identity.h"
#include "tools/streams/joint_processes.h"
#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- removal, also from a signal handler: system calls alone ---------------------------------- */

enum { DEEPEST = 8, ROOM = 1024 }; /* folders of exports are four deep */

/* The kernel's struct linux_dirent64 (getdents64(2)). */
struct output_entry {
    uint64_t inode;
    int64_t next;
    uint16_t size;
    uint8_t type;
    char name[];
};

static bool remove_at(int at, const char *name, int depth);

/* Removes the contents of a folder; returns true if it removed any. The kernel may move entries
 * while others are removed, and one pass may then miss some, so the caller repeats it. */
static bool empty_folder(int fd, int depth)
{
    _Alignas(struct output_entry) char room[ROOM];
    bool removed = false;
    long n;
    while ((n = syscall(SYS_getdents64, fd, room, sizeof room)) > 0)
        for (long i = 0; i < n;) {
            const struct output_entry *e = (const void *)(room + i);
            if (strcmp(e->name, ".") != 0 && strcmp(e->name, "..") != 0)
                removed |= remove_at(fd, e->name, depth + 1);
            i += e->size;
        }
    return removed;
}

static bool remove_at(int at, const char *name, int depth)
{
    if (unlinkat(at, name, 0) == 0)
        return true;
    int fd =
        depth < DEEPEST ? openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0)
        return false;
    while (empty_folder(fd, depth))
        (void)lseek(fd, 0, SEEK_SET);
    (void)close(fd);
    return unlinkat(at, name, AT_REMOVEDIR) == 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGXFSZ};
enum { ENDING_COUNT = sizeof ending / sizeof *ending, MOST = 8 };

/* Changed only while signals are held. A forked child inherits the slots but does not own them. */
static struct {
    volatile pid_t owner; /* 0: free */
    char working[PATH_MAX + 32];
} slots[MOST];
static volatile pid_t group, group_owner;
static sigset_t before;
static unsigned holds;

static void end_all(int sig)
{
    int error = errno;
    joint_signalled();
    if (group != 0 && group_owner == getpid()) {
        (void)kill(-group, SIGKILL);
        (void)waitpid(group, NULL, 0);
    }
    for (int i = 0; i < MOST; i++)
        if (slots[i].owner == getpid())
            (void)remove_at(AT_FDCWD, slots[i].working, 0);
    errno = error;
    (void)raise(sig); /* SA_RESETHAND: the default action, as soon as this handler returns */
}

void output_hold_signals(void)
{
    sigset_t set;
    if (holds++ != 0)
        return;
    (void)sigemptyset(&set);
    for (int i = 0; i < ENDING_COUNT; i++)
        (void)sigaddset(&set, ending[i]);
    (void)sigprocmask(SIG_BLOCK, &set, &before);
}

void output_release_signals(void)
{
    if (--holds == 0)
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Signals that are ignored (nohup) stay ignored. */
void output_catch_signals(void)
{
    struct sigaction act = {.sa_handler = end_all, .sa_flags = (int)SA_RESETHAND}, old;
    (void)sigfillset(&act.sa_mask);
    for (int i = 0; i < ENDING_COUNT; i++)
        if (sigaction(ending[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            (void)sigaction(ending[i], &act, NULL);
}

static int slot_of(const char *working)
{
    for (int i = 0; i < MOST; i++)
        if (slots[i].owner == 0) {
            (void)snprintf(slots[i].working, sizeof slots[i].working, "%s", working);
            slots[i].owner = getpid();
            return i;
        }
    return -1;
}

int output_note(const char *folder)
{
    return slot_of(folder);
}

void output_forget(int slot)
{
    if (slot >= 0)
        slots[slot].owner = 0;
}

void output_note_group(pid_t leader)
{
    group_owner = getpid();
    group = leader;
}

/* --- the existing output ---------------------------------------------------------------------- */

static int refuse(const struct output *o, int rc, const char *why, struct rt_error *e)
{
    rt_error_set(e, "%s %s; -%s %s names another", o->path, why, o->kind->option,
                 o->kind->folder ? "DIR" : "FILE");
    return rc;
}

/* A command never replaces what was recorded. */
static bool is_recording(const char *path)
{
    const char *name = identity_base_name(path);
    return fnmatch("rank-*.h5", name, 0) == 0 || strcmp(name, "regtrace.h5") == 0;
}

/* Checks whether what exists at the path may be replaced. */
static int look(const struct output *o, bool force, struct rt_error *e)
{
    const struct output_kind *k = o->kind;
    struct stat st;
    if (lstat(o->path, &st) != 0)
        return 0;
    if (!k->folder && S_ISDIR(st.st_mode))
        return refuse(o, -EISDIR, "is a folder, and a file is to be made", e);
    if (k->folder && !S_ISDIR(st.st_mode))
        return refuse(o, -ENOTDIR, "is there and no folder", e);
    if (k->folder && output_is_empty(o->path) > 0)
        return 0;
    if (k->folder ? !k->is_ours(o->path) : is_recording(o->path))
        return refuse(o, -EEXIST,
                      k->folder ? "holds something else than what this command makes, which is "
                                  "left alone also with -force"
                                : "is a file of a recording, which is left alone also with -force",
                      e);
    return force ? 0 : refuse(o, -EEXIST, "is there already: -force replaces it", e);
}

static int cannot(const struct output *o, int error, struct rt_error *e)
{
    rt_error_set(e, "%s cannot be made: %s; -%s %s names another place", o->path, strerror(error),
                 o->kind->option, o->kind->folder ? "DIR" : "FILE");
    return -error;
}

/* --- begin and end ---------------------------------------------------------------------------- */

static int make(struct output *o, struct rt_error *e)
{
    int error = 0;
    (void)snprintf(o->working, sizeof o->working, "%s.unfinished-%ld", o->path, (long)getpid());
    output_catch_signals();
    output_hold_signals();
    if (o->kind->folder) {
        error = mkdir(o->working, 0777) != 0 ? errno : 0;
    } else {
        int fd = open(o->working, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        error = fd < 0 ? errno : 0;
        if (fd >= 0)
            (void)close(fd);
    }
    if (error == 0 && (o->slot = slot_of(o->working)) < 0) {
        (void)remove_at(AT_FDCWD, o->working, 0);
        error = EMFILE;
    }
    output_release_signals();
    if (error == EEXIST)
        rt_error_set(e, "%s is there, of a command that was killed: remove it", o->working);
    return error == 0 ? 0 : error == EEXIST ? -EEXIST : cannot(o, error, e);
}

int output_begin(struct output *o, const char *path, const struct output_kind *kind, bool force,
                 struct rt_error *e)
{
    struct stat st;
    *o = (struct output){.kind = kind, .slot = -1};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/' && kind->folder)
        n--;
    if (n >= sizeof o->path) {
        rt_error_set(e, "the name of the output is too long");
        return -ENAMETOOLONG;
    }
    memcpy(o->path, path, n);
    o->path[n] = '\0';
    if (!kind->folder && !kind->stdout_too && strcmp(path, "-") == 0) {
        rt_error_set(e, "-%s -: this cannot be written to standard output: name a file",
                     kind->option);
        return -EINVAL;
    }
    if (!kind->folder && ((kind->stdout_too && strcmp(path, "-") == 0) ||
                          (stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))) {
        (void)snprintf(o->working, sizeof o->working, "%s", o->path);
        return 0;
    }
    int rc = look(o, force, e);
    return rc == 0 ? make(o, e) : rc;
}

/* Exchanges the old folder with the new one, and then removes the old one, so that one of them
 * exists at each moment. If the file system cannot exchange two folders, there is none for a
 * moment. */
static int replace_folder(const struct output *o)
{
    if (syscall(SYS_renameat2, AT_FDCWD, o->working, AT_FDCWD, o->path, 2 /* RENAME_EXCHANGE */) ==
        0) {
        (void)remove_at(AT_FDCWD, o->working, 0);
        return 0;
    }
    if (!remove_at(AT_FDCWD, o->path, 0))
        return errno;
    return rename(o->working, o->path) != 0 ? errno : 0;
}

int output_end(struct output *o, int rc, struct rt_error *e)
{
    bool whole = rc == 0;
    int error = 0;
    struct stat st;
    if (o->slot < 0)
        return rc;
    output_hold_signals();
    if (whole && o->kind->folder && lstat(o->path, &st) == 0)
        error = replace_folder(o);
    else if (whole && rename(o->working, o->path) != 0)
        error = errno;
    if (!whole || error != 0)
        (void)remove_at(AT_FDCWD, o->working, 0);
    slots[o->slot].owner = 0;
    o->slot = -1;
    output_release_signals();
    return error == 0 ? rc : cannot(o, error, e);
}

/* --- files ------------------------------------------------------------------------------------ */

int output_open_file(struct output *o, const char *path, const struct output_kind *kind, bool force,
                     FILE **file, struct rt_error *e)
{
    int rc = output_begin(o, path, kind, force, e);
    *file = NULL;
    if (rc == 0 && (*file = fopen(o->working, "we")) == NULL) {
        rc = -errno;
        rt_error_set(e, "cannot write %s: %s", path, strerror(-rc));
        rc = output_end(o, rc, e);
    }
    return rc;
}

int output_close_file(struct output *o, FILE *file, int rc, int64_t *bytes, struct rt_error *e)
{
    struct stat st;
    bool broken = ferror(file) != 0;
    errno = 0;
    broken = fclose(file) != 0 || broken;
    if (rc == 0 && (broken || stat(o->working, &st) != 0)) {
        rt_error_set(e, "could not be written: %s",
                     errno != 0 ? strerror(errno) : "is the disk full?");
        rc = -EIO;
    }
    if (rc != 0)
        rt_error_prefix(e, "%s", o->path);
    rc = output_end(o, rc, e);
    if (rc == 0)
        *bytes = st.st_size;
    return rc;
}

void output_folder_of(char out[PATH_MAX], const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        (void)snprintf(out, PATH_MAX, ".");
    else
        (void)snprintf(out, PATH_MAX, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}
