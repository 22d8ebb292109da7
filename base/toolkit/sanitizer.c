/* SPDX-License-Identifier: BSD-3-Clause
 * The table of sanitizers whose programs cannot be traced. */
#include "base/toolkit/sanitizer.h"

const struct sanitizer sanitizers_refused[] = {
#ifndef __SANITIZE_THREAD__
    {"__tsan_init", "ThreadSanitizer", "thread"},
    {"__msan_init", "MemorySanitizer", "memory"},
#endif
    {NULL, NULL, NULL},
};
