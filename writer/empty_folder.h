/* SPDX-License-Identifier: BSD-3-Clause
 * Counterpart of rt_run_remove_empty(): registers a writer in a folder that was just removed. */
#ifndef REGTRACE_WRITER_EMPTY_FOLDER_H
#define REGTRACE_WRITER_EMPTY_FOLDER_H

#include "writer/claim.h"
#include "writer/writer.h"

#include <limits.h>

/* Does claim_register() in a folder that may be gone or about to be removed: the traced process
 * chose it, then another process of the job ended without having recorded anything. Creates the
 * folder again, with its job file. */
RT_MUST_CHECK int vacant_register(struct claim *c, const char *job, struct rt_error *e);

#endif
