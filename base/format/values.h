/* SPDX-License-Identifier: BSD-3-Clause
 * Value profiling (seed 002): what the traced process, its writer and regtrace-vprofiler say to each other.
 *
 * regtrace-vprofiler is the only program that loads plug-ins or decodes instructions. The traced process asks it, over a
 * socket, what is to be captured of each instruction that it meets for the first time (struct values_question); the writer
 * has it process what was captured (struct values_frame). Both ends run the same build on the same machine: host byte order. */
#ifndef REGTRACE_BASE_FORMAT_VALUES_H
#define REGTRACE_BASE_FORMAT_VALUES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Why values cannot be captured. `regtrace run` and the library print the same text. */
#define VALUES_REFUSED "REGTRACE_VALUES (option -values)" /* prefix of vprofiler's messages */
#define VALUES_MISSING                                                                             \
    VALUES_REFUSED " needs regtrace-vprofiler, which is not installed: it is built on x86-64 "     \
                   "where the disassembler Zydis is there (libzydis-dev)"
#define VALUES_CRASHED "regtrace-vprofiler cannot be started, or crashes"

#define VALUES_MOST 7u         /* values of one instruction (seed 002) */
#define VALUES_FOLLOW_MOST 64u /* instructions followed from one sample on */
#define VALUES_CODE 15u        /* bytes of an instruction */
#define VALUES_COPY 48u        /* bytes of its copy */

/* --- what is captured of an instruction ------------------------------------------------------------ */

enum values_source {
    VALUES_GENERAL, /* index: 0 rax, 1 rcx, 2 rdx, 3 rbx, 4 rsp, 5 rbp, 6 rsi, 7 rdi, 8 r8 ... 15 r15, 16 rflags; after it */
    VALUES_VECTOR,  /* index: of zmm0 to zmm31, of which lane is the 64-bit lane; after it */
    VALUES_MASK,    /* index: of k0 to k7; after it */
    VALUES_X87,     /* index: of st(0) to st(7), as a double's bits; after it */
    VALUES_ADDRESS, /* effective address; lane: of a gather's or scatter's element; before it */
    VALUES_LOADED,  /* `size` bytes at the effective address; before it */
    VALUES_STORED,  /* the same, after it */
};

/* Values are zero-extended from `size` bytes (1, 2, 4, 8), taken `shift` bits up (ah: 8). */
struct values_item {
    uint8_t source, index, lane, size, shift;
};

/* Effective address: segment base + base + index * scale + displacement. */
struct values_address {
    int64_t displacement; /* of rip-relative ones: the whole address */
    int8_t base, index;   /* as VALUES_GENERAL has them, of VSIB the vector register; -1: none */
    uint8_t scale;        /* 1, 2, 4, 8 */
    uint8_t segment;      /* 0 none, 1 fs, 2 gs */
    uint8_t element;      /* of VSIB: bytes of an index, 4 or 8; else 0 */
    uint8_t bytes;        /* read or written there, 0: address only */
    bool is_32;           /* cut to 32 bits (address-size prefix), before the segment base */
    uint8_t
        mask; /* of VSIB, before it: elements that are not accessed have no value. 0: all are, 1 to 8: by bit n of
                     k0 to k7, 64 to 95: by the sign of each `bytes` of vector register 0 to 31 */
};

enum values_flow {
    VALUES_STRAIGHT,  /* goes on behind itself; `copy` does what it does */
    VALUES_JUMP,      /* to `target`; to what is at or in `where` if that is 0 */
    VALUES_CONDITION, /* to `target`, by `condition`: 0 to 15 as in Jcc's opcode, 16 jrcxz, 17 jecxz, 18 loop, 19 loope, 20 loopne */
    VALUES_CALL,
    VALUES_RETURN, /* frees `target` more bytes of the stack */
    VALUES_STEP,   /* only where it stands: by the trap flag (REP, locked, wide stack use, ...) */
    VALUES_STOP, /* not followed at all: system calls, int3, what is not known, what changes signals or the clock of others */
};

struct values_question {
    uint64_t address;
    uint8_t bytes[16]; /* what is there */
    uint8_t count;     /* of these, fewer at the end of readable memory */
    uint8_t zero[7];
};

struct values_answer {
    uint64_t address;
    uint64_t target;
    struct values_address
        where; /* its explicit memory operand; that of stack and string instructions, of two the one written; if has_memory */
    struct values_item items[VALUES_MOST];
    uint8_t length; /* of the instruction; 0: there is none */
    uint8_t flow;   /* enum values_flow */
    uint8_t condition;
    uint8_t item_count;
    bool is_selected; /* the plug-in wants a record of it, if without values */
    uint8_t
        stack_as; /* of VALUES_STRAIGHT, not 0: the general register by which the copy reaches what the instruction
                     reaches by rsp: it holds the program's rsp while the copy runs, which does not change it */
    bool has_memory; /* `where` is there: of an operand, explicit or not */
    bool
        by_register; /* VALUES_JUMP, VALUES_CALL: the target is in the register where.base, not in memory */
    bool
        uses_vectors; /* reads or writes x87, MMX, SSE, AVX, mask registers or their control words: in the copy, or for items */
    bool writes_memory, reads_memory;
    uint8_t copy_bytes; /* of VALUES_STRAIGHT; 0: the copy are the instruction's own bytes */
    uint8_t fixup_at,
        fixup_end; /* copy[at..at+3] = fixup_target - address of copy[end], unless end is 0 */
    uint8_t copy[VALUES_COPY];
    uint64_t fixup_target;
};

/* --- what is recorded ---------------------------------------------------------------------------------
 *
 * EV_VALUES_CODE:   a = number of the instruction in its process (from 1), b = its address, then 16 bytes: 15 of code, zeros behind
 *                   the instruction, and its length.
 * EV_VALUES:        a = bytes | VALUES_FIRST, VALUES_LAST | periods it stands for << 32; b and what follows: the bytes.
 * EV_VALUES_NONE:   a sample without values: a = enum values_none | periods << 32, b = the address.
 * A thread writes the EV_VALUES_CODE of a number before it uses it: several threads, several times the same one. A sample of which no
 * instruction was selected has 0 bytes.
 * The bytes of a sample, over all its EV_VALUES: for each instruction captured values_put()'s. */
#define VALUES_FIRST (UINT64_C(1) << 16)
#define VALUES_LAST (UINT64_C(1) << 17)
#define VALUES_RECORD_BYTES                                                                        \
    176u /* at most in one EV_VALUES: b and 7 slots of three words, less one */

enum values_none {
    VALUES_UNKNOWN,   /* its code is in no image, or cannot be read */
    VALUES_UNLEARNED, /* regtrace-vprofiler gave no answer */
    VALUES_NOT_RUN,   /* neither followed nor stepped: VALUES_STOP */
    VALUES_BUSY,      /* in code of ours, or where a step could not be had */
    VALUES_SKIPPED, /* periods without a sample: they would have taken more than half of the thread's time */
    VALUES_NONES
};

/* One instruction. */
struct values_captured {
    uint32_t number;
    bool has_context;
    uint8_t count;
    uint64_t context[2];
    uint64_t values[VALUES_MOST];
};

/* At most so many bytes. */
#define VALUES_PUT_MOST (5u + 1u + 5u + 9u * 8u)
/* Writes it; the number of bytes: 2 where there is neither value nor context and numbers are small. Async-signal-safe. */
size_t values_put(const struct values_captured *c, uint8_t *out);
/* Reads one. The number of bytes, 0: they are damaged or cut. */
RT_MUST_CHECK size_t values_get(const uint8_t *bytes, size_t count, struct values_captured *c);

/* --- what the writer has processed ---------------------------------------------------------------------
 *
 * regtrace-vprofiler --process PLUG-IN on a socket: frames in both directions, each answered before the next.
 * Writer: VALUES_TRACE with struct values_entry each followed by its values. Answer: VALUES_TUPLES with struct values_tuple. */
enum values_frame_kind { VALUES_TRACE = 1, VALUES_TUPLES, VALUES_FAILED /* text */ };
struct values_frame {
    uint32_t kind, bytes; /* of what follows */
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
#define VALUES_FRAME_MOST (1u << 20)  /* of a trace */
#define VALUES_TUPLES_MOST (4u << 20) /* of its tuples */

#endif
