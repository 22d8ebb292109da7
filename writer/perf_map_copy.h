/* SPDX-License-Identifier: BSD-3-Clause
 * Perf maps: lists of the functions that a process has compiled at run time. Its just-in-time
 * compiler writes one to /tmp/perf-PID.map; the run's folder keeps a copy. */
#ifndef REGTRACE_WRITER_PERF_MAP_COPY_H
#define REGTRACE_WRITER_PERF_MAP_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes the path of the copy in the run's folder `dir`. Returns false if it does not fit. */
bool perf_map_path(char *out, size_t room, const char *dir, const char *host, uint32_t pid);
/* Copies the map of a process of this host, if it has one. start_time: in clock ticks since boot.
 * Logs why that fails. */
void perf_map_keep(const char *dir, const char *host, uint32_t pid, uint64_t start_time);

#endif
