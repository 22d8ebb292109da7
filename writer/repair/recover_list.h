/* SPDX-License-Identifier: BSD-3-Clause
 * Lists what recover must look at: the entries of a run, and the streams that have no entry. */
#ifndef REGTRACE_WRITER_REPAIR_RECOVER_LIST_H
#define REGTRACE_WRITER_REPAIR_RECOVER_LIST_H

#include "writer/claim.h"

struct recover_list {
    struct claim *claims;
    size_t count, room;
    /* Pids of processes without an entry whose writers are still starting. */
    uint32_t *alive;
    size_t alive_count;
    int rc;
};

/* Fills a zeroed list. Gives an entry to each stream that has neither an entry nor a living writer.
 * Returns 0, or -errno with the text in *e. Call recover_list_free() in both cases. */
RT_MUST_CHECK int recover_list_make(struct recover_list *list, const char *dir, struct rt_error *e);
void recover_list_free(struct recover_list *list);

#endif
