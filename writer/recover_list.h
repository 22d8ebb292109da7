/* SPDX-License-Identifier: BSD-3-Clause
 * Whom recover has to look at: the entries of a run, and the streams that have none. */
#ifndef REGTRACE_WRITER_RECOVER_LIST_H
#define REGTRACE_WRITER_RECOVER_LIST_H

#include "writer/claim.h"

struct recover_list {
    struct claim *claims;
    size_t count, room;
    uint32_t *alive; /* processes without an entry, whose writers are being started */
    size_t alive_count;
    int rc;
};

/* Fills a zeroed list. A stream without an entry and without a writer gets an entry. 0 or -errno with the text; recover_list_free()
 * either way. */
RT_MUST_CHECK int recover_list_make(struct recover_list *list, const char *dir, struct rt_error *e);
void recover_list_free(struct recover_list *list);

#endif
