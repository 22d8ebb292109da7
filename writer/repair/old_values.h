/* SPDX-License-Identifier: BSD-3-Clause
 * For recover: continues the counts of captured values from the snapshot that a killed writer
 * left. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_VALUES_H
#define REGTRACE_WRITER_REPAIR_OLD_VALUES_H

#include "writer/claim.h"
#include "writer/drain.h"

/* Begins with the snapshot. `plugin` is as the process was given it; NULL or "": the process
 * profiled no values. A plug-in that is given by a path is not loaded, since the path comes from a
 * file: what was not processed yet is counted as unprocessed. Returns 0 or -errno. */
RT_MUST_CHECK int old_values_begin(struct drain *d, const struct claim *c, const char *plugin);
/* Adds the images of the old file. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int old_values_images(struct drain *d, const struct rt_rank_tables *old);
/* Call when the new file is in its place. Removes the snapshot, and appends to `text` what could
 * not be processed. */
void old_values_done(const struct drain *d, char *text, size_t room);

#endif
