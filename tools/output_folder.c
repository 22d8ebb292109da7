/* SPDX-License-Identifier: BSD-3-Clause
 * Creates and checks the folders that commands write to. */
#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool output_make_folder(const char *command, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    tool_error(command, "cannot make the folder %s: %s; -output DIR names another", path,
               strerror(errno));
    return false;
}

void output_name(char out[PATH_MAX], const char *given, const char *dir, const char *ending)
{
    size_t n = strlen(dir);
    if (given != NULL) {
        (void)snprintf(out, PATH_MAX, "%s", given);
        return;
    }
    while (n > 1 && dir[n - 1] == '/')
        n--;
    if (n == 1 && dir[0] == '.')
        (void)snprintf(out, PATH_MAX, "%s%s", ending[0] == '.' ? "timeline" : "",
                       ending + (ending[0] != '.'));
    else
        (void)snprintf(out, PATH_MAX, "%.*s%s", (int)n, dir, ending);
}

int output_is_empty(const char *path)
{
    DIR *d = opendir(path);
    if (d == NULL)
        return -errno;
    int empty = 1;
    for (const struct dirent *entry; (entry = readdir(d)) != NULL;)
        empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    (void)closedir(d);
    return empty;
}

bool output_folder(const char *command, const char *given, const char *dir, const char *ending,
                   char out[PATH_MAX])
{
    output_name(out, given, dir, ending);
    int empty = output_is_empty(out);
    if (empty == -ENOENT)
        return output_make_folder(command, out);
    if (empty < 0)
        tool_error(command, "cannot write to %s: %s; -output DIR names another folder", out,
                   strerror(-empty));
    if (empty == 0)
        tool_error(command,
                   "%s is there and holds something, which is left alone; -output DIR names "
                   "another folder",
                   out);
    return empty > 0;
}
