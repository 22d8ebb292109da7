/* SPDX-License-Identifier: BSD-3-Clause
 * vp-addr: plug-in that profiles the effective addresses of loads and stores; of a gather or
 * scatter, at most seven elements. */
#include <regtrace/vprofiler.h>

#include <stdio.h>
#include <stdlib.h>

static trace_vlist_table_t *table;

static int select_loads_stores(trace_opcode_t opc, trace_func_t func)
{
    (void)opc;
    return (func & (TRACE_FUNC_LOAD | TRACE_FUNC_STORE)) != 0;
}

static trace_vlist_table_t *prof_init(void)
{
    trace_vlist_t *vlist = trace_vlist_alloc();
    table = trace_vlist_table_alloc();
    trace_vlist_table_init(table);
    trace_vlist_init(vlist);
    for (unsigned element = 0; element < TRACE_VALUES_MOST; element++)
        trace_add_value_to_vlist(vlist, TRACE_ADDRESS_OF(element));
    trace_add_vlist_by_select(table, select_loads_stores, vlist);
    free(vlist);
    return table;
}

static void prof_release(void)
{
    free(table);
    table = NULL;
}

static const char *name(void)
{
    return "vp-addr";
}

static const char *preface(const trace_inst_t *inst)
{
    return (inst->func & (TRACE_FUNC_LOAD | TRACE_FUNC_STORE)) != 0 ? "addr" : NULL;
}

static const char *format(const trace_inst_t *inst, unsigned long value)
{
    static char text[32];
    (void)inst;
    (void)snprintf(text, sizeof text, "0x%lx", value);
    return text;
}

vp_dispatch_t _dispatch = {
    NULL, NULL, prof_init, prof_release, NULL, name, preface, format,
};
