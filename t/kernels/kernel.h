/* SPDX-License-Identifier: BSD-3-Clause
 * What the kernels share: NAME [SIZE [TURNS]] does its work between open_window() and close_window(), which are there to be named by
 * alarms, and prints "ns N" and "check N". What is allocated or written first is so before. */
#ifndef REGTRACE_T_KERNELS_KERNEL_H
#define REGTRACE_T_KERNELS_KERNEL_H

#include <stdint.h>

#if defined(__clang__)
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noclone))
#endif

#ifdef __cplusplus
extern "C" {
#endif
void open_window(void);
void close_window(void);
double kernel_now_ns(void);
/* The argument of that number, from 1 to `most`; `otherwise` where there is none. */
long kernel_argument(int argc, char **argv, int number, long otherwise, long most);
/* Of a window that began then. */
void kernel_end(double began, double check);
#ifdef __cplusplus
}
#endif

/* Numbers that look like none in particular, the same each time. */
static inline uint32_t kernel_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
