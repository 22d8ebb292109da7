/* SPDX-License-Identifier: BSD-3-Clause
 * Asks whether we run within valgrind, and tells it of our stacks, because it would take a move to
 * one for a wild stack pointer. Uses valgrind's client requests: instructions that do nothing on a
 * real machine (Valgrind User Manual 3.19, "The Client Request mechanism"). */
#ifndef REGTRACE_PRELOAD_VALGRIND_H
#define REGTRACE_PRELOAD_VALGRIND_H

#include <stdint.h>

enum valgrind_request {
    VALGRIND_RUNNING = 0x1001, /* the result is 1 or more within valgrind */
    VALGRIND_ADD_STACK = 0x1501,
    VALGRIND_REMOVE_STACK = 0x1502
};

/* Makes a client request. VALGRIND_ADD_STACK: a and b are the lowest and the highest address of the
 * stack; returns an id for it. VALGRIND_REMOVE_STACK: a is that id. Returns 0 outside valgrind. */
static inline uint64_t valgrind_request(enum valgrind_request request, uint64_t a, uint64_t b)
{
    volatile uint64_t words[6] = {(uint64_t)request, a, b, 0, 0, 0};
#if defined(__x86_64__)
    uint64_t result;
    __asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi\n\t"
                     "xchgq %%rbx, %%rbx"
                     : "=d"(result)
                     : "a"(&words[0]), "0"(UINT64_C(0))
                     : "cc", "memory");
    return result;
#elif defined(__aarch64__)
    register uint64_t x3 __asm__("x3") = 0;
    register uint64_t x4 __asm__("x4") = (uint64_t)(uintptr_t)&words[0];
    __asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51; ror x12, x12, #61\n\t"
                     "orr x10, x10, x10"
                     : "+r"(x3)
                     : "r"(x4)
                     : "cc", "memory");
    return x3;
#else
    (void)words;
    return 0;
#endif
}

#endif
