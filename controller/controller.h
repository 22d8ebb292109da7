/* SPDX-License-Identifier: BSD-3-Clause
 * The control language (chains of alarms, parsed before main) and the automaton that runs them, one
 * per thread.
 *
 * Two halves. The language half may allocate and runs before main or in a tool. The automaton half
 * runs in signal handlers and probes: it allocates nothing, calls nothing of libc but raw system
 * calls, knows no clock and no counter; triggers call it, it calls back.
 *
 * Sources: seed 000 (the SDE controller); where this project decides, the comment says so. The
 * user's view is share/doc/control.md. */
#ifndef REGTRACE_CONTROLLER_CONTROLLER_H
#define REGTRACE_CONTROLLER_CONTROLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/options.h"

/* ---- The vocabulary ---- */

enum ctl_event {
    CTL_START,
    CTL_STOP,
    CTL_PRECOND,
    CTL_THREADID,
    CTL_WARMUP_START,
    CTL_WARMUP_STOP,
    CTL_PROLOG_START,
    CTL_PROLOG_STOP,
    CTL_EPILOG_START,
    CTL_EPILOG_STOP,
    CTL_STATS_EMIT,
    CTL_STATS_RESET,
    CTL_STATS_EMIT_RESET,
    CTL_EVENT_COUNT
};

enum ctl_type {
    CTL_ICOUNT,
    CTL_ADDRESS,
    CTL_SSC,
    CTL_ITEXT,
    CTL_ISA_EXTENSION,
    CTL_ISA_CATEGORY,
    CTL_INT3,
    CTL_MAGIC,
    CTL_CPUID,
    CTL_PCONTROL,
    CTL_ENTER_FUNC,
    CTL_EXIT_FUNC,
    CTL_INTERACTIVE,
    CTL_TIMEOUT,
    CTL_SIGNAL,
    CTL_IMAGE_LOAD,
    CTL_UNIFORM, /* the piece uniform:P:L:N; its events alternate start and stop, all bcast */
    CTL_TYPE_COUNT
};

/* The names as the language has them ("warmup-start", "isa_extension"). NULL for a number out of
 * range. */
const char *ctl_event_name(enum ctl_event event);
const char *ctl_type_name(enum ctl_type type);

#define CTL_NO_ALARM UINT16_MAX /* "no alarm": a default start, nothing armed */
#define CTL_MAX_ALARMS 65000u   /* alarm indexes are dense from 0 and fit 16 bits */
#define CTL_ANY_TID UINT32_MAX  /* the alarm has no tid token */
#define CTL_HELPER_TID 1000u    /* threads of MPI and other runtimes have tids from here ... */
#define CTL_HELPER_END 1000000u /* ... to here; the program's own go on from here after 999 */
static inline bool ctl_is_helper(uint32_t tid)
{
    return tid >= CTL_HELPER_TID && tid < CTL_HELPER_END;
}
#define CTL_UNKNOWN UINT64_MAX /* an instruction count that is not known, or was not requested */
#define CTL_ENDLESS 0u         /* ctl_chain.repeat of ",repeat" without a number */

/* ---- What was parsed ---- */

/* How the value of an alarm reads; which fields of ctl_alarm hold it stands beside each. */
enum ctl_value_kind {
    CTL_VALUE_NONE,     /* int3, interactive */
    CTL_VALUE_NUMBER,   /* icount, ssc, cpuid, signal (its number), timeout (nanoseconds): number */
    CTL_VALUE_ABSOLUTE, /* address:0x...: number */
    CTL_VALUE_NAME,     /* address:NAME (a symbol), functions, image_load, isa names: value */
    CTL_VALUE_NAME_OFFSET, /* address:NAME+OFF: value is NAME (an image if one of that path or base
                              name is loaded, else a symbol), number is OFF */
    CTL_VALUE_BYTES,       /* itext: bytes, byte_count */
    CTL_VALUE_PAIR,        /* magic:A.B: number is A, second is B */
    CTL_VALUE_STRING,      /* pcontrol:TEXT: value */
    CTL_VALUE_LEVEL,       /* pcontrol:level=N: (int64_t)number */
    CTL_VALUE_UNIFORM      /* uniform: number is the period, second the length, count the windows */
};

struct ctl_range {
    uint32_t first, last; /* both included */
};

struct ctl_alarm {
    uint16_t index;    /* 0 .. alarm count - 1, over all chains */
    uint16_t chain;    /* 0 .. chain count - 1 */
    uint16_t position; /* in its chain, 0 .. */
    uint8_t event;     /* enum ctl_event; CTL_START for a uniform */
    uint8_t type;      /* enum ctl_type */
    uint8_t value_kind;
    uint8_t byte_count;
    uint8_t bytes[15]; /* in memory order */
    bool quoted;       /* the value stood in quotes: function names compare as a whole, see
                          ctl_name_matches */
    bool bcast, global, exact;
    uint32_t tid;   /* CTL_ANY_TID: no filter */
    uint64_t count; /* >= 1; of a uniform: windows */
    uint64_t number, second;
    uint64_t distance; /* icount: instructions x count; timeout: nanoseconds x count; else 0 */
    const char *value; /* the value without quotes, "" if it has none; never NULL */
    const char *text;  /* the alarm as it was written, its tokens included */
    const struct ctl_range *ranks;
    unsigned range_count; /* 0: every rank */
};

struct ctl_chain {
    uint16_t index;
    uint16_t first_alarm; /* alarms of a chain are neighbours */
    uint16_t alarm_count;
    uint16_t waitfor;   /* index of the chain waited for, or CTL_NO_ALARM */
    uint64_t repeat;    /* passes in total, >= 1; CTL_ENDLESS */
    const char *name;   /* "" if it has none */
    const char *text;   /* canonical: parses back to the same chain, one line, no newline and no ';'
                           outside quotes */
    const char *origin; /* "-control", "REGTRACE_CONTROL", "file F line 3", "-skip", ... */
    const char *label;  /* region id and weight of a regions file, "" elsewhere */
    const char *region; /* of a regions file: "ID TAB WEIGHT TAB MULTIPLIER", decimal fractions that
                           may be empty; "" elsewhere */
};

/* Immutable once made, but for its rank. Freed by ctl_config_free. */
struct ctl_config;

unsigned ctl_config_alarm_count(const struct ctl_config *config);
unsigned ctl_config_chain_count(const struct ctl_config *config);
/* NULL if index is out of range. The pointers live as long as the config. */
const struct ctl_alarm *ctl_config_alarm(const struct ctl_config *config, unsigned index);
const struct ctl_chain *ctl_config_chain(const struct ctl_config *config, unsigned index);
/* Whether each thread gets a default start: no start (and no uniform) in any chain, and not turned
 * off. */
bool ctl_config_default_start(const struct ctl_config *config);
/* Whether any alarm has this type. */
bool ctl_config_uses(const struct ctl_config *config, enum ctl_type type);
/* Does an alarm have the token `exact`? */
bool ctl_config_has_exact(const struct ctl_config *config);
/* All chains, canonical, one a line (each ends with a newline): fit for REGTRACE_CONTROL or a
 * control file, so that a tool that understood legacy options and regions files need not pass them
 * on. Owned by the config. */
const char *ctl_config_text(const struct ctl_config *config);
void ctl_config_free(struct ctl_config *config);

/* Ours: `ranksLIST` filters as `tid` does. On a rank outside the list the executions of that alarm
 * are ignored, so the chain does not go past it there; a start with a list is still "a start" for
 * the default start. The rank is 0 until set; set it before ctl_shared_init. */
void ctl_config_set_rank(struct ctl_config *config, uint32_t rank);
bool ctl_alarm_on_rank(const struct ctl_alarm *alarm, uint32_t rank);
/* Whether the alarm can fire on the config's rank: it and those before it in its chain are on that
 * rank, and so is the chain that it waits for. Triggers need not look for others. */
bool ctl_config_alarm_reachable(const struct ctl_config *config, unsigned index);

/* Does a function of this name match an enter_func, exit_func or address alarm's name? `name` is
 * demangled, or plain C. Unquoted values match the bare name: namespaces, classes, template
 * arguments and parameters are stripped from `name`, so every overload matches. Quoted values match
 * as a whole: with a '(' the full text, without one the qualified name without parameters (and
 * without template arguments if the value has none). Does not allocate. */
bool ctl_name_matches(const struct ctl_alarm *alarm, const char *name);

/* ---- Making a config ---- */

/* A timeout below this would be over before its handler has returned, and leave the program no time at all: refused. */
#define CTL_TIMEOUT_LEAST_NS 100000u

/* Nor can more alarms than this of each type that a process looks for among its alarms when something happens (pcontrol, signal,
 * interactive, image_load): where capabilities are given, such a config is refused. */
#define CTL_SAME_TYPE_MAX 256u

/* Why a type cannot be used, by enum ctl_type; NULL = it can. The reason completes "icount is not
 * available: ...". CTL_UNIFORM needs CTL_ICOUNT as well: a reason for icount refuses it too. */
struct ctl_capabilities {
    const char *unavailable_reason[CTL_TYPE_COUNT];
    const char *exact_reason; /* likewise for the token `exact` */
};

/* Without the types that this build has no trigger for (base/not_built.def); what the machine lacks is the caller's to add. */
struct ctl_capabilities ctl_capabilities_of_build(void);

/* Called once for each warning (suspicious but legal input), text is one line without a newline. */
typedef void ctl_warning_function(void *context, const char *text);

struct ctl_builder;

/* NULL with errno. warn may be NULL. */
struct ctl_builder *ctl_builder_create(ctl_warning_function *warn, void *context) RT_MUST_CHECK;
void ctl_builder_free(struct ctl_builder *builder);

/* Every function that adds returns 0, or -EINVAL for a wrong text, -ENOMEM, or the -errno of a file
 * that cannot be read. The first line of the error text is complete alone: chain, column (1-based,
 * in characters of the chain), what was found, what is legal there, the nearest legal name; the
 * chain and a caret line follow. After a failure the builder is as it was. */

/* One chain, as after -control. `origin` names where it stood, for messages. */
int ctl_builder_add_chain(struct ctl_builder *builder, const char *text, const char *origin,
                          struct rt_error *err) RT_MUST_CHECK;
/* Chains separated by newline or ';' (not inside quotes); empty ones are skipped: REGTRACE_CONTROL.
 */
int ctl_builder_add_list(struct ctl_builder *builder, const char *text, const char *origin,
                         struct rt_error *err) RT_MUST_CHECK;
/* A chain a line, '#' begins a comment line: -control-file. */
int ctl_builder_add_file(struct ctl_builder *builder, const char *path,
                         struct rt_error *err) RT_MUST_CHECK;

/* An option of the controller by the name it has in base/options.def ('-', '_' and U+2013 are the
 * same, leading dashes are skipped): control, control-file, controller-default-start, regions:warmup,
 * regions:prolog and regions:epilog (before regions:in, whose regions they belong to), regions:in,
 * pcregions:in, trace_instr_intervals_file, and the legacy ones, which are collected and become
 * chains at finish, behind all -control chains. An empty or NULL value of start-int3 and stop-int3
 * means 1. -EINVAL also for an unknown name. */
int ctl_builder_add_option(struct ctl_builder *builder, const char *name, const char *value,
                           struct rt_error *err) RT_MUST_CHECK;

/* Checks what concerns all chains together (waitfor, uniform, capabilities), warns, makes the
 * config. The builder can be freed afterwards; the config is the caller's. `capabilities` NULL:
 * everything is available. */
int ctl_builder_finish(struct ctl_builder *builder, const struct ctl_capabilities *capabilities,
                       struct ctl_config **config, struct rt_error *err) RT_MUST_CHECK;

/* Callbacks by which the caller finds out what this machine can do. */
struct ctl_machine {
    /* Fills in why each capability is missing. `needed`: the chains count something, so the check
     * may start a process. */
    void (*look)(void *context, bool needed, struct ctl_capabilities *out);
    /* Did the last look() find a back end that counts instructions? */
    bool (*counts)(void *context);
    void *context;
};

/* Builds and checks the chains of a run from its options. With machine NULL it checks the language
 * alone. Returns 0 and *config, which the caller frees, or -errno with the text and *config
 * NULL. */
int ctl_config_of_options(const struct options *o, const struct ctl_machine *machine,
                          ctl_warning_function *warn, void *warn_context,
                          struct ctl_config **config, struct rt_error *err) RT_MUST_CHECK;

/* Says in words what the chains will do (for --explain). In explain.c, which libregtrace.so does
 * not link. Returns 0 or -EIO if the stream has an error. */
int ctl_explain(const struct ctl_config *config, FILE *out);

/* ---- The automaton ---- */
/*
 * A chain has one place in each thread: the alarm that is armed there (at most one), or none
 * (waiting for another chain, finished, or left behind by a global alarm whose winner goes on
 * alone). Rules beyond seed 000:
 *  - bcast: when it fires, every thread, wherever it is in that chain, is moved behind it; so one
 *    event a pass.
 *  - Arming a global alarm or a uniform arms it for every thread, whoever fired before it.
 *  - A global alarm without bcast, followed by one that is not global: the winner goes on, the
 *    chain has nothing armed in the others until it comes to a global, bcast or uniform transition
 *    again.
 *  - A helper thread (ctl_is_helper()) takes part in a chain only if an alarm of that chain
 *    names its tid. It gets no default start.
 *  - count on icount and timeout multiplies the distance.
 *
 * Memory: the caller hands in ctl_shared_size() bytes once and ctl_thread_size() bytes a thread,
 * aligned to CTL_ALIGNMENT. Nothing is to be freed inside. Thread memory may be reused after
 * ctl_thread_exit.
 */
#define CTL_ALIGNMENT 64

struct ctl_shared;
struct ctl_thread;

/* When and where: passed through to on_fire. icount: absolute user instructions of this thread,
 * CTL_UNKNOWN if not known; the automaton compares it for icount alarms that are already past. */
struct ctl_moment {
    uint64_t icount;
    uint64_t clock;
    uintptr_t ip;
};

struct ctl_fired {
    uint16_t alarm; /* CTL_NO_ALARM: the default start */
    uint16_t chain; /* CTL_NO_ALARM: the default start */
    uint8_t event;  /* enum ctl_event; a uniform's alternate */
    bool bcast;     /* for all threads (uniform: always) */
    bool late;    /* fired at once, since the requested count was already past when it was armed */
    bool precond; /* opens nothing */
    bool default_start;
    uint32_t tid;   /* the thread that fired */
    uint64_t pass;  /* of the chain, from 0 */
    uint64_t phase; /* uniform: 2 x window + (0 start, 1 stop); else 0 */
    uint64_t
        requested; /* absolute icount of this thread; CTL_UNKNOWN where none was asked for. Of a
                           global icount: where it was when the sum was reached */
    struct ctl_moment moment;
};

/* For alarms with machinery behind them: icount, timeout, uniform. */
struct ctl_arming {
    uint16_t alarm;
    uint32_t generation; /* hand it back to ctl_expire; an expiry of an older one is ignored */
    uint64_t distance;   /* from base: instructions, or nanoseconds for a timeout */
    uint64_t base;       /* icount, uniform: absolute icount of this thread that it counts from;
                            CTL_UNKNOWN: from now. timeout: CTL_UNKNOWN */
    bool global;         /* one count over all threads: report progress by ctl_advance, distance is
                            what is left */
    bool closes; /* it ends windows. Of counts that are equal those are to expire first, then
                            the others by alarm (that is, by chain) */
};

/* All are called with every signal blocked, on the thread concerned, and must be async-signal-safe.
 * They must not call the automaton. Any may be NULL. */
struct ctl_callbacks {
    /* An alarm fired. For bcast, global and uniform edges it is called under the automaton's lock,
     * so that a start is seen before its stop by another thread: be brief. */
    void (*on_fire)(void *context, const struct ctl_fired *fired);
    /* Armed in this thread. Returns the absolute icount that it counts from (base if that was
     * known, else the count now), or CTL_UNKNOWN. Not under the lock. */
    uint64_t (*on_arm)(void *context, uint32_t tid, const struct ctl_arming *arming);
    /* Disarmed in this thread without having fired here. Not under the lock. */
    void (*on_disarm)(void *context, uint32_t tid, uint16_t alarm);
    /* icount, timeout or uniform alarms were armed for all threads: make the others call ctl_sync.
     * Not under the lock. */
    void (*on_sync_needed)(void *context);
};

size_t ctl_shared_size(const struct ctl_config *config);
/* `memory` becomes the shared state (it is the return value). The config must outlive it. callbacks
 * are copied. */
struct ctl_shared *ctl_shared_init(const struct ctl_config *config, void *memory,
                                   const struct ctl_callbacks *callbacks, void *context);

size_t ctl_thread_size(const struct ctl_config *config);
/* On the new thread, before its first instruction of the program: fires the default start, arms
 * what new threads get, may fire a uniform's first window or an icount of 0. */
struct ctl_thread *ctl_thread_init(struct ctl_shared *shared, void *memory, uint32_t tid,
                                   const struct ctl_moment *moment);
/* On the ending thread, or when it is known to be gone. Calls no callback. */
void ctl_thread_exit(struct ctl_thread *thread);

/* Adopt what other threads' firings changed. Cheap when nothing did. In a handler or anywhere on
 * the thread. */
void ctl_sync(struct ctl_thread *thread, const struct ctl_moment *moment);

/* The machinery of an icount, timeout or uniform says that the distance is over. Ignored unless
 * `generation` is that of the arming in force. For a REP or skid the moment's icount says where the
 * thread really is. */
void ctl_expire(struct ctl_thread *thread, uint16_t alarm, uint32_t generation,
                const struct ctl_moment *moment);

/* This thread retired `instructions` more towards the global icount that is armed in the chain of
 * `alarm` (another thread may have fired `alarm` itself meanwhile: nothing is lost). Returns what
 * is left over all threads, 0: it fired, or no global icount is armed in the chain. The next global
 * icount of the chain starts from the overshoot, so there is no drift. */
uint64_t ctl_advance(struct ctl_thread *thread, uint16_t alarm, uint64_t instructions,
                     const struct ctl_moment *moment);

/* Around fork: prepare takes the automaton's lock and blocks signals, so that the child gets whole
 * state; parent and child release. The child goes on with the calling thread alone, in the state
 * that it had (ours: its chains do not start anew); machinery does not survive a fork, so the child
 * gets on_arm again for what is armed. `thread` may be NULL (a thread that we do not know). Not for
 * vfork. */
void ctl_fork_prepare(struct ctl_shared *shared, uint64_t *saved_mask);
void ctl_fork_parent(struct ctl_shared *shared, const uint64_t *saved_mask);
void ctl_fork_child(struct ctl_shared *shared, struct ctl_thread *thread,
                    const uint64_t *saved_mask, const struct ctl_moment *moment);
/* Where prepare could not run before: drops the lock whoever held it, then as ctl_fork_child. */
void ctl_after_fork(struct ctl_shared *shared, struct ctl_thread *thread,
                    const struct ctl_moment *moment);

/* The alarm of a chain that is armed in a thread, or CTL_NO_ALARM. Any thread may ask (a snapshot).
 */
uint16_t ctl_thread_armed(const struct ctl_thread *thread, unsigned chain);
/* No alarm can fire in this thread any more, whatever others do: by the thread itself. False where that cannot be told
 * cheaply. */
bool ctl_thread_is_over(const struct ctl_thread *thread);
/* How many chains have an alarm armed in at least one thread that has begun and not ended. Stored
 * under the lock: where two threads ask at once, the later count stays. Not from a callback. */
void ctl_chains_armed(struct ctl_shared *shared, _Atomic uint32_t *count);
uint32_t ctl_thread_tid(const struct ctl_thread *thread);
/* How often an alarm has fired, over all threads (a uniform: edges). */
uint64_t ctl_alarm_fired(const struct ctl_shared *shared, uint16_t alarm);
/* Times that a backlog of past icounts was cut, because one hit would have fired more than 65536
 * edges at once; the chain then counts from the actual icount. */
uint64_t ctl_backlogs_cut(const struct ctl_shared *shared);

/* Why an alarm never fired. */
enum ctl_unfired {
    CTL_NEVER_ARMED, /* the alarm before it never fired, or the chain that it waits for never ended
                      */
    CTL_NEVER_HIT,   /* armed, but no matching execution: unresolved symbol, image never loaded, ...
                      */
    CTL_COUNT_SHORT, /* `reached` executions of `count` */
    CTL_OTHER_RANK   /* its rank list excludes this rank */
};
typedef void ctl_unfired_function(void *context, const struct ctl_alarm *alarm,
                                  enum ctl_unfired why, uint64_t reached);
/* At the end of the run: calls back for each alarm that never fired (reached: the best of any
 * thread, or the global count). Takes the lock; the callback may print. */
void ctl_never_fired(struct ctl_shared *shared, ctl_unfired_function *callback, void *context);

/* ---- The hot path ---- */
/* A counter that says how many executions are left. Below CTL_LEFT_LIVE: armed, fires when it comes to 0. At CTL_LEFT_GLOBAL: armed, the
 * count is in the shared state. At or above CTL_LEFT_PARKED_MIN: not armed; may be decremented freely, since 2^61 executions never happen.
 * So a trampoline for a place with one alarm that is not global need not ask whether it is armed:
 *
 *     mov  epoch_at(shared), tmp        # ctl_shared_epoch(shared), an absolute address
 *     cmp  tmp, thread->epoch           # CTL_THREAD_EPOCH_OFFSET
 *     jne  slow_stale                   # ctl_hit(thread, &alarm, 1, moment)
 *     decq ctl_left_offset(alarm)(thread)
 *     jle  slow_due                     # ctl_hit_due(thread, &alarm, 1, moment, 0)
 *
 * Of several such alarms, of different chains, each is a decq and a jle. */
#define CTL_LEFT_LIVE ((int64_t)1 << 60)
#define CTL_LEFT_GLOBAL ((int64_t)3 << 59)
#define CTL_LEFT_PARKED_MIN ((int64_t)1 << 61)
#define CTL_LEFT_PARKED ((int64_t)1 << 62)

/* The head of the two states, visible for the inline functions alone. */
struct ctl_shared {
    uint64_t epoch; /* changes whenever a firing changed other threads' state; atomic */
};
struct ctl_thread {
    uint64_t epoch; /* what it has adopted; changed by its own thread alone */
    struct ctl_shared *shared;
    int64_t *left; /* by alarm index; lies inside the thread's memory at ctl_left_offset() */
};
#define CTL_THREAD_EPOCH_OFFSET 0

static inline const uint64_t *ctl_shared_epoch(const struct ctl_shared *shared)
{
    return &shared->epoch;
}

/* Of the counter of an alarm from the start of struct ctl_thread, in bytes; the same for every thread. */
size_t ctl_left_offset(uint16_t alarm);

/* Everything that is not a plain decrement. Bits by place in `alarms`: counted, those that were decremented and are not due; claimed,
 * those that were decremented and came to 0 or below. Both 0: nothing was decremented yet. */
void ctl_hit_slow(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                  const struct ctl_moment *moment, uint64_t counted, uint64_t claimed) RT_COLD;
/* Of a place whose code decrements by itself: alarms[due] has come to 0 or below, those before it were decremented and are not due, those
 * behind it were not decremented yet. */
void ctl_hit_due(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                 const struct ctl_moment *moment, unsigned due) RT_COLD;
/* ctl_hit for a place of several alarms. */
void ctl_hit_several(struct ctl_thread *thread, const uint16_t *alarms, unsigned count,
                     const struct ctl_moment *moment);
/* Atomically one less of a global alarm's counter; the new value. */
int64_t ctl_global_decrement(struct ctl_shared *shared, uint16_t alarm);

/* One less, in one instruction as seen from this thread and its signal handlers (no other thread
 * writes it). */
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

/* One execution at one place: these alarms, of any type without machinery, match it. Alarms that a
 * firing arms do not see this execution (ours; in Pin they do). Safe in a handler that interrupts
 * any function of the automaton on the same thread, and ctl_hit itself. */
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
