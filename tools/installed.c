/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the toolkit's own parts relative to this program, installed or in a build tree. */
#include "base/toolkit/beside.h"
#include "tools/installed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef REGTRACE_LIBDIR
#define REGTRACE_LIBDIR "/usr/local/lib"
#endif

static bool own_folder(char out[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (n <= 0)
        return false;
    out[n] = '\0';
    char *slash = strrchr(out, '/');
    if (slash == NULL)
        return false;
    *slash = '\0';
    return true;
}

static bool look(const char *folder, const char *relative, int mode, char out[PATH_MAX])
{
    char path[2 * PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/%s", folder, relative);
    return access(path, mode) == 0 && realpath(path, out) != NULL;
}

static int find_library(char out[PATH_MAX], struct rt_error *e)
{
    static const char *const places[] = {
        ".libs/libregtrace.so", /* build tree, from its root */
        "libregtrace.so",       /* build tree, from .libs/ */
        "../lib/libregtrace.so",
        "../lib64/libregtrace.so",
        "../lib/x86_64-linux-gnu/libregtrace.so",
        "../lib/aarch64-linux-gnu/libregtrace.so",
        NULL,
    };
    const char *wanted = getenv("REGTRACE_LIBRARY");
    if (wanted != NULL && wanted[0] != '\0') {
        if (access(wanted, R_OK) == 0 && realpath(wanted, out) != NULL)
            return 0;
        rt_error_set(e, "REGTRACE_LIBRARY names %s, which cannot be read: %s", wanted,
                     strerror(errno));
        return -ENOENT;
    }
    char folder[PATH_MAX];
    for (int i = 0; own_folder(folder) && places[i] != NULL; i++)
        if (look(folder, places[i], R_OK, out))
            return 0;
    if (look(REGTRACE_LIBDIR, "libregtrace.so", R_OK, out))
        return 0;
    rt_error_set(
        e,
        "libregtrace.so was found neither beside this program (../lib) nor in %s; install it there "
        "or name it in REGTRACE_LIBRARY",
        REGTRACE_LIBDIR);
    return -ENOENT;
}

/* ld.so(8) takes blanks and colons in LD_PRELOAD for separators, and has no way to quote them. */
int installed_library(char out[PATH_MAX], struct rt_error *e)
{
    int rc = find_library(out, e);
    if (rc == 0 && strpbrk(out, " :") != NULL) {
        rt_error_set(
            e,
            "%s cannot be preloaded: its path has a blank or a colon, which LD_PRELOAD takes "
            "for the end of a name; install it elsewhere",
            out);
        return -EINVAL;
    }
    return rc;
}

static bool beside(const char *library, const char *name, char out[PATH_MAX])
{
    char path[PATH_MAX];
    return beside_library(library, name, path) && realpath(path, out) != NULL;
}

bool installed_events(char out[PATH_MAX])
{
    char library[PATH_MAX];
    struct rt_error e;
    return installed_library(library, &e) == 0 && beside(library, "regtrace-events", out);
}

int installed_writer(char out[PATH_MAX], const char *library, const char *wanted,
                     struct rt_error *e)
{
    char path[PATH_MAX];
    int rc = beside_writer(library, wanted != NULL ? wanted : "", path, e);
    if (rc == 0 && realpath(path, out) == NULL)
        (void)snprintf(out, PATH_MAX, "%s", path);
    return rc;
}
