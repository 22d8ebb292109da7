/* SPDX-License-Identifier: BSD-3-Clause
 * Machine code that records, put between a program's instructions: it changes no flags, no stack, and of the registers one, which
 * holds the pointer to the thread's recording. Encodings: Intel's manual, volume 2. */
#ifndef REGTRACE_ISA_MEMORY_COPY_EMIT_H
#define REGTRACE_ISA_MEMORY_COPY_EMIT_H

#include "isa/decode/decode.h"
#include "base/format/clone.h"

struct emit {
    uint8_t *code;
    size_t bytes, room;
    struct clone_fixup *fixups;
    size_t fixup_count, fixup_room;
    struct clone_place *places;
    size_t place_count, place_room;
    struct emit_call *calls;
    size_t call_count, call_room;
    bool spoils; /* for tests: registers that matter to nobody are changed wherever one may be */
};

/* The 32-bit distance at `at` leads to where direct calls of that function come to. */
struct emit_call {
    uint64_t target;
    size_t at;
};

/* As realloc(); where there is no memory the program ends and says so. */
void *emit_more(void *p, size_t bytes);
void emit_bytes(struct emit *e, const void *bytes, size_t n);
void emit_byte(struct emit *e, unsigned byte);
/* Four bytes at the end, and what they are to become; `behind`: bytes of the instruction that follow them. */
void emit_fixup(struct emit *e, enum clone_fixup_kind kind, uint64_t target, unsigned behind);
/* For bytes that are there. */
void emit_fixup_at(struct emit *e, enum clone_fixup_kind kind, uint64_t target, size_t at);
/* Four bytes at the end, the distance to a function's clone. */
void emit_call(struct emit *e, uint64_t target);
/* The 32-bit distance at `at`, whose instruction ends behind it, to another place of the code. */
void emit_link(struct emit *e, size_t at, size_t to);
/* At `at`, in 32 bits: from there to another place. */
void emit_distance(struct emit *e, size_t at, size_t from, size_t to);

/* From here on the code stands for what is there in the image. flags: enum clone_place_flag. */
void emit_stands_for(struct emit *e, uint64_t address, unsigned flags);

/* A thread's slot into a register, and back. */
void emit_slot_load(struct emit *e, enum clone_slot slot, unsigned reg);
void emit_slot_store(struct emit *e, enum clone_slot slot, unsigned reg);
/* `bytes` (1, 2, 4, 8) of a register, or a number of 1, 2 or 4 bytes, to base + offset (below 128). */
void emit_store(struct emit *e, unsigned base, unsigned offset, unsigned reg, unsigned bytes);
void emit_store_number(struct emit *e, unsigned base, unsigned offset, uint32_t n, unsigned bytes);
/* base + index * scale + offset into a register; index EMIT_NONE: without. */
enum { EMIT_NONE = 16 };
void emit_lea(struct emit *e, unsigned to, unsigned base, unsigned index, int32_t offset);
/* Of any operand, of 32 bits where `narrow`; offset: of 32 bits. */
struct emit_memory {
    unsigned base, index, scale; /* EMIT_NONE; 1, 2, 4 or 8 */
    bool narrow;
    int64_t offset;
};
void emit_lea_of(struct emit *e, unsigned to, const struct emit_memory *m);
/* Its low byte, and zeros. */
void emit_low_byte(struct emit *e, unsigned to, unsigned from);
void emit_move_number(struct emit *e, unsigned to, uint64_t n);
/* The address of a place in the image. */
void emit_address(struct emit *e, unsigned to, uint64_t target);
/* The address of a place in the code, which emit_link() settles: where its distance is. */
size_t emit_place(struct emit *e, unsigned to);
/* The 32 bits at base + index * 4, with their sign. */
void emit_load_indexed(struct emit *e, unsigned to, unsigned base, unsigned index);
void emit_not(struct emit *e, unsigned reg);
/* The order of its bytes is turned round. */
void emit_swap(struct emit *e, unsigned reg);
/* Changes flags: where the register is not below that, unsigned, the code goes to what emit_link() says of the place returned. */
size_t emit_unless_below(struct emit *e, unsigned reg, uint32_t n);
void emit_move(struct emit *e, unsigned to, unsigned from);
void emit_jump_register(struct emit *e, unsigned reg);
void emit_push(struct emit *e, unsigned reg);
/* To where a thread's slot says. */
void emit_jump_slot(struct emit *e, enum clone_slot slot);
/* An instruction as it is, but for a distance to memory. */
void emit_copy(struct emit *e, const struct instruction *i);
/* One of 64 bits with that opcode and register and the other's memory operand, whose registers may be among the last eight. Not for
 * EVEX, whose displacements are scaled. */
void emit_with_memory(struct emit *e, const struct instruction *i, unsigned opcode, unsigned reg,
                      bool high_index, bool high_base);

#endif
