/* SPDX-License-Identifier: BSD-3-Clause
 * For the address sanitizer alone: clears its records of memory that was mapped anew, or returned
 * by a system call that the sanitizer does not see. */
#ifndef REGTRACE_BASE_POISON_H
#define REGTRACE_BASE_POISON_H

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define POISON_FORGET(address, bytes) ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#else
#define POISON_FORGET(address, bytes) ((void)(address), (void)(bytes))
#endif

#endif
