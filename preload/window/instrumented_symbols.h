/* SPDX-License-Identifier: BSD-3-Clause
 * Function names of the loaded images, read from their ELF files. */
#ifndef REGTRACE_PRELOAD_WINDOW_INSTRUMENTED_SYMBOLS_H
#define REGTRACE_PRELOAD_WINDOW_INSTRUMENTED_SYMBOLS_H

#include <stdint.h>

/* Visits every function symbol (.symtab, else .dynsym) of every loaded image that was compiled with
 * -finstrument-functions. `name` is the plain name. For C++ it is the demangled qualified name
 * without parameters if the mangled name is a simple nested one, otherwise the mangled name. For
 * other images it reads the imported symbols only. Not signal-safe, because it opens files.
 * Allocates nothing. Skips images that it cannot read. */
void symbols_each_instrumented(void (*visit)(void *ctx, const char *name, uintptr_t address),
                               void *ctx);

#endif
