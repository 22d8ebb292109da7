/* SPDX-License-Identifier: BSD-3-Clause
 * Function names of the loaded images, read from their ELF files. */
#ifndef REGTRACE_PRELOAD_SYMBOLS_H
#define REGTRACE_PRELOAD_SYMBOLS_H

#include <stdint.h>

/* Visits every function symbol (.symtab, else .dynsym) of every loaded image that was compiled with
 * -finstrument-functions: plain name, or for C++ the demangled qualified name without parameters
 * where the mangling is a simple nested name (else as mangled). Other images cost one look at the
 * symbols that they import. Not signal-safe (opens files). Allocates nothing. Passes over images
 * that it cannot read. */
void symbols_each_instrumented(void (*visit)(void *ctx, const char *name, uintptr_t address),
                               void *ctx);

#endif
