/* SPDX-License-Identifier: BSD-3-Clause
 * libregtrace-trace.a, which plug-ins link: reads traces and instructions. */
#include "isa/values/vp_trace.h"

#include <stdio.h>
#include <string.h>

static bool is_sound(const trace_parser_t *parser)
{
    return parser != NULL && parser->magic == VP_TRACE_MAGIC && parser->version == VP_TRACE_VERSION;
}

unsigned trace_parser_get_pid(const trace_parser_t *parser)
{
    return is_sound(parser) ? parser->pid : 0;
}

int trace_parser_has_context(const trace_parser_t *parser)
{
    return is_sound(parser) ? parser->has_context : 0;
}

int trace_parser_next(trace_parser_t *parser, trace_inst_t *inst, unsigned long *pc,
                      unsigned long *c0, unsigned long *c1, int most, unsigned long *values)
{
    struct values_entry entry;
    if (!is_sound(parser) || parser->at == parser->end)
        return -1;
    memcpy(&entry, parser->at, sizeof entry);
    unsigned stored = entry.count;
    if (values == NULL || most < 0)
        stored = 0;
    else if (stored > (unsigned)most)
        stored = (unsigned)most;
    for (unsigned i = 0; i < stored; i++) {
        uint64_t value;
        memcpy(&value, parser->at + sizeof entry + i * sizeof value, sizeof value);
        values[i] = value;
    }
    if (inst != NULL)
        parser->decode(entry.code, entry.code_bytes, inst);
    if (pc != NULL)
        *pc = entry.pc;
    if (c0 != NULL)
        *c0 = parser->has_context ? entry.context[0] : 0;
    if (c1 != NULL)
        *c1 = parser->has_context ? entry.context[1] : 0;
    parser->at += sizeof entry + entry.count * sizeof(uint64_t);
    return (int)stored;
}

static const char *const opcode_names[op_count] = {
    "",
#define TRACE_OPCODE(name) #name,
#include <regtrace/trace-opcodes.def>
#undef TRACE_OPCODE
};

const char *trace_opcode_name(trace_opcode_t opc)
{
    return (unsigned)opc < op_count ? opcode_names[opc] : "";
}

/* Binary search: the names are sorted. */
trace_opcode_t trace_opcode_by_name(const char *name)
{
    unsigned low = 1, high = op_count;
    while (name != NULL && low < high) {
        unsigned middle = low + (high - low) / 2;
        int order = strcmp(name, opcode_names[middle]);
        if (order == 0)
            return (trace_opcode_t)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return op_none;
}

const trace_operand_t *trace_inst_operand(const trace_inst_t *inst, unsigned n)
{
    return n < inst->operand_count && n < 4 ? &inst->operands[n] : NULL;
}

trace_value_t trace_inst_register(const trace_inst_t *inst, unsigned n)
{
    const trace_operand_t *o = trace_inst_operand(inst, n);
    return o != NULL && o->type == TRACE_OPERAND_REGISTER ? o->value : 0;
}

const trace_memory_t *trace_inst_memory(const trace_inst_t *inst)
{
    return inst->memory.elements != 0 ? &inst->memory : NULL;
}

unsigned trace_inst_width(const trace_inst_t *inst)
{
    return inst->memory.elements != 0 ? inst->memory.bits / 8u : 0;
}

uint64_t trace_inst_target(const trace_inst_t *inst, uint64_t pc)
{
    return inst->is_relative ? pc + inst->length + inst->operands[0].immediate : 0;
}

/* Writes the name of general register n, 0 to 16. */
static const char *general_name(unsigned n, unsigned bits, unsigned shift, char *text, size_t room)
{
    static const char *const wide[8] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};
    const char *low = wide[n % 8];
    if (n == 16)
        (void)snprintf(text, room, "rflags");
    else if (n >= 8)
        (void)snprintf(text, room, "r%u%s", n,
                       bits == 64   ? ""
                       : bits == 32 ? "d"
                       : bits == 16 ? "w"
                                    : "b");
    else if (bits > 8)
        (void)snprintf(text, room, "%s%s", bits == 64 ? "r" : bits == 32 ? "e" : "", low);
    else if (n < 4)
        (void)snprintf(text, room, "%c%c", low[0], shift != 0 ? 'h' : 'l');
    else
        (void)snprintf(text, room, "%sl", low);
    return text;
}

const char *trace_register_name(trace_value_t value, unsigned bits, unsigned shift, char *text,
                                size_t room)
{
    unsigned n = TRACE_INDEX(value);
    if (room == 0)
        return "";
    text[0] = '\0';
    switch (TRACE_KIND(value)) {
    case TRACE_KIND_GENERAL: return n <= 16 ? general_name(n, bits, shift, text, room) : "";
    case TRACE_KIND_VECTOR:
        (void)snprintf(text, room, "%cmm%u", bits > 256 ? 'z' : bits > 128 ? 'y' : 'x', n);
        return text;
    case TRACE_KIND_MASK: (void)snprintf(text, room, "k%u", n); return text;
    case TRACE_KIND_X87: (void)snprintf(text, room, "st(%u)", n); return text;
    default: return "";
    }
}
