/* SPDX-License-Identifier: BSD-3-Clause
 * The folder of a run: the first process of a job creates it, atomically. */
#include "base/identity.h"
#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define JOB_FILE "/.regtrace/job"
#define SUFFIX_LIMIT 10000
#define SMALL_JOB 1024 /* ranks, each of which may try whether a folder can be made */
/* Second line of the job file if the user had made the folder: regtrace then keeps the folder even
 * if it records nothing in it. */
#define KEPT "kept\n"

enum folder_state { FOLDER_ABSENT, FOLDER_OURS, FOLDER_EMPTY, FOLDER_OTHER, FOLDER_NOT_ONE };

static enum folder_state folder_look(const char *path, const char *job)
{
    char name[PATH_MAX + sizeof JOB_FILE], found[160];
    struct stat st;
    if (stat(path, &st) != 0)
        return FOLDER_ABSENT;
    if (!S_ISDIR(st.st_mode))
        return FOLDER_NOT_ONE;
    (void)snprintf(name, sizeof name, "%s" JOB_FILE, path);
    int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hold the program */
    if (fd < 0)
        return FOLDER_OTHER;
    ssize_t n = read(fd, found, sizeof found - 1);
    (void)close(fd);
    found[n > 0 ? n : 0] = '\0';
    found[strcspn(found, "\n")] = '\0';
    return strcmp(found, job) == 0 ? FOLDER_OURS : FOLDER_OTHER;
}

bool identity_folder_is_of(const char *path, const char *job)
{
    return folder_look(path, job) == FOLDER_OURS;
}

#define MAKING ".tmp-" /* an unfinished folder: NAME.tmp-HOST-PID */

/* Removes a temporary folder and all that regtrace put into it. */
static void remove_temporary(const char *temporary)
{
    char name[2 * PATH_MAX + 64];
    (void)snprintf(name, sizeof name, "%s" JOB_FILE, temporary);
    (void)unlink(name);
    (void)snprintf(name, sizeof name, "%s/.regtrace", temporary);
    (void)rmdir(name);
    (void)rmdir(temporary);
}

static int write_job_file(const char *temporary, const struct identity *id, bool kept)
{
    char name[PATH_MAX + 128], line[160];
    (void)snprintf(name, sizeof name, "%s/.regtrace", temporary);
    if (mkdir(name, 0777) != 0)
        return -errno;
    (void)snprintf(name, sizeof name, "%s" JOB_FILE, temporary);
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return -errno;
    int n = snprintf(line, sizeof line, "%s\n%s", id->job, kept ? KEPT : ""), rc = 0;
    if (write(fd, line, (size_t)n) != n)
        rc = errno != 0 ? -errno : -EIO;
    (void)close(fd);
    return rc;
}

static int make_temporary(const char *path, const struct identity *id,
                          char temporary[PATH_MAX + 64])
{
    (void)snprintf(temporary, PATH_MAX + 64, "%s" MAKING "%s-%u", path, id->host, id->pid);
    int rc = mkdir(temporary, 0777) != 0 ? -errno : 0;
    if (rc == -EEXIST) { /* left by a killed process that had this pid */
        remove_temporary(temporary);
        rc = mkdir(temporary, 0777) != 0 ? -errno : 0;
    }
    return rc;
}

/* Makes a folder with the job file inside under a temporary name, then renames it: every process
 * that sees the final name also sees the job file. rename() fails on a non-empty folder, and
 * replaces an empty one: regtrace therefore uses a folder that the user made beforehand. */
static int folder_create(const char *path, const struct identity *id)
{
    char temporary[PATH_MAX + 64];
    struct stat st;
    bool kept = stat(path, &st) == 0;
    int rc = make_temporary(path, id, temporary);
    if (rc != 0)
        return rc;
    rc = write_job_file(temporary, id, kept);
    if (rc == 0 && rename(temporary, path) != 0)
        rc = -errno;
    if (rc != 0)
        remove_temporary(temporary);
    return rc;
}

/* Returns true if this entry of `parent` is a temporary folder that a killed process of this host
 * left. */
static bool is_stale(const char *parent, const char *name, const struct identity *id)
{
    enum {
        /* A container with the same host name may have processes that are invisible here. */
        OLD_S = 60
    };
    char path[2 * PATH_MAX];
    struct stat st;
    const char *tail = strstr(name, MAKING), *dash = strrchr(name, '-');
    size_t host = strlen(id->host);
    if (tail == NULL || strncmp(tail + sizeof MAKING - 1, id->host, host) != 0 ||
        tail + sizeof MAKING - 1 + host != dash)
        return false;
    long pid = strtol(dash + 1, NULL, 10);
    (void)snprintf(path, sizeof path, "%s/%s", parent, name);
    return pid > 0 && kill((pid_t)pid, 0) != 0 && errno == ESRCH && lstat(path, &st) == 0 &&
           S_ISDIR(st.st_mode) && st.st_uid == id->uid && time(NULL) - st.st_mtime > OLD_S;
}

/* Removes the temporary folders that killed processes left for `base` and its numbered variants
 * (-2, -3 ...). Uses system calls, because opendir() allocates memory, and the traced program may
 * be inside the allocator. */
static void remove_stale(const char *base, const struct identity *id)
{
    char parent[PATH_MAX], path[2 * PATH_MAX], buffer[4096] __attribute__((aligned(16)));
    const char *slash = strrchr(base, '/');
    size_t n = strlen(slash + 1);
    (void)snprintf(parent, sizeof parent, "%.*s", slash == base ? 1 : (int)(slash - base), base);
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long got;
    while (fd >= 0 &&
           (got = sys_call6(SYS_getdents64, fd, (long)buffer, sizeof buffer, 0, 0, 0)) > 0)
        for (long at = 0; at < got;) {
            const struct dirent64 *d = (const void *)(buffer + at);
            at += d->d_reclen;
            if (strncmp(d->d_name, slash + 1, n) != 0 || !is_stale(parent, d->d_name, id))
                continue;
            (void)snprintf(path, sizeof path, "%s/%s", parent, d->d_name);
            remove_temporary(path);
        }
    if (fd >= 0)
        (void)close(fd);
}

static int absolute(const char *name, char out[PATH_MAX], struct rt_error *e)
{
    char cwd[PATH_MAX] = "";
    if (name[0] != '/' && getcwd(cwd, sizeof cwd) == NULL) {
        int rc = -errno;
        rt_error_set(e,
                     "the current folder cannot be named: %s; give REGTRACE_DIR an absolute path",
                     strerror(-rc));
        return rc;
    }
    int n = snprintf(out, PATH_MAX, "%s%s%s", cwd, cwd[0] != '\0' ? "/" : "", name);
    if (n <= 0 || n > PATH_MAX - 80) {
        rt_error_set(e, "the folder name is too long: %.60s...", name);
        return -ENAMETOOLONG;
    }
    for (size_t k = (size_t)n; k > 1 && out[k - 1] == '/'; k--)
        out[k - 1] = '\0';
    return 0;
}

void identity_folder_name(const struct identity *id, char out[256])
{
    (void)snprintf(out, 256, "regtrace-%s-%s", id->program, id->job);
}

static int check_parent(const char *path, int mode)
{
    char parent[PATH_MAX];
    (void)snprintf(parent, sizeof parent, "%.*s/", (int)(strrchr(path, '/') - path), path);
    return faccessat(AT_FDCWD, parent, mode, AT_EACCESS) != 0 ? -errno : 0;
}

static int report(const char *path, int rc, struct rt_error *e)
{
    const char *remedy =
        rc == -EROFS || rc == -EACCES || rc == -EPERM
            ? "; set REGTRACE_DIR to a folder that can be written"
        : rc == -ENOENT && check_parent(path, F_OK) != 0 ? "; its parent folder does not exist"
        : rc == -ENOENT                                  ? "; name another"
        : rc == -ENOTDIR                 ? "; a file is in its place: name another folder"
        : rc == -EBUSY                   ? "; name a folder in it, which the run makes"
        : rc == -ENOSPC || rc == -EDQUOT ? "; make room or set REGTRACE_DIR elsewhere"
                                         : "";
    rt_error_set(e, "cannot make the folder %s: %s%s", path, strerror(-rc), remedy);
    return rc;
}

int identity_make_folder(const struct identity *id, const char *wanted, char *out,
                         struct rt_error *e)
{
    char base[PATH_MAX], name[256];
    identity_folder_name(id, name);
    int rc = absolute(wanted != NULL && wanted[0] != '\0' ? wanted : name, base, e);
    if (rc != 0)
        return rc;
    for (int suffix = 1; suffix < SUFFIX_LIMIT; suffix++) {
        if (suffix == 1)
            (void)snprintf(out, PATH_MAX, "%s", base);
        else if (snprintf(out, PATH_MAX, "%.*s-%d", PATH_MAX - 16, base, suffix) >= PATH_MAX)
            break;
        for (int attempt = 0; attempt < 100; attempt++) {
            enum folder_state state = folder_look(out, id->job);
            if (state == FOLDER_OURS)
                return 0;
            rc = state == FOLDER_NOT_ONE ? -ENOTDIR : folder_create(out, id);
            if (rc == 0) {
                remove_stale(base, id);
                return 0;
            }
            if (rc != -ENOTEMPTY && rc != -EEXIST)
                return report(out, rc, e);
            if (folder_look(out, id->job) == FOLDER_OTHER)
                break; /* another run's: next suffix */
        }
    }
    return report(base, -EEXIST, e);
}

int identity_try_folder(const struct identity *id, const char *wanted, struct rt_error *e)
{
    char base[PATH_MAX], temporary[PATH_MAX + 64];
    int rc = absolute(wanted, base, e);
    if (rc != 0)
        return rc;
    enum folder_state state = folder_look(base, id->job);
    if (state == FOLDER_OURS)
        return 0;
    rc = state == FOLDER_NOT_ONE ? -ENOTDIR : check_parent(base, W_OK | X_OK);
    /* access(2) does not know of quotas, nor of file systems such as sysfs. All ranks try: a job of
     * which only some refuse to start may wait for them in MPI_Init for ever. In a large job one
     * process of each node tries, since the file system would be busy with it otherwise. */
    bool tries = identity_speaks(id) || id->size <= SMALL_JOB;
    if (rc == 0 && tries && (rc = make_temporary(base, id, temporary)) == 0)
        remove_temporary(temporary);
    return rc != 0 ? report(base, rc, e) : 0;
}

/* Returns what open() with O_CREAT would return, without creating the file. */
static int look_at_place(const char *path, const char *run)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 1 : slash == path ? 1 : (size_t)(slash - path);
    if (n >= sizeof folder)
        return -ENAMETOOLONG;
    memcpy(folder, slash == NULL ? "." : path, n);
    folder[n] = '\0';
    if (slash != NULL && slash[1] == '\0')
        return -EISDIR;
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) == 0)
        return 0;
    return errno == ENOENT && strcmp(folder, run) == 0 ? 0 : -errno;
}

int folder_check_log(const char *path, const char *run, struct rt_error *e)
{
    int rc = 0;
    /* A pipe that nobody reads must not hold the program here. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        rc = errno == ENOENT ? look_at_place(path, run) : -errno;
    else
        (void)close(fd);
    if (rc != 0)
        rt_error_set(e,
                     "REGTRACE_CONTROLLER_LOG (option -controller-log): %.1000s cannot be written: "
                     "%s; name a file in a folder that exists",
                     path, strerror(-rc));
    return rc;
}
