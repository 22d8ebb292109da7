/* SPDX-License-Identifier: BSD-3-Clause
 * System calls that move data and that a signal cut short: a write of 1 MiB to a pipe then returns
 * what it has written, and no EINTR. waits.c continues them, so that the program gets the whole
 * count. */
#ifndef REGTRACE_PRELOAD_WAITS_WAIT_TRANSFERS_H
#define REGTRACE_PRELOAD_WAITS_WAIT_TRANSFERS_H

#include "preload/waits/waits.h"

#include <stdbool.h>
#include <ucontext.h>

/* Is the thread directly after a call that moved fewer bytes than it would have without a signal?
 * Also true if an error ended the call. Then the rest fails and the count stays. */
bool transfer_is_short(const ucontext_t *uc);

/* Moves the rest until all is moved, a call fails, or a handler of the program runs. Puts the count
 * into the context. Returns true, and does nothing, if the program must make the call again. For a
 * context for which transfer_is_short() is true. */
bool transfer_go_on(ucontext_t *uc, struct signals_seen seen);

#endif
