/* SPDX-License-Identifier: BSD-3-Clause
 * Names of functions that a process has compiled at run time, from its perf map. */
#ifndef REGTRACE_TOOLS_PERF_MAP_H
#define REGTRACE_TOOLS_PERF_MAP_H

#include <stdint.h>

struct perf_map;
/* Reads a map: lines "ADDRESS BYTES NAME", numbers in hexadecimal digits. Lines of another form are
 * left out. Returns NULL if there is no such file, or no memory; free with perf_map_free(). */
struct perf_map *perf_map_read(const char *path);
/* Returns the name of the function that has this address, or NULL. Memory may be used again for
 * another function: then the later one. */
const char *perf_map_name(const struct perf_map *m, uint64_t address);
void perf_map_free(struct perf_map *m);

#endif
