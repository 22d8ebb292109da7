/* SPDX-License-Identifier: BSD-3-Clause
 * Entry points of the automaton: executions, expiries, progress of global counts, and
 * synchronization with other threads. */
#include "controller/automaton/state.h"

#include <stdatomic.h>

static const struct ctl_moment unknown_moment = {.icount = CTL_UNKNOWN};

_Static_assert(offsetof(struct ctl_thread, epoch) == CTL_THREAD_EPOCH_OFFSET,
               "blocks of probes compare it");

size_t ctl_left_offset(uint16_t alarm)
{
    return offsetof(struct thread_state, left) + (size_t)alarm * sizeof(int64_t);
}

int64_t ctl_global_decrement(struct ctl_shared *shared, uint16_t alarm)
{
    return __atomic_sub_fetch(global_counter(shared_of(shared), alarm), 1, __ATOMIC_RELAXED);
}

/* Is the alarm armed, and has it not seen the current execution yet? */
static bool is_open(const struct thread_state *thread, const struct ctl_alarm *alarm)
{
    return chain_alarm(thread, alarm->chain) == alarm &&
           thread->chains[alarm->chain].execution != thread->execution &&
           __atomic_load_n(&thread->left[alarm->index], __ATOMIC_RELAXED) < CTL_LEFT_PARKED_MIN;
}

static bool is_due(const struct thread_state *thread, const struct ctl_alarm *alarm)
{
    struct shared_state *shared = state_shared(thread);
    const int64_t *left =
        alarm->global ? global_counter(shared, alarm->index) : &thread->left[alarm->index];
    return is_open(thread, alarm) && __atomic_load_n(left, __ATOMIC_RELAXED) <= 0;
}

/* Fires the alarm if it is still due once the lock, if needed, is held. Returns false if another
 * thread fired it: what is armed now has not seen the execution. */
static bool fire_if_due(struct thread_state *thread, const struct ctl_alarm *alarm,
                        const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    bool shares = chain_fires_shared(thread, alarm->chain);
    if (shares) {
        spin_take(&shared->lock);
        thread_adopt(thread, moment->icount);
    }
    bool due = is_due(thread, alarm);
    if (due)
        chain_fire(thread, alarm->chain, moment, false);
    if (shares)
        spin_give(&shared->lock);
    return due;
}

static int64_t alarm_decrement(struct thread_state *thread, const struct ctl_alarm *alarm)
{
    return alarm->global ? ctl_global_decrement(thread->head.shared, alarm->index)
                         : ctl_left_decrement(&thread->left[alarm->index]);
}

/* Lets one matching alarm count this execution, and fires it if it is due. claimed: the execution
 * has brought its counter to 0 already. If a handler (before signals were blocked) or another
 * thread has fired the alarm first, the alarm as it is armed now counts this execution: none is
 * lost or counted twice, whichever thread fires. */
static void judge(struct thread_state *thread, const struct ctl_alarm *alarm,
                  const struct ctl_moment *moment, bool claimed)
{
    if (alarm_is_machinery(alarm))
        return;
    while (is_open(thread, alarm)) {
        int64_t value = claimed ? 0 : alarm_decrement(thread, alarm);
        if (value > 0 && value < CTL_LEFT_LIVE) {
            thread->chains[alarm->chain].execution = thread->execution;
            return;
        }
        if (value <= 0 && fire_if_due(thread, alarm, moment))
            return;
        thread_catch_up(thread, moment->icount);
        claimed = false;
    }
}

void ctl_hit_slow(struct ctl_thread *head, const uint16_t *alarms, unsigned count,
                  const struct ctl_moment *moment, uint64_t counted, uint64_t claimed)
{
    struct thread_state *thread = state_of(head);
    struct shared_state *shared = state_shared(thread);
    uint64_t mask = sys_block_signals();
    if (moment == NULL)
        moment = &unknown_moment;
    thread->execution++;
    for (unsigned i = 0; i < count && i < 64; i++) {
        if (counted >> i & 1)
            thread->chains[alarm_at(shared, alarms[i])->chain].execution = thread->execution;
    }
    thread_catch_up(thread, moment->icount);
    /* Another thread may move a chain during the loop, and its new alarm may stand before the
     * current index: go through all alarms again until the epoch stays. A chain that has counted
     * this execution does not count it again. */
    for (uint64_t epoch = head->epoch - 1; epoch != head->epoch; claimed = 0) {
        epoch = head->epoch;
        for (unsigned i = 0; i < count; i++)
            judge(thread, alarm_at(shared, alarms[i]), moment, i < 64 && (claimed >> i & 1));
    }
    thread_settle(thread, moment);
    sys_restore_signals(mask);
}

/* Returns which of the alarms are armed, at one instant between handlers. */
static uint64_t armed_mask(const struct thread_state *thread, const uint16_t *alarms,
                           unsigned count)
{
    uint64_t armed, before;
    do {
        before = __atomic_load_n(&thread->execution, __ATOMIC_RELAXED);
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
        armed = 0;
        for (unsigned i = 0; i < count; i++) {
            int64_t left = __atomic_load_n(&thread->left[alarms[i]], __ATOMIC_RELAXED);
            armed |= (uint64_t)(left < CTL_LEFT_PARKED_MIN) << i;
        }
        __atomic_signal_fence(__ATOMIC_SEQ_CST);
    } while (before != __atomic_load_n(&thread->execution, __ATOMIC_RELAXED));
    return armed;
}

void ctl_hit_due(struct ctl_thread *head, const uint16_t *alarms, unsigned count,
                 const struct ctl_moment *moment, unsigned due)
{
    uint64_t counted = 0;
    for (unsigned i = 0; i < due; i++)
        counted |=
            (uint64_t)(__atomic_load_n(&head->left[alarms[i]], __ATOMIC_RELAXED) < CTL_LEFT_LIVE)
            << i;
    ctl_hit_slow(head, alarms, count, moment, counted, (uint64_t)1 << due);
}

/* At one instant, the armed alarms are of different chains. So one decrement does not change
 * whether another alarm is due. */
void ctl_hit_several(struct ctl_thread *head, const uint16_t *alarms, unsigned count,
                     const struct ctl_moment *moment)
{
    struct thread_state *thread = state_of(head);
    if (count > 64) {
        ctl_hit_slow(head, alarms, count, moment, 0, 0);
        return;
    }
    const uint64_t armed = armed_mask(thread, alarms, count);
    uint64_t counted = 0, claimed = 0;
    for (uint64_t rest = armed; rest != 0; rest &= rest - 1) {
        unsigned i = (unsigned)__builtin_ctzll(rest);
        int64_t value = alarm_decrement(thread, alarm_at(state_shared(thread), alarms[i]));
        counted |= (uint64_t)(value > 0 && value < CTL_LEFT_LIVE) << i;
        claimed |= (uint64_t)(value <= 0) << i;
    }
    if (RT_UNLIKELY(counted != armed))
        ctl_hit_slow(head, alarms, count, moment, counted, claimed);
}

void ctl_sync(struct ctl_thread *head, const struct ctl_moment *moment)
{
    struct thread_state *thread = state_of(head);
    if (__atomic_load_n(&head->shared->epoch, __ATOMIC_ACQUIRE) ==
        __atomic_load_n(&head->epoch, __ATOMIC_RELAXED))
        return;
    uint64_t mask = sys_block_signals();
    if (moment == NULL)
        moment = &unknown_moment;
    thread->execution++;
    thread_catch_up(thread, moment->icount);
    thread_settle(thread, moment);
    sys_restore_signals(mask);
}

static bool is_in_force(const struct thread_state *thread, const struct ctl_alarm *alarm,
                        uint32_t generation)
{
    const struct thread_chain *state = &thread->chains[alarm->chain];
    return chain_alarm(thread, alarm->chain) == alarm && state->generation == generation &&
           !state->pending_arm && !alarm->global && alarm_is_machinery(alarm) &&
           (alarm->tid == CTL_ANY_TID || alarm->tid == thread->tid) &&
           ctl_alarm_on_rank(alarm, state_shared(thread)->config->rank);
}

void ctl_expire(struct ctl_thread *head, uint16_t index, uint32_t generation,
                const struct ctl_moment *moment)
{
    struct thread_state *thread = state_of(head);
    struct shared_state *shared = state_shared(thread);
    const struct ctl_alarm *alarm = alarm_at(shared, index);
    uint64_t mask = sys_block_signals();
    if (moment == NULL)
        moment = &unknown_moment;
    thread->execution++;
    thread_catch_up(thread, moment->icount);
    if (is_in_force(thread, alarm, generation)) {
        bool shares = chain_fires_shared(thread, alarm->chain);
        if (shares) {
            spin_take(&shared->lock);
            thread_adopt(thread, moment->icount);
        }
        if (is_in_force(thread, alarm, generation))
            chain_fire(thread, alarm->chain, moment, false);
        if (shares)
            spin_give(&shared->lock);
    }
    thread_settle(thread, moment);
    sys_restore_signals(mask);
}

/* Returns the global icount that this thread counts towards in the chain, or NULL. */
static const struct ctl_alarm *global_icount(const struct thread_state *thread, unsigned chain)
{
    const struct ctl_alarm *alarm = chain_alarm(thread, chain);
    return alarm != NULL && alarm->global && alarm->type == CTL_ICOUNT ? alarm : NULL;
}

static uint64_t advance_chain(struct thread_state *thread, unsigned chain, int64_t amount,
                              const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    const struct ctl_alarm *alarm;
    while ((alarm = global_icount(thread, chain)) != NULL) {
        int64_t left =
            __atomic_sub_fetch(global_counter(shared, alarm->index), amount, __ATOMIC_RELAXED);
        if (left > 0 && left < CTL_LEFT_LIVE)
            return (uint64_t)left;
        spin_take(&shared->lock);
        thread_adopt(thread, moment->icount);
        /* Our share is in the overshoot, whichever thread fires. A parked counter was taken before
         * we came: try what is armed now. */
        if (left <= 0 && global_icount(thread, chain) == alarm &&
            __atomic_load_n(global_counter(shared, alarm->index), __ATOMIC_RELAXED) <= 0)
            chain_fire(thread, chain, moment, false);
        spin_give(&shared->lock);
        if (left <= 0)
            return 0;
    }
    return 0;
}

uint64_t ctl_advance(struct ctl_thread *head, uint16_t index, uint64_t instructions,
                     const struct ctl_moment *moment)
{
    struct thread_state *thread = state_of(head);
    struct shared_state *shared = state_shared(thread);
    const struct ctl_alarm *alarm = alarm_at(shared, index);
    uint64_t left = 0;
    uint64_t mask = sys_block_signals();
    if (moment == NULL)
        moment = &unknown_moment;
    if (instructions > (uint64_t)CTL_LEFT_LIVE / 4)
        instructions = (uint64_t)CTL_LEFT_LIVE / 4;
    thread->execution++;
    thread_catch_up(thread, moment->icount);
    if (alarm->type == CTL_ICOUNT && alarm->global)
        left = advance_chain(thread, alarm->chain, (int64_t)instructions, moment);
    thread_settle(thread, moment);
    sys_restore_signals(mask);
    return left;
}

static uint16_t armed_at(const struct thread_state *thread, unsigned chain, uint16_t place)
{
    const struct shared_state *shared = state_shared(thread);
    if (place >= PLACE_MAX)
        return CTL_NO_ALARM;
    const struct ctl_alarm *alarm =
        alarm_at(shared, shared->config->chains[chain].first_alarm + (unsigned)place);
    bool ours = (alarm->tid == CTL_ANY_TID || alarm->tid == thread->tid) &&
                ctl_alarm_on_rank(alarm, shared->config->rank);
    return ours ? alarm->index : CTL_NO_ALARM;
}

uint16_t ctl_thread_armed(const struct ctl_thread *head, unsigned chain)
{
    const struct thread_state *thread = (const struct thread_state *)(const void *)head;
    return armed_at(thread, chain, __atomic_load_n(&thread->chains[chain].place, __ATOMIC_RELAXED));
}

/* Can a firing in one thread move this chain in other threads? */
static bool is_shared(const struct shared_state *shared, unsigned chain)
{
    const struct ctl_chain *definition = &shared->config->chains[chain];
    bool found = false;
    for (unsigned i = 0; i < definition->alarm_count; i++) {
        const struct ctl_alarm *alarm = alarm_at(shared, definition->first_alarm + i);
        found = found || alarm->bcast || alarm->global || alarm->type == CTL_UNIFORM;
    }
    return found;
}

bool ctl_thread_is_over(const struct ctl_thread *head)
{
    const struct thread_state *thread = (const struct thread_state *)(const void *)head;
    const struct shared_state *shared = state_shared(thread);
    /* The thread has not adopted what others published: ask again later. */
    if (__atomic_load_n(&shared->head.epoch, __ATOMIC_ACQUIRE) !=
        __atomic_load_n(&head->epoch, __ATOMIC_RELAXED))
        return false;
    for (unsigned c = 0; c < shared->config->chain_count; c++) {
        uint16_t place = __atomic_load_n(&thread->chains[c].place, __ATOMIC_RELAXED);
        const struct shared_chain *all = &shared->chains[c];
        bool over_for_all = all->owner == 0 && all->place == PLACE_FINISHED;
        if (place == PLACE_ABSENT)
            continue;
        if (place < PLACE_MAX ? armed_at(thread, c, place) != CTL_NO_ALARM || is_shared(shared, c)
                              : place != PLACE_FINISHED)
            return false;
        if (place == PLACE_FINISHED && !over_for_all && is_shared(shared, c))
            return false;
    }
    return true;
}

/* Is an alarm of the chain armed in this thread once it has adopted what others published? Needs
 * the lock. */
static bool armed_in(const struct thread_state *thread, unsigned chain)
{
    const struct shared_chain *all = &state_shared(thread)->chains[chain];
    const struct thread_chain *state = &thread->chains[chain];
    uint16_t place = __atomic_load_n(&state->place, __ATOMIC_RELAXED);
    if (place != PLACE_ABSENT && state->sequence != all->sequence)
        place =
            all->owner == 0 || all->owner == (uint64_t)thread->tid + 1 ? all->place : PLACE_IDLE;
    return armed_at(thread, chain, place) != CTL_NO_ALARM;
}

void ctl_chains_armed(struct ctl_shared *head, _Atomic uint32_t *count)
{
    struct shared_state *shared = shared_of(head);
    uint32_t armed = 0;
    uint64_t mask = sys_block_signals();
    spin_take(&shared->lock);
    for (unsigned c = 0; c < shared->config->chain_count; c++) {
        const struct thread_state *thread = shared->threads;
        while (thread != NULL && !armed_in(thread, c))
            thread = thread->next;
        armed += thread != NULL;
    }
    atomic_store_explicit(count, armed, memory_order_relaxed);
    spin_give(&shared->lock);
    sys_restore_signals(mask);
}

uint32_t ctl_thread_tid(const struct ctl_thread *head)
{
    return ((const struct thread_state *)(const void *)head)->tid;
}

uint64_t ctl_alarm_fired(const struct ctl_shared *head, uint16_t alarm)
{
    const struct shared_state *shared = (const struct shared_state *)(const void *)head;
    return __atomic_load_n(&shared->fired[alarm], __ATOMIC_RELAXED);
}

uint64_t ctl_backlogs_cut(const struct ctl_shared *head)
{
    const struct shared_state *shared = (const struct shared_state *)(const void *)head;
    return __atomic_load_n(&shared->backlogs_cut, __ATOMIC_RELAXED);
}
