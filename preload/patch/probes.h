/* SPDX-License-Identifier: BSD-3-Clause
 * Probes: the alarms that name places of the program (address, ssc, itext, isa_extension, isa_category, int3, magic, cpuid) or
 * functions (enter_func, exit_func). x86-64.
 *
 * regtrace-sites says where an image is to be patched (isa/isa.h); an int3 is put there, and its handler fires the alarms and lets
 * the thread go on in a copy of the instruction. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBES_H
#define REGTRACE_PRELOAD_PATCH_PROBES_H

#include "preload/internal.h"

#include <signal.h>

/* Asks for the places of the images that are there. In the constructor, before anything is patched. 0, or -errno with the text: no
 * program to ask, places that cannot be patched. */
RT_MUST_CHECK int probes_prepare(struct rt_error *e);
/* From here on they are hit; SIGTRAP comes to us. */
void probes_begin(void);
/* Images may have come, whose code has not run, or gone. Not from handlers. */
void probes_images_loaded(void);
void probes_images_gone(void);
/* No chain has anything armed in any thread; and again one may. Cheap where nothing changes. */
void probes_rest(void);
void probes_wake(void);
/* Before a thread is made, the first one too; where it could not be. In each thread as it begins, in the first before anything is traced; what
 * its chains are is known from now on, or it has none; it ends. */
void probes_thread_made(void);
void probes_thread_never_came(void);
void probes_thread_begins(void);
void probes_thread_known(void);
void probes_thread_gone(void);
/* In the child of fork. */
void probes_forked(void);

/* The program has unblocked a signal that was kept out of its mask: what came for it meanwhile is given to it. */
void probes_unblocked(void);

/* The part of a thread's mapping that lists the functions that the thread is in. probe_room_bytes()
 * returns its size; probe_room_begin() gets it zeroed and aligned to 8; probe_room_end() stops its
 * use. */
size_t probe_room_bytes(void);
void probe_room_begin(void *memory);
void probe_room_end(void);

/* A thread that had exits to come ends. */
void probe_exits_thread_end(void);
/* Frames between these two stack pointers are gone: longjmp, an exception. */
void probe_exits_jumped(uintptr_t from, uintptr_t to);

/* REGTRACE_FUNCTIONS names functions. */
bool probe_functions_wanted(void);
/* A thread's window is about to open: functions get their probes. A window has closed: after the
 * last one functions lose their probes. */
void probe_window_opened(void);
void probe_window_closed(void);
/* Functions that are active, as the window opens or closes. */
void probe_functions_cut(struct recorder_thread *t, bool enter);
/* As probe_exits_jumped(). */
void probe_functions_jumped(uintptr_t from, uintptr_t to);

/* The handler of SIGTRAP where probes are on: see signals_trap_action(). */
void probes_trapped(int signo, siginfo_t *info, void *context);

/* --- for stepped threads (stepping.c) -------------------------------------------------------------- */

enum probe_kind {
    PROBE_NOWHERE,  /* there is no place */
    PROBE_PATCHED,  /* our int3; the instruction has a copy */
    PROBE_PROGRAMS, /* an int3 of the program, which gets the trap */
    PROBE_TAKEN     /* an int3 of the program at an int3 alarm: not executed */
};
/* Returns what is at this address. */
enum probe_kind probes_at(uintptr_t at);
/* The thread is at a place: fires its alarms. Called in handlers. */
void probes_come(void *context);
/* Moves the thread to the copy of the instruction. */
void probes_go_on(void *context);
/* Does this address lie in a copy of an instruction? */
bool probes_is_copy(uintptr_t at);
/* Gives the program a SIGTRAP that is not ours. */
void probes_hand_on(int signo, siginfo_t *info, void *context);

#endif
