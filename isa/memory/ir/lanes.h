/* SPDX-License-Identifier: BSD-3-Clause
 * Memory operands of which a vector instruction accesses some elements alone: gathers and scatters, masks. What says which is recorded before the
 * instruction: the register of indices, then that of the mask. */
#ifndef REGTRACE_ISA_MEMORY_IR_LANES_H
#define REGTRACE_ISA_MEMORY_IR_LANES_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/skel.h"

#include <Zydis/Zydis.h>

enum lanes_kind {
    LANES_INDEXED = 1, /* each at the address + index * scale */
    LANES_MASKED,      /* one behind the other, those that the mask names */
    LANES_PACKED,      /* as many as the mask names, one behind the other */
    LANES_ANY,         /* one, if the mask names any */
};

struct lanes {
    uint8_t kind, count;
    uint8_t index, index_bytes, index_width,
        scale; /* the vector register, bytes of an index and of all */
    uint8_t mask, mask_bytes,
        mask_width; /* that of the mask: bytes of an element, whose sign tells; 0: it is a mask register */
    uint8_t encoding; /* LEGACY, VEX, EVEX, as the instruction */
};

/* Operand n of an instruction. False: it is accessed as a whole. */
bool lanes_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned n,
              struct lanes *out);
/* Bytes of one element. */
unsigned lanes_element(const struct lanes *l, const ZydisDecodedOperand *o);
/* Its registers, to base + 0 and behind; how many bytes. */
unsigned lanes_emit(struct emit *e, const struct lanes *l, unsigned base);
unsigned lanes_bytes(const struct lanes *l);

#endif
