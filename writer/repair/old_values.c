/* SPDX-License-Identifier: BSD-3-Clause
 * Continues what a killed writer had counted of captured values. */
#include "writer/repair/old_values.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int old_values_begin(struct drain *d, const struct claim *c, const char *plugin)
{
    char path[PATH_MAX];
    struct values_about about = {
        .plugin = plugin, .snapshot = path, .pid = c->pid, .resumed = true, .by_name = true};
    if (plugin == NULL || plugin[0] == '\0')
        return 0;
    int rc = claim_values_path(c, path);
    return rc != 0 ? rc : values_begin(&d->values, &about);
}

int old_values_images(struct drain *d, const struct rt_rank_tables *old)
{
    int rc = 0;
    for (size_t i = 0; d->values != NULL && i < old->map_count && rc == 0; i++)
        rc = values_add_image(d->values, &old->maps[i]);
    return rc;
}

void old_values_done(const struct drain *d, char *text, size_t room)
{
    const struct values *v = d->values;
    size_t n = strlen(text);
    uint64_t unprocessed = 0;
    if (v == NULL)
        return;
    (void)unlink(v->path);
    for (size_t i = 0; i < v->thread_count; i++)
        unprocessed += v->threads[i].row.unprocessed;
    if (unprocessed > 0)
        n += (size_t)snprintf(text + n, room - n,
                              "%s%" PRIu64 " captured instructions are without values: %.200s",
                              n > 0 ? "; " : "", unprocessed, v->child.why.text);
    if (v->lost_chunks > 0 && n < room)
        (void)snprintf(text + n, room - n,
                       "%scaptured values that were in up to %" PRIu64 " chunks are lost",
                       n > 0 ? "; " : "", v->lost_chunks);
}
