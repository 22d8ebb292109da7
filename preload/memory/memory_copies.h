/* SPDX-License-Identifier: BSD-3-Clause
 * Instrumented copies of functions in this process (base/format/copy.h), for REGTRACE_MEMORY. For
 * the files of preload/patch/ and preload/memory/. */
#ifndef REGTRACE_PRELOAD_MEMORY_MEMORY_COPIES_H
#define REGTRACE_PRELOAD_MEMORY_MEMORY_COPIES_H

#include "base/format/copy.h"
#include "base/format/memory_recording.h"
#include "preload/patch/plans/probe_plans.h"
#include "preload/patch/probe_sites.h"

/* Slots of the calling thread. */
extern __thread uint64_t copy_slots[COPY_SLOTS]
    __attribute__((tls_model("initial-exec"), visibility("hidden")));

bool memory_copies_wanted(void);
/* Joins the patterns that select functions of that image into one expression. Returns false if
 * there are none. */
bool memory_copies_functions(const struct probe_image *image, char regex[COPY_PATTERN_ROOM]);
/* If functions of the image are selected, makes their copies and those that begin at sites of
 * alarms, near the image. Not from signal handlers; one call at a time. Returns 0, or -errno with
 * the text. */
RT_MUST_CHECK int memory_copies_make(const struct probe_image *image,
                                     const struct probe_sites *alarms, struct rt_error *e);
/* Links copies: calls of functions without an alarm at their entry then lead from copy to copy, not
 * through the entry. Call it once the sites are in force, and before threads come to the copies. */
void memory_copies_link(void);
/* If windows may open anywhere, tells the helper that makes mid-function entries about the images,
 * so that the first window need not wait for their decoding. */
void memory_copies_expect(void);
bool memory_copies_exist(void);
/* Returns true if libraries are named, since some may be loaded later. */
bool memory_copies_may_come(void);
/* Forgets images that are not loaded any more: other images may take their addresses. */
void memory_copies_gone(void);
void memory_copies_forked(void);

/* Returns the copy of the function that begins there, or NULL. */
const uint8_t *memory_copy_of(uintptr_t function);
/* Returns the copy that begins at the site of an alarm, or else that of the function that begins
 * there. */
const uint8_t *memory_copy_from(uintptr_t at);
/* Returns true if the function of this site is selected, but not recorded from the site on. */
bool memory_copy_misses(uintptr_t site);
/* Returns true if the address is in a copy. */
bool memory_copies_have(uintptr_t at);
/* Returns where the function itself would continue, if a call in a copy returns to `at`; else 0. */
uintptr_t memory_copy_return(uintptr_t at);
/* Returns the address of the image that an address in a copy stands for; returns any other address
 * itself. Async-signal-safe. */
uintptr_t memory_copy_stands_for(uintptr_t at);
/* Returns where a thread that stands at `at` in a copy may continue in the function itself; 0: it
 * cannot leave there. */
uintptr_t memory_copy_leave(uintptr_t at);

/* Mid-function entries: each returns where code that returns to `back`, or stands at `at`,
 * continues in a copy, to be recorded from there on; 0: it cannot. Asks the helper for an unknown
 * entry, also from signal handlers, with signals blocked. */
uintptr_t memory_copy_after(uintptr_t back);
uintptr_t memory_copy_at(uintptr_t at);
/* If neither lookup succeeds: returns true if the function is selected, so that the trace is
 * incomplete from here on. */
bool memory_copy_refused(uintptr_t at, enum copy_question_kind kind);
/* Returns the entry if it is already known, using general registers alone. Sets *ask if it is
 * unknown and the helper can be asked. */
uintptr_t memory_copy_known(uintptr_t at, enum copy_question_kind kind, bool *ask);

/* Returns the kind of hook that the address is in: a hook before a return, or one before a jump to
 * COPY_TARGET, above whose return address lie 128 bytes of the function's red zone. */
enum memory_copy_hook { MEMORY_COPY_NO_HOOK, MEMORY_COPY_RETURNS, MEMORY_COPY_JUMPS };
enum memory_copy_hook memory_copy_hook(uintptr_t at);
/* If `at` is within a hook's test of whether a window is open, returns where that test begins; else
 * 0. To repeat the test, the caller keeps rbx and sets rsp to rbx rounded down to a multiple of 64.
 * Also returns 0 in the hook whose test has the same result whatever happens meanwhile. */
uintptr_t memory_copy_hook_again(uintptr_t at);

/* Stores names of functions that may open windows, as many as there is room for; returns their
 * count. */
size_t memory_copies_openers(const char **names, size_t room);
/* Stores, in the same way, the other functions at whose entry an alarm stands. */
size_t memory_copies_awaited(const char **names, size_t room);

/* Describes the images and names their skeletons' files; returns how many there are. */
uint32_t memory_copies_images(struct memory_image *out, uint32_t room);
/* Returns the text of an image's skeleton. */
const char *memory_copies_skeleton(uint32_t image, size_t *bytes);
/* Returns the name of the file of further skeletons, in the folder of recordings. */
const char *memory_copies_late_name(void);

/* Code at a function's entry: goes to the copy if the thread wants that, else continues after
 * itself. Changes no registers and no flags. `call`: the function begins with a call, and its
 * return address has been pushed already; the copy pushes it itself. Returns false if the copy is
 * too far away. */
unsigned memory_copy_dispatch_bytes(bool call);
RT_MUST_CHECK bool memory_copy_dispatch(uint8_t *at, const uint8_t *copy, bool call);

#endif
