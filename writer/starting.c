/* SPDX-License-Identifier: BSD-3-Clause
 * Finds writers that have just started: a program may end before its writer has made an entry in
 * the folder. Source: proc(5). */
#include "writer/starting.h"

#include "base/identity.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the next word of a command line, or NULL after the last. */
static const char *next_word(const char *word, const char *end)
{
    word += strlen(word) + 1;
    return word < end ? word : NULL;
}

static bool is_folder(const char *path, const struct stat *folder)
{
    struct stat s;
    return stat(path, &s) == 0 && s.st_dev == folder->st_dev && s.st_ino == folder->st_ino;
}

static bool is_writer(const char *path)
{
    return strcmp(identity_base_name(path), "regtrace-writer") == 0;
}

/* In the middle of execve(2) a process has its new executable, but no command line yet. On a busy
 * machine it may stay there for a while. Returns true if that executable is a writer: of which
 * folder, a later look will show. */
static bool is_executed(const char *pid)
{
    char path[64], executable[PATH_MAX];
    (void)snprintf(path, sizeof path, "/proc/%.20s/exe", pid);
    ssize_t n = readlink(path, executable, sizeof executable - 1);
    executable[n > 0 ? n : 0] = '\0';
    return is_writer(executable);
}

/* Returns true if the command line of the process is regtrace-writer ... --dir FOLDER. */
static bool writes_to(const char *pid, const struct stat *folder)
{
    char path[64], text[PATH_MAX + 256];
    (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return n == 0 && is_executed(pid);
    text[n] = '\0';
    if (!is_writer(text))
        return false;
    const char *word = text;
    while (word != NULL && strcmp(word, "--dir") != 0)
        word = next_word(word, text + n);
    word = word != NULL ? next_word(word, text + n) : NULL;
    return word != NULL && is_folder(word, folder);
}

unsigned starting_count(const char *dir, const uint32_t *known, size_t count)
{
    struct stat folder;
    unsigned found = 0;
    DIR *d = stat(dir, &folder) == 0 ? opendir("/proc") : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (!isdigit((unsigned char)e->d_name[0]) || !writes_to(e->d_name, &folder))
            continue;
        uint32_t pid = (uint32_t)strtoul(e->d_name, NULL, 10);
        size_t k = 0;
        while (k < count && known[k] != pid)
            k++;
        found += k == count;
    }
    if (d != NULL)
        (void)closedir(d);
    return found;
}
