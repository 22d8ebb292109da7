/* SPDX-License-Identifier: BSD-3-Clause
 * Where the toolkit's programs are, seen from its library. */
#ifndef REGTRACE_BASE_BESIDE_H
#define REGTRACE_BASE_BESIDE_H

#include <limits.h>
#include <stdbool.h>

/* The program of that name beside the library (a resolved path), or in the libexec folder that belongs to it; in build trees
 * too. False: path is where it should be. */
bool beside_library(const char *library, const char *name, char path[PATH_MAX]);

#endif
