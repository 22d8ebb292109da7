/* SPDX-License-Identifier: BSD-3-Clause
 * Value profiling (after DCPI's value profiling, vprofiler): the protocol between the traced
 * process, its writer and regtrace-vprofiler.
 *
 * Only regtrace-vprofiler loads plug-ins and decodes instructions. When the traced process meets an
 * instruction for the first time, it asks regtrace-vprofiler over a socket what to capture of it
 * (struct values_question). The writer passes captured values to regtrace-vprofiler for processing
 * (struct values_frame). Both ends are of the same build on the same machine: host byte order. */
#ifndef REGTRACE_BASE_FORMAT_VALUE_PROTOCOL_H
#define REGTRACE_BASE_FORMAT_VALUE_PROTOCOL_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Messages for the case that values cannot be captured; `regtrace run` and the library print the
 * same text. */
#define VALUES_REFUSED "REGTRACE_VALUES (option -values)" /* prefix of vprofiler's messages */
#define VALUES_MISSING                                                                             \
    VALUES_REFUSED " needs regtrace-vprofiler, which is not installed: it is built on x86-64 "     \
                   "where the disassembler Zydis is there (libzydis-dev)"
#define VALUES_CRASHED "regtrace-vprofiler cannot be started, or crashes"

#define VALUES_MOST 7u         /* values of one instruction, as in DCPI's vprofiler */
#define VALUES_FOLLOW_MOST 64u /* instructions followed from one sample */
#define VALUES_CODE 15u        /* most bytes of an instruction */
#define VALUES_COPY 48u        /* most bytes of its copy */

/* --- captured values -------------------------------------------------------------------------- */

enum values_source {
    /* General register, read after the instruction. index: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5
     * rbp, 6 rsi, 7 rdi, 8 r8 ... 15 r15, 16 rflags. */
    VALUES_GENERAL,
    VALUES_VECTOR,  /* after it: a 64-bit lane of zmm0 to zmm31 (index, lane) */
    VALUES_MASK,    /* after it: k0 to k7 (index) */
    VALUES_X87,     /* after it: st(0) to st(7) (index), as the bits of a double */
    VALUES_ADDRESS, /* before it: effective address (lane: element of a gather or scatter) */
    VALUES_LOADED,  /* before it: `size` bytes at the effective address */
    VALUES_STORED,  /* after it: `size` bytes at the effective address */
};

/* One value to capture: `size` bytes (1, 2, 4, 8) from bit `shift` on (ah: 8), zero-extended. */
struct values_item {
    uint8_t source, index, lane, size, shift;
};

/* Effective address: segment base + base + index * scale + displacement. */
struct values_address {
    int64_t displacement; /* rip-relative: the whole address */
    /* Numbers as for VALUES_GENERAL; with VSIB, index is the vector register; -1: none. */
    int8_t base, index;
    uint8_t scale;   /* 1, 2, 4, 8 */
    uint8_t segment; /* 0 none, 1 fs, 2 gs */
    uint8_t element; /* VSIB: bytes of an index, 4 or 8; else 0 */
    uint8_t bytes;   /* bytes read or written there; 0: address only */
    bool is_32;      /* cut to 32 bits (address-size prefix) before the segment base */
    /* VSIB: the elements that are accessed, as selected before the instruction; the others have no
     * value.
     * - 0: all elements
     * - 1 to 8: by bit n of k0 to k7
     * - 64 to 95: by the sign of each `bytes` of vector register 0 to 31 */
    uint8_t mask;
};

enum values_flow {
    VALUES_STRAIGHT, /* continues at the next instruction; `copy` does the same */
    VALUES_JUMP,     /* to `target`; if that is 0, to the address at or in `where` */
    /* To `target`, by `condition`: 0 to 15 as in Jcc's opcode, 16 jrcxz, 17 jecxz, 18 loop, 19
     * loope, 20 loopne. */
    VALUES_CONDITION,
    VALUES_CALL,
    VALUES_RETURN, /* removes `target` more bytes from the stack */
    /* Executes only in place, under the trap flag (REP, locked, wide stack use, ...). */
    VALUES_STEP,
    /* Not followed at all: system calls, int3, unknown instructions, and instructions that change
     * signals or the clock of others. */
    VALUES_STOP,
};

struct values_question {
    uint64_t address;
    uint8_t bytes[16]; /* bytes at the address */
    uint8_t count;     /* number of valid bytes; fewer at the end of readable memory */
    uint8_t zero[7];
};

struct values_answer {
    uint64_t address;
    uint64_t target;
    /* Valid if has_memory: the explicit memory operand; for stack and string instructions their
     * operand, of two operands the one written. */
    struct values_address where;
    struct values_item items[VALUES_MOST];
    uint8_t length; /* bytes of the instruction; 0: these bytes are none */
    uint8_t flow;   /* enum values_flow */
    uint8_t condition;
    uint8_t item_count;
    bool is_selected; /* the plug-in wants a record of it, even without values */
    /* VALUES_STRAIGHT, if not 0: the general register by which the copy reaches what the
     * instruction reaches by rsp. It holds the program's rsp while the copy runs; the copy does not
     * change it. */
    uint8_t stack_as;
    bool has_memory; /* `where` is valid: for an explicit or implicit operand */
    /* VALUES_JUMP, VALUES_CALL: the target is in the register where.base, not in memory. */
    bool by_register;
    /* The copy or the items use x87, MMX, SSE, AVX, mask registers or their control words. */
    bool uses_vectors;
    bool writes_memory, reads_memory;
    uint8_t copy_bytes; /* VALUES_STRAIGHT; 0: the copy is the instruction's own bytes */
    /* copy[at..at+3] = fixup_target - address of copy[end], unless end is 0. */
    uint8_t fixup_at, fixup_end;
    uint8_t copy[VALUES_COPY];
    uint64_t fixup_target;
};

/* --- records ---------------------------------------------------------------------------------- */
/* EV_VALUES_CODE: a = number of the instruction in its process (from 1), b = its address; then
 *                 16 bytes: 15 of code, with zeros after the instruction, and its length.
 * EV_VALUES:      a = bytes | VALUES_FIRST, VALUES_LAST | periods it stands for << 32; b and the
 *                 slots that follow: the bytes.
 * EV_VALUES_NONE: a sample without values: a = enum values_none | periods << 32, b = the address.
 *
 * A thread writes the EV_VALUES_CODE of a number before it uses the number; several threads may
 * write the same one. A sample without a selected instruction has 0 bytes. The bytes of a sample,
 * over all its EV_VALUES, are the outputs of values_put() for each instruction. */
#define VALUES_FIRST (UINT64_C(1) << 16)
#define VALUES_LAST (UINT64_C(1) << 17)
#define VALUES_RECORD_BYTES                                                                        \
    176u /* most bytes in one EV_VALUES: b, and seven continuation slots of three words each */

enum values_none {
    VALUES_UNKNOWN,   /* its code is in no image, or is not readable */
    VALUES_UNLEARNED, /* regtrace-vprofiler gave no answer */
    VALUES_NOT_RUN,   /* neither followed nor stepped: VALUES_STOP */
    VALUES_BUSY,      /* in regtrace's code, or a step was not possible */
    /* Periods without a sample, which would have taken more than half of the thread's time. */
    VALUES_SKIPPED,
    VALUES_NONES
};

/* The captured values of one instruction. */
struct values_captured {
    uint32_t number;
    bool has_context;
    uint8_t count;
    uint64_t context[2];
    uint64_t values[VALUES_MOST];
};

/* Most bytes that values_put() writes. */
#define VALUES_PUT_MOST (5u + 1u + 5u + 9u * 8u)
/* Writes the values to `out`; returns the number of bytes: 2 if there are neither values nor
 * context and the number is small. Async-signal-safe. */
size_t values_put(const struct values_captured *c, uint8_t *out);
/* Reads the values of one instruction. Returns the number of bytes, or 0 if they are damaged or
 * cut. */
RT_MUST_CHECK size_t values_get(const uint8_t *bytes, size_t count, struct values_captured *c);

/* --- processing ------------------------------------------------------------------------------- */
/* The writer talks to regtrace-vprofiler --process PLUG-IN over a socket, in frames; each frame is
 * answered before the next one. The writer sends VALUES_TRACE: entries (struct values_entry), each
 * with its values after it. The answer is VALUES_TUPLES: struct values_tuple. */
enum values_frame_kind { VALUES_TRACE = 1, VALUES_TUPLES, VALUES_FAILED /* text */ };
struct values_frame {
    uint32_t kind, bytes; /* bytes that follow the frame */
    uint32_t pid, has_context;
};
struct values_entry {
    uint64_t pc;
    uint64_t context[2];
    uint8_t code[15], code_bytes;
    uint32_t count, zero;
    /* uint64_t values[count]; */
};
struct values_tuple {
    uint64_t pc, context[2], value;
};
#define VALUES_FRAME_MOST (1u << 20)  /* most bytes of a VALUES_TRACE */
#define VALUES_TUPLES_MOST (4u << 20) /* most bytes of its VALUES_TUPLES */

#endif
