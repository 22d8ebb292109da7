/* SPDX-License-Identifier: BSD-3-Clause
 * Declares the parser with which a plug-in's prof_process reads the trace of captured values: an
 * entry for each recorded instruction. The plug-in does not own the parser, which is valid during
 * prof_process. */
#ifndef REGTRACE_TRACE_PARSE_H
#define REGTRACE_TRACE_PARSE_H

#include <regtrace/trace-inst.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_parser trace_parser_t;

/* Reads the next entry. Returns how many values it stored, or -1 if there is no further entry.
 *
 * - inst, pc, c0, c1: set unless NULL; c0 and c1 become 0 if the run has no contexts
 * - values: room for `most` values, or NULL. The values are in the order in which the plug-in added
 *   them, without those that the instruction lacks; the function skips those beyond `most`. */
int trace_parser_next(trace_parser_t *parser, trace_inst_t *inst, unsigned long *pc,
                      unsigned long *c0, unsigned long *c1, int most, unsigned long *values);
/* Returns the id of the traced process. */
unsigned trace_parser_get_pid(const trace_parser_t *parser);
/* Returns 1 if the run records contexts (-vcontext), otherwise 0. */
int trace_parser_has_context(const trace_parser_t *parser);

#ifdef __cplusplus
}
#endif
#endif
