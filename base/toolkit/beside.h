/* SPDX-License-Identifier: BSD-3-Clause
 * Finds the toolkit's programs, relative to its library. */
#ifndef REGTRACE_BASE_TOOLKIT_BESIDE_H
#define REGTRACE_BASE_TOOLKIT_BESIDE_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>

/* Finds the program `name` beside the library (a resolved path), in the libexec folder that belongs
 * to it, or in a build tree. If there is none, returns false with the path where it should be. */
bool beside_library(const char *library, const char *name, char path[PATH_MAX]);

/* Finds the writer program: `wanted` (REGTRACE_WRITER), or if that is "" the one in the library's
 * folder. Returns 0, or -errno with the reason and the remedy. */
RT_MUST_CHECK int beside_writer(const char *library, const char *wanted, char path[PATH_MAX],
                                struct rt_error *e);

/* Checks that streams can be created in this folder (REGTRACE_SHM). Returns 0, or -errno with the
 * reason and the remedy. */
RT_MUST_CHECK int beside_streams(const char *folder, struct rt_error *e);

#endif
