/* SPDX-License-Identifier: BSD-3-Clause
 * Probes for alarms that name places of the program (address, ssc, itext, isa_extension,
 * isa_category, int3, magic, cpuid) or functions (enter_func, exit_func). x86-64.
 *
 * regtrace-isa says where to patch an image (isa/isa.h). An int3 is written there, or a jump. Its
 * handler fires the alarms, and the thread goes on in a copy of the instruction. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBES_H
#define REGTRACE_PRELOAD_PATCH_PROBES_H

#include "preload/thread.h"

#include <signal.h>

/* Sites of the program are patched, or may be: SIGTRAP is ours. The constructor sets it. */
extern bool code_is_patched;

/* Finds the sites of all images that are loaded. Called in the constructor, before anything is
 * patched. Returns 0, or -errno with the text: regtrace-isa is missing, or probes are
 * impossible. */
RT_MUST_CHECK int probes_prepare(struct rt_error *e);
/* Patches the sites. From now on they are hit, and SIGTRAP comes to us. */
void probes_begin(void);
/* Images may have been loaded, whose code has not run yet, or unloaded. Not from handlers. */
void probes_images_loaded(void);
void probes_images_gone(void);
/* probes_rest(): no chain of any thread has an armed alarm. probes_wake(): a chain may have one
 * again. Cheap if nothing changes. */
void probes_rest(void);
void probes_wake(void);
/* The program's threads:
 * - known_thread_expected(): one is about to be made; called for the first thread too
 * - known_thread_never_came(): it could not be made
 * - probes_thread_begins(): called in each thread as it begins, in the first before anything is
 *   traced
 * - probes_thread_known(): the state of its chains is known from now on, or it has no chains
 * - probes_thread_gone(): it ends */
void known_thread_expected(void);
void known_thread_never_came(void);
void probes_thread_begins(void);
void probes_thread_known(void);
void probes_thread_gone(void);
/* In the child of fork. */
void probes_forked(void);
/* Is a place of this alarm in the loaded images? */
bool probes_have_alarm(uint16_t alarm);

/* The room of a thread for the list of the functions that it is in. probe_room_end() stops its
 * use. */
size_t probe_room_bytes(void);
void probe_room_begin(struct preload_thread *pt, void *room);
void probe_room_end(void);

/* Fires the exits of functions in which the thread ends. */
void probe_exits_thread_end(void);
/* Fires the exits of functions whose frames lay between these stack pointers: a longjmp or an
 * exception has removed them. */
void probe_exits_jumped(uintptr_t from, uintptr_t to);

/* Does REGTRACE_FUNCTIONS name functions? */
bool probe_functions_wanted(void);
/* Do their leaves have call paths (REGTRACE_CALLPATH above 1)? */
bool probe_functions_have_paths(void);
/* A thread's window is about to open: functions get their probes. A window has closed: after the
 * last one functions lose their probes. */
void probes_window_prepare(struct recorder_thread *t, struct preload_thread *pt);
void probes_window_closed(struct recorder_thread *t, struct preload_thread *pt);
/* Records the functions that are active as the window opens (enter) or closes. */
void probe_functions_cut(struct recorder_thread *t, bool enter);
/* As probe_exits_jumped(), for functions that are recorded. */
void probe_functions_jumped(uintptr_t from, uintptr_t to);

/* Fires the alarms of the site at which the thread has trapped. Returns false if there is none. */
bool probes_trapped(int signo, siginfo_t *info, void *context);
bool probes_want_signal(int signo);

/* Enclose a handler of the program, with its siginfo_t and ucontext_t. If an instruction faulted in
 * a copy of ours, the handler sees the original instruction's address. Afterwards the thread goes
 * on in the copy, or where the handler has sent it. */
struct probe_fault {
    uintptr_t copy, place; /* place 0: no fault in a copy */
};
struct probe_fault probes_fault_begins(siginfo_t *info, void *context);
void probes_fault_ends(const struct probe_fault *f, void *context);

/* --- for stepped threads: stepping.c ---------------------------------------------------------- */

enum probe_kind {
    PROBE_NOWHERE,  /* no site */
    PROBE_PATCHED,  /* our int3; the instruction has a copy */
    PROBE_PROGRAMS, /* an int3 of the program, which gets the trap */
    PROBE_TAKEN     /* an int3 of the program at an int3 alarm: not executed */
};
/* Returns what is at this address. */
enum probe_kind probes_at(uintptr_t at);
/* Fires the alarms of the site at which the thread is. Called in handlers. */
void probes_come(void *context);
/* Moves the thread to the copy of the instruction. */
void probes_go_on(void *context);
/* Does this address lie in a copy of an instruction? */
bool probes_is_copy(uintptr_t at);
/* Gives the program a SIGTRAP that is not ours. */
void probes_hand_on(int signo, siginfo_t *info, void *context);

#endif
