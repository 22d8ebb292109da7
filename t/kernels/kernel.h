/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the kernels. NAME [SIZE [TURNS]] works between open_window() and close_window(), whose
 * names alarms use, and prints "ns N" and "check N". It allocates memory and writes it for the
 * first time before that. */
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
/* Returns the argument with that number, clamped to 1 to `most`, or `otherwise` if it is
 * missing. */
long kernel_argument(int argc, char **argv, int number, long otherwise, long most);
/* Prints the ns since `began`, at which the window began, and `check`. */
void kernel_end(double began, double check);
#ifdef __cplusplus
}
#endif

/* Returns pseudo-random numbers, the same in every run. */
static inline uint32_t kernel_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif
