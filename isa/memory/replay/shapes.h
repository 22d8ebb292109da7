/* SPDX-License-Identifier: BSD-3-Clause
 * Prints the loops and accesses of a compiled skeleton's functions, as lines for the command that
 * analyses accesses. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_SHAPES_H
#define REGTRACE_ISA_MEMORY_REPLAY_SHAPES_H

#include "base/error.h"

#include <stdio.h>

/* Prints lines with hexadecimal numbers and addresses of the image's file:
 *
 *     function IMAGE ADDRESS NAME      followed by its loops and places
 *     loop HEAD PARENT DEPTH COUNTER   in order; PARENT is the number (from 0) of the loop around
 *     it, or -
 *     place PC LOOP ACCESSES           an instruction that accesses memory, and the innermost loop
 *                                      around it, or -; the first of several lines is valid
 *
 * COUNTER and ACCESSES (`R 8 rsi.1 + 8*I; W 8 rdi.1 + 8*I`) are missing if the skeleton is of an
 * older version; still older ones have functions alone. Returns 0, or -errno with the text. */
RT_MUST_CHECK int shapes_print(const char *skeleton, FILE *out, struct rt_error *e);

#endif
