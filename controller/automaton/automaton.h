/* SPDX-License-Identifier: BSD-3-Clause
 * The automaton that runs the chains in each thread.
 *
 * It runs in signal handlers and probes. It allocates nothing, calls nothing of libc but raw system
 * calls, and knows no clock and no counter: triggers call it, and it calls back. Included by
 * controller/controller.h. */
#ifndef REGTRACE_CONTROLLER_AUTOMATON_AUTOMATON_H
#define REGTRACE_CONTROLLER_AUTOMATON_AUTOMATON_H

#include "controller/chains.h"

/* ---- The automaton ---- */
/* A chain has one place in each thread: the alarm that is armed there (at most one), or none. It
 * has none if it waits for another chain, if it is finished, or if a global alarm fired elsewhere
 * and only the thread that fired it goes on. Rules that Intel SDE's controller does not have:
 * - A bcast alarm that fires moves every thread to the place after it, wherever the thread is in
 *   that chain. So it fires once a pass.
 * - Arming a global alarm or a uniform arms it for every thread, whichever thread armed it.
 * - If a global alarm without bcast is followed by an alarm that is not global, only the thread
 *   that fired it goes on. In the others the chain has nothing armed until it comes to a global,
 *   bcast or uniform transition again.
 * - A helper thread (ctl_is_helper()) takes part in a chain only if an alarm of that chain names
 *   its tid. It gets no default start.
 * - A count on icount or timeout multiplies the distance.
 *
 * Memory: the caller provides ctl_shared_size() bytes once and ctl_thread_size() bytes a thread,
 * aligned to CTL_ALIGNMENT. Nothing inside needs to be freed. Thread memory may be reused after
 * ctl_thread_exit(). */
#define CTL_ALIGNMENT 64

struct ctl_shared;
struct ctl_thread;

/* Time and place of a firing, passed to on_fire. icount: absolute user instructions of this thread,
 * or CTL_UNKNOWN; the automaton compares it with icount alarms to find those that are already
 * past. */
struct ctl_moment {
    uint64_t icount;
    uint64_t clock;
    uintptr_t ip;
};

struct ctl_fired {
    uint16_t alarm; /* CTL_NO_ALARM: the default start */
    uint16_t chain; /* CTL_NO_ALARM: the default start */
    uint8_t event;  /* enum ctl_event; those of a uniform alternate */
    bool bcast;     /* for all threads (uniform: always) */
    /* Fired at once: the requested count was already past when the alarm was armed. */
    bool late;
    bool precond; /* opens nothing */
    bool default_start;
    uint32_t tid;   /* the thread that fired */
    uint64_t pass;  /* pass of the chain, from 0 */
    uint64_t phase; /* uniform: 2 x window + (0 start, 1 stop); else 0 */
    /* Absolute icount of this thread; CTL_UNKNOWN if none was requested. Global icount: the
     * thread's icount when the sum was reached. */
    uint64_t requested;
    struct ctl_moment moment;
};

/* For alarms that a counter or a timer detects: icount, timeout, uniform. */
struct ctl_arming {
    uint16_t alarm;
    uint32_t generation; /* pass it to ctl_expire(), which ignores an older one */
    uint64_t distance;   /* from base: instructions, or nanoseconds for a timeout */
    /* icount, uniform: absolute icount of this thread to count from; CTL_UNKNOWN: from now.
     * timeout: CTL_UNKNOWN. */
    uint64_t base;
    /* One count over all threads: report progress with ctl_advance(). `distance` is the rest. */
    bool global;
    /* The alarm closes windows. At equal counts, such alarms must expire first, then the others by
     * alarm index, which is the order of the chains. */
    bool closes;
};

/* Callbacks run with every signal blocked, on the thread concerned, and must be async-signal-safe.
 * They must not call the automaton. Any may be NULL. */
struct ctl_callbacks {
    /* An alarm fired. For bcast, global and uniform edges the caller holds the automaton's lock, so
     * that another thread sees a start before its stop: be brief. */
    void (*on_fire)(void *context, const struct ctl_fired *fired);
    /* An alarm was armed in this thread. Returns the absolute icount that it counts from (base if
     * known, else the count now), or CTL_UNKNOWN. Not under the lock. */
    uint64_t (*on_arm)(void *context, uint32_t tid, const struct ctl_arming *arming);
    /* An alarm was disarmed in this thread without having fired here. Not under the lock. */
    void (*on_disarm)(void *context, uint32_t tid, uint16_t alarm);
    /* icount, timeout or uniform alarms were armed for all threads: make the others call
     * ctl_sync(). Not under the lock. */
    void (*on_sync_needed)(void *context);
};

size_t ctl_shared_size(const struct ctl_config *config);
/* Initializes the shared state in `memory` and returns it. The config must outlive it. Copies the
 * callbacks. */
struct ctl_shared *ctl_shared_init(const struct ctl_config *config, void *memory,
                                   const struct ctl_callbacks *callbacks, void *context);

size_t ctl_thread_size(const struct ctl_config *config);
/* Call it on the new thread, before the thread's first instruction of the program. Fires the
 * default start and arms what new threads get. May fire a uniform's first window or an icount of
 * 0. */
struct ctl_thread *ctl_thread_init(struct ctl_shared *shared, void *memory, uint32_t tid,
                                   const struct ctl_moment *moment);
/* Call it on the ending thread, or when the thread is known to be gone. Calls no callback. */
void ctl_thread_exit(struct ctl_thread *thread);

/* Adopts what other threads' firings changed; cheap if they changed nothing. Call it on the thread,
 * in a handler or anywhere. */
void ctl_sync(struct ctl_thread *thread, const struct ctl_moment *moment);

/* The counter or timer of an icount, timeout or uniform reports that the distance is over. Ignored
 * unless `generation` is that of the present arming. After a REP instruction or skid, the moment's
 * icount tells where the thread really is. */
void ctl_expire(struct ctl_thread *thread, uint16_t alarm, uint32_t generation,
                const struct ctl_moment *moment);

/* This thread has executed `instructions` more towards the global icount that is armed in the chain
 * of `alarm`. (Another thread may have fired `alarm` itself meanwhile; nothing is lost.) Returns
 * the rest over all threads; 0: it fired, or no global icount is armed in the chain. The next
 * global icount of the chain starts from the overshoot, so there is no drift. */
uint64_t ctl_advance(struct ctl_thread *thread, uint16_t alarm, uint64_t instructions,
                     const struct ctl_moment *moment);

/* Call them around fork. ctl_fork_prepare() takes the automaton's lock and blocks signals, so that
 * the child gets consistent state; the other two release. The child continues with the calling
 * thread alone, in its state (this project's rule: its chains do not start anew). Counters and
 * timers do not survive a fork, so the child gets on_arm again for what is armed. `thread` may be
 * NULL for a thread that regtrace does not know. Not for vfork. */
void ctl_fork_prepare(struct ctl_shared *shared, uint64_t *saved_mask);
void ctl_fork_parent(struct ctl_shared *shared, const uint64_t *saved_mask);
void ctl_fork_child(struct ctl_shared *shared, struct ctl_thread *thread,
                    const uint64_t *saved_mask, const struct ctl_moment *moment);
/* For a child without ctl_fork_prepare() before it: releases the lock, even if another thread held
 * it, then acts as ctl_fork_child(). */
void ctl_after_fork(struct ctl_shared *shared, struct ctl_thread *thread,
                    const struct ctl_moment *moment);

/* Returns the alarm of a chain that is armed in a thread, or CTL_NO_ALARM. Any thread may ask; the
 * answer is a snapshot. */
uint16_t ctl_thread_armed(const struct ctl_thread *thread, unsigned chain);
/* Returns true if no alarm can fire in this thread any more, whatever other threads do; false if
 * that cannot be told cheaply. Call it on the thread itself. */
bool ctl_thread_is_over(const struct ctl_thread *thread);
/* Stores how many chains have an alarm armed in at least one living thread. Stores it under the
 * lock: if two threads ask at once, the later count stays. Not from a callback. */
void ctl_chains_armed(struct ctl_shared *shared, _Atomic uint32_t *count);
uint32_t ctl_thread_tid(const struct ctl_thread *thread);
/* Returns how often an alarm has fired, over all threads; for a uniform, its edges. */
uint64_t ctl_alarm_fired(const struct ctl_shared *shared, uint16_t alarm);
/* Returns how often a backlog of past icounts was cut because one hit would have fired more than
 * 65536 edges at once. The chain then counts from the actual icount. */
uint64_t ctl_backlogs_cut(const struct ctl_shared *shared);

/* Why an alarm never fired. */
enum ctl_unfired {
    /* The alarm before it never fired, or the chain that it waits for never ended. */
    CTL_NEVER_ARMED,
    /* Armed, but no matching execution: unresolved symbol, image never loaded, ... */
    CTL_NEVER_HIT,
    CTL_COUNT_SHORT, /* `reached` executions of `count` */
    CTL_OTHER_RANK   /* its rank list excludes this rank */
};
typedef void ctl_unfired_function(void *context, const struct ctl_alarm *alarm,
                                  enum ctl_unfired why, uint64_t reached);
/* At the end of the run: calls back for each alarm that never fired. `reached` is the best of any
 * thread, or the global count. Holds the lock; the callback may print. */
void ctl_never_fired(struct ctl_shared *shared, ctl_unfired_function *callback, void *context);

/* ---- The hot path ---- */
/* Each alarm has a counter of the executions that are left:
 * - below CTL_LEFT_LIVE: armed; fires when the counter comes to 0
 * - CTL_LEFT_GLOBAL: armed; the count is in the shared state
 * - CTL_LEFT_PARKED_MIN and above: not armed. Code may decrement it freely, since 2^61 executions
 *   never happen.
 *
 * So the block of a place with one alarm that is not global need not check whether it is armed:
 *
 *     mov  epoch_at(shared), tmp        # ctl_shared_epoch(shared), an absolute address
 *     cmp  tmp, thread->epoch           # CTL_THREAD_EPOCH_OFFSET
 *     jne  slow_stale                   # ctl_hit(thread, &alarm, 1, moment)
 *     decq ctl_left_offset(alarm)(thread)
 *     jle  slow_due                     # ctl_hit_due(thread, &alarm, 1, moment, 0)
 *
 * For several such alarms, of different chains, it has one decq and one jle each. */
#define CTL_LEFT_LIVE ((int64_t)1 << 60)
#define CTL_LEFT_GLOBAL ((int64_t)3 << 59)
#define CTL_LEFT_PARKED_MIN ((int64_t)1 << 61)
#define CTL_LEFT_PARKED ((int64_t)1 << 62)

/* Heads of the two states, visible only for the inline functions. */
struct ctl_shared {
    uint64_t epoch; /* changes with each firing that changes other threads' state; atomic */
};
struct ctl_thread {
    uint64_t epoch; /* the epoch that it has adopted; only its own thread writes it */
    struct ctl_shared *shared;
    int64_t *left; /* by alarm index; in the thread's memory, at ctl_left_offset() */
};
#define CTL_THREAD_EPOCH_OFFSET 0

static inline const uint64_t *ctl_shared_epoch(const struct ctl_shared *shared)
{
    return &shared->epoch;
}

/* Returns the offset in bytes of an alarm's counter in struct ctl_thread; the same for every
 * thread. */
size_t ctl_left_offset(uint16_t alarm);

/* Handles everything but a plain decrement. Bit masks by index in `alarms`: `counted` alarms were
 * decremented and are not due; `claimed` alarms were decremented to 0 or below. Both 0: nothing has
 * been decremented yet. */
void ctl_hit_slow(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                  const struct ctl_moment *moment, uint64_t counted, uint64_t claimed) RT_COLD;
/* For a place whose code decrements by itself: alarms[due] has come to 0 or below, those before it
 * were decremented and are not due, those after it have not been decremented yet. */
void ctl_hit_due(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                 const struct ctl_moment *moment, unsigned due) RT_COLD;
/* ctl_hit for a place of several alarms. */
void ctl_hit_several(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                     const struct ctl_moment *moment);
/* Decrements a global alarm's counter atomically and returns the new value. */
int64_t ctl_global_decrement(struct ctl_shared *shared, uint16_t alarm);

/* Decrements in one instruction, as this thread and its signal handlers see it. No other thread
 * writes the counter. */
static inline int64_t ctl_left_decrement(int64_t *left)
{
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
    int64_t value = -1;
    __asm__ volatile("xaddq %0, %1" : "+r"(value), "+m"(*left) : : "cc", "memory");
    return value - 1;
#else
    return __atomic_sub_fetch(left, 1, __ATOMIC_RELAXED);
#endif
}

/* One execution at one place, which matches these alarms, of any type but icount, timeout and
 * uniform. Alarms that a firing arms do not see this execution (this project's rule; in Pin they
 * do). Safe in a handler that interrupts any function of the automaton, or ctl_hit() itself, on the
 * same thread. */
static inline void ctl_hit(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                           const struct ctl_moment *moment)
{
    if (RT_UNLIKELY(__atomic_load_n(&thread->shared->epoch, __ATOMIC_ACQUIRE) !=
                    __atomic_load_n(&thread->epoch, __ATOMIC_RELAXED))) {
        ctl_hit_slow(thread, alarms, count, moment, 0, 0);
        return;
    }
    if (RT_UNLIKELY(count != 1)) {
        ctl_hit_several(thread, alarms, count, moment);
        return;
    }
    int64_t *left = &thread->left[alarms[0]];
    int64_t value = __atomic_load_n(left, __ATOMIC_RELAXED);
    if (value >= CTL_LEFT_PARKED_MIN)
        return;
    value = value < CTL_LEFT_LIVE ? ctl_left_decrement(left)
                                  : ctl_global_decrement(thread->shared, alarms[0]);
    if (RT_UNLIKELY(value <= 0 || value >= CTL_LEFT_LIVE))
        ctl_hit_slow(thread, alarms, 1, moment, 0, value <= 0);
}

#endif
