/* SPDX-License-Identifier: BSD-3-Clause
 * Names of functions for where there is little room. Of tools/timeline alone. */
#ifndef REGTRACE_TOOLS_TIMELINE_SHORTER_H
#define REGTRACE_TOOLS_TIMELINE_SHORTER_H

enum { SHORTER = 128 };

/* Of a demangled C++ name the last two components, without return type and parameters, and of the arguments of templates the begin of the
 * first: "kernel<12...>::apply"; other names as they are, cut to the room. */
void shorter_name(const char *name, char out[SHORTER]);

#endif
