/* SPDX-License-Identifier: BSD-3-Clause
 * Declares trace specifications, with which a plug-in of value profiling says which instructions to
 * record, and which values of each.
 *
 * A vlist is a list of values. A specification (trace_vlist_table_t) has one for each opcode and
 * function (trace-inst.h); at first it has none, and no instruction is recorded. The specification
 * remembers the first error of these calls (more than 7 values, a value that is not available), and
 * prof_init's caller refuses it with the reason. So a plug-in may ignore the return values. */
#ifndef REGTRACE_TRACE_VLIST_H
#define REGTRACE_TRACE_VLIST_H

#include <regtrace/trace-inst.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_vlist trace_vlist_t;
typedef struct trace_vlist_table trace_vlist_table_t;

/* Returns memory that the caller initializes by the function below and frees by free(3), or NULL if
 * there is none. */
trace_vlist_table_t *trace_vlist_table_alloc(void);
trace_vlist_t *trace_vlist_alloc(void);

/* Makes the specification record no instruction. Does nothing if `table` is NULL. */
void trace_vlist_table_init(trace_vlist_table_t *table);
/* Makes the list empty: a record without values has address, instruction and contexts. Does nothing
 * if `vlist` is NULL. */
void trace_vlist_init(trace_vlist_t *vlist);

/* Adds a value to the list; a value that is added twice is recorded twice. Returns 0 or -errno:
 * -ENOTSUP for a value that is not available, -ENOSPC for an eighth value, -EINVAL for one that
 * does not exist. */
int trace_add_value_to_vlist(trace_vlist_t *vlist, trace_value_t value);

/* Adds the list's values to those of the opcode, in all functions, except values that another list
 * has added. Returns 0 or -errno, as above. */
int trace_add_vlist_by_opc(trace_vlist_table_t *table, trace_opcode_t opc,
                           const trace_vlist_t *vlist);

/* Calls `pick` for each opcode and function, and replaces their lists by the single value that it
 * returns. TRACE_BASIC: a record without values; TRACE_IGNORE: no record. Returns 0 or -errno, as
 * above. */
int trace_set_vlist_by_pick_value(trace_vlist_table_t *table,
                                  trace_value_t (*pick)(trace_opcode_t opc, trace_func_t func));

/* Adds the list's values, as trace_add_vlist_by_opc() does, to those of each opcode and function
 * for which `selector` returns other than 0. Returns 0 or -errno, as above. */
int trace_add_vlist_by_select(trace_vlist_table_t *table,
                              int (*selector)(trace_opcode_t opc, trace_func_t func),
                              const trace_vlist_t *vlist);

#ifdef __cplusplus
}
#endif
#endif
