/* SPDX-License-Identifier: BSD-3-Clause
 * A plug-in for t/tools/values/kernels.t that captures the fourth 64 bits of the result of
 * vaddpd. */
#include <regtrace/vprofiler.h>

#include <stdlib.h>

static trace_vlist_table_t *table;

static int select_adds(trace_opcode_t opc, trace_func_t func)
{
    (void)func;
    return opc == op_vaddpd;
}

static trace_vlist_table_t *prof_init(void)
{
    trace_vlist_t *vlist = trace_vlist_alloc();
    table = trace_vlist_table_alloc();
    trace_vlist_table_init(table);
    trace_vlist_init(vlist);
    trace_add_value_to_vlist(vlist, TRACE_OPERAND_LANE(0, 3));
    trace_add_vlist_by_select(table, select_adds, vlist);
    free(vlist);
    return table;
}

static void prof_release(void)
{
    free(table);
    table = NULL;
}

vp_dispatch_t _dispatch = {NULL, NULL, prof_init, prof_release, NULL, NULL, NULL, NULL};
