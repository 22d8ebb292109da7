/* SPDX-License-Identifier: BSD-3-Clause
 * vp-args: plug-in that profiles the six argument registers at calls and the result register at
 * returns (psABI x86-64). How many arguments a function has is not known.
 *
 * A call does not change these registers, so after the call they hold the arguments of the called
 * function. A tuple's address is that of the call or return. Its contexts are, for an argument, the
 * argument's number (1 to 6) and the called function's address; for a result, 0 and 0. */
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
    trace_add_value_to_vlist(vlist, TRACE_OPERAND(0)); /* target of an indirect call */
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
