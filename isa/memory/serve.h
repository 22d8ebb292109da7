/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel --serve: clones that a traced process asks for as it runs (base/format/clone.h), of what its windows and signals find it in. */
#ifndef REGTRACE_ISA_MEMORY_SERVE_H
#define REGTRACE_ISA_MEMORY_SERVE_H

#include "isa/memory/skel.h"

/* Answers on standard input, which is a socket, until its other end is closed. Skeletons are in their file before an answer is given. Images are decoded
 * while nothing is asked. Exit status. Needs the stack that analyses do. */
int serve(enum skel_plan plan);

#endif
