/* SPDX-License-Identifier: BSD-3-Clause
 * Reads the loops and accesses of a function from the text of a skeleton
 * (isa/memory/source/source_loops.c), also of skeletons of older versions. */
#ifndef REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPE_LINES_H
#define REGTRACE_TOOLS_MEMORY_STATS_SKEL_SHAPE_LINES_H

#include "tools/memory/compile/skeleton_text.h"

/* Passes on lines with hexadecimal numbers and addresses of the image's file:
 *
 *     function IMAGE ADDRESS NAME      followed by its loops and places
 *     loop HEAD PARENT DEPTH COUNTER   in order; PARENT is the number (from 0) of the loop around
 *                                      it, or -
 *     place PC LOOP ACCESSES           an instruction that accesses memory, and the innermost loop
 *                                      around it, or -; the first of several lines is valid
 *
 * COUNTER and ACCESSES (`R 8 rsi.1 + 8*I; W 8 rdi.1 + 8*I`) are missing if the skeleton is of an
 * older version; still older ones have functions alone. `take` may change the line. Returns false
 * if `take` did, or without memory. */
bool skel_shape_lines(const struct skel_text *t, const struct skel_function *f,
                      bool (*take)(void *context, char *line), void *context);

#endif
