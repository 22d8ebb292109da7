/* SPDX-License-Identifier: BSD-3-Clause
 * Sanitizers (-fsanitize=) whose programs cannot be traced. */
#ifndef REGTRACE_BASE_TOOLKIT_SANITIZER_H
#define REGTRACE_BASE_TOOLKIT_SANITIZER_H

#include <stddef.h>

/* A sanitizer whose programs cannot be traced, and the function that identifies its runtime. The
 * runtime takes over signal handlers and threads before our library, and does not expect other code
 * between the program and libc. */
struct sanitizer {
    const char *symbol; /* a function of the runtime, in every such program's .dynsym */
    const char *name, *option;
};

/* The last entry has the symbol NULL. Empty if regtrace itself is built with such a sanitizer. */
extern const struct sanitizer sanitizers_refused[];

/* Format of the error message: name, option, option. */
#define SANITIZER_REFUSED                                                                          \
    "this program is built for %s (-fsanitize=%s), whose runtime does not work together with "     \
    "libregtrace.so: trace a build without -fsanitize=%s (-fsanitize=address and undefined work)"

#endif
