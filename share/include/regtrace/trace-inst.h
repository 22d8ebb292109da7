/* SPDX-License-Identifier: BSD-3-Clause
 * Declares instructions as plug-ins of value profiling see them, in place of the 6-bit opcode and
 * the 32-bit instruction of DCPI's value profiling (vprofiler).
 *
 * An instruction of x86-64 has 1 to 15 bytes, and its opcode says little: mov loads, stores, or
 * does neither. Here an opcode is a mnemonic (op_mov, op_addsd, ...: trace-opcodes.def). The
 * function code, which Alpha has as well, says what an instruction with that mnemonic does with
 * memory and registers. A specification has a vlist for each (opcode, function). The functions
 * below have no state and are thread-safe. */
#ifndef REGTRACE_TRACE_INST_H
#define REGTRACE_TRACE_INST_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opcodes. Their numbers differ between versions of this header: store names, not numbers. */
typedef enum trace_opcode {
    op_none, /* the list has no name for it: an instruction newer than the list */
#define TRACE_OPCODE(name) op_##name,
#include <regtrace/trace-opcodes.def>
#undef TRACE_OPCODE
    op_count
} trace_opcode_t;

/* Function codes: any combination of these bits. */
typedef unsigned char trace_func_t;
#define TRACE_FUNC_LOAD 1u  /* reads memory */
#define TRACE_FUNC_STORE 2u /* writes memory */
#define TRACE_FUNC_ADDRESS                                                                         \
    4u                      /* has a memory operand that it does not access: lea, prefetches, nop */
#define TRACE_FUNC_STACK 8u /* accesses the stack implicitly: push, pop, call, ret */
#define TRACE_FUNC_RESULT                                                                          \
    16u /* writes a general, vector, mask or x87 register: has a TRACE_DESTINATION */
#define TRACE_FUNCS 32u /* number of function codes */

/* Values that can be captured of an instruction. Registers are TRACE_RAX to TRACE_R15,
 * TRACE_RFLAGS, TRACE_VECTOR(n, lane), TRACE_MASK(n) and TRACE_X87(n). Addresses and loaded bytes
 * are captured before the instruction, all other values after it. A value that an instruction lacks
 * is left out of its record. */
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
                0) /* for trace_set_vlist_by_pick_value(): a record without values */
#define TRACE_IGNORE TRACE_VALUE(TRACE_KIND_IGNORE, 0, 0) /* for it: no record */
#define TRACE_GENERAL(n)                                                                           \
    TRACE_VALUE(TRACE_KIND_GENERAL, n, 0) /* n: as instructions encode it; 16: rflags */
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
    TRACE_VALUE(TRACE_KIND_X87, n, 0) /* st(0) to st(7): bits of its value as a double */
/* Explicit operand n, 0 to 3, in Intel's order (the destination first): the register, or the bytes
 * in memory. An immediate has no value: the instruction's bytes contain it. lane: which 64 bits of
 * a vector register; of a single narrower number, lane 0 has that number alone. */
#define TRACE_OPERAND_LANE(n, lane) TRACE_VALUE(TRACE_KIND_OPERAND, n, lane)
#define TRACE_OPERAND(n) TRACE_OPERAND_LANE(n, 0)
/* The first register that the instruction writes, explicit operands first; never rsp, rip or the
 * flags. */
#define TRACE_DESTINATION TRACE_VALUE(TRACE_KIND_DESTINATION, 0, 0)
/* Effective address of the memory operand. element: of a gather or scatter, from 0. */
#define TRACE_ADDRESS_OF(element) TRACE_VALUE(TRACE_KIND_ADDRESS, 0, element)
#define TRACE_ADDRESS TRACE_ADDRESS_OF(0)
/* The bytes that the instruction reads (writes) at that address, at most 8. */
#define TRACE_LOADED TRACE_VALUE(TRACE_KIND_LOADED, 0, 0)
#define TRACE_STORED TRACE_VALUE(TRACE_KIND_STORED, 0, 0)
/* The latency of a load, which is not available: prof_init's caller refuses it with the reason. */
#define TRACE_LATENCY TRACE_VALUE(TRACE_KIND_LATENCY, 0, 0)
#define TRACE_VALUES_MOST 7 /* values of one instruction */

/* An explicit operand. */
enum trace_operand_type {
    TRACE_OPERAND_REGISTER = 1,
    TRACE_OPERAND_MEMORY,
    TRACE_OPERAND_IMMEDIATE
};
typedef struct trace_operand {
    unsigned char type; /* enum trace_operand_type */
    unsigned char is_read, is_written;
    unsigned char shift;         /* first bit within the register: 8 for ah, bh, ch, dh */
    unsigned short bits;         /* width */
    unsigned short element_bits; /* width of one of its numbers */
    unsigned char is_float;      /* its numbers are floating-point */
    unsigned char captured_bits; /* how many bits TRACE_OPERAND captures: 8 to 64 */
    unsigned char zero[2];
    /* TRACE_GENERAL(n), TRACE_VECTOR(n, 0), ...; 0: not a register that can be captured */
    trace_value_t value;
    uint64_t immediate; /* sign-extended as the processor does it; of branches the distance */
} trace_operand_t;

/* The memory operand: segment base + base + index * scale + displacement. */
typedef struct trace_memory {
    int64_t displacement;      /* if rip-relative, from the next instruction's address */
    trace_value_t base, index; /* as trace_operand.value; 0: none */
    unsigned char scale, is_rip_relative;
    unsigned char segment;  /* 1: fs; 2: gs; 0: another, whose base is 0 */
    unsigned char is_32;    /* the address is truncated to 32 bits */
    unsigned char elements; /* of a gather or scatter; else 1; 0: no memory operand */
    unsigned char zero;
    unsigned short bits; /* bits accessed, for each element; 0: none */
} trace_memory_t;

/* A decoded instruction. */
typedef struct trace_inst {
    unsigned char bytes[15];
    unsigned char length; /* in bytes; 0: not an instruction */
    trace_opcode_t opc;
    trace_func_t func;
    unsigned char operand_count;
    unsigned char zero[2];
    trace_value_t destination;          /* register that TRACE_DESTINATION captures; 0: none */
    unsigned short destination_width;   /* bits of the register */
    unsigned char destination_bits;     /* bits that are captured: 8 to 64 */
    unsigned char destination_shift;    /* as trace_operand.shift */
    unsigned char destination_is_float; /* those bits are one floating-point number */
    unsigned char is_relative;          /* a direct jump or call */
    trace_operand_t operands[4];
    trace_memory_t memory;
} trace_inst_t;

/* Returns the mnemonic ("mov"), or "" if no opcode has that number. The string is static. */
const char *trace_opcode_name(trace_opcode_t opc);
/* Returns the opcode, or op_none if there is no such mnemonic. */
trace_opcode_t trace_opcode_by_name(const char *name);
/* Returns explicit operand n of *inst, or NULL if it has fewer. */
const trace_operand_t *trace_inst_operand(const trace_inst_t *inst, unsigned n);
/* Returns the register that operand n is, or 0 if it is none that can be captured. */
trace_value_t trace_inst_register(const trace_inst_t *inst, unsigned n);
/* Returns the memory operand of *inst, or NULL if it has none. */
const trace_memory_t *trace_inst_memory(const trace_inst_t *inst);
/* Returns how many bytes the instruction loads or stores (a gather: for each element), or 0. */
unsigned trace_inst_width(const trace_inst_t *inst);
/* Returns the target of a direct jump or call at pc, or 0 for other instructions. */
uint64_t trace_inst_target(const trace_inst_t *inst, uint64_t pc);
/* Writes a register's name at that width and shift ("rax", "xmm3", "al") to `text`, of `room`
 * bytes, NUL-terminated. Returns `text`, or "" if `value` is no register. */
const char *trace_register_name(trace_value_t value, unsigned bits, unsigned shift, char *text,
                                size_t room);

#ifdef __cplusplus
}
#endif
#endif
