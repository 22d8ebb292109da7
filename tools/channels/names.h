/* SPDX-License-Identifier: BSD-3-Clause
 * Texts by number: from 1 on, in the order in which they came; equal ones have one number. */
#ifndef REGTRACE_TOOLS_CHANNELS_NAMES_H
#define REGTRACE_TOOLS_CHANNELS_NAMES_H

#include <stddef.h>
#include <stdint.h>

/* All zero at first; free with names_free(). */
struct names {
    char **texts; /* text of number i + 1 */
    uint32_t count;
    size_t room;
    uint32_t *table; /* hash: number, 0 free */
    size_t table_size;
};

/* Its number, which it is given where it has none yet; 0: no memory. */
uint32_t names_number(struct names *n, const char *text);
/* NULL: no such number. */
const char *names_text(const struct names *n, int64_t number);
void names_free(struct names *n);

#endif
