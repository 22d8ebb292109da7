/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the register that holds the address of a copy's store into its recording, after a fault. */
#include "preload/memory/memory_frames.h"

#if defined(__x86_64__)

unsigned memory_store_base(const uint8_t *code)
{
    enum { OPERAND_16 = 0x66, REPEAT = 0xf3, VEX = 0xc4, EVEX = 0x62, MORE = 0x0f };
    const uint8_t *modrm;
    unsigned high;
    if (*code == VEX || *code == EVEX) {
        high = (code[1] & 0x20) == 0;
        modrm = code + (*code == VEX ? 4 : 5);
    } else {
        code += *code == OPERAND_16 || *code == REPEAT;
        high = code[0] & 1; /* REX */
        modrm = code + (code[1] == MORE ? 3 : 2);
    }
    unsigned rm = *modrm & 7;
    return (rm == 4 ? modrm[1] & 7u : rm) | high << 3;
}

#endif
