/* SPDX-License-Identifier: BSD-3-Clause
 * Machine code that records, put between a program's instructions. It changes no flags, no stack,
 * and only one register, which holds the pointer to the thread's recording. Encodings: Intel's
 * manual, volume 2. */
#ifndef REGTRACE_ISA_MEMORY_COPY_EMIT_H
#define REGTRACE_ISA_MEMORY_COPY_EMIT_H

#include "isa/decode/code_map.h"
#include "base/format/copy.h"

struct emit {
    uint8_t *code;
    size_t bytes, room;
    struct copy_fixup *fixups;
    size_t fixup_count, fixup_room;
    struct copy_place *places;
    size_t place_count, place_room;
    struct emit_call *calls;
    size_t call_count, call_room;
    bool clobbers; /* for tests: clobbers dead registers wherever one may be taken */
};

/* The 32-bit distance at `at` leads to the place where direct calls enter the copy of `target`. */
struct emit_call {
    uint64_t target;
    size_t at;
};

/* Works as realloc(). If no memory is left, ends the program with a message. */
void *emit_more(void *p, size_t bytes);
void emit_bytes(struct emit *e, const void *bytes, size_t n);
void emit_byte(struct emit *e, unsigned byte);
/* Emits four bytes, and notes how to set them; `after`: bytes of the instruction that follow
 * them. */
void emit_fixup(struct emit *e, enum copy_fixup_kind kind, uint64_t target, unsigned after);
/* Notes how to set bytes that were emitted before. */
void emit_fixup_at(struct emit *e, enum copy_fixup_kind kind, uint64_t target, size_t at);
/* Emits four bytes, which become the distance to a function's copy. */
void emit_call(struct emit *e, uint64_t target);
/* Sets the 32-bit distance at `at`, which ends its instruction, to lead to another place of the
 * code. */
void emit_link(struct emit *e, size_t at, size_t to);
/* Sets the 32 bits at `at` to the distance between two places. */
void emit_distance(struct emit *e, size_t at, size_t from, size_t to);

/* Notes that the code from here on stands for `address` of the image. flags: enum
 * copy_place_flag. */
void emit_stands_for(struct emit *e, uint64_t address, unsigned flags);

/* Load a thread's slot into a register, and store it from there. */
void emit_slot_load(struct emit *e, enum copy_slot slot, unsigned reg);
void emit_slot_store(struct emit *e, enum copy_slot slot, unsigned reg);
/* Store `bytes` (1, 2, 4, 8) of a register, or a number of 1, 2 or 4 bytes, at base + offset (below
 * 128). */
void emit_store(struct emit *e, unsigned base, unsigned offset, unsigned reg, unsigned bytes);
void emit_store_number(struct emit *e, unsigned base, unsigned offset, uint32_t n, unsigned bytes);
/* Loads base + index + offset into a register; index EMIT_NONE: no index. */
enum { EMIT_NONE = 16 };
void emit_lea(struct emit *e, unsigned to, unsigned base, unsigned index, int32_t offset);
/* Any memory operand. The address has 32 bits if `narrow`; the offset has 32 bits. */
struct emit_memory {
    unsigned base, index, scale; /* registers, or EMIT_NONE; scale: 1, 2, 4 or 8 */
    bool narrow;
    int64_t offset;
};
void emit_lea_of(struct emit *e, unsigned to, const struct emit_memory *m);
/* Loads the low byte of a register, zero-extended. */
void emit_low_byte(struct emit *e, unsigned to, unsigned from);
void emit_move_number(struct emit *e, unsigned to, uint64_t n);
/* Loads the address of a place in the image. */
void emit_address(struct emit *e, unsigned to, uint64_t target);
/* Loads the address of a place in the code. Returns the offset of its distance, which emit_link()
 * sets. */
size_t emit_place(struct emit *e, unsigned to);
/* Loads the 32 bits at base + index * 4, sign-extended. */
void emit_load_indexed(struct emit *e, unsigned to, unsigned base, unsigned index);
void emit_not(struct emit *e, unsigned reg);
/* Reverses the order of the register's bytes. */
void emit_swap(struct emit *e, unsigned reg);
/* Emits a jump that is taken unless the register is below `n`, unsigned; changes flags. Returns the
 * offset of its distance, which emit_link() sets. */
size_t emit_unless_below(struct emit *e, unsigned reg, uint32_t n);
void emit_move(struct emit *e, unsigned to, unsigned from);
void emit_jump_register(struct emit *e, unsigned reg);
void emit_push(struct emit *e, unsigned reg);
/* Jumps to the address in a thread's slot. */
void emit_jump_slot(struct emit *e, enum copy_slot slot);
/* Emits an instruction unchanged, except for a distance to memory. */
void emit_copy(struct emit *e, const struct instruction *i);
/* Emits a 64-bit instruction with that opcode and register, and the memory operand of `i`.
 * high_index, high_base: the operand's register is one of r8 to r15. Not for EVEX, whose
 * displacements are scaled. */
void emit_with_memory(struct emit *e, const struct instruction *i, unsigned opcode, unsigned reg,
                      bool high_index, bool high_base);

#endif
