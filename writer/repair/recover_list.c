/* SPDX-License-Identifier: BSD-3-Clause
 * Collects the entries of a run, after it has given entries to streams that have none. */
#include "writer/repair/recover_list.h"
#include "writer/repair/unclaimed_streams.h"
#include "writer/writer.h"

#include "base/toolkit/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void collect(void *context, const struct claim *c)
{
    struct recover_list *list = context;
    struct claim *grown = array_grown(list->claims, list->count, &list->room, sizeof *grown);
    if (grown == NULL) {
        list->rc = -ENOMEM;
        return;
    }
    list->claims = grown;
    list->claims[list->count++] = *c;
}

static int collect_all(struct recover_list *list, const char *dir)
{
    list->count = 0;
    int rc = claim_each(dir, collect, list);
    return rc != 0 ? rc : list->rc;
}

static void note_alive(void *context, uint32_t pid)
{
    struct recover_list *list = context;
    uint32_t *grown = realloc(list->alive, (list->alive_count + 1) * sizeof *grown);
    if (grown == NULL)
        return;
    list->alive = grown;
    list->alive[list->alive_count++] = pid;
}

int recover_list_make(struct recover_list *list, const char *dir, struct rt_error *e)
{
    struct stat st;
    struct rt_run *run;
    int rc = stat(dir, &st) != 0 ? -errno : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
    if (rc == -ENOENT && unclaimed_make_folder(dir))
        rc = 0;
    if (rc != 0) {
        rt_error_set(e, "cannot read \"%s\": %s%s", dir, strerror(-rc),
                     rc == -ENOTDIR  ? "; name the folder of the run"
                     : rc == -ENOENT ? " (`regtrace run` prints the folder of a run at its end)"
                                     : "");
        return rc;
    }
    rc = collect_all(list, dir);
    if (rc == 0 || rc == -ENOENT) {
        int found = unclaimed_register(dir, list->claims, list->count, note_alive, list, e);
        if (found < 0)
            return found;
        rc = found > 0 ? collect_all(list, dir) : rc;
    }
    /* Copied rank files may have come without .regtrace/. Then there are no writers to ask, and
     * recover only verifies the files. */
    if (rc == -ENOENT && rt_run_open(&run, dir, &(struct rt_error){{0}}) == 0) {
        rt_run_close(run);
        return 0;
    }
    if (rc == -ENOENT)
        rt_error_set(
            e, "%s is not the folder of a run: it has neither a .regtrace folder nor rank files",
            dir);
    else if (rc != 0)
        rt_error_set(e, "cannot read %s/.regtrace: %s", dir, strerror(-rc));
    return rc;
}

void recover_list_free(struct recover_list *list)
{
    free(list->claims);
    free(list->alive);
}
