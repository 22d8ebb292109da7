/* SPDX-License-Identifier: BSD-3-Clause
 * Shortens names of functions for narrow places. For tools/timeline only. */
#ifndef REGTRACE_TOOLS_TIMELINE_SHORT_NAME_H
#define REGTRACE_TOOLS_TIMELINE_SHORT_NAME_H

enum { SHORTER = 128 };

/* Keeps the last two components of a demangled C++ name, without return type and parameters, and of
 * template arguments the beginning of the first: "kernel<12...>::apply". Copies other names
 * unchanged. Cuts every result to the room. */
void shorter_name(const char *name, char out[SHORTER]);

#endif
