/* SPDX-License-Identifier: BSD-3-Clause
 * The trace of captured values, as prof_process of a plug-in reads it: an entry for each instruction that was recorded. */
#ifndef REGTRACE_TRACE_PARSE_H
#define REGTRACE_TRACE_PARSE_H

#include <regtrace/trace-inst.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_parser trace_parser_t;

/* The next entry: what is not NULL is filled; of its values the first `most` at most, in the order in which they were added, without
 * those that the instruction lacks. Without contexts c0 and c1 become 0. How many values were stored; -1: there is no further
 * entry. */
int trace_parser_next(trace_parser_t *parser, trace_inst_t *inst, unsigned long *pc,
                      unsigned long *c0, unsigned long *c1, int most, unsigned long *values);
/* Of the traced process. */
unsigned trace_parser_get_pid(const trace_parser_t *parser);
/* Were contexts asked for? */
int trace_parser_has_context(const trace_parser_t *parser);

#ifdef __cplusplus
}
#endif
#endif
