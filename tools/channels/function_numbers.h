/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers the functions of a program: maps addresses of all ranks to names. */
#ifndef REGTRACE_TOOLS_CHANNELS_FUNCTION_NUMBERS_H
#define REGTRACE_TOOLS_CHANNELS_FUNCTION_NUMBERS_H

#include "tools/streams/streams.h"

struct emu_functions;

/* Opens the table; the streams must outlive it. Returns NULL if there is no memory. */
struct emu_functions *emu_functions_open(const struct emu_streams *s) RT_MUST_CHECK;
void emu_functions_close(struct emu_functions *f);

/* Sets *number to that of the function in which an address of the stream's process lies at time
 * `clock` (ticks). Numbers count from 1 in the order of first use; functions with the same name
 * have one number. Addresses without a known name are "IMAGE+0x1234" or "0x1234". */
RT_MUST_CHECK int emu_functions_find(struct emu_functions *f, uint32_t stream, uint64_t address,
                                     uint64_t clock, uint32_t *number, struct rt_error *e);
/* Notes that the process has loaded an image (EV_IMAGE): from now on, its addresses are looked up
 * again. */
void emu_functions_moved(struct emu_functions *f, uint32_t stream);
/* Returns the name, or NULL if there is no such number. */
const char *emu_functions_name(const struct emu_functions *f, int64_t number);
uint32_t emu_functions_count(const struct emu_functions *f);
/* Prints one line for each reason why names are missing. */
void emu_functions_print_lacks(FILE *out, const struct emu_functions *f);

#endif
