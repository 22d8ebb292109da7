/* SPDX-License-Identifier: BSD-3-Clause
 * Private to the automaton: its states, and the rules of who may change what.
 *
 * There are three kinds of change:
 * - a decrement of thread->left: by the owning thread, atomic against its own signal handlers
 * - a local transition (the firing concerns this thread alone): by the owning thread with all
 *   signals blocked
 * - a shared transition (bcast, global, uniform, or the next alarm is for all): under shared->lock
 *   with all signals blocked
 *
 * A shared transition writes the chain's state for all threads, with a new sequence number, and
 * advances shared->epoch. Other threads adopt it when they see the epoch (thread_adopt), before
 * they judge an execution. A thread that prepares a shared transition takes the lock, adopts first,
 * and goes on only if its alarm is still armed: so exactly one thread fires an alarm that all
 * share. */
#ifndef REGTRACE_CONTROLLER_AUTOMATON_STATE_H
#define REGTRACE_CONTROLLER_AUTOMATON_STATE_H

#include "base/spin.h"
#include "controller/language/language.h"

/* Places of a chain other than an alarm. */
#define PLACE_WAITING 0xffff  /* waits for another chain */
#define PLACE_FINISHED 0xfffe /* all passes are over */
#define PLACE_IDLE 0xfffd     /* a global alarm fired elsewhere, and only that thread went on */
#define PLACE_ABSENT 0xfffc   /* this thread takes no part in the chain */
#define PLACE_MAX 0xfff0

#define NO_CHAIN 0xffff
#define BACKLOG_MAX 65536u /* most edges that one hit fires at once */

/* State of a chain for new threads; changed under the lock. */
struct shared_chain {
    uint64_t sequence; /* number of the last shared transition */
    uint64_t pass;
    uint64_t phase;
    /* tid + 1 of the thread that goes on alone after a global alarm, while others are idle; 0: all
     * are at `place`. */
    uint64_t owner;
    uint16_t place;
};

/* A global alarm's counter, in a cache line of its own. */
struct global_counter {
    int64_t left;
    char padding[CTL_ALIGNMENT - sizeof(int64_t)];
};

/* The whole shared state; struct ctl_shared is its head. */
struct shared_state {
    struct ctl_shared head;
    /* All threads read the epoch at each hit: no other data shares its cache line. */
    char head_padding[CTL_ALIGNMENT - sizeof(struct ctl_shared)];
    spin_lock lock;
    const struct ctl_config *config;
    struct ctl_callbacks callbacks;
    void *context;
    struct thread_state *threads; /* list of living threads; under the lock */
    uint64_t backlogs_cut;
    struct shared_chain *chains;
    uint64_t *fired;        /* by alarm, atomic */
    uint64_t *reached;      /* by alarm: best progress of ended threads; under the lock */
    uint16_t *global_index; /* by alarm: its counter; NO_CHAIN if not global */
    uint16_t *first_waiter; /* by chain: a chain that waits for it, or NO_CHAIN */
    uint16_t *next_waiter;  /* by chain: the next one that waits for the same */
    uint8_t *armed;         /* by alarm, atomic: it was armed at some time */
    struct global_counter *counters;
};

struct thread_chain {
    uint64_t sequence; /* number of the last adopted transition */
    uint64_t pass, phase;
    uint64_t base;      /* icount that the armed alarm counts from */
    uint64_t requested; /* base + distance; CTL_UNKNOWN if unknown or not an icount */
    /* The thread's execution that armed the alarm or that the alarm has counted; it does not count
     * (again). */
    uint64_t execution;
    uint32_t generation;
    uint16_t place; /* atomic: other threads may read it */
    /* Alarm of the last on_arm, for which on_disarm is due; CTL_NO_ALARM: none. */
    uint16_t announced;
    uint16_t next_dirty;
    bool dirty;
    bool pending_arm; /* on_arm is due */
};

struct thread_state {
    struct ctl_thread head;
    struct thread_state *next; /* under the lock */
    uint64_t execution;
    uint32_t tid;
    uint16_t first_dirty;
    bool wake_others; /* on_sync_needed is due */
    struct thread_chain *chains;
    int64_t left[]; /* by alarm; `chains` follow */
};

static inline struct shared_state *shared_of(struct ctl_shared *shared)
{
    return (struct shared_state *)(void *)shared;
}

static inline struct thread_state *state_of(struct ctl_thread *thread)
{
    return (struct thread_state *)(void *)thread;
}

static inline struct shared_state *state_shared(const struct thread_state *thread)
{
    return (struct shared_state *)(void *)thread->head.shared;
}

/* ---- transition.c: call all with signals blocked ---- */

static inline const struct ctl_alarm *alarm_at(const struct shared_state *shared, unsigned alarm)
{
    return &shared->config->alarms[alarm];
}

/* icount, timeout and uniform are reported by ctl_expire() or ctl_advance(), never as an
 * execution. */
static inline bool alarm_is_machinery(const struct ctl_alarm *alarm)
{
    return alarm->type == CTL_ICOUNT || alarm->type == CTL_TIMEOUT || alarm->type == CTL_UNIFORM;
}

/* Returns the alarm at the chain's place in this thread, or NULL. */
const struct ctl_alarm *chain_alarm(const struct thread_state *thread, unsigned chain);
/* Returns whether a firing of the chain's armed alarm changes other threads' state and so needs the
 * lock. */
bool chain_fires_shared(const struct thread_state *thread, unsigned chain);
/* Returns the shared counter of a global alarm. */
int64_t *global_counter(struct shared_state *shared, unsigned alarm);
/* Adopts what other threads' shared transitions changed. Needs the lock. */
void thread_adopt(struct thread_state *thread, uint64_t icount);
/* The same, if anything changed; takes the lock itself. */
void thread_catch_up(struct thread_state *thread, uint64_t icount);
/* Fires the armed alarm of the chain: event, then the next place, for this thread or for all. Also
 * fires a uniform's edge that is due at the same instant. Needs the lock if
 * chain_fires_shared(). */
void chain_fire(struct thread_state *thread, unsigned chain, const struct ctl_moment *moment,
                bool late);
/* Puts the chain at a place in this thread. `seen`: the new alarm may count the current
 * execution. */
void chain_place(struct thread_state *thread, unsigned chain, uint16_t place, uint64_t base,
                 bool seen);
/* Fires what is already past; calls on_arm and on_disarm for what changed, and on_sync_needed. Call
 * it without the lock. */
void thread_settle(struct thread_state *thread, const struct ctl_moment *moment);
void chain_mark_dirty(struct thread_state *thread, unsigned chain);

#endif
