/* SPDX-License-Identifier: BSD-3-Clause
 * Frames of code without tables for unwinders, such as that of a just-in-time compiler. */
#ifndef REGTRACE_PRELOAD_STACK_UNTABLED_H
#define REGTRACE_PRELOAD_STACK_UNTABLED_H

#include <stdbool.h>
#include <stdint.h>

/* Where such code finds its caller's frame, whose address (CFA) is that of the word above the
 * return address. */
struct untabled_frame {
    bool by_stack; /* CFA = stack pointer + cfa; otherwise frame pointer + cfa */
    int16_t cfa;
    int16_t frame; /* the caller's frame pointer is at CFA + frame, or unchanged: 0 */
    bool is_image; /* the code lies in an image, so it does not change */
};

/* Finds that of a place. at: an address within the instruction that called or, if `interrupted`,
 * that runs. Returns false in a process without a perf map (/tmp/perf-PID.map): such code then need
 * not keep frame pointers. Async-signal-safe. */
bool untabled_frame(uintptr_t at, bool interrupted, struct untabled_frame *out);

#endif
