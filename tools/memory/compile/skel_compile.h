/* SPDX-License-Identifier: BSD-3-Clause
 * What is selected of a skeleton, compiled: by one call of the compiler where it is little, or cut into units that are compiled side by side. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_COMPILE_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_COMPILE_H

#include "tools/memory/compile/skel_build.h"
#include "tools/memory/compile/skel_text.h"

/* How surely a function is entered, by number: 0: it is not compiled; 1: somebody calls it directly who is; more: its number is in recordings. */
enum { SKEL_CALLED = 1, SKEL_ENTERED = 2, SKEL_OFTEN = 200 };

/* source, and some, which has the selection as macros, may be of an earlier replay, whose result is taken. False, and a message, once where it holds for
 * all skeletons. */
bool skel_compile(struct skel_builds *b, const struct skel_text *t, const uint8_t *selected,
                  const char *some, const char *source, const char *out);

#endif
