/* SPDX-License-Identifier: BSD-3-Clause
 * Places that probes stand at: found by regtrace-sites, patched, looked up by address. Of preload/probe*.c alone. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_SITES_H
#define REGTRACE_PRELOAD_PATCH_PROBE_SITES_H

#include "base/sys.h"
#include "isa/isa.h"
#include "preload/libc/images.h"
#include "preload/internal.h"

/* One place. Those of one address stand together, by alarm. */
struct probe_site {
    uintptr_t at; /* of the byte that is patched */
    const uint8_t
        *copy;      /* relocated instruction; NULL: the program's own int3, which stays in place */
    uint16_t alarm; /* or PROBE_EXITED, PROBE_ENTERED, PROBE_RETURNED, PROBE_CLONED */
    uint8_t displaced;    /* bytes of the instruction */
    uint8_t flags;        /* ISA_SITE_* */
    uint8_t byte;         /* what stood there */
    uint8_t behind;       /* `at` lies so far behind the instruction that was asked for */
    uint8_t room;         /* bytes that a jump would displace; 0: none can be */
    uint8_t jumped;       /* that many are displaced by a jump; 0: an int3 is there */
    uint8_t *block;       /* a struct probe_block, its code, and after PROBE_BLOCK_BYTES the copy of
                             what a jump displaces */
    const uint8_t *entry; /* the place's code */
};

/* Rows that are no alarms: where functions with exit_func alarms return to; where functions that are recorded begin, and where they
 * return to; where functions with a clone begin (the last of a place's rows). */
#define PROBE_EXITED 0xfffcu
#define PROBE_ENTERED 0xfffdu
#define PROBE_RETURNED 0xfffeu
#define PROBE_CLONED 0xffffu

static inline bool probe_is_alarm(const struct probe_site *s)
{
    return s->alarm < PROBE_EXITED;
}

/* An alarm, or there for alarms' sake. */
static inline bool probe_is_of_alarms(const struct probe_site *s)
{
    return s->alarm <= PROBE_EXITED;
}

#define PROBE_INT3 0xcc
#define PROBE_BLOCK_BYTES 288u
#define PROBE_NO_STEP 0xff
/* What a block of code begins with. Not written once it may be executed, but by probe_write(). */
struct probe_block {
    void (*stub)(void);
    uintptr_t fast;    /* a function of probe_fast.h that is called first; 0: none */
    uint8_t bytes[16]; /* that stood at the place */
    uint8_t steps
        [4]; /* where the instruction that began there, so far behind the first byte and one more, is in the copy, or none */
    int32_t
        distance; /* of the jump, where it leads on to `entry` from elsewhere; 0: it leads there at once */
};

/* Places by who needs them in the program's text: alarms, while something is armed; functions, while a window is open; or both. */
enum { PROBE_OF_ALARMS, PROBE_OF_FUNCTIONS, PROBE_OF_BOTH, PROBE_GROUPS };
struct probe_group {
    struct probe_site *rows; /* the first of each place */
    size_t count;
};

struct probe_sites {
    struct probe_site *rows; /* by address */
    size_t count;
    struct probe_group groups[PROBE_GROUPS];
};

/* An alarm that names a place, not a function. */
bool probe_is_place(const struct probe_site *s);

/* Rows of one place stand together: is it the first of its own? */
static inline bool probe_is_first(const struct probe_site *rows, size_t i)
{
    return i == 0 || rows[i - 1].at != rows[i].at;
}

/* The table that is in force: never changed, and never freed; NULL before there is one. */
const struct probe_sites *probe_sites_now(void);

/* The first row of that address or behind it; the end of the rows: none. */
const struct probe_site *probe_sites_from(const struct probe_sites *s, uintptr_t at);
/* The first row of that address, NULL: none. */
const struct probe_site *probe_sites_find(const struct probe_sites *s, uintptr_t at);

/* An image of this process. */
struct probe_image {
    uintptr_t bias, from,
        to; /* what the file's addresses are off by; its lowest and highest address here */
    bool is_program;
    bool no_int3; /* runs with SIGTRAP blocked at times: the C library, the dynamic linker */
    bool
        instrumented; /* -finstrument-functions: enters of its functions are known without probes */
    char id[IMAGE_ID_TEXT]; /* build id, else from cache_id_of(); "": no file */
    uint64_t bytes;         /* size of its file */
    char path[PATH_MAX];
};

/* Those that can have probes and have not been handed out yet, the program first. Their number; *images (NULL for none) is the
 * caller's to free. -ENOMEM: nothing was handed out. One at a time. */
long probe_images(struct probe_image **images);
/* Images that are gone are forgotten: another may come to lie there. False: nothing has gone since the last call. One at a time. */
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

/* Those of a table, which is complete but for them. False: no memory. */
bool probe_make_groups(struct probe_sites *s);

/* What regtrace-sites said of one request. */
struct probe_answer {
    const struct isa_plan *plan; /* NULL: it cannot be had */
    size_t bytes;
    char reason[512]; /* of that; or what there is to say: nearest names, places left alone */
};

/* What is asked of an image; those of one image stand together. */
struct probe_question {
    const struct probe_image *image;
    char *request;
};

/* Opens the user's cache, in the constructor. */
void probe_kept_prepare(void);
/* Takes an answer from the cache. Returns false if the cache does not have it. */
bool probe_kept_find(const struct probe_question *q, struct probe_answer *a);
/* Waits until no other process asks the same question (base/toolkit/cache.h). The caller always calls
 * probe_kept_release() afterwards. */
void probe_kept_claim(const struct probe_question *q);
void probe_kept_release(void);

/* An answer for each question, of 1000 at most. kept: plans are kept in the user's cache. 0, or -errno with the text where nothing
 * could be asked. */
RT_MUST_CHECK int probe_ask(bool kept, const struct probe_question *questions, unsigned count,
                            struct probe_answer *answers, struct rt_error *e);
/* Is regtrace-sites there? Never where the processor is not an x86-64. */
bool probe_can_ask(char path[PATH_MAX]);
void probe_answer_free(struct probe_answer *a);
/* The plan of one instruction, by its bytes and where it is. From handlers, with signals and cancellation off, one at a time, once
 * probe_ask_prepare() has been called. 0 or -errno. */
RT_MUST_CHECK int probe_ask_instruction(uintptr_t at, const uint8_t *bytes, unsigned n,
                                        struct probe_answer *answer, struct rt_error *e);
void probe_ask_prepare(void);

/* The sites of a plan, made ready to be patched for these alarms: their copies are placed near the image. Adds to *to a row for
 * each site and alarm. Refused sites are counted. 0 or -errno with the text. */
RT_MUST_CHECK int probe_place(const struct probe_image *image, const struct isa_plan *plan,
                              const uint16_t *alarms, unsigned alarm_count, struct probe_sites *to,
                              uint64_t *refused, struct rt_error *e);
/* Reach of a 32-bit distance, with room to spare. */
#define PROBE_REACH ((uintptr_t)0x7f000000)
/* Memory, not executable yet, whose every byte reaches whatever lies between from and to. MAP_FAILED: there is no room. */
void *probe_map_near(uintptr_t from, uintptr_t to, size_t bytes);
struct isa_site probe_plan_site(const struct isa_plan *p, size_t i);
/* A copy's bytes, to run at that address. False: something is out of reach, or the plan is none. */
bool probe_copy(const struct isa_plan *p, const struct isa_copy *c, uintptr_t bias, uint8_t *to,
                uintptr_t address);
/* Bytes of the program's text, whoever may write there: by /proc/self/mem, else by mprotect(2). By async-signal-safe calls. From open to
 * close, with signals off, by one thread at a time; what is written is there after the next flush, or a close, which is false where anything
 * could not be. A page is read and written at once: nobody else writes to text by other means meanwhile. */
void probe_text_open(void);
bool probe_text_read(uintptr_t at, uint8_t *bytes, size_t n);
void probe_text_write(uintptr_t at, const uint8_t *bytes, size_t n);
void probe_text_flush(void);
RT_MUST_CHECK bool probe_text_close(void);
/* All that, of one place. */
bool probe_write_text(uintptr_t at, const uint8_t *bytes, size_t n);
/* To code of our own. */
bool probe_write(uintptr_t at, const uint8_t *bytes, size_t n);
/* Nobody is known to have SIGTRAP blocked where the program runs: while a jump is written, an int3 stands for it. May take 2 ms, and 2 s where
 * threads have been made that do not get a processor. */
bool probe_may_poke(void);
/* A thread of the program's is about to be made, could not be, begins, ends. In the child of fork. */
void probe_thread_made(void);
void probe_thread_never_came(void);
void probe_thread_comes(void);
void probe_thread_goes(void);
void probe_threads_forked(void);
/* Does this address lie in a copy that probe_place() has placed? Called in handlers. */
bool probe_place_is_copy(uintptr_t at);
/* What has been placed may be executed from here on, and no longer be written. */
void probe_seal(void);
/* Places have code for jumps. */
extern bool probe_may_jump RT_HIDDEN;
/* By jump or by int3: sorted rows, not published yet, and placed since the last probe_seal(). alone: nobody else runs the code
 * now, nor stands in it. */
void probe_choose(struct probe_site *rows, size_t count, bool alone);
/* Writes int3 to the first byte, or the jump, of each of these; sites whose bytes are not what the file has are left alone, and counted.
 * 0 or -errno. */
int probe_patch(const struct probe_site *rows, size_t count, bool alone, uint64_t *changed);

/* --- while others run: probe_poke.c ---------------------------------------------------------------------------------------- */

/* Before main. Where the kernel cannot do it no place can be poked. */
void probe_poke_prepare(void);
/* Can its jump be written, and taken away, while others run? */
bool probe_poke_can(const struct probe_site *first);
/* Between probe_text_open() and close. Of the places with jumps among these, those where what stood there is there, or the jump. By
 * async-signal-safe calls. They must be published: threads that come meanwhile trap. */
void probe_poke_in(const struct probe_site *rows, size_t count);
void probe_poke_out(const struct probe_site *rows, size_t count);
void probe_poke_forked(void);
/* What is there while it is in; its length. */
unsigned probe_jump_bytes(const struct probe_site *first, uint8_t code[16]);

/* --- a thread comes: probe_trap.c by a signal, probe_jump.c by a jump ------------------------------------------------- */

struct probe_coming {
    const struct probe_sites *all;
    const struct probe_site *first; /* its rows; NULL where a function returns to alone */
    struct probe_site place;
    uint64_t rax, rbx, rcx;
    uintptr_t stack; /* pointer, as it was there */
    bool
        may_trap; /* SIGTRAP is not blocked: threads of glibc's own timers, masks of a ucontext_t */
    int due; /* of its counted alarms, whose count has come to zero by this coming; those before it have been counted; -1: none */
};
/* Is a function entered there, so that where it returns to lies on top of the stack? */
bool probe_is_entry(const struct probe_coming *c);
/* Fires what stands there. Of struct probe_coming. */
void probe_fire(void *coming);

/* False: not on this processor. Before main. */
bool probe_jump_prepare(void);
/* Fills a block for a place; the first of its rows and their number. Where the jump is to lead; NULL: nowhere. */
const uint8_t *probe_jump_code(uint8_t *block, const struct probe_site *first, unsigned rows);

/* --- a lock for handlers too: signals and cancellation are off while it is held ------------------------------------------ */

struct probe_lock {
    _Atomic uint32_t taken;
};
struct probe_locked {
    uint64_t mask;
    struct sys_cancel cancel;
};
struct probe_locked probe_lock(struct probe_lock *l);
void probe_unlock(struct probe_lock *l, struct probe_locked was);
/* In a forked child, whoever had it. */
void probe_lock_free(struct probe_lock *l);

void probe_rest_begin(void);
void probe_rest_forked(void);
/* Is a group's text changed now? */
bool probe_group_is_in(int group);

/* --- places that functions return to: probe_returns.c ----------------------------------------------------------------- */

/* Puts an int3 there unless there is one. An int3 of the program will do. Returns false if that is
 * impossible. Called in handlers. */
bool probe_return_ensure(uintptr_t at);
/* The place as a site without an alarm; false: it is none. */
bool probe_return_at(uintptr_t at, struct probe_site *site);
/* Does this address lie in the copy of such a place's instruction? */
bool probe_return_is_copy(uintptr_t at);
void probe_returns_forked(void);
/* The int3s are gone until they are ensured again. */
void probe_returns_rest(void);

/* --- functions that are active on this thread: probe_exits.c ---------------------------------------------------------- */

/* Two frames on one stack, as far as anybody knows. */
bool probe_one_stack(uintptr_t a, uintptr_t b);
/* Known to be the thread's own stack. */
bool probe_stack_is_own(uintptr_t stack);
/* Its ends; false: not known. */
bool probe_stack_ends(uintptr_t *low, uintptr_t *high);
/* A function with exit_func alarms is about to be entered, and its enter alarms to fire: what takes long is done before. stack: the
 * stack pointer at its entry. False: it does not return to a place that can be watched. may_trap: the thread has not blocked
 * SIGTRAP, where an int3 kills. */
bool probe_exits_coming(uintptr_t stack, bool may_trap);
/* It has been entered; function: its probe; seen: what that said. */
void probe_exits_entered(uintptr_t function, uintptr_t stack, bool seen);
/* The thread is at that probe with this stack pointer: those that are over by then fire. */
void probe_exits_at(uintptr_t stack, uintptr_t at);

/* --- functions that are recorded: probe_functions.c ------------------------------------------------------------------- */

/* The tables of returns for the fast ways, of the table that is now in force. */
void probe_functions_published(const struct probe_sites *s);
/* stack: the stack pointer there. Signals are blocked, or it is a handler. */
void probe_functions_entered(uintptr_t function, uintptr_t stack, bool may_trap);
void probe_functions_returned(uintptr_t stack, uintptr_t at);
void probe_functions_forked(void);

#endif
