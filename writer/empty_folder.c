/* SPDX-License-Identifier: BSD-3-Clause
 * Removes folders of runs in which nothing was recorded, and restores them for late writers. */
#include "writer/empty_folder.h"

#include "base/toolkit/map.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define JOB_ROOM 256

/* Returns true if the folder holds nothing but these names. */
static bool holds_only(const char *path, const char *const *names)
{
    DIR *d = opendir(path);
    bool only = d != NULL;
    for (struct dirent *entry; only && (entry = readdir(d)) != NULL;) {
        bool known = false;
        for (size_t i = 0; names[i] != NULL && !known; i++)
            known = strcmp(entry->d_name, names[i]) == 0;
        only = known;
    }
    if (d != NULL)
        (void)closedir(d);
    return only;
}

static void write_job(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    (void)close(fd);
}

/* Call with the lock held. A process that comes in between leaves an entry, which keeps the folder;
 * then the job file is written again for it. */
static bool remove_locked(const char *dir, const char *side)
{
    static const char *const outer[] = {".", "..", ".regtrace", "ctl", NULL};
    static const char *const inner[] = {".", "..", "job", "lock", "index.lock", "warned", NULL};
    char path[PATH_MAX], job[JOB_ROOM];
    if (!holds_only(side, inner) || !holds_only(dir, outer))
        return false;
    (void)snprintf(path, sizeof path, "%s/ctl", dir);
    if (rmdir(path) != 0 && errno != ENOENT)
        return false;
    (void)snprintf(path, sizeof path, "%s/job", side);
    int fd = open_regular(path);
    ssize_t n = fd < 0 ? -1 : read(fd, job, sizeof job - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return false; /* not created by regtrace, or just being created */
    job[n] = '\0';
    for (size_t i = 2; inner[i] != NULL; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", side, inner[i]);
        (void)unlink(path);
    }
    if (rmdir(side) != 0) {
        (void)snprintf(path, sizeof path, "%s/job", side);
        write_job(path, job);
        return false;
    }
    const char *second = strchr(job, '\n');
    return (second == NULL || strncmp(second + 1, "kept", 4) != 0) && rmdir(dir) == 0;
}

bool rt_run_remove_empty(const char *dir)
{
    char side[PATH_MAX - 64];
    if (snprintf(side, sizeof side, "%s/.regtrace", dir) >= (int)sizeof side)
        return false;
    int fd = claim_lock(dir);
    if (fd < 0)
        return false;
    bool removed = remove_locked(dir, side);
    (void)close(fd);
    return removed;
}

static void restore(const char *dir, const char *job)
{
    char path[PATH_MAX], text[JOB_ROOM];
    (void)mkdir(dir, 0777);
    if (snprintf(path, sizeof path, "%s/.regtrace", dir) >= (int)sizeof path ||
        mkdir(path, 0777) != 0 || job[0] == '\0')
        return;
    (void)snprintf(path, sizeof path, "%s/.regtrace/job", dir);
    (void)snprintf(text, sizeof text, "%.200s\n", job);
    write_job(path, text);
}

#define ATTEMPTS 100

int vacant_register(struct claim *c, const char *job, struct rt_error *e)
{
    int rc = -ENOENT;
    for (int i = 0; i < ATTEMPTS && rc == -ENOENT; i++) {
        restore(c->dir, job);
        rc = claim_register(c, e);
    }
    return rc;
}
