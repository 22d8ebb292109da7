/* SPDX-License-Identifier: BSD-3-Clause
 * Removes what a killed writer left in DIR/ctl, where nobody listens any more. */
#include "writer/repair/leftover_ctl.h"

#include "base/toolkit/map.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A socket whose path was too long is in /tmp (writer/ctl_server.c). Removes it only if this .path
 * file names it, and if it is this user's. */
static void remove_far_socket(const char *path_file, uint32_t pid)
{
    char expected[64], line[PATH_MAX];
    struct stat st;
    (void)snprintf(expected, sizeof expected, "/tmp/regtrace-%u-%u.sock", (unsigned)getuid(), pid);
    FILE *f = fopen_regular(path_file);
    if (f == NULL)
        return;
    bool two = fgets(line, sizeof line, f) != NULL && fgets(line, sizeof line, f) != NULL;
    (void)fclose(f);
    line[strcspn(line, "\n")] = '\0';
    if (two && strcmp(line, expected) == 0 && lstat(expected, &st) == 0 && S_ISSOCK(st.st_mode) &&
        st.st_uid == getuid())
        (void)unlink(expected);
}

void leftover_remove(const char *dir, uint32_t pid, bool here)
{
    char folder[PATH_MAX], path[PATH_MAX + NAME_MAX + 2];
    if (snprintf(folder, sizeof folder, "%s/ctl", dir) >= (int)sizeof folder)
        return;
    DIR *d = opendir(folder);
    for (struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
        int rank;
        unsigned of;
        if (sscanf(entry->d_name, "rank-%d.%u.", &rank, &of) != 2 || of != pid)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        const char *suffix = strrchr(entry->d_name, '.');
        if (here && strcmp(suffix, ".path") == 0)
            remove_far_socket(path, pid);
        (void)unlink(path);
    }
    if (d != NULL)
        (void)closedir(d);
    (void)rmdir(folder); /* fails while living writers listen there */
}
