/* SPDX-License-Identifier: BSD-3-Clause
 * enter_func and exit_func for programs compiled with -finstrument-functions, and their function
 * events.
 *
 * Names are resolved before main, and after each dlopen, from the symbol tables of the loaded
 * images. The hooks look an address up in a small sorted table. The thread's stack of active
 * functions shows the outermost instance, which exit_func needs. Entries that a longjmp has skipped
 * are dropped when the stack pointer shows it. */
#include "preload/libc/interpose.h"
#include "preload/process.h"
#include "preload/stack/call_walk.h"
#include "preload/thread.h"
#include "preload/window/triggers.h"

#include "preload/window/instrumented_symbols.h"

#include "base/log.h"
#include "base/return_address.h"
#include "base/search.h"
#include "base/sys.h"

#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 512
#define ALARMS_PER_FUNCTION 8

struct named_function {
    uintptr_t address;
    unsigned enter_count, exit_count;
    uint16_t enter[ALARMS_PER_FUNCTION], leave[ALARMS_PER_FUNCTION];
};

static struct named_function named[FUNCTIONS_MAX];
static _Atomic unsigned named_count;
static bool wanted, events_wanted;

bool functions_wanted(void)
{
    return wanted;
}

static struct named_function *entry_of(uintptr_t address)
{
    unsigned n = atomic_load(&named_count), i = 0;
    while (i < n && named[i].address < address)
        i++;
    if (i < n && named[i].address == address)
        return &named[i];
    if (n == FUNCTIONS_MAX)
        return NULL;
    memmove(&named[i + 1], &named[i], (n - i) * sizeof *named);
    named[i] = (struct named_function){.address = address};
    atomic_store(&named_count, n + 1);
    return &named[i];
}

/* A limit that was reached, and the first function for which alarms were left out. It is logged
 * once, when there is a log. */
static const char *full_why;
static char full_name[160];

void functions_say_limits(void)
{
    const char *why = full_why;
    full_why = NULL;
    if (why != NULL)
        log_detail(LOG_WARNING, why, full_name);
}

RT_COLD static void note_full(const char *why, const char *name)
{
    if (full_name[0] != '\0')
        return;
    size_t n = strnlen(name, sizeof full_name - 1);
    memcpy(full_name, name, n);
    full_why = why;
    if (recorder_stream.header != NULL)
        functions_say_limits();
}

static void add_once(uint16_t *list, unsigned *count, uint16_t alarm, const char *name)
{
    for (unsigned i = 0; i < *count; i++)
        if (list[i] == alarm)
            return;
    if (*count < ALARMS_PER_FUNCTION)
        list[(*count)++] = alarm;
    else
        note_full("more than 8 alarms name one function: the others never fire", name);
}

static void found_function(void *ctx, const char *name, uintptr_t address)
{
    (void)ctx;
    for (unsigned i = 0; i < ctl_config_alarm_count(process.config); i++) {
        const struct ctl_alarm *a = ctl_config_alarm(process.config, i);
        if ((a->type != CTL_ENTER_FUNC && a->type != CTL_EXIT_FUNC) ||
            !ctl_config_alarm_reachable(process.config, i) || !ctl_name_matches(a, name))
            continue;
        struct named_function *f = entry_of(address);
        if (f == NULL) {
            note_full("alarms match more than 512 functions: they do not fire in the others", name);
            return;
        }
        if (a->type == CTL_ENTER_FUNC)
            add_once(f->enter, &f->enter_count, (uint16_t)i, name);
        else
            add_once(f->leave, &f->exit_count, (uint16_t)i, name);
    }
}

void functions_resolve(void)
{
    wanted = ctl_config_uses(process.config, CTL_ENTER_FUNC) ||
             ctl_config_uses(process.config, CTL_EXIT_FUNC);
    events_wanted = process.options.number[OPT_functions] == OPTION_FUNCTIONS_COMPILED;
    if (wanted)
        symbols_each_instrumented(found_function, NULL);
}

static struct named_function *look_up(uintptr_t address)
{
    size_t n, count = atomic_load_explicit(&named_count, memory_order_acquire);
    SEARCH_FIRST(n, count, named[n].address < address);
    return n < count && named[n].address == address ? &named[n] : NULL;
}

static void hit(struct preload_thread *pt, const uint16_t *alarms, unsigned n, uintptr_t ip)
{
    if (n == 0 || pt->automaton == NULL)
        return;
    struct ctl_moment m = moment_now(ip);
    ctl_hit(pt->automaton, alarms, n, &m);
    triggers_after_hit(pt);
}

static bool is_active(const struct preload_thread *pt, uintptr_t address)
{
    uint32_t n =
        pt->functions.depth < THREAD_FUNCTION_DEPTH ? pt->functions.depth : THREAD_FUNCTION_DEPTH;
    for (uint32_t i = 0; i < n; i++)
        if (pt->functions.open[i].address == address)
            return true;
    return false;
}

/* The top entry ends. Its exit alarms fire if no outer instance of the function is active. */
static void pop(struct recorder_thread *t, struct preload_thread *pt)
{
    struct open_function top = pt->functions.open[--pt->functions.depth];
    if (events_wanted && recorder_active(t))
        (void)recorder_emit(t, EV_FUNCTION_LEAVE, top.address, top.path);
    struct named_function *f = wanted ? look_up(top.address) : NULL;
    if (f != NULL && f->exit_count != 0 && !is_active(pt, top.address))
        hit(pt, f->leave, f->exit_count, top.address);
}

/* Ends a function that is too deep to be stored. Its enter was recorded, so its leave must be, with
 * the address that the hook gives. */
static void leave_deep(struct recorder_thread *t, struct preload_thread *pt, uintptr_t function)
{
    if (events_wanted && pt->functions.depth > pt->functions.unseen && recorder_active(t))
        (void)recorder_emit(t, EV_FUNCTION_LEAVE, function, 0);
    pt->functions.depth--;
    if (pt->functions.unseen > pt->functions.depth)
        pt->functions.unseen = pt->functions.depth;
}

/* Pops frames below `stack` (the stack grows down): a longjmp has skipped them. */
static void drop_dead(struct recorder_thread *t, struct preload_thread *pt, uintptr_t stack)
{
    while (pt->functions.depth > 0 && pt->functions.depth <= THREAD_FUNCTION_DEPTH &&
           pt->functions.open[pt->functions.depth - 1].stack < stack)
        pop(t, pt);
}

void functions_jumped(uintptr_t stack)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->preload_thread;
    if ((!wanted && !events_wanted) || t->in_toolkit || pt == NULL || !recorder_is_attached(t))
        return;
    drop_dead(t, pt, stack);
}

void functions_forked(struct preload_thread *pt)
{
    for (uint32_t i = 0; i < THREAD_FUNCTION_DEPTH; i++)
        pt->functions.open[i].path = 0;
}

/* Returns the call path of a function that has called its hook, whose return address lies at
 * `return_at`. The enter event has the call site alone. */
static uint32_t path_at_hook(uintptr_t return_at)
{
    unsigned most = (unsigned)process.options.number[OPT_callpath];
    return most > 1 ? call_path_of_caller(return_at, most) : 0;
}

void trigger_function(uintptr_t function, uintptr_t call_site, bool enter, uintptr_t return_at)
{
    struct recorder_thread *t = &recorder_self;
    if ((!wanted && !events_wanted) || !process.traced || t->in_toolkit)
        return;
    struct preload_thread *pt = thread_self();
    if (pt == NULL)
        return;
    /* The hook's caller is the instrumented function. Its frame address orders instances on the
     * stack. */
    uintptr_t stack = (uintptr_t)__builtin_frame_address(0);
    if (enter) {
        drop_dead(t, pt, stack);
        struct named_function *f = wanted ? look_up(function) : NULL;
        if (f != NULL)
            hit(pt, f->enter, f->enter_count, function);
        bool record = events_wanted && recorder_active(t);
        if (pt->functions.depth < THREAD_FUNCTION_DEPTH)
            pt->functions.open[pt->functions.depth] =
                (struct open_function){function, stack, record ? path_at_hook(return_at) : 0};
        pt->functions.depth++;
        if (record)
            (void)recorder_emit(t, EV_FUNCTION_ENTER, function, call_site);
        return;
    }
    while (pt->functions.depth > 0 && pt->functions.depth <= THREAD_FUNCTION_DEPTH &&
           pt->functions.open[pt->functions.depth - 1].address != function &&
           is_active(pt, function))
        pop(t, pt);
    if (pt->functions.depth > THREAD_FUNCTION_DEPTH)
        leave_deep(t, pt, function);
    else if (is_active(pt, function))
        pop(t, pt);
}

PRELOAD_EXPORT void __cyg_profile_func_enter(void *function, void *call_site);
PRELOAD_EXPORT void __cyg_profile_func_exit(void *function, void *call_site);

void __cyg_profile_func_enter(void *function, void *call_site)
{
    trigger_function((uintptr_t)function, (uintptr_t)call_site, true,
                     return_address_at(__builtin_frame_address(0)));
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    trigger_function((uintptr_t)function, (uintptr_t)call_site, false,
                     return_address_at(__builtin_frame_address(0)));
}
