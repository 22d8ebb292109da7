/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the traced process that a program descends from, and its folder, if the environment does
 * not name it: libc starts the programs of system() and popen() itself, with an environment that
 * nobody can complete. The stream of an ancestor names the folder. */
#include "preload/life.h"
#include "preload/process.h"

#include "base/sys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

extern char **environ;

#define ANCESTORS 16

/* Returns the pid in the name of a stream, which ends in -PID-TIME (make_stream() of start.c).
 * Returns 0 if this is not a stream of this user. */
static uint32_t pid_in_name(const char *name)
{
    char start[32];
    int n = snprintf(start, sizeof start, "regtrace-%u-", process.id.uid);
    if (strncmp(name, start, (size_t)n) != 0)
        return 0;
    const char *last = strrchr(name, '-'), *before = last;
    while (before > name && *--before != '-')
        ;
    return (uint32_t)strtoul(before + 1, NULL, 10);
}

/* Is this the stream of that living process, and of this user? Then writes its folder to `out`. */
static bool folder_in(const char *name, uint32_t pid, char out[PATH_MAX])
{
    char path[PATH_MAX + 256];
    struct stat st;
    struct stream s;
    struct rt_error e;
    (void)snprintf(path, sizeof path, "%s/%s", process.options.text[OPT_shm], name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != process.id.uid ||
        stream_open(&s, fd, &e) != 0) {
        (void)close(fd);
        return false;
    }
    out[0] = '\0';
    if (s.header->pid == pid && s.header->pid_start_time == identity_start_time(pid) &&
        atomic_load(&s.header->state) == STREAM_LIVE)
        (void)!stream_meta_get(&s, "dir", out, PATH_MAX);
    stream_close(&s);
    return out[0] == '/' && access(out, W_OK | X_OK) == 0;
}

/* Returns how near an ancestor is: 0 for the parent, ANCESTORS if `pid` is none of them. */
static unsigned distance(const uint32_t *ancestors, uint32_t pid)
{
    unsigned i = 0;
    while (i < ANCESTORS && (ancestors[i] != pid || pid == 0))
        i++;
    return i;
}

bool process_ancestor_folder(char out[PATH_MAX])
{
    uint32_t ancestors[ANCESTORS] = {process.id.parent_pid};
    struct process_stat stat;
    for (unsigned i = 1; i < ANCESTORS && ancestors[i - 1] > 1; i++)
        ancestors[i] = identity_look(ancestors[i - 1], &stat) ? stat.parent : 0;
    int fd = open(process.options.text[OPT_shm], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    unsigned nearest = ANCESTORS;
    char found[PATH_MAX], buffer[4096] __attribute__((aligned(16)));
    long n;
    while ((n = sys_call6(SYS_getdents64, fd, (long)buffer, sizeof buffer, 0, 0, 0)) > 0) {
        for (long at = 0; at < n;) {
            const struct dirent64 *d = (const void *)(buffer + at);
            at += d->d_reclen;
            uint32_t pid = pid_in_name(d->d_name);
            unsigned i = distance(ancestors, pid);
            if (i < nearest && folder_in(d->d_name, pid, found)) {
                nearest = i;
                (void)snprintf(out, PATH_MAX, "%s", found);
            }
        }
    }
    (void)close(fd);
    return nearest < ANCESTORS;
}

/* Was this process started with our library? */
static bool is_preloaded(uint32_t pid)
{
    static const char variable[] = "LD_PRELOAD=", library[] = "libregtrace";
    char path[64], text[768]; /* the stack may be small */
    size_t n = 0;
    (void)snprintf(path, sizeof path, "/proc/%u/environ", pid);
    FILE *f = fopen(path, "re");
    bool found = false;
    for (int c; f != NULL && !found && (c = getc_unlocked(f)) != EOF;) {
        text[n] = (char)c;
        n += n + 1 < sizeof text;
        if (c != '\0')
            continue;
        found = strncmp(text, variable, sizeof variable - 1) == 0 && strstr(text, library) != NULL;
        n = 0;
    }
    if (f != NULL)
        (void)fclose(f);
    return found;
}

bool process_is_child(void)
{
    struct process_stat stat;
    if (identity_env(environ, "REGTRACE_PARENT") != NULL)
        return true;
    uint32_t pid = process.id.parent_pid;
    for (unsigned i = 0; i < ANCESTORS && pid > 1 && identity_look(pid, &stat); i++) {
        if (!plumbing_is_name(stat.name) && is_preloaded(pid))
            return true;
        pid = stat.parent;
    }
    return false;
}
