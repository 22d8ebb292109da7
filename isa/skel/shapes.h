/* SPDX-License-Identifier: BSD-3-Clause
 * Loops and places of accesses of a compiled skeleton's functions, as lines for the command that analyses accesses. */
#ifndef REGTRACE_ISA_SKEL_SHAPES_H
#define REGTRACE_ISA_SKEL_SHAPES_H

#include "base/error.h"

#include <stdio.h>

/* Numbers in hexadecimal, addresses of the image's file:
 *
 *     function IMAGE ADDRESS NAME      and of it
 *     loop HEAD PARENT DEPTH           in their order; parent: the loop of that number (from 0) around it, or -
 *     place PC LOOP                    an instruction that accesses memory, and the innermost loop around it, or -; the first of several counts
 *
 * Skeletons of older versions have functions alone. 0, or -errno with the text. */
RT_MUST_CHECK int shapes_print(const char *skeleton, FILE *out, struct rt_error *e);

#endif
