/* SPDX-License-Identifier: BSD-3-Clause
 * Trace specifications: which instructions a plug-in of value profiling wants recorded, and which values of each.
 *
 * A vlist is a list of values; a specification (trace_vlist_table_t) has one for each opcode and function (trace-inst.h), at first none:
 * no instruction is recorded. What is wrong in a call (more than 7 values, a value that is not to be had) is remembered
 * in the specification, and prof_init's caller refuses it with the reason, so return values may be ignored. */
#ifndef REGTRACE_TRACE_VLIST_H
#define REGTRACE_TRACE_VLIST_H

#include <regtrace/trace-inst.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct trace_vlist trace_vlist_t;
typedef struct trace_vlist_table trace_vlist_table_t;

/* Both are to be initialised, and may be given to free(3). NULL: no memory. */
trace_vlist_table_t *trace_vlist_table_alloc(void);
trace_vlist_t *trace_vlist_alloc(void);

/* No instruction is recorded. */
void trace_vlist_table_init(trace_vlist_table_t *table);
/* A record without values: address, instruction, contexts. */
void trace_vlist_init(trace_vlist_t *vlist);

/* Adds a value to the list; a value that is added twice is recorded twice. Returns 0 or -errno:
 * -ENOTSUP for a value that is not available, -ENOSPC for an eighth value, -EINVAL for one that
 * does not exist. */
int trace_add_value_to_vlist(trace_vlist_t *vlist, trace_value_t value);

/* Adds the list's values to those of the opcode, in all functions, except values that another list
 * has added. Returns 0 or -errno, as above. */
int trace_add_vlist_by_opc(trace_vlist_table_t *table, trace_opcode_t opc,
                           const trace_vlist_t *vlist);

/* pick says for each opcode and function which value is to be captured alone; TRACE_BASIC: none; TRACE_IGNORE: no record. */
int trace_set_vlist_by_pick_value(trace_vlist_table_t *table,
                                  trace_value_t (*pick)(trace_opcode_t opc, trace_func_t func));

/* The vlist's values are added to those of each opcode and function for which selector says so. */
int trace_add_vlist_by_select(trace_vlist_table_t *table,
                              int (*selector)(trace_opcode_t opc, trace_func_t func),
                              const trace_vlist_t *vlist);

#ifdef __cplusplus
}
#endif
#endif
