/* SPDX-License-Identifier: BSD-3-Clause
 * Copies those tables of a killed writer's file whose rows need no change. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_TABLES_H
#define REGTRACE_WRITER_REPAIR_OLD_TABLES_H

#include "writer/drain.h"

/* drain: of the stream, which learns what the file has already; NULL: the stream is gone. Returns 0
 * or -ENOMEM. */
RT_MUST_CHECK int old_tables_copy(struct rankfile *to, const struct rt_rank *old,
                                  struct drain *drain);

#endif
