/* SPDX-License-Identifier: BSD-3-Clause
 * Writers on this host that have made no claim in their folder yet. */
#ifndef REGTRACE_WRITER_STARTING_H
#define REGTRACE_WRITER_STARTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Processes regtrace-writer for that folder but those that are known by their claims. */
unsigned starting_count(const char *dir, const uint32_t *known, size_t count);

#endif
