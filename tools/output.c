/* SPDX-License-Identifier: BSD-3-Clause
 * Folders that commands write to. */
#include "tools/tools.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

bool output_make_folder(const char *command, const char *path)
{
    if (mkdir(path, 0777) == 0)
        return true;
    message_error(command, "cannot make the folder %s: %s; -output DIR names another", path,
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

static bool is_empty(DIR *d)
{
    bool empty = true;
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

bool output_folder(const char *command, const char *given, const char *dir, const char *ending,
                   char out[PATH_MAX])
{
    output_name(out, given, dir, ending);
    DIR *d = opendir(out);
    if (d == NULL && errno == ENOENT)
        return output_make_folder(command, out);
    if (d == NULL) {
        message_error(command, "cannot write to %s: %s; -output DIR names another folder", out,
                      strerror(errno));
        return false;
    }
    bool empty = is_empty(d);
    (void)closedir(d);
    if (!empty)
        message_error(command,
                      "%s is there and holds something, which is left alone; -output DIR names "
                      "another folder",
                      out);
    return empty;
}
