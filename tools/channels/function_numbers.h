/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers the functions of a program: maps addresses of all ranks to names. */
#ifndef REGTRACE_TOOLS_CHANNELS_FUNCTION_NUMBERS_H
#define REGTRACE_TOOLS_CHANNELS_FUNCTION_NUMBERS_H

#include "tools/streams/streams.h"

struct function_numbers;

/* Opens the table; the streams must outlive it. Returns NULL if there is no memory. */
struct function_numbers *function_numbers_open(const struct streams *s) RT_MUST_CHECK;
void function_numbers_close(struct function_numbers *f);

/* Sets *number to that of the function in which an address of the stream's process lies at time
 * `clock` (ticks). Numbers count from 1 in the order of first use; functions with the same name
 * have one number. Addresses without a known name are "IMAGE+0x1234" or "0x1234". */
RT_MUST_CHECK int function_numbers_find(struct function_numbers *f, uint32_t stream,
                                        uint64_t address, uint64_t clock, uint32_t *number,
                                        struct rt_error *e);
/* Notes that the process has loaded an image (EV_IMAGE): from now on, its addresses are looked up
 * again. */
void function_numbers_moved(struct function_numbers *f, uint32_t stream);
/* Returns the name, or NULL if there is no such number. */
const char *function_numbers_name(const struct function_numbers *f, int64_t number);
uint32_t function_numbers_count(const struct function_numbers *f);
/* Prints one line for each reason why names are missing. */
void function_numbers_print_lacks(FILE *out, const struct function_numbers *f);

#endif
