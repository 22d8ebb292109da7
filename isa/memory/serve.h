/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-isa skel --serve: makes instrumented copies that a traced process asks for as it runs
 * (base/format/copy.h), of the functions in which its windows and signals find it. */
#ifndef REGTRACE_ISA_MEMORY_SERVE_H
#define REGTRACE_ISA_MEMORY_SERVE_H

#include "isa/memory/skel.h"

/* Answers on standard input, which is a socket, until its other end is closed. Writes a skeleton to
 * its file before it answers. Decodes images while no question is pending. Returns the exit status.
 * Needs as much stack as analyses do. */
int serve(enum skel_plan plan);

#endif
