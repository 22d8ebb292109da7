/* SPDX-License-Identifier: BSD-3-Clause
 * Removes probes while nobody needs them, and puts them back.
 *
 * While no chain of any thread has an armed alarm, the probes of alarms rest: the original bytes
 * are in place, and the program runs as if it had no probes. A thread that begins, or a forked
 * child, may arm alarms again. The probes of functions that are recorded rest while no thread has
 * an open window. No thread is stopped for that (probe_poke.c); a thread that has just met an int3
 * still finds its row. Jumps that cannot be put back while others run stay: they cost little. */
#include "preload/patch/probes.h"

#include "base/log.h"
#include "base/sys.h"
#include "preload/memory/memory.h"
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/code/probe_code.h"
#include "preload/patch/probe_sites.h"
#include "preload/process.h"
#include "preload/thread.h"

#include <stdlib.h>

/* With more sites probes stay in, since to write them takes some 10 ms whenever a thread begins.
 * Probes of memory traces are removed nevertheless: outside windows nothing may be slower. */
#define PLACES_MAX 32768u

static _Atomic enum { AWAKE, DECIDING, RESTING } state;
/* Number of threads that have begun, but whose chains are not known yet (probes_thread_known()).
 * While there are any, probes of alarms stay in. The first thread counts while others run. Threads
 * that libc makes inside itself, and those of a raw clone(2), do not count. */
static _Atomic int32_t unknown_count;
/* is_counted: known_thread_begins() has run. It has not in threads of a raw clone(2), nor in those
 * that libc makes inside itself. */
static __thread struct {
    bool is_unknown : 1, is_counted : 1;
} this_thread;
/* Held while the state changes and the text is written for it. */
static struct probe_lock rest_lock;

/* Threads in windows; and whether the probes of functions are in the text, which changes under the
 * lock. */
static _Atomic int32_t open_windows;
static _Atomic bool functions_are_in;
static bool begun; /* before that, windows are only counted */

/* Functions that are recorded may return where those with exit alarms do. The reverse is rare: such
 * a site is kept in when that happens (probe_rest_keep()). */
static int group_of(const struct probe_sites *all, size_t first)
{
    bool alarms = false, functions = false;
    for (size_t i = first; i < all->count && all->rows[i].at == all->rows[first].at; i++) {
        const struct probe_site *s = &all->rows[i];
        alarms = alarms || probe_is_of_alarms(s);
        functions = functions || !probe_is_of_alarms(s) ||
                    (s->alarm == PROBE_EXITED && probe_functions_wanted());
    }
    if (!functions)
        return PROBE_OF_ALARMS;
    return alarms ? PROBE_OF_BOTH : PROBE_OF_FUNCTIONS;
}

bool probe_make_groups(struct probe_sites *all)
{
    for (int g = 0; g < PROBE_GROUPS; g++)
        all->groups[g] = (struct probe_group){.rows = NULL};
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < all->count; i++) {
            if (all->rows[i].copy == NULL || !probe_is_first(all->rows, i))
                continue;
            struct probe_group *g = &all->groups[group_of(all, i)];
            if (pass == 1)
                g->rows[g->count] = all->rows[i];
            g->count++;
        }
        for (int g = 0; g < PROBE_GROUPS && pass == 0; g++) {
            struct probe_group *to = &all->groups[g];
            to->rows = malloc((to->count + 1) * sizeof *to->rows);
            to->count = 0;
            if (to->rows == NULL)
                return false;
        }
    }
    return true;
}

static bool are_few(const struct probe_sites *all, int group)
{
    return all->groups[group].count + all->groups[PROBE_OF_BOTH].count <= PLACES_MAX;
}

bool probe_group_is_in(int group)
{
    bool functions = atomic_load(&functions_are_in), alarms = atomic_load(&state) != RESTING;
    return (group != PROBE_OF_FUNCTIONS && alarms) || (group != PROBE_OF_ALARMS && functions);
}

/* Changes sites that hold the expected bytes. Reads through the file, because an image may be
 * unloaded meanwhile. */
static void write_rows(const struct probe_site *rows, size_t count, bool rest)
{
    if (count == 0)
        return;
    probe_text_open();
    for (size_t i = 0; i < count; i++) {
        const struct probe_site *s = &rows[i];
        uint8_t now, before = rest ? PROBE_INT3 : s->byte, after = rest ? s->byte : PROBE_INT3;
        if (s->jumped == 0 && probe_text_read(s->at, &now, 1) && now == before)
            probe_text_write(s->at, &after, 1);
    }
    probe_text_flush();
    if (rest)
        probe_poke_out(rows, count);
    else
        probe_poke_in(rows, count);
    (void)!probe_text_close(); /* what could not be written stays as it was */
}

static void write_group(const struct probe_group *g, bool rest)
{
    write_rows(g->rows, g->count, rest);
}

/* Removes the sites of functions that are kept for exit alarms, or those that are not. */
static void take_out_if(const struct probe_group *g, bool kept)
{
    for (size_t i = 0, n; i < g->count; i += n) {
        bool is = probe_return_is_kept(g->rows[i].at);
        for (n = 1; i + n < g->count && probe_return_is_kept(g->rows[i + n].at) == is;)
            n++;
        if (is == kept)
            write_rows(g->rows + i, n, true);
    }
}

/* Warns once that alarms or functions are missed. */
static void tell_masked(void)
{
    static _Atomic bool told;
    if (recorder_stream.header != NULL && !atomic_exchange(&told, true))
        log_line(
            LOG_WARNING,
            "a thread that the C library has made (a timer with SIGEV_THREAD, aio) has SIGTRAP "
            "blocked: probes that were out of the text are not put back while it is there");
}

/* Writes this group, and the sites of both groups if the other group is out. */
static void write_all(const struct probe_sites *all, int group, bool rest)
{
    int other = group == PROBE_OF_ALARMS ? PROBE_OF_FUNCTIONS : PROBE_OF_ALARMS;
    if (group == PROBE_OF_FUNCTIONS && rest && probe_group_is_in(other))
        take_out_if(&all->groups[group], false);
    else
        write_group(&all->groups[group], rest);
    if (!probe_group_is_in(other))
        write_group(&all->groups[PROBE_OF_BOTH], rest);
}

void probes_thread_begins(void)
{
    known_thread_begins();
    this_thread.is_counted = true;
    if (!code_is_patched)
        return;
    this_thread.is_unknown = true;
    atomic_fetch_add(&unknown_count, 1);
}

void probes_thread_known(void)
{
    if (this_thread.is_unknown)
        atomic_fetch_sub(&unknown_count, 1);
    this_thread.is_unknown = false;
}

void probes_thread_gone(void)
{
    const struct stream_header *h = recorder_stream.header;
    if (this_thread.is_counted)
        known_thread_ends();
    this_thread.is_counted = false;
    if (!this_thread.is_unknown)
        return;
    probes_thread_known();
    if (h != NULL && atomic_load(&h->status_armed) == 0)
        probes_rest();
}

void probes_rest(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!code_is_patched || all == NULL || atomic_load(&state) == RESTING ||
        !are_few(all, PROBE_OF_ALARMS) || atomic_load(&unknown_count) != 0)
        return;
    _Atomic uint32_t armed = 0;
    struct probe_locked locked = probe_lock(&rest_lock);
    if (atomic_load(&state) == AWAKE) {
        /* In this order: a thread that begins arms its alarms, then checks whether probes rest, and
         * waits while we decide. */
        atomic_store(&state, DECIDING);
        ctl_chains_armed(process.shared, &armed);
        if (armed == 0 && !probe_threads_allow_poke())
            armed = 1; /* treat it as armed */
        if (armed == 0) {
            write_all(probe_sites_now(), PROBE_OF_ALARMS, true);
            if (!atomic_load(&functions_are_in)) {
                take_out_if(&probe_sites_now()->groups[PROBE_OF_FUNCTIONS], true);
                probe_returns_rest();
            }
        }
        atomic_store(&state, armed == 0 ? RESTING : AWAKE);
    }
    probe_unlock(&rest_lock, locked);
}

void probes_wake(void)
{
    if (atomic_load(&state) == AWAKE)
        return;
    struct probe_locked locked = probe_lock(&rest_lock);
    if (atomic_load(&state) == RESTING && !probe_threads_allow_poke()) {
        tell_masked();
    } else if (atomic_load(&state) == RESTING) {
        /* Return sites are patched when their functions are entered. */
        write_all(probe_sites_now(), PROBE_OF_ALARMS, false);
        atomic_store(&state, AWAKE);
    }
    probe_unlock(&rest_lock, locked);
}

bool probe_rest_keep(uintptr_t at)
{
    const struct probe_sites *all = probe_sites_now();
    const struct probe_site *s = probe_return_site(all, at);
    if (s == NULL || s->copy == NULL ||
        group_of(all, (size_t)(s - all->rows)) != PROBE_OF_FUNCTIONS)
        return true;
    const volatile uint8_t *now = (const uint8_t *)s->at; /* NOLINT: the thread returns there */
    if (probe_return_is_kept(s->at) && *now != s->byte)
        return true;
    struct probe_locked locked = probe_lock(&rest_lock);
    bool kept = probe_threads_allow_poke() && probe_return_keep(s->at);
    if (kept && *now == s->byte)
        write_rows(s, 1, false);
    probe_unlock(&rest_lock, locked);
    return kept;
}

void probe_rest_begin(void)
{
    begun = true;
    atomic_store(&functions_are_in, atomic_load(&open_windows) != 0);
}

static bool come_with_windows(void)
{
    return probe_functions_wanted() || memory_is_traced;
}

/* Threads that open windows at the same time wait until the probes are in. */
static void put_in(void)
{
    if (!code_is_patched || !come_with_windows())
        return;
    atomic_fetch_add(&open_windows, 1);
    if (!begun || atomic_load(&functions_are_in))
        return;
    struct probe_locked locked = probe_lock(&rest_lock);
    if (!atomic_load(&functions_are_in) && !probe_threads_allow_poke()) {
        tell_masked();
    } else if (!atomic_load(&functions_are_in)) {
        write_all(probe_sites_now(), PROBE_OF_FUNCTIONS, false);
        atomic_store(&functions_are_in, true);
    }
    probe_unlock(&rest_lock, locked);
}

static void take_out(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!code_is_patched || !come_with_windows() || atomic_fetch_sub(&open_windows, 1) > 1 ||
        !begun || (!memory_is_traced && !are_few(all, PROBE_OF_FUNCTIONS)))
        return;
    struct probe_locked locked = probe_lock(&rest_lock);
    if (atomic_load(&functions_are_in) && probe_threads_allow_poke()) {
        /* In this order: a thread that opens a window counts it, then checks whether the probes are
         * in, and waits for us if they are not. */
        atomic_store(&functions_are_in, false);
        if (atomic_load(&open_windows) != 0) {
            atomic_store(&functions_are_in, true);
        } else {
            write_all(probe_sites_now(), PROBE_OF_FUNCTIONS, true);
            if (!ctl_config_uses(process.config, CTL_EXIT_FUNC) || atomic_load(&state) == RESTING)
                probe_returns_rest();
        }
    }
    probe_unlock(&rest_lock, locked);
}

/* Patching thousands of places takes milliseconds, which count as our own time, outside the
 * window. */
static void timed(struct recorder_thread *t, void (*change)(void))
{
    uint64_t began = clock_ticks();
    change();
    recorder_count_own_time(t, began);
}

void probes_window_prepare(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    timed(t, put_in);
}

void probes_window_closed(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    timed(t, take_out);
}

void probe_rest_forked(void)
{
    atomic_store(&open_windows, 0); /* the child opens them again */
    probe_text_forked();
    known_threads_forked();
    probe_lock_free(&rest_lock);
    /* A thread that is not here was writing: all is written again when probes wake. */
    if (atomic_load(&state) == DECIDING)
        atomic_store(&state, RESTING);
    atomic_store(&unknown_count, 1);
    this_thread.is_unknown = this_thread.is_counted = true;
}
