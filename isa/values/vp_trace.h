/* SPDX-License-Identifier: BSD-3-Clause
 * Layout of specifications and parsers, shared by regtrace-vprofiler and the archive that plug-ins
 * link.
 *
 * A change of this layout or of the list of opcodes must add one to VP_TRACE_VERSION: a plug-in
 * linked with another version of the archive is refused. */
#ifndef REGTRACE_ISA_VALUES_VP_TRACE_H
#define REGTRACE_ISA_VALUES_VP_TRACE_H

#include <regtrace/vprofiler.h>

#include "base/format/value_protocol.h"

#define VP_TRACE_MAGIC UINT32_C(0x56505452)
#define VP_TRACE_VERSION 1u

_Static_assert(TRACE_VALUES_MOST == VALUES_MOST, "one limit");

/* The first fault; all zero: none. */
struct vp_fault {
    int error; /* -errno */
    trace_value_t value;
};

struct trace_vlist {
    struct vp_fault fault;
    uint8_t is_recorded, count;
    trace_value_t values[VALUES_MOST];
};

struct trace_vlist_table {
    uint32_t magic, version;
    uint32_t opcodes, functions;
    struct vp_fault fault;
    struct trace_vlist of[op_count][TRACE_FUNCS];
};

struct trace_parser {
    uint32_t magic, version;
    uint32_t pid;
    int has_context;
    /* From *at to *end: struct values_entry, each followed by its values; complete entries only. */
    const uint8_t *at, *end;
    void (*decode)(const uint8_t *code, size_t bytes, trace_inst_t *inst);
};

#endif
