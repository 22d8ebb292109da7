/* SPDX-License-Identifier: BSD-3-Clause
 * Declares export_span_of() (spans.c), which tells span_walk.c the span that an event begins or
 * ends. */
#ifndef REGTRACE_TOOLS_EXPORT_SPAN_WALK_H
#define REGTRACE_TOOLS_EXPORT_SPAN_WALK_H

#include "tools/export/export.h"

enum span_edge { SPAN_NONE, SPAN_BEGINS, SPAN_ENDS };

/* Fills in the span that begins or ends with the event; returns SPAN_NONE if none does. Learns from
 * events that describe marks or say that images moved. */
enum span_edge export_span_of(struct export *x, const struct stream_record *r,
                              struct export_span *span);

#endif
