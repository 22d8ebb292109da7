/* SPDX-License-Identifier: BSD-3-Clause
 * Functions of the program by number: addresses of all ranks as names. */
#ifndef REGTRACE_TOOLS_CHANNELS_FUNCTIONS_H
#define REGTRACE_TOOLS_CHANNELS_FUNCTIONS_H

#include "tools/streams/streams.h"

struct emu_functions;

/* The streams must outlive it. NULL: no memory. */
struct emu_functions *emu_functions_open(const struct emu_streams *s) RT_MUST_CHECK;
void emu_functions_close(struct emu_functions *f);

/* The function that an address of that stream's process lay in at that time (ticks): its number, from 1 on in the order in which they came;
 * those of one name are one. Places of which nobody knows the name are "IMAGE+0x1234" or "0x1234". */
RT_MUST_CHECK int emu_functions_find(struct emu_functions *f, uint32_t stream, uint64_t address,
                                     uint64_t clock, uint32_t *number, struct rt_error *e);
/* An image has been loaded there (EV_IMAGE): addresses may mean something else from now on. */
void emu_functions_moved(struct emu_functions *f, uint32_t stream);
/* NULL: no such number. */
const char *emu_functions_name(const struct emu_functions *f, int64_t number);
uint32_t emu_functions_count(const struct emu_functions *f);
/* One line for each reason why names are missing. */
void emu_functions_print_lacks(FILE *out, const struct emu_functions *f);

#endif
