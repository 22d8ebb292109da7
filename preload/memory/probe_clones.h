/* SPDX-License-Identifier: BSD-3-Clause
 * Clones of functions in this process (base/format/clone.h): REGTRACE_MEMORY. Of preload/probe*.c and preload/memory*.c. */
#ifndef REGTRACE_PRELOAD_MEMORY_PROBE_CLONES_H
#define REGTRACE_PRELOAD_MEMORY_PROBE_CLONES_H

#include "base/format/clone.h"
#include "base/format/memory.h"
#include "preload/patch/probe_sites.h"

/* Of the calling thread. */
extern __thread uint64_t clone_slots[CLONE_SLOTS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool probe_clones_wanted(void);
/* Functions of that image that are meant, as one expression; false: none. */
bool probe_clones_functions(const struct probe_image *image, char regex[CLONE_PATTERN_ROOM]);
/* Makes those of an image that has such, near it, and those of sites where alarms stand. Not from handlers; one at a time. 0, or -errno with the text. */
RT_MUST_CHECK int probe_clones_make(const struct probe_image *image,
                                    const struct probe_sites *alarms, struct rt_error *e);
/* Once their places are in force, and before threads come there: calls of functions at which no alarm stands lead from clone to clone, not by the
 * entry. */
void probe_clones_link(void);
/* Where windows may open anywhere, whoever makes late clones is told of the images, so that the first window need not wait for their decoding. */
void probe_clones_expect(void);
bool probe_clones_exist(void);
/* Those of libraries, which are named: some may be loaded later. */
bool probe_clones_may_come(void);
/* Images that are loaded no longer: another may come to lie there. */
void probe_clones_gone(void);
void probe_clones_forked(void);

/* That of a function that begins there; NULL: it has none. */
const uint8_t *probe_clone_of(uintptr_t function);
/* Or of the site of an alarm in mid-function. */
const uint8_t *probe_clone_from(uintptr_t at);
/* Is the function that this site is in meant, and not recorded from there on? */
bool probe_clone_misses(uintptr_t site);
/* Is this in a clone? */
bool probe_clones_have(uintptr_t at);
/* Where the function itself would go on, of an address that a call in a clone returns to; 0: it is none. */
uintptr_t probe_clone_return(uintptr_t at);
/* What it stands for, of an address in a clone; any other is that itself. Async-signal-safe. */
uintptr_t probe_clone_stands_for(uintptr_t at);
/* Where a thread that stands there may go on instead, in the function itself; 0: not from there. */
uintptr_t probe_clone_leave(uintptr_t at);

/* Late ones. Where what returns to that place, or stands there, is to go instead, to be recorded from there on; 0: it cannot. They are asked for
 * where they are not known: from handlers too, with signals blocked. */
uintptr_t probe_clone_behind(uintptr_t back);
uintptr_t probe_clone_at(uintptr_t at);
/* Of what neither of these has: is its function meant, so that something is missing from there on? */
bool probe_clone_refused(uintptr_t at, enum clone_question_kind kind);
/* What is known already, by general registers alone. *ask: it is not, and may be had. */
uintptr_t probe_clone_known(uintptr_t at, enum clone_question_kind kind, bool *ask);

/* Is this in what clones call? Before they return, or before they jump to CLONE_TARGET: that lies behind 128 bytes then. */
enum probe_clone_hook { PROBE_CLONE_NO_HOOK, PROBE_CLONE_RETURNS, PROBE_CLONE_JUMPS };
enum probe_clone_hook probe_clone_hook(uintptr_t at);
/* Is it amid what that decides by whether a window is open? Where it can begin that again, with the same rbx, and rsp the multiple of 64 below; 0: it
 * is not, or that changes nothing. */
uintptr_t probe_clone_hook_again(uintptr_t at);

/* Names of who may open windows, of as many as there is room for. */
size_t probe_clones_openers(const char **names, size_t room);
/* Likewise of the other functions at whose entry an alarm stands. */
size_t probe_clones_awaited(const char **names, size_t room);

/* The images, with their skeletons' files: how many. */
uint32_t probe_clones_images(struct memory_image *out, uint32_t room);
/* The text of one. */
const char *probe_clones_skeleton(uint32_t image, size_t *bytes);
/* The file of further skeletons, in the folder of recordings. */
const char *probe_clones_late_name(void);

/* The dispatch of a function's entry: to the clone where the thread wants it, else behind. Changes nothing. call: whoever comes has pushed the
 * address behind a call that the function begins with, which clones push themselves. False: the clone is too far away. */
unsigned probe_clone_dispatch_bytes(bool call);
RT_MUST_CHECK bool probe_clone_dispatch(uint8_t *at, const uint8_t *clone, bool call);

#endif
