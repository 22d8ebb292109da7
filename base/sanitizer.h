/* SPDX-License-Identifier: BSD-3-Clause
 * Programs that were compiled with -fsanitize=. */
#ifndef REGTRACE_BASE_SANITIZER_H
#define REGTRACE_BASE_SANITIZER_H

#include <stddef.h>

/* A sanitizer whose programs cannot be traced, and the function that shows it. Its runtime takes
 * over signal handlers and threads before ours, and does not expect code of others between a
 * program and libc. */
struct sanitizer {
    const char *symbol; /* of the runtime: in the dynamic symbol table of each of its programs */
    const char *name, *option;
};

/* Ends with an entry whose symbol is NULL. Empty where this is itself a build for such a sanitizer.
 * */
extern const struct sanitizer sanitizers_refused[];

/* How it is refused, with the name and the option. */
#define SANITIZER_REFUSED                                                                          \
    "this program is built for %s (-fsanitize=%s), whose runtime does not work together with "     \
    "libregtrace.so: trace a build without -fsanitize=%s (-fsanitize=address and undefined work)"

#endif
