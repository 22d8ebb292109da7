/* SPDX-License-Identifier: BSD-3-Clause
 * vp-classic: plug-in that profiles the register that each instruction computes, read after it. */
#include <regtrace/vprofiler.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static trace_vlist_table_t *table;

static int select_results(trace_opcode_t opc, trace_func_t func)
{
    (void)opc;
    return (func & TRACE_FUNC_RESULT) != 0;
}

static trace_vlist_table_t *prof_init(void)
{
    trace_vlist_t *vlist = trace_vlist_alloc();
    table = trace_vlist_table_alloc();
    trace_vlist_table_init(table);
    trace_vlist_init(vlist);
    trace_add_value_to_vlist(vlist, TRACE_DESTINATION);
    trace_add_vlist_by_select(table, select_results, vlist);
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
    return "vp-classic";
}

static const char *preface(const trace_inst_t *inst)
{
    static char text[16];
    if (inst->destination == 0)
        return NULL;
    return trace_register_name(inst->destination, inst->destination_width, inst->destination_shift,
                               text, sizeof text);
}

static const char *format(const trace_inst_t *inst, unsigned long value)
{
    static char text[40];
    double wide;
    float narrow;
    if (inst->destination_is_float && inst->destination_bits == 64) {
        memcpy(&wide, &value, sizeof wide);
        (void)snprintf(text, sizeof text, "%.17g", wide);
    } else if (inst->destination_is_float && inst->destination_bits == 32) {
        memcpy(&narrow, &value, sizeof narrow);
        (void)snprintf(text, sizeof text, "%.9g", (double)narrow);
    } else {
        (void)snprintf(text, sizeof text, "0x%lx", value);
    }
    return text;
}

vp_dispatch_t _dispatch = {
    NULL, NULL, prof_init, prof_release, NULL, name, preface, format,
};
