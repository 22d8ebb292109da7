/* SPDX-License-Identifier: BSD-3-Clause
 * Exits of functions that have probes: which functions are active on this thread, and when they
 * end.
 *
 * Return addresses stay as they are, so exceptions, longjmp, backtraces and shadow stacks work as
 * ever. A function is noted with the stack pointer at its entry. Its exit is seen at a probe on its
 * return address (probe_returns.c), or at the first event that shows that its frame is gone:
 * longjmp, the catch of an exception, a probe further up the stack. Only the outermost instance is
 * noted, because only that instance has an exit. A function that ends in a jump to another function
 * ends when the other one ends. */
#include "preload/patch/calls/probe_calls.h"
#include "preload/patch/probes.h"

#include "base/log.h"
#include "base/sys.h"
#include "preload/patch/calls/probe_fast.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/thread.h"
#include "preload/window/triggers.h"

#include <stdio.h>
#include <string.h>

#define ALARMS_MAX 256u
/* largest distance of two frames on one stack, if its bounds are unknown */
#define NEAR ((uintptr_t)32 << 10)

__thread uint64_t probe_exits_state;
const uint64_t *probe_exits_epoch;
__thread uintptr_t probe_exits_lowest;
static _Atomic bool told_many, told_back;

bool probe_is_on_thread_stack(uintptr_t stack)
{
    uintptr_t low, high;
    return thread_stack_bounds(&low, &high) && stack >= low && stack < high;
}

/* Does this address lie on the thread's stack? Coroutines and signal handlers may use another one.
 * True if the bounds are unknown. */
static bool may_be_on_thread_stack(uintptr_t stack)
{
    uintptr_t low, high;
    return !thread_stack_bounds(&low, &high) || (stack >= low && stack < high);
}

size_t probe_room_bytes(void)
{
    return sizeof(struct probe_room);
}

void probe_room_begin(struct preload_thread *pt, void *room)
{
    (void)pt;
    probe_opens.room = room;
}

void probe_room_end(void)
{
    probe_exits_state = probe_exits_changed(probe_exits_state, 0);
    probe_exits_lowest = 0;
    probe_opens.state = 0;
    probe_opens.forked = false;
    probe_opens.room = NULL;
}

static struct probe_exit *exits_of_thread(void)
{
    return probe_opens.room->exits;
}

static uint32_t active_count(void)
{
    return probe_exits_count(probe_exits_state);
}

/* Returns the word where the return address was; 0 if it cannot be read. */
static uintptr_t word_of(const struct probe_exit *f)
{
    uintptr_t word = 0;
    (void)sys_read_self(f->stack, &word, sizeof word);
    return word;
}

/* Returns true if both lie on the thread's own stack, or both elsewhere and less than NEAR apart.
 * The bounds of other stacks are unknown, and one may lie within the thread's own: an array on
 * which signals or coroutines run. */
bool probe_one_stack(uintptr_t a, uintptr_t b)
{
    uintptr_t away = a > b ? a - b : b - a;
    return may_be_on_thread_stack(a) == may_be_on_thread_stack(b) &&
           (may_be_on_thread_stack(a) || away < NEAR);
}

/* Is the frame gone? It is if a frame further up runs, or another function begins there, and the
 * return address has been overwritten. */
static bool is_gone(const struct probe_exit *f, uintptr_t stack)
{
    return f->stack <= stack && probe_one_stack(f->stack, stack) && word_of(f) != f->back;
}

/* Notes that the list has changed and has n entries now. */
static void set_count(uint32_t n)
{
    uintptr_t lowest = 0;
    __atomic_store_n(&probe_exits_state, probe_exits_changed(probe_exits_state, n),
                     __ATOMIC_RELAXED);
    for (unsigned i = 0; i < n; i++)
        if (i == 0 || exits_of_thread()[i].stack < lowest)
            lowest = exits_of_thread()[i].stack;
    probe_exits_lowest = lowest;
}

/* Fires the exit alarms of the function. */
static void leave(const struct probe_exit *f)
{
    const struct probe_sites *all = probe_sites_now();
    uint16_t alarms[ALARMS_MAX];
    unsigned n = 0;
    uintptr_t ip = f->function;
    for (const struct probe_site *s = probe_sites_find(all, f->function);
         s != NULL && s < all->rows + all->count && s->at == f->function && n < ALARMS_MAX; s++)
        if (probe_is_alarm(s) &&
            ctl_config_alarm(process.config, s->alarm)->type == CTL_EXIT_FUNC) {
            alarms[n++] = s->alarm;
            ip = s->at - s->after;
        }
    if (n != 0)
        trigger_probe(alarms, n, ip, PROBE_COUNTED_NOTHING);
}

typedef bool is_over_function(const struct probe_exit *f, uintptr_t a, uintptr_t b);

/* Ends the functions that are over, the latest first. */
static void leave_those(is_over_function *is_over, uintptr_t a, uintptr_t b)
{
    for (unsigned i = active_count(); i-- > 0;) {
        struct probe_exit f = exits_of_thread()[i];
        if (!is_over(&f, a, b))
            continue;
        uint32_t n = active_count() - 1;
        memmove(&exits_of_thread()[i], &exits_of_thread()[i + 1],
                (n - i) * sizeof *exits_of_thread());
        set_count(n);
        leave(&f);
    }
}

static bool is_over_here(const struct probe_exit *f, uintptr_t stack, uintptr_t at)
{
    /* A return may remove arguments too (ret 16). */
    return (f->back == at && f->stack < stack && probe_one_stack(f->stack, stack)) ||
           is_gone(f, stack);
}

static bool is_jumped_over(const struct probe_exit *f, uintptr_t from, uintptr_t to)
{
    return f->stack >= from && f->stack < to;
}

void probe_exits_at(uintptr_t stack, uintptr_t at)
{
    if (active_count() != 0)
        leave_those(is_over_here, stack, at);
}

/* As leave_those(), but not in one of our handlers: blocks signals. */
static void leave_now(is_over_function *is_over, uintptr_t a, uintptr_t b)
{
    if (active_count() == 0)
        return;
    uint64_t mask = sys_block_signals();
    leave_those(is_over, a, b);
    sys_restore_signals(mask);
}

void probe_exits_jumped(uintptr_t from, uintptr_t to)
{
    leave_now(is_jumped_over, from, to);
}

static bool is_any(const struct probe_exit *f, uintptr_t a, uintptr_t b)
{
    (void)f;
    (void)a;
    (void)b;
    return true;
}

/* For pthread_exit() and cancellation. */
void probe_exits_thread_end(void)
{
    leave_now(is_any, 0, 0);
}

RT_COLD static void tell(_Atomic bool *told, const char *text, uintptr_t where)
{
    char line[256];
    if (recorder_stream.header == NULL /* no log yet */ || atomic_exchange(told, true))
        return;
    (void)snprintf(line, sizeof line, "%s (0x%lx)", text, (unsigned long)where);
    log_line(LOG_WARNING, line);
}

static uintptr_t return_address(uintptr_t stack)
{
    return *(const uintptr_t *)stack; /* NOLINT: the thread's stack */
}

bool probe_exits_coming(uintptr_t stack, bool may_trap)
{
    uintptr_t at = return_address(stack);
    return may_trap && probe_return_ensure(at) && probe_rest_keep(at);
}

/* Removes entries that nobody will end: functions of abandoned coroutines. */
static void drop_abandoned(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < active_count(); i++)
        if (may_be_on_thread_stack(exits_of_thread()[i].stack) ||
            word_of(&exits_of_thread()[i]) == exits_of_thread()[i].back)
            exits_of_thread()[n++] = exits_of_thread()[i];
    set_count(n);
}

void probe_exits_entered(uintptr_t function, uintptr_t stack, bool seen)
{
    if (probe_opens.room == NULL && (thread_self() == NULL || probe_opens.room == NULL))
        return; /* without an automaton no alarm can fire */
    if (!seen)
        tell(&told_back,
             "regtrace cannot see this call return: its exit_func alarm fires at the next probe "
             "after it has returned",
             function);
    for (unsigned i = 0; i < active_count(); i++)
        if (exits_of_thread()[i].function == function &&
            probe_one_stack(exits_of_thread()[i].stack, stack))
            return;
    if (active_count() == PROBE_EXITS_MAX)
        drop_abandoned();
    uint32_t n = active_count();
    if (n < PROBE_EXITS_MAX) {
        exits_of_thread()[n] = (struct probe_exit){function, stack, return_address(stack), 0};
        set_count(n + 1);
    } else {
        tell(&told_many,
             "more than 64 functions with exit_func alarms are active in one thread: the exits of "
             "those further in do not fire",
             function);
    }
}
