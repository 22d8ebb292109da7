/* SPDX-License-Identifier: BSD-3-Clause
 * While no chain has anything armed in any thread, probes of alarms rest: what stood there is there again, and the program runs as if
 * bare. A thread that begins, or a forked child, may arm them anew. Those of functions that are recorded rest while no window is open in
 * any thread. Nobody is stopped for it (probe_poke.c); who has met an int3 just before still finds its row. Jumps that could not be
 * put back while others run stay: they cost little. */
#include "preload/patch/probes.h"

#include "base/log.h"
#include "base/sys.h"
#include "preload/patch/probe_sites.h"

#include <stdlib.h>

/* More are not worth the time each time that a thread begins, some 10 ms; for memory traces they are: outside windows nothing is to be slower. */
#define PLACES_MAX 32768u

static _Atomic enum { AWAKE, DECIDING, RESTING } state;
/* Threads that have not come to anything yet: they have all chains before them (the first one, while others run). Threads that
 * libc makes inside itself, and those of a raw clone, are not among them. */
static _Atomic int32_t unknown_count;
static __thread bool is_unknown;
/* Taken with all signals blocked. */
static struct probe_lock changing;

/* Threads in windows; and whether functions have their probes, which is changed under the lock. */
static _Atomic int32_t open_windows;
static _Atomic bool functions_are_in;
static bool begun; /* before, windows are counted alone */

static int group_of(const struct probe_sites *all, size_t first)
{
    /* Whoever returns there. */
    const bool shared = probe_functions_wanted() && ctl_config_uses(process.config, CTL_EXIT_FUNC);
    bool alarms = false, functions = false;
    for (size_t i = first; i < all->count && all->rows[i].at == all->rows[first].at; i++) {
        const struct probe_site *s = &all->rows[i];
        bool both = shared && (s->alarm == PROBE_EXITED || s->alarm == PROBE_RETURNED);
        alarms = alarms || both || probe_is_of_alarms(s);
        functions = functions || both || !probe_is_of_alarms(s);
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

/* Places that hold what they should by now are changed; by the file, since an image may go meanwhile. */
static void write_group(const struct probe_group *g, bool rest)
{
    if (g->count == 0)
        return;
    probe_text_open();
    for (size_t i = 0; i < g->count; i++) {
        const struct probe_site *s = &g->rows[i];
        uint8_t now, before = rest ? PROBE_INT3 : s->byte, after = rest ? s->byte : PROBE_INT3;
        if (s->jumped == 0 && probe_text_read(s->at, &now, 1) && now == before)
            probe_text_write(s->at, &after, 1);
    }
    probe_text_flush();
    if (rest)
        probe_poke_out(g->rows, g->count);
    else
        probe_poke_in(g->rows, g->count);
    (void)!probe_text_close(); /* what could not be written is as it was */
}

/* Said once: alarms or functions are missed. */
static void tell_masked(void)
{
    static _Atomic bool told;
    if (recorder_stream.header != NULL && !atomic_exchange(&told, true))
        log_line(
            LOG_WARNING,
            "a thread that the C library has made (a timer with SIGEV_THREAD, aio) has SIGTRAP "
            "blocked: probes that were out of the text are not put back while it is there");
}

/* This group, and what is of both where the other one is out. */
static void write_all(const struct probe_sites *all, int group, bool rest)
{
    int other = group == PROBE_OF_ALARMS ? PROBE_OF_FUNCTIONS : PROBE_OF_ALARMS;
    write_group(&all->groups[group], rest);
    if (!probe_group_is_in(other))
        write_group(&all->groups[PROBE_OF_BOTH], rest);
}

void probes_thread_made(void)
{
    if (process.probes)
        probe_thread_made();
}

void probes_thread_never_came(void)
{
    if (process.probes)
        probe_thread_never_came();
}

void probes_thread_begins(void)
{
    if (!process.probes)
        return;
    probe_thread_comes();
    is_unknown = true;
    atomic_fetch_add(&unknown_count, 1);
}

void probes_thread_known(void)
{
    if (is_unknown)
        atomic_fetch_sub(&unknown_count, 1);
    is_unknown = false;
}

void probes_thread_gone(void)
{
    const struct stream_header *h = recorder_stream.header;
    if (process.probes)
        probe_thread_goes();
    if (!is_unknown)
        return;
    probes_thread_known();
    if (h != NULL && atomic_load(&h->status_armed) == 0)
        probes_rest();
}

void probes_rest(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!process.probes || all == NULL || atomic_load(&state) == RESTING ||
        !are_few(all, PROBE_OF_ALARMS) || atomic_load(&unknown_count) != 0)
        return;
    _Atomic uint32_t armed = 0;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&state) == AWAKE) {
        /* In this order: a thread that begins is armed, then looks whether probes rest, and waits while that is decided. */
        atomic_store(&state, DECIDING);
        ctl_chains_armed(process.shared, &armed);
        if (armed == 0 && !probe_may_poke())
            armed = 1; /* as if */
        if (armed == 0) {
            write_all(probe_sites_now(), PROBE_OF_ALARMS, true);
            if (!atomic_load(&functions_are_in))
                probe_returns_rest();
        }
        atomic_store(&state, armed == 0 ? RESTING : AWAKE);
    }
    probe_unlock(&changing, locked);
}

void probes_wake(void)
{
    if (atomic_load(&state) == AWAKE)
        return;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&state) == RESTING && !probe_may_poke()) {
        tell_masked();
    } else if (atomic_load(&state) == RESTING) {
        /* where functions return to: when they are entered */
        write_all(probe_sites_now(), PROBE_OF_ALARMS, false);
        atomic_store(&state, AWAKE);
    }
    probe_unlock(&changing, locked);
}

void probe_rest_begin(void)
{
    begun = true;
    atomic_store(&functions_are_in, atomic_load(&open_windows) != 0);
}

static bool come_with_windows(void)
{
    return probe_functions_wanted() || process.memory;
}

/* Threads that open windows together go on when it is done. */
void probe_window_opened(void)
{
    if (!process.probes || !come_with_windows())
        return;
    atomic_fetch_add(&open_windows, 1);
    if (!begun || atomic_load(&functions_are_in))
        return;
    struct probe_locked locked = probe_lock(&changing);
    if (!atomic_load(&functions_are_in) && !probe_may_poke()) {
        tell_masked();
    } else if (!atomic_load(&functions_are_in)) {
        write_all(probe_sites_now(), PROBE_OF_FUNCTIONS, false);
        atomic_store(&functions_are_in, true);
    }
    probe_unlock(&changing, locked);
}

void probe_window_closed(void)
{
    const struct probe_sites *all = probe_sites_now();
    if (!process.probes || !come_with_windows() || atomic_fetch_sub(&open_windows, 1) > 1 ||
        !begun || (!process.memory && !are_few(all, PROBE_OF_FUNCTIONS)))
        return;
    struct probe_locked locked = probe_lock(&changing);
    if (atomic_load(&functions_are_in) && probe_may_poke()) {
        /* In this order: who opens a window counts it, then looks whether they are in, and waits for us if not. */
        atomic_store(&functions_are_in, false);
        if (atomic_load(&open_windows) != 0) {
            atomic_store(&functions_are_in, true);
        } else {
            write_all(probe_sites_now(), PROBE_OF_FUNCTIONS, true);
            if (!ctl_config_uses(process.config, CTL_EXIT_FUNC) || atomic_load(&state) == RESTING)
                probe_returns_rest();
        }
    }
    probe_unlock(&changing, locked);
}

void probe_rest_forked(void)
{
    atomic_store(&open_windows, 0); /* they are opened again */
    probe_threads_forked();
    probe_lock_free(&changing);
    if (atomic_load(&state) == DECIDING)
        atomic_store(&state,
                     RESTING); /* by a thread that is not here, half: written again when it wakes */
    atomic_store(&unknown_count, 1);
    is_unknown = true;
}
