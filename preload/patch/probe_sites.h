/* SPDX-License-Identifier: BSD-3-Clause
 * Sites of probes: their table, what happens when a thread comes to one, and when probes rest. Used
 * within preload/ only. */
#ifndef REGTRACE_PRELOAD_PATCH_PROBE_SITES_H
#define REGTRACE_PRELOAD_PATCH_PROBE_SITES_H

#include "base/error.h"
#include "base/sys.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

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
/* Head of a block of code. Once the block may be executed, only probe_code_write() changes it. */
struct probe_block {
    void (*stub)(void);
    uintptr_t fast;    /* a function of probe_fast.h that the code calls first; 0: none */
    uint8_t bytes[16]; /* original bytes of the site */
    /* steps[i]: if an instruction begins i + 1 bytes into the site, where it begins in the copy;
     * else PROBE_NO_STEP */
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

/* Sites that cannot be patched. */
struct probe_refused {
    uint64_t count;
    uint64_t address; /* of the first one, in its image */
    char reason[96];  /* why the first one cannot */
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
/* If an instruction that a written jump has displaced begins at this address, after the first of
 * them, returns where it begins in the copy; otherwise 0. */
uintptr_t probe_inside_jump(const struct probe_sites *all, uintptr_t at);

/* Makes the groups of a table that is complete except for them. Returns false without memory. */
bool probe_make_groups(struct probe_sites *s);

/* --- a thread comes to a site: probe_trap.c by a signal, probe_jump.c by a jump --------------- */

struct probe_coming {
    const struct probe_sites *all;
    /* rows of the site; NULL: it is a return site without rows */
    const struct probe_site *first;
    struct probe_site place;
    uint64_t rax, rbx, rcx, rbp;
    uintptr_t stack; /* the stack pointer at the site */
    /* SIGTRAP is not blocked. Threads of glibc's own timers and masks of a ucontext_t may block
     * it. */
    bool may_trap;
    /* index of the counted alarm whose count has come to zero at this execution; those before it
     * have been counted; or PROBE_COUNTED_NOTHING */
    int due;
};
/* Does a function begin here, so that its return address is on top of the stack? */
bool probe_is_entry(const struct probe_coming *c);
/* Fires what stands at the site. coming: a struct probe_coming. */
void probe_fire(void *coming);

/* --- a lock that handlers may take too: probe_lock.c ------------------------------------------ */

/* Signals and cancellation are off while the lock is held. Who needs several takes them in this
 * order: table_lock (probes.c), late_lock (memory_copies_late.c), rest_lock (probe_rest.c),
 * returns_lock (probe_returns.c), that of the program's text (probe_text.c), poke_lock
 * (probe_poke.c). */
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

/* --- probes rest: probe_rest.c ---------------------------------------------------------------- */

void probe_rest_begin(void);
void probe_rest_forked(void);
/* Are the probes of this group in the program's text now? */
bool probe_group_is_in(int group);
/* If this return address has a probe of recorded functions alone, keeps it in while an alarm is
 * armed: a function with an exit alarm returns there. Returns false if that is impossible. */
bool probe_rest_keep(uintptr_t at);

#endif
