/* SPDX-License-Identifier: BSD-3-Clause
 * The other side of rt_run_remove_empty(): a writer that starts in a folder which was just given up. */
#ifndef REGTRACE_WRITER_VACANT_H
#define REGTRACE_WRITER_VACANT_H

#include "writer/claim.h"
#include "writer/writer.h"

#include <limits.h>

/* claim_register() in a folder that may be gone, or be going: the traced process chose it, then another one of the
 * job ended without having recorded anything. It is made again, with its job file. */
RT_MUST_CHECK int vacant_register(struct claim *c, const char *job, struct rt_error *e);

#endif
