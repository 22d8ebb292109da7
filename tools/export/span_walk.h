/* SPDX-License-Identifier: BSD-3-Clause
 * Declares how spans.c tells span_walk.c the meaning of an event for its thread's spans. */
#ifndef REGTRACE_TOOLS_EXPORT_SPAN_WALK_H
#define REGTRACE_TOOLS_EXPORT_SPAN_WALK_H

#include "tools/export/export.h"

enum span_edge { SPAN_NONE, SPAN_BEGINS, SPAN_ENDS };

/* Fills in the span that begins or ends with the event; returns SPAN_NONE if none does. Learns from
 * events that describe marks or say that images moved. */
enum span_edge export_span_of(struct export *x, const struct stream_record *r,
                              struct export_span *span);

#endif
