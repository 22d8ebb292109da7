/* SPDX-License-Identifier: BSD-3-Clause
 * Compiles selected functions of a skeleton: in one call of the compiler if they are few, else in
 * units that are compiled side by side. */
#ifndef REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_COMPILE_H
#define REGTRACE_TOOLS_MEMORY_COMPILE_SKEL_COMPILE_H

#include "tools/memory/compile/skel_build.h"
#include "tools/memory/compile/skeleton_text.h"

/* By number of a function: how it is entered. 0: not at all, do not compile it. SKEL_CALLED: a
 * selected function calls it directly. SKEL_ENTERED or more: its number occurs in recordings; each
 * further occurrence adds 1, up to 255. */
enum { SKEL_CALLED = 1, SKEL_ENTERED = 2, SKEL_OFTEN = 200 };

/* Compiles the selected functions of `source`, whose text is *t, to the shared object `out`. The
 * header `some` has the selection as macros. Copies the result of an earlier replay if it is cached
 * for the same source, selection and compiler. Returns false, and prints a message, on failure; if
 * the reason holds for all skeletons, sets b->hopeless so that it is printed once. */
bool skel_compile(struct skel_builds *b, const struct skel_text *t, const uint8_t *selected,
                  const char *some, const char *source, const char *out);

#endif
