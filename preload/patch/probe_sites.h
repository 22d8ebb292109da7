/* SPDX-License-Identifier: BSD-3-Clause
 * Sites of probes: how they are found (regtrace-sites), patched, and looked up by address. Used
 * within preload/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_SITES_H
#define REGTRACE_PRELOAD_PATCH_PROBE_SITES_H

#include "base/sys.h"
#include "isa/isa.h"
#include "preload/libc/loaded_images.h"
#include "preload/internal.h"

/* One site. Rows of one address are consecutive, sorted by alarm. */
struct probe_site {
    uintptr_t at; /* address of the patched byte */
    /* relocated instruction; NULL: the program's own int3, which is not patched */
    const uint8_t *copy;
    /* index of an alarm, or PROBE_EXITED, PROBE_ENTERED, PROBE_RETURNED, PROBE_COPIED */
    uint16_t alarm;
    uint8_t displaced; /* bytes of the instruction */
    uint8_t flags;     /* ISA_SITE_* */
    uint8_t byte;      /* the original byte */
    uint8_t after;     /* offset of `at` from the requested instruction */
    uint8_t room;      /* bytes that a jump would displace; 0: no jump fits */
    uint8_t jumped;    /* bytes that the jump displaces; 0: an int3 stands here */
    /* struct probe_block with its code; the copy of what a jump displaces follows at
     * PROBE_BLOCK_BYTES */
    uint8_t *block;
    const uint8_t *entry; /* the site's code in the block */
};

/* Rows that are not alarms:
 * - PROBE_EXITED: a function with exit_func alarms returns here.
 * - PROBE_ENTERED: a function that is recorded begins here.
 * - PROBE_RETURNED: a function that is recorded returns here.
 * - PROBE_COPIED: a function with an instrumented copy begins here. It is the last row of a
 *   site. */
#define PROBE_EXITED 0xfffcu
#define PROBE_ENTERED 0xfffdu
#define PROBE_RETURNED 0xfffeu
#define PROBE_COPIED 0xffffu

static inline bool probe_is_alarm(const struct probe_site *s)
{
    return s->alarm < PROBE_EXITED;
}

/* True for alarms and for rows that exist only because of alarms. */
static inline bool probe_is_of_alarms(const struct probe_site *s)
{
    return s->alarm <= PROBE_EXITED;
}

#define PROBE_INT3 0xcc
#define PROBE_BLOCK_BYTES 288u
#define PROBE_NO_STEP 0xff
/* Head of a block of code. Once the block may be executed, only probe_write() changes it. */
struct probe_block {
    void (*stub)(void);
    uintptr_t fast;    /* a function of probe_fast.h that the code calls first; 0: none */
    uint8_t bytes[16]; /* original bytes of the site */
    /* steps[i]: offset in the copy of the instruction that began i + 1 bytes after the first byte
     * of the site, or PROBE_NO_STEP */
    uint8_t steps[4];
    /* distance of the jump if it leads to `entry` through a second jump; 0: it leads to `entry`
     * directly */
    int32_t distance;
};

/* Groups of sites, by when their probes must be in the program's text: for alarms, while an alarm
 * is armed; for functions, while a window is open; or for both. */
enum { PROBE_OF_ALARMS, PROBE_OF_FUNCTIONS, PROBE_OF_BOTH, PROBE_GROUPS };
struct probe_group {
    struct probe_site *rows; /* the first row of each site */
    size_t count;
};

struct probe_sites {
    struct probe_site *rows; /* sorted by address */
    size_t count;
    struct probe_group groups[PROBE_GROUPS];
};

/* Is this the row of an alarm that names a place, not a function? */
bool probe_is_place(const struct probe_site *s);

/* Is row i the first row of its site? */
static inline bool probe_is_first(const struct probe_site *rows, size_t i)
{
    return i == 0 || rows[i - 1].at != rows[i].at;
}

/* Returns the table in force, or NULL before the first one. Tables never change and are never
 * freed. */
const struct probe_sites *probe_sites_now(void);

/* Returns the first row at this address or after it; the end of the rows if there is none. */
const struct probe_site *probe_sites_from(const struct probe_sites *s, uintptr_t at);
/* Returns the first row at this address, or NULL if there is none. */
const struct probe_site *probe_sites_find(const struct probe_sites *s, uintptr_t at);

/* An image of this process. */
struct probe_image {
    /* added to the file's addresses; lowest and highest address in memory */
    uintptr_t bias, from, to;
    bool is_program;
    bool no_int3; /* runs with SIGTRAP blocked at times, as the C library does */
    /* -finstrument-functions: its functions report their entries without probes */
    bool instrumented;
    char id[IMAGE_ID_TEXT]; /* build id, else from cache_id_of(); "": no file */
    uint64_t bytes;         /* size of its file */
    char path[PATH_MAX];
};

/* Lists the images that can have probes and that no earlier call has listed, the program first.
 * Returns their number and sets *images (NULL for none), which the caller frees. Returns -ENOMEM
 * without having listed any. One call at a time. */
long probe_images(struct probe_image **images);
/* Forgets images that are not loaded any more, because another image may be loaded at their
 * addresses. Returns false if no image was unloaded since the last call. One call at a time. */
bool probe_images_forget(void);

/* A string table in an image's file. */
struct probe_strings {
    const char *text;
    size_t bytes;
};

struct probe_names {
    const char *file;
    size_t bytes, searched;
    struct probe_strings tables[4];
    unsigned count;
    bool elsewhere; /* the tables may lack names: unreadable, or in a debug file */
};

/* Maps the file; probe_names_close() unmaps it. */
void probe_names_open(struct probe_names *n, const struct probe_image *m);
/* Returns false if the image neither has nor calls a function with this name, by any of the rules
 * of isa/image/image.h. */
bool probe_names_may_have(struct probe_names *n, const char *name);
void probe_names_close(struct probe_names *n);

/* Makes the groups of a table that is complete except for them. Returns false without memory. */
bool probe_make_groups(struct probe_sites *s);

/* The answer of regtrace-sites to one question. */
struct probe_answer {
    const struct isa_plan *plan; /* NULL: there is none */
    size_t bytes;
    /* why there is no plan; or remarks: nearest names, sites left alone */
    char reason[512];
};

/* A question about an image. Questions about the same image are consecutive. */
struct probe_question {
    const struct probe_image *image;
    char *request;
};

/* Opens the user's cache, in the constructor. */
void probe_kept_prepare(void);
/* Takes an answer from the cache. Returns false if the cache does not have it. */
bool probe_kept_find(const struct probe_question *q, struct probe_answer *a);
/* Waits until no other process asks the same question (base/toolkit/cache.h). The caller always
 * calls probe_kept_release() afterwards. */
void probe_kept_claim(const struct probe_question *q);
void probe_kept_release(void);

/* Answers `count` questions, 1000 at most; the caller frees each answer with probe_answer_free().
 * kept: plans are cached for the user. Returns 0, or -errno with the text if regtrace-sites could
 * not be asked. */
RT_MUST_CHECK int probe_ask(bool kept, const struct probe_question *questions, unsigned count,
                            struct probe_answer *answers, struct rt_error *e);
/* Finds regtrace-sites and writes its path. Returns false if it is missing; always on processors
 * other than x86-64. */
bool probe_can_ask(char path[PATH_MAX]);
void probe_answer_free(struct probe_answer *a);
/* Asks for the plan of one instruction, by its address and its `n` bytes. Called in handlers, after
 * probe_ask_prepare(), by one thread at a time, with signals and cancellation off. The caller frees
 * the answer. Returns 0 or -errno. */
RT_MUST_CHECK int probe_ask_instruction(uintptr_t at, const uint8_t *bytes, unsigned n,
                                        struct probe_answer *answer, struct rt_error *e);
/* Stores for handlers the path of regtrace-sites and LD_LIBRARY_PATH. Called before main. */
void probe_ask_prepare(void);

/* Places copies of the plan's sites near the image and makes them ready to be patched for these
 * alarms. Adds to *to one row for each site and alarm, and to *refused the number of sites that
 * cannot be patched. Returns 0, or -errno with the text. */
RT_MUST_CHECK int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                              const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                              uint64_t *refused, struct rt_error *e);
struct isa_site probe_plan_site(const struct isa_plan *p, size_t i);
/* Writes the bytes of a copy to `to`, for execution at `address`. Returns false if a target is out
 * of reach or the copy does not lie in the plan. */
bool probe_copy(const struct isa_plan *p, const struct isa_copy *c, uintptr_t bias, uint8_t *to,
                uintptr_t address);
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
bool probe_write_text(uintptr_t at, const uint8_t *bytes, size_t n);
/* Writes to our own code. Returns false if that failed. */
bool probe_write(uintptr_t at, const uint8_t *bytes, size_t n);
/* Returns true if no thread is known to block SIGTRAP in code of the program. Such a thread would
 * die at the int3 that stands in a site while its jump is being written. May take 2 ms, and 2 s if
 * new threads do not get a processor. */
bool probe_may_poke(void);
/* Count the program's threads for probe_may_poke(): one is about to be made, could not be made,
 * begins, ends; this is the child of fork. */
void probe_thread_made(void);
void probe_thread_never_came(void);
void probe_thread_comes(void);
void probe_thread_goes(void);
void probe_threads_forked(void);
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

/* --- patching while other threads run: probe_poke.c ------------------------------------------- */

/* Called before main. If the kernel lacks the command of membarrier(2), no site can be poked. */
void probe_poke_prepare(void);
/* Can this site's jump be written and removed while other threads run? */
bool probe_poke_can(const struct probe_site *first);
/* Write (remove) the jumps of these sites, wherever memory holds the original bytes (the jump).
 * Called between probe_text_open() and probe_text_close(). They use async-signal-safe calls only.
 * The sites must be published, because threads that come to them meanwhile trap. */
void probe_poke_in(const struct probe_site *rows, size_t count);
void probe_poke_out(const struct probe_site *rows, size_t count);
void probe_poke_forked(void);
/* Writes the patched bytes of a site with a jump to `code`; returns their count. */
unsigned probe_jump_bytes(const struct probe_site *first, uint8_t code[16]);

/* --- a thread comes to a site: probe_trap.c by a signal, probe_jump.c by a jump --------------- */

struct probe_coming {
    const struct probe_sites *all;
    /* rows of the site; NULL: it is a return site without rows */
    const struct probe_site *first;
    struct probe_site place;
    uint64_t rax, rbx, rcx;
    uintptr_t stack; /* the stack pointer at the site */
    /* SIGTRAP is not blocked. Threads of glibc's own timers and masks of a ucontext_t may block
     * it. */
    bool may_trap;
    /* index of the counted alarm whose count has come to zero at this execution; those before it
     * have been counted; -1: none has */
    int due;
};
/* Does a function begin here, so that its return address is on top of the stack? */
bool probe_is_entry(const struct probe_coming *c);
/* Fires what stands at the site. coming: a struct probe_coming. */
void probe_fire(void *coming);

/* Called before main. Returns false if jumps are impossible on this processor. */
bool probe_jump_prepare(void);
/* Writes a site's code into its block. first, rows: the site's rows and their number. Returns where
 * the jump must lead, or NULL if the site cannot have one. */
const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows);

/* --- a lock that handlers may take too -------------------------------------------------------- */

/* Signals and cancellation are off while the lock is held. */
struct probe_lock {
    _Atomic uint32_t taken;
};
struct probe_locked {
    uint64_t mask;
    struct sys_cancel cancel;
};
struct probe_locked probe_lock(struct probe_lock *l);
void probe_unlock(struct probe_lock *l, struct probe_locked was);
/* Frees the lock in a forked child, whichever thread held it. */
void probe_lock_free(struct probe_lock *l);

void probe_rest_begin(void);
void probe_rest_forked(void);
/* Are the probes of this group in the program's text now? */
bool probe_group_is_in(int group);

/* --- sites that functions return to: probe_returns.c ------------------------------------------ */

/* Puts an int3 at this return address unless a probe is there. An int3 of the program will do.
 * Returns false if that is impossible. Called in handlers. */
bool probe_return_ensure(uintptr_t at);
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
bool probe_stack_is_own(uintptr_t stack);
/* Returns the bounds of the thread's stack; false if they are unknown. */
bool probe_stack_ends(uintptr_t *low, uintptr_t *high);
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
/* Record that a function was entered (has returned). stack: the stack pointer there. The caller is
 * a handler, or has blocked signals. */
void probe_functions_entered(uintptr_t function, uintptr_t stack, bool may_trap);
void probe_functions_returned(uintptr_t stack, uintptr_t at);
void probe_functions_forked(void);

#endif
