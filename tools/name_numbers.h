/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers texts, from 1 on, in the order of their first use; equal texts have one number. */
#ifndef REGTRACE_TOOLS_NAME_NUMBERS_H
#define REGTRACE_TOOLS_NAME_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/* Initially all zero; free with names_free(). */
struct names {
    char **texts; /* text of number i + 1 */
    uint32_t count;
    size_t room;
    uint32_t *table; /* hash table of numbers; 0: free */
    size_t table_size;
};

/* Returns the number of a text, a new one if it has none; 0 if there is no memory. */
uint32_t names_number(struct names *n, const char *text);
/* Returns the text, or NULL if there is no such number. */
const char *names_text(const struct names *n, int64_t number);
void names_free(struct names *n);

#endif
