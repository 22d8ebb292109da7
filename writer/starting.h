/* SPDX-License-Identifier: BSD-3-Clause
 * Finds writers on this host that have no claim in their folder yet. */
#ifndef REGTRACE_WRITER_STARTING_H
#define REGTRACE_WRITER_STARTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns the number of regtrace-writer processes for the folder `dir`, without the `count` pids in
 * `known`, which have claims. */
unsigned starting_count(const char *dir, const uint32_t *known, size_t count);

#endif
