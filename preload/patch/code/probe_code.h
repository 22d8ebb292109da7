/* SPDX-License-Identifier: BSD-3-Clause
 * Code of probes: copies of displaced instructions, jumps and int3s in the program's text. Used
 * within preload/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_CODE_PROBE_CODE_H
#define REGTRACE_PRELOAD_PATCH_CODE_PROBE_CODE_H

#include "isa/isa.h"
#include "preload/patch/probe_sites.h"

struct probe_image;

/* --- placing plans: probe_place.c ------------------------------------------------------------- */

/* Places copies of the plan's sites near the image and makes them ready to be patched for these
 * alarms. Adds to *to one row for each site and alarm, and to *refused the sites that cannot be
 * patched. Returns 0, or -errno with the text. */
RT_MUST_CHECK int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                              const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                              struct probe_refused *refused, struct rt_error *e);
struct isa_site probe_plan_site(const struct isa_plan *p, size_t i);
/* Writes the bytes of a copy to `to`, for execution at `address`. Returns false if a target is out
 * of reach or the copy does not lie in the plan. */
bool probe_displaced_copy(const struct isa_plan *p, const struct isa_copy *c, uintptr_t bias,
                          uint8_t *to, uintptr_t address);
/* Does this address lie in a copy that probe_place() has placed? Called in handlers. */
bool probe_place_is_copy(uintptr_t at);
/* Makes all that has been placed executable and read-only, and its unwind tables effective. */
void probe_seal(void);
/* Sites get code for jumps. */
extern bool probe_may_jump RT_HIDDEN;
/* Chooses for each site between a jump and an int3. The rows are sorted, not published yet, and
 * placed since the last probe_seal(). alone: no other thread can run this code now, or stand in
 * it. */
void probe_choose(struct probe_site *rows, size_t count, bool alone);
/* Writes to each site its jump, or an int3 to its first byte. Leaves sites alone whose bytes differ
 * from the file's, and adds their number to *changed. Returns 0 or -errno. */
int probe_patch(const struct probe_site *rows, size_t count, bool alone, uint64_t *changed);

/* --- the program's text: probe_text.c --------------------------------------------------------- */

/* Read and write the program's text, also where its mapping is not writable: through
 * /proc/self/mem, otherwise after mprotect(2). They use async-signal-safe calls only.
 *
 * One thread at a time has the text open, with signals off. Its writes take effect at the next
 * probe_text_flush() or at probe_text_close(), which returns false if any write failed. A page is
 * read once and its changed range is written back, so nobody else may write text by other means
 * meanwhile. */
void probe_text_open(void);
bool probe_text_read(uintptr_t at, uint8_t *bytes, size_t n);
void probe_text_write(uintptr_t at, const uint8_t *bytes, size_t n);
void probe_text_flush(void);
RT_MUST_CHECK bool probe_text_close(void);
/* Opens the text, writes these bytes and closes it. Returns false if that failed. */
bool probe_text_write_once(uintptr_t at, const uint8_t *bytes, size_t n);
/* Writes to our own code. Returns false if that failed. */
bool probe_code_write(uintptr_t at, const uint8_t *bytes, size_t n);
/* In the child of fork. */
void probe_text_forked(void);

/* --- threads that block SIGTRAP: probe_threads.c ---------------------------------------------- */

/* Returns true if no thread is known to block SIGTRAP in code of the program. Such a thread would
 * die at the int3 that stands in a site while its jump is being written. May take 2 ms, and 2 s if
 * new threads do not get a processor. */
bool probe_threads_allow_poke(void);
/* Count the program's threads for probe_threads_allow_poke(): one begins, one ends, this is the
 * child of fork. probes.h has the functions for threads that do not run yet. */
void known_thread_begins(void);
void known_thread_ends(void);
void known_threads_forked(void);

/* --- patching while other threads run: probe_poke.c ------------------------------------------- */

/* Called before main. If the kernel lacks the command of membarrier(2), no site can be poked. */
void probe_poke_prepare(void);
/* Can this site's jump be written and removed while other threads run? */
bool probe_can_poke(const struct probe_site *first);
/* Write (remove) the jumps of these sites, wherever memory holds the original bytes (the jump).
 * Called between probe_text_open() and probe_text_close(). They use async-signal-safe calls only.
 * The sites must be published, because threads that come to them meanwhile trap. */
void probe_poke_in(const struct probe_site *rows, size_t count);
void probe_poke_out(const struct probe_site *rows, size_t count);
void probe_poke_forked(void);
/* Writes the patched bytes of a site with a jump to `code`; returns their count. */
unsigned probe_jump_bytes(const struct probe_site *first, uint8_t code[16]);

/* --- the code of sites: probe_jump.c ---------------------------------------------------------- */

/* Called before main. Returns false if jumps are impossible on this processor. */
bool probe_jump_prepare(void);
/* Writes a site's code into its block. first, rows: the site's rows and their number. Returns where
 * the jump must lead, or NULL if the site cannot have one. */
const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows);

#endif
