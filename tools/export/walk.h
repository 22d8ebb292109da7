/* SPDX-License-Identifier: BSD-3-Clause
 * What an event means for a thread's spans: between walk.c and spans.c. */
#ifndef REGTRACE_TOOLS_EXPORT_WALK_H
#define REGTRACE_TOOLS_EXPORT_WALK_H

#include "tools/export/export.h"

enum span_edge { SPAN_NONE, SPAN_BEGINS, SPAN_ENDS };

/* Which span begins or ends with the event. Events that say what marks mean, or that images moved, are kept. */
enum span_edge export_span_of(struct export *x, const struct emu_record *r,
                              struct export_span *span);

#endif
