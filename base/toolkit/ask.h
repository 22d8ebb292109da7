/* SPDX-License-Identifier: BSD-3-Clause
 * Asks a program of the toolkit from inside the traced process, which does not notice it
 * (base/toolkit/apart.h). */
#ifndef REGTRACE_BASE_TOOLKIT_ASK_H
#define REGTRACE_BASE_TOOLKIT_ASK_H

#include "base/error.h"

/* Runs the program to its end and stores its output in out[room], with a NUL after its *length
 * bytes; the last line must be "end". The program gets `environment` without LD_PRELOAD. Returns 0,
 * or -errno with the reason: -EPROTO if it ended early, -ETIMEDOUT after 30 s without output or if
 * the output exceeds `room`. One call at a time; not from signal handlers. */
RT_MUST_CHECK int ask_program(const char *program, const char *const *arguments,
                              char *const *environment, char *out, size_t room, size_t *length,
                              struct rt_error *why);
/* As ask_program(), but passes exactly this environment and uses no static memory: may run in
 * signal handlers, and at the same time as ask_program(). */
RT_MUST_CHECK int ask_program_with(const char *program, const char *const *arguments,
                                   char **environment, char *out, size_t room, size_t *length,
                                   struct rt_error *why);

#endif
