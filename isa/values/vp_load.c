/* SPDX-License-Identifier: BSD-3-Clause
 * Finds a value profiling plug-in by name, loads it and queries it. Everything but the search runs
 * in the child (vp_apart.c). */
#include "base/identity.h"
#include "base/names/nearest.h"
#include "base/sys.h"
#include "isa/values/vp.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool try_file(char path[PATH_MAX], const char *folder, const char *more, const char *name)
{
    static const char *const before[] = {"vp-", "", ""}, *const after[] = {".so", ".so", ""};
    for (unsigned i = 0; i < 3; i++) {
        int n = snprintf(path, PATH_MAX, "%s%s/%s%s%s", folder, more, before[i], name, after[i]);
        if (n > 0 && n < PATH_MAX && access(path, R_OK) == 0)
            return true;
    }
    return false;
}

/* Looks at the names of the plug-ins that a folder has. */
static void look_at_names(struct near_names *near, const char *folder, const char *more)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s%s", folder, more);
    DIR *d = n > 0 && n < PATH_MAX ? opendir(path) : NULL;
    for (const struct dirent *f; d != NULL && (f = readdir(d)) != NULL;) {
        size_t length = strlen(f->d_name);
        if (length <= 3 || strcmp(f->d_name + length - 3, ".so") != 0)
            continue;
        char name[sizeof f->d_name];
        (void)snprintf(name, sizeof name, "%.*s", (int)(length - 3), f->d_name);
        near_names_look(near, name);
    }
    if (d != NULL)
        (void)closedir(d);
}

/* Finds the file of a plug-in. A name with a slash is a path. Another name means a plug-in that
 * comes with regtrace; it is searched in the build (.libs), in the installation folder, and in
 * lib/regtrace relative to this program. Never searches the working folder. */
static int find(const char *name, char path[PATH_MAX], struct rt_error *e)
{
    char here[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", here, sizeof here - 1);
    if (strchr(name, '/') != NULL) {
        (void)snprintf(path, PATH_MAX, "%s", name);
        return 0;
    }
    here[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(here, '/');
    if (slash != NULL)
        *slash = '\0';
    if (name[0] != '\0' && ((slash != NULL && try_file(path, here, "/.libs", name)) ||
                            try_file(path, VP_FOLDER, "", name) ||
                            (slash != NULL && try_file(path, here, "/../../lib/regtrace", name))))
        return 0;
    struct near_names near = {.wanted = name};
    char nearest[sizeof near.best] = "";
    if (slash != NULL)
        look_at_names(&near, here, "/.libs");
    look_at_names(&near, VP_FOLDER, "");
    if (slash != NULL)
        look_at_names(&near, here, "/../../lib/regtrace");
    near_names_text(&near, nearest, sizeof nearest);
    rt_error_set(e, "there is no plug-in of the name %s in %s%s; a path to a file has a slash",
                 name[0] != '\0' ? name : "''", VP_FOLDER, nearest);
    return -ENOENT;
}

static int check_name(const struct vp_apart *v, struct rt_error *e)
{
    static const char *const reserved[] = {"values", "values.replay", "values.trace"};
    for (unsigned i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(v->name, reserved[i]) == 0) {
            rt_error_set(e, "its name %s is reserved: let its name() say another", v->name);
            return -EINVAL;
        }
    for (const char *c = v->name; *c != '\0'; c++)
        if ((unsigned char)*c <= ' ' || *c == '/' || *c == 127) {
            rt_error_set(e, "its name has white space, a slash or a control character");
            return -EINVAL;
        }
    if (v->name[0] == '\0' || v->name[0] == '.') {
        rt_error_set(e, "its name is empty or begins with a dot");
        return -EINVAL;
    }
    return 0;
}

/* Sets v->name to what name() returns, or else to the file's name without .so. */
static int ask_name(struct vp_apart *v, const char *path, struct rt_error *e)
{
    const char *name = identity_base_name(path);
    int n = (int)strlen(name);
    vp_enter(v, "name");
    if (v->dispatch->name != NULL) {
        name = v->dispatch->name();
        n = name != NULL ? (int)strnlen(name, INT_MAX / 2) : 0;
    } else if (n > 3 && strcmp(name + n - 3, ".so") == 0) {
        n -= 3;
    }
    if (n >= (int)sizeof v->name) {
        vp_leave(v);
        rt_error_set(e, "its name is longer than %zu characters", sizeof v->name - 1);
        return -EINVAL;
    }
    (void)snprintf(v->name, sizeof v->name, "%.*s", n, n > 0 ? name : "");
    vp_leave(v);
    return check_name(v, e);
}

static int prepare(struct vp_apart *v, struct rt_error *e)
{
    if (v->dispatch->prof_init == NULL)
        return 0;
    vp_enter(v, "prof_init");
    v->table = v->dispatch->prof_init();
    vp_leave(v);
    if (v->table == NULL)
        rt_error_set(e, "prof_init has given no specification (NULL)");
    return v->table != NULL ? 0 : -ENODATA;
}

int vp_load(struct vp_apart *v, struct rt_error *e)
{
    char path[PATH_MAX];
    int rc = find(v->plugin, path, e);
    if (rc != 0)
        return rc;
    vp_enter(v, "loading it");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    vp_leave(v);
    if (library == NULL) {
        rt_error_set(e, "it cannot be loaded: %s", dlerror());
        return -ENOEXEC;
    }
    v->dispatch = dlsym(library, "_dispatch");
    if (v->dispatch == NULL) {
        rt_error_set(e, "it has no table _dispatch, so it is no plug-in of value profiling");
        return -ENOEXEC;
    }
    vp_enter(v, "init");
    if (v->dispatch->init != NULL)
        v->dispatch->init();
    vp_leave(v);
    if (v->names)
        rc = ask_name(v, path, e);
    return rc == 0 && v->inits ? prepare(v, e) : rc;
}

void vp_release(const struct vp_apart *v)
{
    if (v->inits && v->dispatch->prof_release != NULL) {
        vp_enter(v, "prof_release");
        v->dispatch->prof_release();
        vp_leave(v);
    }
    if (v->dispatch->release != NULL) {
        vp_enter(v, "release");
        v->dispatch->release();
        vp_leave(v);
    }
}

int vp_run_name(struct vp_apart *v, struct rt_error *e)
{
    char line[sizeof v->name + 1];
    int rc = 0, n = snprintf(line, sizeof line, "%s\n", v->name);
    if (v->table != NULL) { /* --check: validate the specification */
        vp_enter(v, "the specification of prof_init");
        rc = vp_spec_send(v->table, -1, e);
        vp_leave(v);
    }
    return rc == 0 ? sys_write_all(v->out, line, (size_t)n) : rc;
}
