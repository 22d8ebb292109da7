/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the toolkit's programs; the library and `regtrace` look in the same places. */
#include "base/toolkit/beside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool beside_library(const char *library, const char *name, char path[PATH_MAX])
{
    static const char *const places[] = {"",
                                         "../libexec/regtrace/",
                                         "../../libexec/regtrace/",
                                         "../../writer/",
                                         "../writer/",
                                         "../../pmu/",
                                         "../pmu/",
                                         "../../isa/",
                                         "../isa/"};
    const char *slash = strrchr(library, '/');
    int folder = slash != NULL ? (int)(slash - library) : 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(path, PATH_MAX, "%.*s/%s%s", folder, library, places[i], name);
        if (n > 0 && n < PATH_MAX && access(path, X_OK) == 0)
            return true;
    }
    (void)snprintf(path, PATH_MAX, "%.*s/%s", folder, library, name);
    return false;
}

int beside_writer(const char *library, const char *wanted, char path[PATH_MAX], struct rt_error *e)
{
    int n = snprintf(path, PATH_MAX, "%s", wanted);
    if (wanted[0] == '\0' && beside_library(library, "regtrace-writer", path))
        return 0;
    if (wanted[0] == '\0') {
        rt_error_set(e,
                     "regtrace-writer was not found beside %s; install it in ../bin from there or "
                     "name it in REGTRACE_WRITER (option -writer)",
                     library);
        return -ENOENT;
    }
    struct stat st;
    int rc = n >= PATH_MAX                                 ? -ENAMETOOLONG
             : access(path, X_OK) != 0                     ? -errno
             : stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? -EISDIR
                                                           : 0;
    if (rc != 0)
        rt_error_set(e, "REGTRACE_WRITER (option -writer) names %s, which cannot be run: %s",
                     wanted, strerror(-rc));
    return rc;
}

int beside_streams(const char *folder, struct rt_error *e)
{
    if (access(folder, W_OK | X_OK) == 0)
        return 0;
    int rc = -errno;
    rt_error_set(e,
                 "the folder for streams %s (REGTRACE_SHM, option -shm) cannot be used: %s; name a "
                 "memory file system, for example -shm /tmp",
                 folder, strerror(-rc));
    return rc;
}
