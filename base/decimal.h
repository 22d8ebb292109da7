/* SPDX-License-Identifier: BSD-3-Clause
 * Decimal numbers without the C library: for signal handlers, for a process that shares the memory
 * of the program, and where snprintf() is too slow. */
#ifndef REGTRACE_BASE_DECIMAL_H
#define REGTRACE_BASE_DECIMAL_H

#include <stdint.h>

#define DECIMAL_ROOM 20 /* digits of the largest number */

/* Writes the digits of `number`, at most DECIMAL_ROOM, without a NUL. Returns their end. */
static inline char *decimal_put(char *to, uint64_t number)
{
    char digits[DECIMAL_ROOM];
    int count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    while (count > 0)
        *to++ = digits[--count];
    return to;
}

#endif
