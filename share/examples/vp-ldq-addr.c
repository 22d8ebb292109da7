/* SPDX-License-Identifier: BSD-3-Clause
 * The example value profiler of DCPI's manual, line for line: it captures the effective addresses
 * of all 64-bit loads.
 *
 *     cc -shared -fPIC -o vp-ldq-addr.so vp-ldq-addr.c -lregtrace-trace
 *     regtrace run -values ./vp-ldq-addr.so PROGRAM
 *
 * Two things differ. A mov that loads takes the place of ldq and ldq_u. And it captures the address
 * itself, before the instruction: on x86-64 an address is more than a register and a displacement,
 * and mov may overwrite that register. */
#include <stdio.h>
#include <stdlib.h>

#include <regtrace/vprofiler.h>

#define VSAMPLE_BUFFER_SIZE 1024

static vsample_t vsample_buffer[VSAMPLE_BUFFER_SIZE];

static int select_loads_stores(trace_opcode_t opc, trace_func_t func)
{
    switch (opc) {
    case op_mov: return (func & TRACE_FUNC_LOAD) != 0;
    default: break;
    }
    return 0;
}

static trace_vlist_table_t *table;

static trace_vlist_table_t *vp_prof_init(void)
{
    trace_vlist_t *vlist;

    table = trace_vlist_table_alloc();
    trace_vlist_table_init(table);

    vlist = trace_vlist_alloc();
    trace_vlist_init(vlist);
    trace_add_value_to_vlist(vlist, TRACE_ADDRESS);
    trace_add_vlist_by_select(table, select_loads_stores, vlist);
    free(vlist);

    return table;
}

static int vp_prof_process(unsigned pid, trace_parser_t *parser, vsample_t **vsamples)
{
    int n = 0, nvalues, no_context;
    unsigned long pc, c0, c1, address;
    trace_inst_t inst;

    (void)pid;
    no_context = (!trace_parser_has_context(parser));
    while ((nvalues = trace_parser_next(parser, &inst, &pc, &c0, &c1, 1, &address)) >= 0) {
        if (nvalues == 1 && trace_inst_width(&inst) == 8) {
            if (no_context) {
                c0 = c1 = 0;
            }
            vsample_buffer[n].pc = pc;
            vsample_buffer[n].value = address;
            vsample_buffer[n].context0 = c0;
            vsample_buffer[n].context1 = c1;
            n++;
            if (n >= VSAMPLE_BUFFER_SIZE) {
                break;
            }
        }
    }
    *vsamples = vsample_buffer;
    return n;
}

static const char *vp_name(void)
{
    return "vp-ldq-addr";
}

static const char *vp_preface(const trace_inst_t *inst)
{
    (void)inst;
    return "addr";
}

static const char *vp_format(const trace_inst_t *inst, unsigned long value)
{
    static char buffer[32];
    (void)inst;
    sprintf(buffer, "%lx", value & ((1UL << 48) - 1));
    return buffer;
}

vp_dispatch_t _dispatch = {NULL,    NULL,       vp_prof_init, NULL, vp_prof_process,
                           vp_name, vp_preface, vp_format};
