/* SPDX-License-Identifier: BSD-3-Clause
 * Where functions keep their return addresses, and how to read them. */
#ifndef REGTRACE_BASE_RETURN_ADDRESS_H
#define REGTRACE_BASE_RETURN_ADDRESS_H

#include <stdint.h>

/* Returns the address of the stack's word that holds a function's return address. `frame`: its
 * __builtin_frame_address(0). psABI x86-64, 3.2.2; AAPCS64, "The frame pointer". */
static inline uintptr_t return_address_at(const void *frame)
{
    return (uintptr_t)frame + sizeof(uintptr_t);
}

/* Returns a return address without the signature that AArch64 code may give it on the stack
 * (-mbranch-protection). The instruction is a hint: it does nothing on processors without
 * signatures. */
static inline uintptr_t return_address_plain(uintptr_t address)
{
#if defined(__aarch64__)
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30)); /* xpaclri */
    return x30;
#else
    return address;
#endif
}

/* Reads the return address in this word of the thread's stack. */
static inline uintptr_t return_address_read(uintptr_t at)
{
    return return_address_plain(*(const uintptr_t *)at); /* NOLINT: the thread's stack */
}

#endif
