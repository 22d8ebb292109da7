/* SPDX-License-Identifier: BSD-3-Clause
 * Loops and places of accesses of a compiled skeleton's functions, as lines for the command that analyses accesses. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_SHAPES_H
#define REGTRACE_ISA_MEMORY_REPLAY_SHAPES_H

#include "base/error.h"

#include <stdio.h>

/* Numbers in hexadecimal, addresses of the image's file:
 *
 *     function IMAGE ADDRESS NAME      and of it
 *     loop HEAD PARENT DEPTH COUNTER   in their order; parent: the loop of that number (from 0) around it, or -
 *     place PC LOOP ACCESSES           an instruction that accesses memory, and the innermost loop around it, or -; the first of several counts
 *
 * COUNTER and ACCESSES, which is `R 8 rsi.1 + 8*I; W 8 rdi.1 + 8*I`, may be missing: skeletons of older versions have none, and still older ones functions
 * alone. 0, or -errno with the text. */
RT_MUST_CHECK int shapes_print(const char *skeleton, FILE *out, struct rt_error *e);

#endif
