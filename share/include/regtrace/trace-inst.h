/* SPDX-License-Identifier: BSD-3-Clause
 * Instructions as plug-ins of value profiling see them: what stands where DCPI had a 6-bit opcode and a 32-bit instruction.
 *
 * An instruction of x86-64 has 1 to 15 bytes, and its opcode says little: mov loads, stores, or does neither. Here an opcode
 * is a mnemonic (op_mov, op_addsd, ...: trace-opcodes.def), and the function code, which Alpha has as well, says what an
 * instruction of that mnemonic does with memory and registers. A specification has a vlist for each (opcode, function). */
#ifndef REGTRACE_TRACE_INST_H
#define REGTRACE_TRACE_INST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opcodes. Their numbers belong to one version of this header: keep names. */
typedef enum trace_opcode {
    op_none, /* not known by name: of instructions newer than this list */
#define TRACE_OPCODE(name) op_##name,
#include <regtrace/trace-opcodes.def>
#undef TRACE_OPCODE
    op_count
} trace_opcode_t;

/* Function codes: any of these together. */
typedef unsigned char trace_func_t;
#define TRACE_FUNC_LOAD 1u  /* reads memory */
#define TRACE_FUNC_STORE 2u /* writes memory */
#define TRACE_FUNC_ADDRESS                                                                         \
    4u                      /* has a memory operand that it does not access: lea, prefetches, nop */
#define TRACE_FUNC_STACK 8u /* accesses memory by rsp in passing: push, pop, call, ret */
#define TRACE_FUNC_RESULT                                                                          \
    16u /* writes a general, vector, mask or x87 register: it has a TRACE_DESTINATION */
#define TRACE_FUNCS 32u /* how many there are */

/* What may be captured: trace_value_t. Registers as TRACE_RAX ... TRACE_R15, TRACE_VECTOR(n, lane), TRACE_MASK(n), TRACE_X87(n). All
 * after the instruction, but addresses and what is loaded, which are taken before it. What an instruction lacks is left out. */
typedef unsigned trace_value_t;
#define TRACE_KIND(value) ((value) >> 16)
#define TRACE_INDEX(value) ((value) >> 8 & 255u)
#define TRACE_LANE(value) ((value)&255u)
#define TRACE_VALUE(kind, index, lane)                                                             \
    ((unsigned)(kind) << 16 | (unsigned)(index) << 8 | (unsigned)(lane))
enum trace_kind {
    TRACE_KIND_NONE,
    TRACE_KIND_IGNORE,
    TRACE_KIND_GENERAL,
    TRACE_KIND_VECTOR,
    TRACE_KIND_MASK,
    TRACE_KIND_X87,
    TRACE_KIND_OPERAND,
    TRACE_KIND_DESTINATION,
    TRACE_KIND_ADDRESS,
    TRACE_KIND_LOADED,
    TRACE_KIND_STORED,
    TRACE_KIND_LATENCY,
    TRACE_KINDS
};
#define TRACE_BASIC                                                                                \
    TRACE_VALUE(TRACE_KIND_NONE, 0,                                                                \
                0) /* of trace_set_vlist_by_pick_value(): a record without values */
#define TRACE_IGNORE TRACE_VALUE(TRACE_KIND_IGNORE, 0, 0) /* of it: no record */
#define TRACE_GENERAL(n)                                                                           \
    TRACE_VALUE(TRACE_KIND_GENERAL, n, 0) /* by the number that instructions encode */
#define TRACE_RAX TRACE_GENERAL(0)
#define TRACE_RCX TRACE_GENERAL(1)
#define TRACE_RDX TRACE_GENERAL(2)
#define TRACE_RBX TRACE_GENERAL(3)
#define TRACE_RSP TRACE_GENERAL(4)
#define TRACE_RBP TRACE_GENERAL(5)
#define TRACE_RSI TRACE_GENERAL(6)
#define TRACE_RDI TRACE_GENERAL(7)
#define TRACE_R8 TRACE_GENERAL(8)
#define TRACE_R9 TRACE_GENERAL(9)
#define TRACE_R10 TRACE_GENERAL(10)
#define TRACE_R11 TRACE_GENERAL(11)
#define TRACE_R12 TRACE_GENERAL(12)
#define TRACE_R13 TRACE_GENERAL(13)
#define TRACE_R14 TRACE_GENERAL(14)
#define TRACE_R15 TRACE_GENERAL(15)
#define TRACE_RFLAGS TRACE_GENERAL(16)
#define TRACE_VECTOR(n, lane)                                                                      \
    TRACE_VALUE(TRACE_KIND_VECTOR, n, lane)              /* 64 bits of zmm0 to zmm31: lane 0 to 7 */
#define TRACE_MASK(n) TRACE_VALUE(TRACE_KIND_MASK, n, 0) /* k0 to k7 */
#define TRACE_X87(n)                                                                               \
    TRACE_VALUE(TRACE_KIND_X87, n, 0) /* st(0) to st(7), rounded to a double: its bits */
/* Explicit operand n, 0 to 3, in Intel's order (the destination first): a register, or what is in memory. An immediate has no value:
 * the instruction's bytes tell it. Of vectors the lane; scalar ones of 4 bytes give those. */
#define TRACE_OPERAND_LANE(n, lane) TRACE_VALUE(TRACE_KIND_OPERAND, n, lane)
#define TRACE_OPERAND(n) TRACE_OPERAND_LANE(n, 0)
/* The first register that is written, explicit ones first; not rsp, rip, flags. */
#define TRACE_DESTINATION TRACE_VALUE(TRACE_KIND_DESTINATION, 0, 0)
/* Effective address of the memory operand; of the elements that a gather or scatter accesses, from 0. */
#define TRACE_ADDRESS_OF(element) TRACE_VALUE(TRACE_KIND_ADDRESS, 0, element)
#define TRACE_ADDRESS TRACE_ADDRESS_OF(0)
/* At most 8 bytes that are read, or written, there. */
#define TRACE_LOADED TRACE_VALUE(TRACE_KIND_LOADED, 0, 0)
#define TRACE_STORED TRACE_VALUE(TRACE_KIND_STORED, 0, 0)
#define TRACE_LATENCY TRACE_VALUE(TRACE_KIND_LATENCY, 0, 0) /* of loads: refused, with the reason */
#define TRACE_VALUES_MOST 7                                 /* of one instruction */

/* An explicit operand. */
enum trace_operand_type {
    TRACE_OPERAND_REGISTER = 1,
    TRACE_OPERAND_MEMORY,
    TRACE_OPERAND_IMMEDIATE
};
typedef struct trace_operand {
    unsigned char type; /* enum trace_operand_type */
    unsigned char is_read, is_written;
    unsigned char shift;         /* of a register: bits below it: 8 of ah, bh, ch, dh */
    unsigned short bits;         /* its width */
    unsigned short element_bits; /* of one of its numbers */
    unsigned char is_float;      /* these are floating-point */
    unsigned char captured_bits; /* of TRACE_OPERAND: 8 to 64 */
    unsigned char zero[2];
    trace_value_t
        value; /* of a register that may be captured: TRACE_GENERAL(n), TRACE_VECTOR(n, 0), ...; 0: another */
    uint64_t immediate; /* sign-extended where the processor does so; of branches the distance */
} trace_operand_t;

/* The memory operand: segment base + base + index * scale + displacement. */
typedef struct trace_memory {
    int64_t displacement;      /* of rip-relative ones the distance from the next instruction */
    trace_value_t base, index; /* as in operands; 0: none */
    unsigned char scale, is_rip_relative;
    unsigned char segment; /* 0: none that counts, 1 fs, 2 gs */
    unsigned char is_32;   /* cut to 32 bits */
    unsigned char
        elements; /* of a gather or scatter; 1: of others; 0: there is no memory operand */
    unsigned char zero;
    unsigned short bits; /* that are accessed there, of each element; 0: none */
} trace_memory_t;

typedef struct trace_inst {
    unsigned char bytes[15];
    unsigned char length; /* 0: it is no instruction */
    trace_opcode_t opc;
    trace_func_t func;
    unsigned char operand_count;
    unsigned char zero[2];
    trace_value_t destination;        /* what TRACE_DESTINATION captures: a register; 0: none */
    unsigned short destination_width; /* the register's bits */
    unsigned char destination_bits;   /* that are captured: 8 to 64 */
    unsigned char destination_shift;
    unsigned char destination_is_float; /* they are one floating-point number */
    unsigned char is_relative;          /* a direct jump or call */
    trace_operand_t operands[4];
    trace_memory_t memory;
} trace_inst_t;

/* "mov"; "" where there is none of that number. Static. */
const char *trace_opcode_name(trace_opcode_t opc);
/* op_none: no such mnemonic. */
trace_opcode_t trace_opcode_by_name(const char *name);
/* Operand n, NULL: it has fewer. */
const trace_operand_t *trace_inst_operand(const trace_inst_t *inst, unsigned n);
/* The register that operand n is, 0: it is none. */
trace_value_t trace_inst_register(const trace_inst_t *inst, unsigned n);
/* NULL: it has none. */
const trace_memory_t *trace_inst_memory(const trace_inst_t *inst);
/* Bytes that it loads or stores (of a gather: of each element). 0: none. */
unsigned trace_inst_width(const trace_inst_t *inst);
/* Where a direct jump or call at pc goes. 0: it is none. */
uint64_t trace_inst_target(const trace_inst_t *inst, uint64_t pc);
/* "rax", "xmm3", "al", ... as it is written at that width, NUL-terminated in `text`; "" for what is no register. */
const char *trace_register_name(trace_value_t value, unsigned bits, unsigned shift, char *text,
                                size_t room);

#ifdef __cplusplus
}
#endif
#endif
