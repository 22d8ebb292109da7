/* SPDX-License-Identifier: BSD-3-Clause
 * Memory operands of which a vector instruction accesses some elements alone: gathers and scatters,
 * masks. The registers that select the elements are recorded before the instruction: first that of
 * the indices, then the mask. */
#ifndef REGTRACE_ISA_MEMORY_IR_LANES_H
#define REGTRACE_ISA_MEMORY_IR_LANES_H

#include "isa/memory/copy/emit.h"
#include "isa/memory/skel.h"

#include <Zydis/Zydis.h>

enum lanes_kind {
    LANES_INDEXED = 1, /* each at address + index * scale */
    LANES_MASKED,      /* consecutive elements; those that the mask selects */
    LANES_PACKED,      /* as many consecutive elements as the mask selects */
    LANES_ANY,         /* one element, if the mask selects any */
};

struct lanes {
    uint8_t kind, count;
    /* index: number of the vector register of indices; index_bytes: one index; index_width: all
     * indices */
    uint8_t index, index_bytes, index_width, scale;
    /* mask: number of the mask's register; mask_bytes: an element, whose sign bit selects it (0: it
     * is a mask register); mask_width: the whole mask */
    uint8_t mask, mask_bytes, mask_width;
    uint8_t encoding; /* LEGACY, VEX or EVEX, as the instruction */
};

/* Fills in *out for operand n. Returns false if the instruction accesses the whole operand. */
bool lanes_of(const ZydisDecodedInstruction *z, const ZydisDecodedOperand *o, unsigned n,
              struct lanes *out);
/* Returns the size of one element in bytes. */
unsigned lanes_element(const struct lanes *l, const ZydisDecodedOperand *o);
/* Emits stores of the registers, from the address in register `base` on. Both functions return how
 * many bytes these take. */
unsigned lanes_emit(struct emit *e, const struct lanes *l, unsigned base);
unsigned lanes_bytes(const struct lanes *l);

#endif
