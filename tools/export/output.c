/* SPDX-License-Identifier: BSD-3-Clause
 * Where an export is written to: beside its place under another name, and moved there when it is whole. */
#include "tools/export/output.h"

#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_stdout(const struct export_output *o)
{
    return strcmp(o->path, "-") == 0;
}

/* What is there already, and may it go? */
static int look(const struct export_output *o, bool force, struct rt_error *e)
{
    const struct export_format *f = o->format;
    struct stat st;
    if (lstat(o->path, &st) != 0)
        return 0;
    if (!f->folder && S_ISDIR(st.st_mode)) {
        rt_error_set(e, "%s is a folder: -%s takes the name of a file", o->path, f->option);
        return -EISDIR;
    }
    if (!f->folder && !S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
        return 0; /* a pipe or a device: it is written to as it is */
    if (f->folder && !S_ISDIR(st.st_mode)) {
        rt_error_set(e, "%s is there and no folder: -%s takes the name of a new folder", o->path,
                     f->option);
        return -ENOTDIR;
    }
    if (f->folder && output_is_empty(o->path) > 0)
        return 0;
    if (!force) {
        rt_error_set(e, "%s is there already: -force replaces it, or name another", o->path);
        return -EEXIST;
    }
    if (f->folder && !f->is_ours(o->path)) {
        rt_error_set(e,
                     "%s holds something else than an export by -%s, which is left alone also with "
                     "-force; name another folder",
                     o->path, f->option);
        return -EEXIST;
    }
    return 0;
}

static int cannot(const struct export_output *o, struct rt_error *e)
{
    int rc = -errno;
    rt_error_set(e, "%s cannot be written: %s; name another place", o->path, strerror(errno));
    return rc;
}

int export_output_begin(struct export_output *o, const char *path,
                        const struct export_format *format, bool force, struct rt_error *e)
{
    struct stat st;
    *o = (struct export_output){.format = format};
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/' && format->folder)
        n--;
    if (n >= sizeof o->path) {
        rt_error_set(e, "the name of the output is too long");
        return -ENAMETOOLONG;
    }
    memcpy(o->path, path, n);
    o->path[n] = '\0';
    int rc = is_stdout(o) ? 0 : look(o, force, e);
    if (rc != 0)
        return rc;
    if (!format->folder && (is_stdout(o) || (stat(path, &st) == 0 && !S_ISREG(st.st_mode)))) {
        (void)snprintf(o->working, sizeof o->working, "%s", o->path);
        return 0;
    }
    (void)snprintf(o->working, sizeof o->working, "%s.XXXXXX", o->path);
    mode_t mask = umask(0);
    (void)umask(mask);
    if (format->folder)
        return mkdtemp(o->working) != NULL && chmod(o->working, 0777 & ~mask) == 0 ? 0
                                                                                   : cannot(o, e);
    int fd = mkstemp(o->working);
    if (fd < 0 || fchmod(fd, 0666 & ~mask) != 0)
        rc = cannot(o, e);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int remove_all(const char *path)
{
    return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

int export_output_end(struct export_output *o, bool whole, struct rt_error *e)
{
    struct stat st;
    if (strcmp(o->working, o->path) == 0)
        return 0;
    if (!whole) {
        (void)remove_all(o->working);
        return 0;
    }
    if (o->format->folder && lstat(o->path, &st) == 0 && remove_all(o->path) != 0)
        return cannot(o, e);
    if (rename(o->working, o->path) != 0) {
        int rc = cannot(o, e);
        (void)remove_all(o->working);
        return rc;
    }
    return 0;
}
