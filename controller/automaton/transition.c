/* SPDX-License-Identifier: BSD-3-Clause
 * Moves a chain when its alarm fires, in one thread or in all: the rules of Intel SDE's controller
 * (Pin's InstLib control_manager) and of controller.h. */
#include "controller/automaton/state.h"

/* Result of a firing. */
struct step {
    uint64_t pass, phase;
    uint16_t place;
    bool all;       /* every thread goes there */
    bool publishes; /* other threads' place in this chain changes */
    bool shared;    /* other threads' state changes, maybe only in a waiting chain */
};

static const struct ctl_chain *chain_at(const struct shared_state *shared, unsigned chain)
{
    return &shared->config->chains[chain];
}

/* Arming such an alarm arms it for all threads. */
static bool alarm_is_for_all(const struct ctl_alarm *alarm)
{
    return alarm->global || alarm->type == CTL_UNIFORM;
}

const struct ctl_alarm *chain_alarm(const struct thread_state *thread, unsigned chain)
{
    const struct shared_state *shared = state_shared(thread);
    const struct thread_chain *state = &thread->chains[chain];
    return state->place < PLACE_MAX
               ? alarm_at(shared, chain_at(shared, chain)->first_alarm + (unsigned)state->place)
               : NULL;
}

int64_t *global_counter(struct shared_state *shared, unsigned alarm)
{
    return &shared->counters[shared->global_index[alarm]].left;
}

static void step_waiters(const struct shared_state *shared, unsigned chain, struct step *step)
{
    for (unsigned w = shared->first_waiter[chain]; w != NO_CHAIN; w = shared->next_waiter[w]) {
        if (step->all || alarm_is_for_all(alarm_at(shared, chain_at(shared, w)->first_alarm)))
            step->shared = true;
    }
}

static struct step step_after(const struct thread_state *thread, unsigned chain,
                              const struct ctl_alarm *alarm)
{
    const struct shared_state *shared = state_shared(thread);
    const struct thread_chain *state = &thread->chains[chain];
    const struct ctl_chain *definition = chain_at(shared, chain);
    struct step step = {.pass = state->pass, .place = state->place};
    if (alarm->type == CTL_UNIFORM && state->phase + 1 < 2 * alarm->count)
        step.phase = state->phase + 1;
    else if (state->place + 1 < definition->alarm_count)
        step.place = (uint16_t)(state->place + 1);
    else if (definition->repeat == CTL_ENDLESS || state->pass + 1 < definition->repeat) {
        step.place = 0;
        step.pass = state->pass + 1;
    } else
        step.place = PLACE_FINISHED;
    step.all = alarm->bcast || alarm->type == CTL_UNIFORM;
    if (step.place == PLACE_FINISHED)
        step.all = step.all || alarm->global;
    else
        step.all =
            step.all ||
            alarm_is_for_all(alarm_at(shared, definition->first_alarm + (unsigned)step.place));
    step.publishes = step.shared = step.all || alarm->global;
    if (step.place == PLACE_FINISHED)
        step_waiters(shared, chain, &step);
    return step;
}

bool chain_fires_shared(const struct thread_state *thread, unsigned chain)
{
    return step_after(thread, chain, chain_alarm(thread, chain)).shared;
}

/* ---- Places ---- */

static uint64_t uniform_distance(const struct ctl_alarm *alarm, uint64_t phase)
{
    if (phase == 0)
        return 0;
    return phase % 2 != 0 ? alarm->second : alarm->number - alarm->second;
}

static uint64_t alarm_distance(const struct ctl_alarm *alarm, uint64_t phase)
{
    return alarm->type == CTL_UNIFORM ? uniform_distance(alarm, phase) : alarm->distance;
}

static uint64_t saturating_add(uint64_t a, uint64_t b)
{
    uint64_t sum;
    if (a == CTL_UNKNOWN)
        return CTL_UNKNOWN;
    /* CTL_UNKNOWN - 1: known, but never reached. */
    return __builtin_add_overflow(a, b, &sum) || sum == CTL_UNKNOWN ? CTL_UNKNOWN - 1 : sum;
}

/* Counts of 2^60 and more are cut: no program reaches them. */
static int64_t left_of(uint64_t count)
{
    return count < (uint64_t)CTL_LEFT_LIVE ? (int64_t)count : CTL_LEFT_LIVE - 1;
}

void chain_mark_dirty(struct thread_state *thread, unsigned chain)
{
    struct thread_chain *state = &thread->chains[chain];
    if (state->dirty)
        return;
    state->dirty = true;
    state->next_dirty = thread->first_dirty;
    thread->first_dirty = (uint16_t)chain;
}

static void left_set(struct thread_state *thread, const struct ctl_alarm *alarm, int64_t value)
{
    __atomic_store_n(&thread->left[alarm->index], value, __ATOMIC_RELAXED);
}

void chain_place(struct thread_state *thread, unsigned chain, uint16_t place, uint64_t base,
                 bool seen)
{
    struct shared_state *shared = state_shared(thread);
    struct thread_chain *state = &thread->chains[chain];
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    if (alarm != NULL)
        left_set(thread, alarm, CTL_LEFT_PARKED);
    __atomic_store_n(&state->place, place, __ATOMIC_RELAXED);
    state->generation++;
    if (!seen)
        state->execution = thread->execution;
    state->pending_arm = false;
    state->base = base;
    state->requested = CTL_UNKNOWN;
    if (state->announced != CTL_NO_ALARM)
        chain_mark_dirty(thread, chain);
    alarm = chain_alarm(thread, chain);
    if (alarm == NULL || (alarm->tid != CTL_ANY_TID && alarm->tid != thread->tid) ||
        !ctl_alarm_on_rank(alarm, shared->config->rank))
        return;
    __atomic_store_n(&shared->armed[alarm->index], 1, __ATOMIC_RELAXED);
    if (!alarm_is_machinery(alarm)) {
        left_set(thread, alarm, alarm->global ? CTL_LEFT_GLOBAL : left_of(alarm->count));
        return;
    }
    if (alarm->type != CTL_TIMEOUT && !alarm->global)
        state->requested = saturating_add(base, alarm_distance(alarm, state->phase));
    state->pending_arm = true;
    chain_mark_dirty(thread, chain);
}

void thread_adopt(struct thread_state *thread, uint64_t icount)
{
    struct shared_state *shared = state_shared(thread);
    uint64_t epoch = __atomic_load_n(&shared->head.epoch, __ATOMIC_ACQUIRE);
    if (epoch == __atomic_load_n(&thread->head.epoch, __ATOMIC_RELAXED))
        return;
    for (unsigned c = 0; c < shared->config->chain_count; c++) {
        struct thread_chain *state = &thread->chains[c];
        const struct shared_chain *wanted = &shared->chains[c];
        if (state->place == PLACE_ABSENT || state->sequence == wanted->sequence)
            continue;
        bool idle = wanted->owner != 0 && wanted->owner != (uint64_t)thread->tid + 1;
        state->sequence = wanted->sequence;
        /* chain_place() parks the alarm at the old place and uses the distance of the new phase. */
        state->pass = wanted->pass;
        state->phase = wanted->phase;
        chain_place(thread, c, idle ? PLACE_IDLE : wanted->place, icount, true);
    }
    __atomic_store_n(&thread->head.epoch, epoch, __ATOMIC_RELAXED);
}

void thread_catch_up(struct thread_state *thread, uint64_t icount)
{
    struct shared_state *shared = state_shared(thread);
    if (__atomic_load_n(&shared->head.epoch, __ATOMIC_ACQUIRE) ==
        __atomic_load_n(&thread->head.epoch, __ATOMIC_RELAXED))
        return;
    spin_take(&shared->lock);
    thread_adopt(thread, icount);
    spin_give(&shared->lock);
}

/* ---- Firing ---- */

/* Arms the shared counter of a global alarm. The overshoot of a global icount before it counts
 * towards this one. */
static void global_arm(struct shared_state *shared, const struct ctl_alarm *alarm,
                       int64_t overshoot)
{
    uint64_t amount = alarm->type == CTL_ICOUNT ? alarm->distance : alarm->count;
    int64_t left = left_of(amount) - (alarm->type == CTL_ICOUNT ? overshoot : 0);
    __atomic_store_n(global_counter(shared, alarm->index), left, __ATOMIC_RELAXED);
}

/* Publishes that every thread is at `place` now, or that this one goes on alone. Others adopt
 * it. */
static void publish(struct thread_state *thread, unsigned chain, const struct step *step)
{
    struct shared_state *shared = state_shared(thread);
    struct shared_chain *all = &shared->chains[chain];
    all->sequence++;
    all->pass = step->pass;
    all->phase = step->phase;
    all->place = step->place;
    all->owner = step->all ? 0 : (uint64_t)thread->tid + 1;
    thread->chains[chain].sequence = all->sequence;
    const struct ctl_chain *definition = chain_at(shared, chain);
    if (step->all && step->place < PLACE_MAX &&
        alarm_is_machinery(alarm_at(shared, definition->first_alarm + (unsigned)step->place)))
        thread->wake_others = true;
    /* This thread has adopted the previous epoch under the same lock. */
    uint64_t epoch = __atomic_load_n(&shared->head.epoch, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&thread->head.epoch, epoch, __ATOMIC_RELAXED);
    __atomic_store_n(&shared->head.epoch, epoch, __ATOMIC_RELEASE);
}

static void waiters_arm(struct thread_state *thread, unsigned chain, bool all, uint64_t base,
                        int64_t overshoot)
{
    struct shared_state *shared = state_shared(thread);
    for (unsigned w = shared->first_waiter[chain]; w != NO_CHAIN; w = shared->next_waiter[w]) {
        const struct ctl_alarm *first = alarm_at(shared, chain_at(shared, w)->first_alarm);
        struct thread_chain *state = &thread->chains[w];
        bool for_all = all || alarm_is_for_all(first);
        bool waits =
            for_all ? shared->chains[w].place == PLACE_WAITING : state->place == PLACE_WAITING;
        if (!waits)
            continue; /* another thread ended the chain and armed it for all */
        const struct step step = {.place = 0, .all = true};
        if (for_all) {
            if (first->global)
                global_arm(shared, first, overshoot);
            publish(thread, w, &step);
        }
        if (state->place == PLACE_ABSENT)
            continue;
        state->pass = state->phase = 0;
        chain_place(thread, w, 0, base, false);
    }
}

/* Returns the requested icount. For a global icount, that is where this thread was when the sum
 * reached the target, according to what threads have reported. So the overshoot is the lateness, as
 * with a thread's own count. */
static uint64_t requested_of(struct thread_state *thread, const struct thread_chain *state,
                             const struct ctl_alarm *alarm, const struct ctl_moment *moment)
{
    if (!alarm->global || alarm->type != CTL_ICOUNT || moment->icount == CTL_UNKNOWN)
        return state->requested;
    int64_t left =
        __atomic_load_n(global_counter(state_shared(thread), alarm->index), __ATOMIC_RELAXED);
    uint64_t over = left < 0 ? (uint64_t)-left : 0;
    return moment->icount > over ? moment->icount - over : 0;
}

static void fire_once(struct thread_state *thread, unsigned chain, const struct ctl_moment *moment,
                      bool late)
{
    struct shared_state *shared = state_shared(thread);
    struct thread_chain *state = &thread->chains[chain];
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    const struct step step = step_after(thread, chain, alarm);
    bool uniform = alarm->type == CTL_UNIFORM;
    const struct ctl_fired fired = {
        .alarm = alarm->index,
        .chain = alarm->chain,
        .event = uniform ? (state->phase % 2 == 0 ? CTL_START : CTL_STOP) : alarm->event,
        .bcast = alarm->bcast,
        .late = late,
        .precond = alarm->event == CTL_PRECOND,
        .tid = thread->tid,
        .pass = state->pass,
        .phase = uniform ? state->phase : 0,
        .requested = requested_of(thread, state, alarm, moment),
        .moment = *moment,
    };
    __atomic_fetch_add(&shared->fired[alarm->index], 1, __ATOMIC_RELAXED);
    state->announced = CTL_NO_ALARM;
    if (shared->callbacks.on_fire != NULL)
        shared->callbacks.on_fire(shared->context, &fired);
    int64_t overshoot = 0;
    if (alarm->global) {
        int64_t left = __atomic_exchange_n(global_counter(shared, alarm->index), CTL_LEFT_PARKED,
                                           __ATOMIC_RELAXED);
        overshoot = left < 0 && alarm->type == CTL_ICOUNT ? -left : 0;
    }
    uint64_t base = state->requested != CTL_UNKNOWN ? state->requested : moment->icount;
    if (step.place < PLACE_MAX) {
        const struct ctl_alarm *next =
            alarm_at(shared, chain_at(shared, chain)->first_alarm + (unsigned)step.place);
        if (next->global)
            global_arm(shared, next, overshoot);
    }
    if (step.publishes)
        publish(thread, chain, &step);
    state->pass = step.pass;
    state->phase = step.phase;
    chain_place(thread, chain, step.place, base, false);
    if (step.place == PLACE_FINISHED)
        waiters_arm(thread, chain, step.all, base, overshoot);
}

/* Is the chain's icount or uniform alarm already past, so that it fires at once? */
static bool chain_is_due(struct thread_state *thread, unsigned chain,
                         const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    const struct thread_chain *state = &thread->chains[chain];
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    if (!state->pending_arm || alarm == NULL || alarm->type == CTL_TIMEOUT)
        return false;
    if (alarm->global)
        return __atomic_load_n(global_counter(shared, alarm->index), __ATOMIC_RELAXED) <= 0;
    if (alarm_distance(alarm, state->phase) == 0)
        return true;
    return state->requested != CTL_UNKNOWN && moment->icount != CTL_UNKNOWN &&
           state->requested <= moment->icount;
}

static bool chain_is_late(const struct thread_chain *state, const struct ctl_moment *moment)
{
    return state->requested != CTL_UNKNOWN && moment->icount != CTL_UNKNOWN &&
           state->requested < moment->icount;
}

void chain_fire(struct thread_state *thread, unsigned chain, const struct ctl_moment *moment,
                bool late)
{
    fire_once(thread, chain, moment, late);
    /* A uniform's first window opens together with the firing that armed it, in this thread, before
     * another thread can see it armed. */
    for (unsigned i = 0; i < 2; i++) {
        const struct ctl_alarm *alarm = chain_alarm(thread, chain);
        if (alarm == NULL || alarm->type != CTL_UNIFORM ||
            alarm_distance(alarm, thread->chains[chain].phase) != 0 ||
            !thread->chains[chain].pending_arm)
            return;
        fire_once(thread, chain, moment, chain_is_late(&thread->chains[chain], moment));
    }
}

/* ---- Settling ---- */

/* Fires the chain if it is still due when the lock is held. */
static void settle_due(struct thread_state *thread, unsigned chain, const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    bool shares = chain_fires_shared(thread, chain);
    if (shares) {
        spin_take(&shared->lock);
        thread_adopt(thread, moment->icount);
    }
    if (chain_is_due(thread, chain, moment))
        chain_fire(thread, chain, moment, chain_is_late(&thread->chains[chain], moment));
    if (shares)
        spin_give(&shared->lock);
    chain_mark_dirty(thread, chain);
}

static bool ends_windows(const struct ctl_alarm *alarm, uint64_t phase)
{
    if (alarm->type == CTL_UNIFORM)
        return phase % 2 != 0;
    return alarm->event == CTL_STOP || alarm->event == CTL_WARMUP_STOP ||
           alarm->event == CTL_PROLOG_STOP || alarm->event == CTL_EPILOG_STOP;
}

static void settle_arm(struct thread_state *thread, unsigned chain)
{
    struct shared_state *shared = state_shared(thread);
    struct thread_chain *state = &thread->chains[chain];
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    bool counts = alarm->type != CTL_TIMEOUT && !alarm->global;
    uint64_t distance = alarm_distance(alarm, state->phase);
    if (alarm->global) {
        int64_t left = __atomic_load_n(global_counter(shared, alarm->index), __ATOMIC_RELAXED);
        distance = left > 0 ? (uint64_t)left : 0;
    }
    const struct ctl_arming arming = {
        .alarm = alarm->index,
        .generation = state->generation,
        .distance = distance,
        .base = counts ? state->base : CTL_UNKNOWN,
        .global = alarm->global,
        .closes = ends_windows(alarm, state->phase),
    };
    state->pending_arm = false;
    if (shared->callbacks.on_arm == NULL)
        return;
    state->announced = alarm->index;
    uint64_t base = shared->callbacks.on_arm(shared->context, thread->tid, &arming);
    if (counts && state->base == CTL_UNKNOWN) {
        state->base = base;
        state->requested = saturating_add(base, distance);
    }
}

/* Too many edges are past at once: the chain now counts from where the program really is. */
static void settle_cut(struct thread_state *thread, unsigned chain, const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    struct thread_chain *state = &thread->chains[chain];
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    __atomic_fetch_add(&shared->backlogs_cut, 1, __ATOMIC_RELAXED);
    if (alarm->global) {
        spin_take(&shared->lock);
        if (__atomic_load_n(global_counter(shared, alarm->index), __ATOMIC_RELAXED) <= 0)
            global_arm(shared, alarm, 0);
        spin_give(&shared->lock);
        return;
    }
    state->base = moment->icount;
    state->requested = saturating_add(state->base, alarm_distance(alarm, state->phase));
}

void thread_settle(struct thread_state *thread, const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    unsigned fired = 0;
    while (thread->first_dirty != NO_CHAIN) {
        unsigned c = thread->first_dirty;
        struct thread_chain *state = &thread->chains[c];
        thread->first_dirty = state->next_dirty;
        state->dirty = false;
        if (state->announced != CTL_NO_ALARM) {
            if (shared->callbacks.on_disarm != NULL)
                shared->callbacks.on_disarm(shared->context, thread->tid, state->announced);
            state->announced = CTL_NO_ALARM;
        }
        if (!state->pending_arm)
            continue;
        if (chain_is_due(thread, c, moment)) {
            if (fired++ < BACKLOG_MAX) {
                settle_due(thread, c, moment);
                continue;
            }
            settle_cut(thread, c, moment);
        }
        settle_arm(thread, c);
    }
    if (thread->wake_others) {
        thread->wake_others = false;
        if (shared->callbacks.on_sync_needed != NULL)
            shared->callbacks.on_sync_needed(shared->context);
    }
}
