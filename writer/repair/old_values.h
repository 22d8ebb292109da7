/* SPDX-License-Identifier: BSD-3-Clause
 * For recover: captured values go on being counted where a killed writer has left its snapshot. */
#ifndef REGTRACE_WRITER_REPAIR_OLD_VALUES_H
#define REGTRACE_WRITER_REPAIR_OLD_VALUES_H

#include "writer/claim.h"
#include "writer/drain.h"

/* plugin: as the process was given it; NULL or "": it profiled no values. A path is not followed, as it stands in a file: what was
 * not processed yet is counted as such. 0 or -errno. */
RT_MUST_CHECK int old_values_begin(struct drain *d, const struct claim *c, const char *plugin);
/* The images of the old file. 0 or -ENOMEM. */
RT_MUST_CHECK int old_values_images(struct drain *d, const struct rt_rank_tables *old);
/* The new file is in its place: the snapshot goes. What could not be processed is added to the text. */
void old_values_done(const struct drain *d, char *text, size_t room);

#endif
