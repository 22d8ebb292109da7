/* SPDX-License-Identifier: BSD-3-Clause
 * vp-args: the six registers that hold arguments, at calls, and the one of results, at returns (psABI x86-64). Whether a function has
 * as many arguments is not known.
 *
 * A call leaves these registers as they are, so that after it they are the arguments of what was called. A tuple is of the call's or
 * return's address; its contexts are the number of the argument, 1 to 6, and the called function's address; of results 0 and 0. */
#include <regtrace/vprofiler.h>

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLES = 2048, ARGUMENTS = 6 };

static trace_vlist_table_t *table;
static vsample_t samples[SAMPLES];

static trace_vlist_table_t *prof_init(void)
{
    trace_vlist_t *vlist = trace_vlist_alloc();
    table = trace_vlist_table_alloc();
    trace_vlist_table_init(table);

    trace_vlist_init(vlist);
    trace_add_value_to_vlist(vlist, TRACE_RDI);
    trace_add_value_to_vlist(vlist, TRACE_RSI);
    trace_add_value_to_vlist(vlist, TRACE_RDX);
    trace_add_value_to_vlist(vlist, TRACE_RCX);
    trace_add_value_to_vlist(vlist, TRACE_R8);
    trace_add_value_to_vlist(vlist, TRACE_R9);
    trace_add_value_to_vlist(vlist, TRACE_OPERAND(0)); /* where an indirect call goes */
    trace_add_vlist_by_opc(table, op_call, vlist);

    trace_vlist_init(vlist);
    trace_add_value_to_vlist(vlist, TRACE_RAX);
    trace_add_vlist_by_opc(table, op_ret, vlist);
    free(vlist);
    return table;
}

static void prof_release(void)
{
    free(table);
    table = NULL;
}

static int prof_process(unsigned pid, trace_parser_t *parser, vsample_t **vsamples)
{
    trace_inst_t inst;
    unsigned long pc, values[TRACE_VALUES_MOST];
    int count = 0, n;
    (void)pid;
    *vsamples = samples;
    while (count + ARGUMENTS <= SAMPLES &&
           (n = trace_parser_next(parser, &inst, &pc, NULL, NULL, TRACE_VALUES_MOST, values)) >=
               0) {
        if (inst.opc == op_ret && n > 0)
            samples[count++] = (vsample_t){pc, values[0], 0, 0};
        if (inst.opc != op_call || n < ARGUMENTS)
            continue;
        unsigned long function = n > ARGUMENTS ? values[ARGUMENTS] : trace_inst_target(&inst, pc);
        for (unsigned i = 0; i < ARGUMENTS; i++)
            samples[count++] = (vsample_t){pc, values[i], i + 1, function};
    }
    return count;
}

static const char *name(void)
{
    return "vp-args";
}

static const char *preface(const trace_inst_t *inst)
{
    return inst->opc == op_call ? "argument" : inst->opc == op_ret ? "rax" : NULL;
}

static const char *format(const trace_inst_t *inst, unsigned long value)
{
    static char text[32];
    (void)inst;
    (void)snprintf(text, sizeof text, "0x%lx", value);
    return text;
}

vp_dispatch_t _dispatch = {
    NULL, NULL, prof_init, prof_release, prof_process, name, preface, format,
};
