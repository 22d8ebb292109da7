/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the toolkit's own library and programs, installed or in a build tree. */
#ifndef REGTRACE_TOOLS_INSTALLED_H
#define REGTRACE_TOOLS_INSTALLED_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>

/* Finds the absolute path of libregtrace.so: REGTRACE_LIBRARY, or else relative to this program
 * (installed or in a build tree). Returns 0, or -errno with the places that were tried. */
RT_MUST_CHECK int installed_library(char out[PATH_MAX], struct rt_error *e);

/* Finds the absolute path of regtrace-writer: `wanted` (option -writer), or else relative to the
 * library, as the library itself does. Returns 0, or -errno with the text. */
RT_MUST_CHECK int installed_writer(char out[PATH_MAX], const char *library, const char *wanted,
                                   struct rt_error *e);

/* Finds the absolute path of regtrace-events, which knows the names of counted events. Returns
 * false if it is not there. */
bool installed_events(char out[PATH_MAX]);

#endif
