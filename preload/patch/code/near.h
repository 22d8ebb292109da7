/* SPDX-License-Identifier: BSD-3-Clause
 * Maps memory near code: 32-bit displacements of copied instructions must reach what the original
 * ones reached. Uses system calls alone, so signal handlers may call these functions. */
#ifndef REGTRACE_PRELOAD_PATCH_CODE_NEAR_H
#define REGTRACE_PRELOAD_PATCH_CODE_NEAR_H

#include <stddef.h>
#include <stdint.h>

/* Reach of a 32-bit displacement, with room to spare. */
#define NEAR_REACH ((uintptr_t)0x7f000000)

/* Maps anonymous memory at exactly this address, with these PROT_ and MAP_ flags. Returns NULL if
 * something is there, or if the kernel refuses. */
void *map_at(uintptr_t at, size_t bytes, int protection, int flags);

/* Returns the end of the program's heap (brk). Free memory below it lies between code and heap, and
 * the heap never needs it. */
uintptr_t heap_end(void);

/* Maps anonymous memory whose every byte reaches all addresses from `from` to `to`. Leaves the room
 * in which the program's heap and stack grow, as far as possible. Returns NULL if no such memory is
 * free. */
void *map_near(uintptr_t from, uintptr_t to, size_t bytes, int protection);

#endif
