/* SPDX-License-Identifier: BSD-3-Clause
 * Clones of the program's functions in this process (base/clone.h): REGTRACE_MEMORY. Of preload/probe*.c and preload/memory.c. */
#ifndef REGTRACE_PRELOAD_PROBE_CLONES_H
#define REGTRACE_PRELOAD_PROBE_CLONES_H

#include "base/clone.h"
#include "preload/probe_sites.h"

/* Of the calling thread. */
extern __thread uint64_t clone_slots[CLONE_SLOTS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool probe_clones_wanted(void);
/* Names of who may open windows, of as many as there is room for. */
size_t probe_clones_openers(const char **names, size_t room);
/* Makes those of the program, near it. Before main. 0, or -errno with the text. */
RT_MUST_CHECK int probe_clones_make(const struct probe_image *image, struct rt_error *e);
bool probe_clones_exist(void);
/* That of a function that begins there; NULL: it has none. */
const uint8_t *probe_clone_of(uintptr_t function);
/* Where what returns to that place is to return to instead, to be recorded from there on; 0: it cannot. Async-signal-safe, general
 * registers alone. */
uintptr_t probe_clone_late(uintptr_t back);
/* Is this in a clone? */
bool probe_clones_have(uintptr_t at);
/* Where the function itself would go on, of an address that a call in a clone returns to; 0: it is none. */
uintptr_t probe_clone_return(uintptr_t at);
/* What it stands for, of an address in a clone; any other is that itself. Async-signal-safe. */
uintptr_t probe_clone_stands_for(uintptr_t at);
/* C that makes accesses of recordings, and the file's name for it. The image's load address. */
const char *probe_clones_skeleton(size_t *bytes, const char **name, uintptr_t *image);

/* The dispatch of a function's entry: to the clone where the thread wants it, else behind. Changes nothing. Where it ends. */
#define CLONE_DISPATCH_BYTES 43u
uint8_t *probe_clone_dispatch(uint8_t *at, const uint8_t *clone);

#endif
