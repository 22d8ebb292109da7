/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the ranks that a request did not reach, since none of their writers listens yet. */
#include "tools/ctl/ctl.h"

#include <stdlib.h>
#include <unistd.h>

#define SIZE_MOST (1 << 20)

/* A rank whose file is there has begun: if nobody listens for it, it has ended. */
static bool has_file(const char *dir, int32_t rank)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/rank-%05d.h5", dir, rank) < (int)sizeof path &&
           access(path, F_OK) == 0;
}

size_t ctl_absent_ranks(char list[CTL_RANKS_ROOM], int32_t *size, const char *dir,
                        const struct rank_list *ranks, const struct ctl_target *t, size_t count)
{
    size_t used = 0, absent = 0;
    *size = 0;
    for (size_t i = 0; i < count; i++)
        *size = t[i].size > *size ? t[i].size : *size;
    bool *listens = *size <= SIZE_MOST ? calloc((size_t)*size + 1, sizeof *listens) : NULL;
    for (size_t i = 0; listens != NULL && i < count; i++)
        if (t[i].rank >= 0 && t[i].rank < *size)
            listens[t[i].rank] = true;
    for (int32_t rank = 0; listens != NULL && rank < *size; rank++) {
        if (listens[rank] || !rank_list_has(ranks, rank) || has_file(dir, rank))
            continue;
        absent++;
        if (used < CTL_RANKS_ROOM - 16)
            used += (size_t)snprintf(list + used, CTL_RANKS_ROOM - used, "%s%d",
                                     used > 0 ? "," : "", rank);
        else if (list[used - 1] != '.')
            used += (size_t)snprintf(list + used, CTL_RANKS_ROOM - used, ",...");
    }
    free(listens);
    return absent;
}
