/* SPDX-License-Identifier: BSD-3-Clause
 * A program of the toolkit's asked for something from inside the traced process, which sees nothing of it (base/toolkit/apart.h). */
#ifndef REGTRACE_BASE_TOOLKIT_ASK_H
#define REGTRACE_BASE_TOOLKIT_ASK_H

#include "base/error.h"

/* Runs it to its end and takes what it prints, with a NUL behind it: *length bytes, whose last line is "end". Its environment is
 * this one without what is preloaded. 0, or -errno with the reason: -EPROTO where it ended early, -ETIMEDOUT after 30 s
 * without output, or where it printed more than there is room for. One at a time; not from handlers. */
RT_MUST_CHECK int ask_program(const char *program, const char *const *arguments,
                              char *const *environment, char *out, size_t room, size_t *length,
                              struct rt_error *why);
/* With just this environment, and no memory of its own: from handlers too, and beside the other. */
RT_MUST_CHECK int ask_program_with(const char *program, const char *const *arguments,
                                   char **environment, char *out, size_t room, size_t *length,
                                   struct rt_error *why);

#endif
