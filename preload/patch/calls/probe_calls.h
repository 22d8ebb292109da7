/* SPDX-License-Identifier: BSD-3-Clause
 * Calls of functions: where they return to, which of them are active on a thread, and which are
 * recorded. Used within preload/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_CALLS_PROBE_CALLS_H
#define REGTRACE_PRELOAD_PATCH_CALLS_PROBE_CALLS_H

#include "preload/patch/probe_sites.h"

/* --- sites that functions return to: probe_returns.c ------------------------------------------ */

/* Puts an int3 at this return address unless a probe is there. An int3 of the program will do.
 * Returns false if that is impossible. Called in handlers. */
bool probe_return_ensure(uintptr_t at);
/* Returns the first row of the site at this return address, or NULL. */
const struct probe_site *probe_return_site(const struct probe_sites *all, uintptr_t at);
/* A site of recorded functions that stays in for exit alarms (probe_rest_keep()).
 * probe_return_keep() returns false without room. */
bool probe_return_is_kept(uintptr_t at);
bool probe_return_keep(uintptr_t at);
/* Returns the return site at this address as a site without an alarm; false if there is none. */
bool probe_return_at(uintptr_t at, struct probe_site *site);
/* Does this address lie in the copy of a return site's instruction? */
bool probe_return_is_copy(uintptr_t at);
void probe_returns_forked(void);
/* Removes all int3s of return sites, until probe_return_ensure() puts them back. */
void probe_returns_rest(void);

/* --- functions that are active on this thread: probe_exits.c ---------------------------------- */

/* Do two frames lie on one stack? A guess if the bounds of the stack are unknown. */
bool probe_one_stack(uintptr_t a, uintptr_t b);
/* Is this address known to lie on the thread's own stack? */
bool probe_is_on_thread_stack(uintptr_t stack);
/* Prepares for the entry of a function with exit_func alarms, before its enter alarms fire, because
 * it may take long. stack: the stack pointer at the entry. may_trap: the thread does not block
 * SIGTRAP; otherwise an int3 would kill it. Returns false if no probe can watch where the function
 * returns to. */
bool probe_exits_coming(uintptr_t stack, bool may_trap);
/* Notes that the function has been entered. function: address of its probe; seen: the result of
 * probe_exits_coming(). */
void probe_exits_entered(uintptr_t function, uintptr_t stack, bool seen);
/* Fires the exits of functions that have ended by the time the thread is at the site `at` with this
 * stack pointer. */
void probe_exits_at(uintptr_t stack, uintptr_t at);

/* --- functions that are recorded: probe_functions.c ------------------------------------------- */

/* Makes the tables of return sites for the fast paths from the table of sites that is now in
 * force. */
void probe_functions_published(const struct probe_sites *s);
/* Records that a function was entered; `c`: there. Records that functions have returned; stack: the
 * stack pointer there. The caller is a handler, or has blocked signals. */
void probe_functions_entered(uintptr_t function, const struct probe_coming *c);
void probe_functions_returned(uintptr_t stack, uintptr_t at);
void probe_functions_forked(void);

#endif
