/* SPDX-License-Identifier: BSD-3-Clause
 * Function names of the loaded images, read from their ELF files. */
#ifndef REGTRACE_PRELOAD_SYMBOLS_H
#define REGTRACE_PRELOAD_SYMBOLS_H

#include <stdint.h>

/* Visit every function symbol (.symtab, else .dynsym) of every loaded image but our own: plain name, or for C++ the
 * demangled qualified name without parameters where the mangling is a simple nested name (else as mangled).
 * Not signal-safe (opens files); allocates nothing. Images that cannot be read are passed over. */
void symbols_each_function(void (*visit)(void *ctx, const char *name, uintptr_t address),
                           void *ctx);

#endif
