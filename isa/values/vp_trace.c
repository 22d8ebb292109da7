/* SPDX-License-Identifier: BSD-3-Clause
 * libregtrace-trace.a, which plug-ins link: builds trace specifications. */
#include "isa/values/vp_trace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

trace_vlist_table_t *trace_vlist_table_alloc(void)
{
    return calloc(1, sizeof(trace_vlist_table_t));
}

trace_vlist_t *trace_vlist_alloc(void)
{
    return calloc(1, sizeof(trace_vlist_t));
}

void trace_vlist_table_init(trace_vlist_table_t *table)
{
    if (table == NULL)
        return;
    memset(table, 0, sizeof *table);
    table->magic = VP_TRACE_MAGIC;
    table->version = VP_TRACE_VERSION;
    table->opcodes = op_count;
    table->functions = TRACE_FUNCS;
}

void trace_vlist_init(trace_vlist_t *vlist)
{
    if (vlist == NULL)
        return;
    memset(vlist, 0, sizeof *vlist);
    vlist->is_recorded = 1;
}

/* Returns 0; -ENOTSUP for a latency; or -EINVAL if no instruction has this value. */
static int check_value(trace_value_t value)
{
    unsigned index = TRACE_INDEX(value), lane = TRACE_LANE(value);
    switch (TRACE_KIND(value)) {
    case TRACE_KIND_GENERAL: return index <= 16 && lane == 0 ? 0 : -EINVAL;
    case TRACE_KIND_VECTOR: return index < 32 && lane < 8 ? 0 : -EINVAL;
    case TRACE_KIND_MASK:
    case TRACE_KIND_X87: return index < 8 && lane == 0 ? 0 : -EINVAL;
    case TRACE_KIND_OPERAND: return index < 4 && lane < 8 ? 0 : -EINVAL;
    case TRACE_KIND_ADDRESS: return index == 0 && lane < 16 ? 0 : -EINVAL;
    case TRACE_KIND_DESTINATION:
    case TRACE_KIND_LOADED:
    case TRACE_KIND_STORED: return index == 0 && lane == 0 ? 0 : -EINVAL;
    case TRACE_KIND_LATENCY: return -ENOTSUP;
    default: return -EINVAL;
    }
}

static int add_value(trace_vlist_t *vlist, trace_value_t value)
{
    int rc = check_value(value);
    if (rc == 0 && vlist->count >= VALUES_MOST)
        rc = -ENOSPC;
    if (rc == 0)
        vlist->values[vlist->count++] = value;
    else if (vlist->fault.error == 0)
        vlist->fault = (struct vp_fault){rc, value};
    return rc;
}

int trace_add_value_to_vlist(trace_vlist_t *vlist, trace_value_t value)
{
    return vlist != NULL ? add_value(vlist, value) : -EINVAL;
}

static bool is_sound(const trace_vlist_table_t *table)
{
    return table != NULL && table->magic == VP_TRACE_MAGIC && table->version == VP_TRACE_VERSION;
}

static int fail(trace_vlist_table_t *table, int rc, trace_value_t value)
{
    if (table->fault.error == 0)
        table->fault = (struct vp_fault){rc, value};
    return rc;
}

static unsigned count_of(const trace_vlist_t *vlist, unsigned count, trace_value_t value)
{
    unsigned n = 0;
    for (unsigned i = 0; i < count; i++)
        n += vlist->values[i] == value;
    return n;
}

/* Adds all values of the list, unless the list is invalid. Does not add a value again that another
 * list already added: the result holds a value as often as the list that holds it most often. */
static int merge(trace_vlist_table_t *table, trace_opcode_t opc, unsigned func,
                 const trace_vlist_t *vlist)
{
    trace_vlist_t *to = &table->of[opc][func];
    if (vlist->fault.error != 0)
        return fail(table, vlist->fault.error, vlist->fault.value);
    to->is_recorded = 1;
    for (unsigned i = 0; i < vlist->count; i++)
        if (count_of(to, to->count, vlist->values[i]) < count_of(vlist, i + 1, vlist->values[i]) &&
            add_value(to, vlist->values[i]) != 0)
            return fail(table, to->fault.error, to->fault.value);
    return 0;
}

int trace_add_vlist_by_opc(trace_vlist_table_t *table, trace_opcode_t opc,
                           const trace_vlist_t *vlist)
{
    int rc = 0;
    if (!is_sound(table) || vlist == NULL)
        return -EINVAL;
    if ((unsigned)opc >= op_count)
        return fail(table, -EINVAL, 0);
    for (unsigned func = 0; func < TRACE_FUNCS && rc == 0; func++)
        rc = merge(table, opc, func, vlist);
    return rc;
}

int trace_set_vlist_by_pick_value(trace_vlist_table_t *table,
                                  trace_value_t (*pick)(trace_opcode_t opc, trace_func_t func))
{
    if (!is_sound(table) || pick == NULL)
        return -EINVAL;
    for (unsigned n = 0; n < op_count * TRACE_FUNCS; n++) {
        unsigned opc = n / TRACE_FUNCS, func = n % TRACE_FUNCS;
        trace_value_t value = pick((trace_opcode_t)opc, (trace_func_t)func);
        trace_vlist_t *to = &table->of[opc][func];
        memset(to, 0, sizeof *to);
        if (value == TRACE_IGNORE)
            continue;
        to->is_recorded = 1;
        if (value != TRACE_BASIC && add_value(to, value) != 0)
            return fail(table, to->fault.error, to->fault.value);
    }
    return 0;
}

int trace_add_vlist_by_select(trace_vlist_table_t *table,
                              int (*selector)(trace_opcode_t opc, trace_func_t func),
                              const trace_vlist_t *vlist)
{
    int rc = 0;
    if (!is_sound(table) || selector == NULL || vlist == NULL)
        return -EINVAL;
    for (unsigned n = 0; n < op_count * TRACE_FUNCS && rc == 0; n++) {
        trace_opcode_t opc = (trace_opcode_t)(n / TRACE_FUNCS);
        unsigned func = n % TRACE_FUNCS;
        if (selector(opc, (trace_func_t)func))
            rc = merge(table, opc, func, vlist);
    }
    return rc;
}
