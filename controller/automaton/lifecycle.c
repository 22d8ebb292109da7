/* SPDX-License-Identifier: BSD-3-Clause
 * Makes and ends the automaton's states: shared state, threads, fork, and alarms that never
 * fired. */
#include "controller/automaton/state.h"

static size_t aligned(size_t size)
{
    return (size + CTL_ALIGNMENT - 1) & ~(size_t)(CTL_ALIGNMENT - 1);
}

/* Not libc's memset: this runs in new threads before the program does. */
static void clear(void *memory, size_t size)
{
    char *at = memory;
    for (size_t i = 0; i < size; i++) {
        at[i] = 0;
        __asm__ volatile("" : : : "memory"); /* otherwise the compiler makes it a call of memset */
    }
}

/* ---- Shared state ---- */

static unsigned count_global(const struct ctl_config *config)
{
    unsigned count = 0;
    for (unsigned i = 0; i < config->alarm_count; i++)
        count += config->alarms[i].global;
    return count;
}

/* Offsets of the arrays after struct shared_state. */
struct layout {
    size_t chains, fired, reached, global_index, first_waiter, next_waiter, armed, counters, size;
};

static struct layout shared_layout(const struct ctl_config *config)
{
    struct layout at;
    at.chains = aligned(sizeof(struct shared_state));
    at.fired = aligned(at.chains + config->chain_count * sizeof(struct shared_chain));
    at.reached = aligned(at.fired + config->alarm_count * sizeof(uint64_t));
    at.global_index = aligned(at.reached + config->alarm_count * sizeof(uint64_t));
    at.first_waiter = aligned(at.global_index + config->alarm_count * sizeof(uint16_t));
    at.next_waiter = aligned(at.first_waiter + config->chain_count * sizeof(uint16_t));
    at.armed = aligned(at.next_waiter + config->chain_count * sizeof(uint16_t));
    at.counters = aligned(at.armed + config->alarm_count);
    at.size = at.counters + count_global(config) * sizeof(struct global_counter);
    return at;
}

size_t ctl_shared_size(const struct ctl_config *config)
{
    return aligned(shared_layout(config).size);
}

static void place_arrays(struct shared_state *shared, const struct layout *at)
{
    char *base = (char *)shared;
    shared->chains = (void *)(base + at->chains);
    shared->fired = (void *)(base + at->fired);
    shared->reached = (void *)(base + at->reached);
    shared->global_index = (void *)(base + at->global_index);
    shared->first_waiter = (void *)(base + at->first_waiter);
    shared->next_waiter = (void *)(base + at->next_waiter);
    shared->armed = (void *)(base + at->armed);
    shared->counters = (void *)(base + at->counters);
}

static void init_chains(struct shared_state *shared)
{
    const struct ctl_config *config = shared->config;
    for (unsigned c = 0; c < config->chain_count; c++)
        shared->first_waiter[c] = shared->next_waiter[c] = NO_CHAIN;
    /* Backwards, so that the waiters are in the order of the chains. */
    for (unsigned c = config->chain_count; c-- > 0;) {
        uint16_t awaited = config->chains[c].waitfor;
        if (awaited == CTL_NO_ALARM)
            continue;
        shared->chains[c].place = PLACE_WAITING;
        shared->next_waiter[c] = shared->first_waiter[awaited];
        shared->first_waiter[awaited] = (uint16_t)c;
    }
}

static void init_counters(struct shared_state *shared)
{
    const struct ctl_config *config = shared->config;
    uint16_t next = 0;
    for (unsigned i = 0; i < config->alarm_count; i++) {
        const struct ctl_alarm *alarm = &config->alarms[i];
        shared->global_index[i] = alarm->global ? next++ : NO_CHAIN;
        if (!alarm->global)
            continue;
        bool armed = alarm->position == 0 && config->chains[alarm->chain].waitfor == CTL_NO_ALARM;
        uint64_t amount = alarm->type == CTL_ICOUNT ? alarm->distance : alarm->count;
        int64_t left = amount < (uint64_t)CTL_LEFT_LIVE ? (int64_t)amount : CTL_LEFT_LIVE - 1;
        *global_counter(shared, i) = armed ? left : CTL_LEFT_PARKED;
    }
}

struct ctl_shared *ctl_shared_init(const struct ctl_config *config, void *memory,
                                   const struct ctl_callbacks *callbacks, void *context)
{
    const struct layout at = shared_layout(config);
    struct shared_state *shared = memory;
    clear(memory, at.size);
    shared->config = config;
    shared->callbacks = *callbacks;
    shared->context = context;
    place_arrays(shared, &at);
    init_chains(shared);
    init_counters(shared);
    return &shared->head;
}

/* ---- Threads ---- */

size_t ctl_thread_size(const struct ctl_config *config)
{
    return aligned(aligned(ctl_left_offset((uint16_t)config->alarm_count)) +
                   config->chain_count * sizeof(struct thread_chain));
}

/* A runtime's thread takes part in a chain only if an alarm names it. */
static bool participates(const struct shared_state *shared, uint32_t tid, unsigned chain)
{
    const struct ctl_chain *definition = &shared->config->chains[chain];
    bool named = !ctl_is_helper(tid);
    for (unsigned i = 0; i < definition->alarm_count && !named; i++)
        named = alarm_at(shared, definition->first_alarm + i)->tid == tid;
    return named;
}

static void thread_place_all(struct thread_state *thread, uint64_t icount)
{
    struct shared_state *shared = state_shared(thread);
    for (unsigned c = 0; c < shared->config->chain_count; c++) {
        struct thread_chain *state = &thread->chains[c];
        const struct shared_chain *all = &shared->chains[c];
        state->announced = CTL_NO_ALARM;
        state->place = PLACE_ABSENT;
        if (!participates(shared, thread->tid, c))
            continue;
        state->sequence = all->sequence;
        state->pass = all->pass;
        state->phase = all->phase;
        chain_place(thread, c, all->owner != 0 ? PLACE_IDLE : all->place, icount, true);
    }
}

static void fire_default_start(struct thread_state *thread, const struct ctl_moment *moment)
{
    struct shared_state *shared = state_shared(thread);
    const struct ctl_fired fired = {
        .alarm = CTL_NO_ALARM,
        .chain = CTL_NO_ALARM,
        .event = CTL_START,
        .default_start = true,
        .tid = thread->tid,
        .requested = CTL_UNKNOWN,
        .moment = *moment,
    };
    if (shared->callbacks.on_fire != NULL)
        shared->callbacks.on_fire(shared->context, &fired);
}

struct ctl_thread *ctl_thread_init(struct ctl_shared *head, void *memory, uint32_t tid,
                                   const struct ctl_moment *moment)
{
    static const struct ctl_moment unknown = {.icount = CTL_UNKNOWN};
    struct shared_state *shared = shared_of(head);
    struct thread_state *thread = memory;
    const struct ctl_config *config = shared->config;
    uint64_t mask = sys_block_signals();
    if (moment == NULL)
        moment = &unknown;
    clear(memory, ctl_thread_size(config));
    thread->head.shared = head;
    thread->head.left = thread->left;
    thread->tid = tid;
    thread->execution = 1;
    thread->first_dirty = NO_CHAIN;
    thread->chains =
        (void *)((char *)memory + aligned(ctl_left_offset((uint16_t)config->alarm_count)));
    for (unsigned i = 0; i < config->alarm_count; i++)
        __atomic_store_n(&thread->left[i], CTL_LEFT_PARKED, __ATOMIC_RELAXED);
    spin_take(&shared->lock);
    thread->next = shared->threads;
    shared->threads = thread;
    __atomic_store_n(&thread->head.epoch, __atomic_load_n(&head->epoch, __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    thread_place_all(thread, moment->icount);
    spin_give(&shared->lock);
    if (config->default_start && !ctl_is_helper(tid))
        fire_default_start(thread, moment);
    thread_settle(thread, moment);
    sys_restore_signals(mask);
    return &thread->head;
}

/* Returns how many executions a thread has counted towards an alarm's count. */
static uint64_t thread_progress(const struct thread_state *thread, const struct ctl_alarm *alarm)
{
    int64_t left = __atomic_load_n(&thread->left[alarm->index], __ATOMIC_RELAXED);
    int64_t count =
        alarm->count < (uint64_t)CTL_LEFT_LIVE ? (int64_t)alarm->count : CTL_LEFT_LIVE - 1;
    return left < count && !alarm->global ? (uint64_t)(count - left) : 0;
}

void ctl_thread_exit(struct ctl_thread *head)
{
    struct thread_state *thread = state_of(head);
    struct shared_state *shared = state_shared(thread);
    uint64_t mask = sys_block_signals();
    spin_take(&shared->lock);
    for (struct thread_state **at = &shared->threads; *at != NULL; at = &(*at)->next) {
        if (*at == thread) {
            *at = thread->next;
            break;
        }
    }
    for (unsigned i = 0; i < shared->config->alarm_count; i++) {
        uint64_t progress = thread_progress(thread, alarm_at(shared, i));
        if (progress > shared->reached[i])
            shared->reached[i] = progress;
    }
    spin_give(&shared->lock);
    sys_restore_signals(mask);
}

/* ---- Fork ---- */

void ctl_fork_prepare(struct ctl_shared *head, uint64_t *saved_mask)
{
    *saved_mask = sys_block_signals();
    spin_take(&shared_of(head)->lock);
}

void ctl_fork_parent(struct ctl_shared *head, const uint64_t *saved_mask)
{
    spin_give(&shared_of(head)->lock);
    sys_restore_signals(*saved_mask);
}

void ctl_fork_child(struct ctl_shared *head, struct ctl_thread *thread_head,
                    const uint64_t *saved_mask, const struct ctl_moment *moment)
{
    static const struct ctl_moment unknown = {.icount = CTL_UNKNOWN};
    struct shared_state *shared = shared_of(head);
    struct thread_state *thread = thread_head != NULL ? state_of(thread_head) : NULL;
    if (moment == NULL)
        moment = &unknown;
    shared->threads = thread;
    spin_give(&shared->lock);
    if (thread != NULL) {
        thread->next = NULL;
        /* Timers and counters remain with the parent. */
        for (unsigned c = 0; c < shared->config->chain_count; c++) {
            struct thread_chain *state = &thread->chains[c];
            if (state->announced == CTL_NO_ALARM)
                continue;
            state->announced = CTL_NO_ALARM;
            state->pending_arm = true;
            state->generation++;
            chain_mark_dirty(thread, c);
        }
        thread_settle(thread, moment);
    }
    sys_restore_signals(*saved_mask);
}

void ctl_after_fork(struct ctl_shared *head, struct ctl_thread *thread,
                    const struct ctl_moment *moment)
{
    uint64_t mask = sys_block_signals();
    ctl_fork_child(head, thread, &mask, moment);
}

/* ---- Alarms that never fired ---- */

static uint64_t best_progress(const struct shared_state *shared, const struct ctl_alarm *alarm)
{
    uint64_t best = shared->reached[alarm->index];
    for (const struct thread_state *thread = shared->threads; thread != NULL;
         thread = thread->next) {
        uint64_t progress = thread_progress(thread, alarm);
        best = progress > best ? progress : best;
    }
    if (alarm->global) {
        int64_t left = __atomic_load_n(&shared->counters[shared->global_index[alarm->index]].left,
                                       __ATOMIC_RELAXED);
        uint64_t amount = alarm->type == CTL_ICOUNT ? alarm->distance : alarm->count;
        if (left > 0 && left < CTL_LEFT_LIVE && (uint64_t)left < amount)
            best = amount - (uint64_t)left;
    }
    return best;
}

void ctl_never_fired(struct ctl_shared *head, ctl_unfired_function *callback, void *context)
{
    struct shared_state *shared = shared_of(head);
    uint64_t mask = sys_block_signals();
    spin_take(&shared->lock);
    for (unsigned i = 0; i < shared->config->alarm_count; i++) {
        const struct ctl_alarm *alarm = alarm_at(shared, i);
        if (__atomic_load_n(&shared->fired[i], __ATOMIC_RELAXED) != 0)
            continue;
        uint64_t reached = best_progress(shared, alarm);
        enum ctl_unfired why = CTL_NEVER_HIT;
        if (!ctl_alarm_on_rank(alarm, shared->config->rank))
            why = CTL_OTHER_RANK;
        else if (!__atomic_load_n(&shared->armed[i], __ATOMIC_RELAXED))
            why = CTL_NEVER_ARMED;
        else if (reached != 0)
            why = CTL_COUNT_SHORT;
        callback(context, alarm, why, reached);
    }
    spin_give(&shared->lock);
    sys_restore_signals(mask);
}
