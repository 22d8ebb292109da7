/* SPDX-License-Identifier: BSD-3-Clause
 * Shared by the program memory_every.c and its tracer, memory_every_tracer.c. */
#ifndef REGTRACE_T_MEMORY_EVERY_H
#define REGTRACE_T_MEMORY_EVERY_H

/* At a mark, rax has MARK, and rdi the number of an element. The tracer answers in rax. */
enum { MARK = 0x7e61, AGAIN = 1 };
/* A real-time signal: handlers of others wait until a copy shares its place with the function. */
enum { OTHER = 50 };

#endif
