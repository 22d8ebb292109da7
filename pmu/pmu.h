/* SPDX-License-Identifier: BSD-3-Clause
 * Counts a thread's own user-mode instructions and interrupts the thread when the count reaches a
 * target; also samples and counters of events.
 *
 * pmu_choose() runs before main and may allocate. All other functions for threads run on the thread
 * concerned, also in signal handlers: they allocate nothing and use raw system calls only. Counts
 * are absolute for the thread, from pmu_thread_begin() on, without what pmu_thread_exclude() took
 * out. Sources: perf_event_open(2); Weaver, "Non-determinism and overcount on modern hardware
 * performance counters", 2013, for the accuracy of such counts; Intel SDM 3B 17.3.1.4, for the trap
 * flag. */
#ifndef REGTRACE_PMU_PMU_H
#define REGTRACE_PMU_PMU_H

#include "base/error.h"
#include "base/options.h"
#include "pmu/step.h"

#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PMU_NEVER UINT64_MAX

struct pmu_thread;
struct perf_event_mmap_page;

/* Lets a thread read its own counter without a system call (pmu/user_read.c). page NULL: it
 * cannot. */
struct pmu_direct {
    const struct perf_event_mmap_page *page;
    uint32_t owner; /* owner of the mapping: recorder_own_mappings() */
};

struct pmu_backend {
    const char *name; /* value of REGTRACE_PMU */
    bool steps;       /* counts by pmu/step.c alone, so regtrace's own code never counts */
    bool kernels;     /* pmu_thread.fd is an event of the kernel */
    bool exact;       /* interrupts come at the very instruction */
    /* Checks that this machine can count. Returns 0, or -errno with the reason and the remedy. */
    int (*probe)(struct rt_error *err);
    /* Starts counting; each overflow sends signo to the thread kernel_tid. Returns 0 or -errno. */
    int (*begin)(struct pmu_thread *t, int signo, uint32_t kernel_tid);
    void (*end)(struct pmu_thread *t);
    uint64_t (*read)(const struct pmu_thread *t); /* raw count, with excluded instructions */
    /* Interrupt after this many more instructions; PMU_NEVER: do not. */
    void (*set)(struct pmu_thread *t, uint64_t distance);
};

/* Count of one thread; all zero before pmu_thread_begin(). */
struct pmu_thread {
    const struct pmu_backend *backend; /* NULL: this thread is not counted */
    uint64_t excluded;                 /* instructions executed by regtrace */
    uint64_t target;                   /* absolute count of the next interrupt, or PMU_NEVER */
    uint64_t asked;                    /* count at which the back end interrupts, or PMU_NEVER */
    bool exact;                        /* must stop at the very instruction `target` */
    bool approaching;                  /* step.c counts the rest up to `target` */
    int fd;                            /* descriptor of the kernel's event */
    struct pmu_direct direct;
    uint64_t seed; /* skid generator of the back end `late` */
    struct pmu_step step;
};

/* Chooses a back end. `wanted` is auto, papi, perf, step, none, or late:SEED:MAXIMUM for tests.
 * Returns 0 with *backend (NULL for none); -EINVAL for an unknown name; or -errno with the reason
 * why this machine cannot count, and the remedy.
 *
 * papi counts PAPI's PAPI_TOT_INS of this processor, perf the kernel's event `instructions`; the
 * kernel counts in both cases. auto is papi, else perf. If counts are not known to be `needed`,
 * auto is perf, which saves the start of regtrace-events. */
int pmu_choose(const char *wanted, bool needed, const struct pmu_backend **backend,
               struct rt_error *err) RT_MUST_CHECK;
/* Describes the counted event: "PAPI: arm_ac57::INST_RETIRED (type 4 config 0x8)". */
void pmu_describe(const struct pmu_backend *backend, char *out, size_t room);
/* Refuses recordings that do not work while threads are single-stepped, by the back end or for an
 * `exact` alarm. Returns 0, or -EINVAL with the remedy. */
RT_MUST_CHECK int pmu_check_steps(bool stepped, bool memory, bool values, struct rt_error *err);
/* Returns NULL if `exact` works with this back end, else the reason why not. */
const char *pmu_exact_reason(const struct pmu_backend *backend);

/* Starts to count the calling thread. Returns 0 or -errno. Steps nothing before pmu_go(). */
int pmu_thread_begin(struct pmu_thread *t, const struct pmu_backend *backend, int signo,
                     uint32_t kernel_tid);
void pmu_thread_end(struct pmu_thread *t);
/* In the child of fork, which does not inherit the parent's counter: continues from the parent's
 * count. */
void pmu_thread_forked(struct pmu_thread *t, int signo, uint32_t kernel_tid);

/* Returns the present count, or PMU_NEVER if the thread is not counted. */
uint64_t pmu_thread_count(const struct pmu_thread *t);

/* Returns in how many thousandths of its time the thread was counted. Below 1000, others wanted
 * more counters than the processor has, and the kernel let the events take turns. */
uint32_t pmu_thread_share(const struct pmu_thread *t);

/* Takes what the thread executed since `since`, an earlier pmu_thread_count(), out of its count:
 * that was regtrace's code. */
void pmu_thread_exclude(struct pmu_thread *t, uint64_t since);

/* Interrupts at `target`, or as soon as possible if the count has passed it; PMU_NEVER: never.
 * Replaces the previous target. exact: at that very instruction. */
void pmu_thread_arm(struct pmu_thread *t, uint64_t target, bool exact);

/* Returns whether this signal is the overflow of this thread's counter. */
bool pmu_is_overflow(const struct pmu_thread *t, const siginfo_t *info);
/* Returns whether the count has reached the requested interrupt, whichever signal is handled
 * now. */
bool pmu_thread_is_due(const struct pmu_thread *t);
/* Handles an overflow and learns its skid. Returns true if the target is reached. False means that
 * the overflow was early, for an exact target: either the thread is stepped from now on, and the
 * handler ends with pmu_step_resume(), or the counter is armed again. */
bool pmu_thread_overflowed(struct pmu_thread *t);

/* --- stepping: step.c ------------------------------------------------------------------------- */

enum pmu_trap {
    PMU_TRAP_FOREIGN, /* not from stepping */
    PMU_TRAP_DONE,
    /* The caller handles the next two and then calls pmu_step_go_on(). */
    PMU_TRAP_DUE,  /* the count has reached its target */
    PMU_TRAP_PLACE /* the next instruction is at one of pmu_step_places() */
};

/* Places where the caller has written an int3 into the program. A thread executes the replaced
 * instruction in a copy elsewhere. The stepper counts that instruction once, as the original, and
 * does not count the code that follows it in the copy. The stepper calls these functions in
 * handlers. */
struct pmu_places {
    bool (*is_there)(uintptr_t at);
    void (*go_on)(void *context); /* moves the thread from a place to the copy */
    bool (*is_copy)(uintptr_t at);
    /* hidden() returns the signals that the program has blocked in the calling thread but that are
     * not in its mask, so that the places work. The stepper calls unblocked() when the program
     * unblocks one of them. */
    uint64_t *(*hidden)(void);
    void (*unblocked)(void);
};
/* The caller sets the places before any thread is stepped. */
void pmu_step_places(struct pmu_places places);

/* Sets the range of regtrace's text. Instructions in it do not count. */
void pmu_step_own_text(uintptr_t from, uintptr_t to);
/* Sets the range of those regtrace functions that call pmu_stop() first and pmu_go() last. The
 * thread is not stepped up to pmu_stop() either. */
void pmu_step_entries(uintptr_t from, uintptr_t to);

/* Steps the calling thread from the next instruction on. Does nothing if it must not be stepped. */
void pmu_go(struct pmu_thread *t);
/* Ends stepping, since regtrace's code runs from here on. Returns true if the thread was stepped:
 * call pmu_go() later. */
bool pmu_stop(struct pmu_thread *t);

/* Enclose a call from regtrace's code into the program: a thread's routine, a handler, an
 * intercepted function. The program's part is stepped if the thread was stepped before. Pass the
 * result of pmu_program_begin() to pmu_program_end(). */
struct pmu_inside {
    uintptr_t bound;
    bool on, handling, entered;
    bool own; /* for the caller's use */
};
struct pmu_inside pmu_program_begin(struct pmu_thread *t);
void pmu_program_end(struct pmu_thread *t, struct pmu_inside inside);

/* Handles a SIGTRAP. */
enum pmu_trap pmu_step_trap(struct pmu_thread *t, const siginfo_t *info, void *context);
/* First call in any other signal handler: moves the interrupted thread to where the program expects
 * it. Returns the argument for pmu_step_resume(). */
struct pmu_inside pmu_step_settle(struct pmu_thread *t, void *context);
/* Last call in a handler, with SIGTRAP blocked: continues to step the interrupted code. Never
 * returns PMU_TRAP_FOREIGN. */
enum pmu_trap pmu_step_resume(struct pmu_thread *t, void *context, struct pmu_inside inside);
/* Call it after each PMU_TRAP_DUE and PMU_TRAP_PLACE, until it returns something else. */
enum pmu_trap pmu_step_go_on(struct pmu_thread *t, void *context);
/* Returns whether the interrupted code is being stepped. */
bool pmu_step_is_on(const struct pmu_thread *t, const void *context);
/* The int3 of a place has trapped while the thread was stepped. The caller has set the instruction
 * pointer to the place. */
enum pmu_trap pmu_step_at_place(struct pmu_thread *t, void *context);
/* An int3 of the program has trapped and has no effect. The stepper counts it. */
enum pmu_trap pmu_step_over_int3(struct pmu_thread *t, void *context);
/* For a SIGTRAP that is not from stepping: returns whether the program gets it now. Otherwise the
 * program gets it when it unblocks SIGTRAP. */
bool pmu_step_lets_through(struct pmu_thread *t, const siginfo_t *info);
/* The program blocks or unblocks SIGTRAP without a system call: at both ends of its handler. */
void pmu_step_block(struct pmu_thread *t, bool blocked);

/* --- names ------------------------------------------------------------------------------------ */
/* Names of events are the kernel's generic ones, rHEX, and those of PAPI (PAPI_L1_DCM) and libpfm4
 * (perf::PAGE-FAULTS). For the last two, this code asks the program regtrace-events, a separate
 * process. Callers run before main, or in tools. */

#define PMU_NAME 128

/* From struct perf_event_attr. */
struct pmu_code {
    uint32_t type;
    uint64_t config, config1, config2;
};

/* `find` writes the path of regtrace-events, or returns false if there is none. `environment` is
 * for running it, and stays the caller's. */
void pmu_names_prepare(bool (*find)(char path[PATH_MAX]), char *const *environment);
/* pmu_names_give() writes the answers of regtrace-events for other processes of the same boot.
 * Returns false if there are none, or if they exceed the room. pmu_names_take() reads them
 * there. */
#define PMU_NAMES_VARIABLE "REGTRACE_EVENT_CODES"
bool pmu_names_give(const char *boot_id, char *out, size_t room);
void pmu_names_take(const char *given, const char *boot_id);
/* Writes one line each on what PAPI and libpfm4 can do here. Returns false with the reason in the
 * text. */
bool pmu_names_about(char *papi, char *pfm, size_t room);

/* --- samples ---------------------------------------------------------------------------------- */
/* Interrupts of a thread at regular distances in its CPU time or in its counts of an event.
 * Sources: timer_create(2), CLOCK_THREAD_CPUTIME_ID; perf_event_open(2), for the generic names. */

/* A parsed REGTRACE_SAMPLE. */
struct pmu_sample_spec {
    uint64_t period; /* ns of CPU time, or events; 0: no samples */
    struct pmu_code code;
    bool by_time;
    bool is_clock; /* the event is a clock of the kernel, in ns */
    /* The event stops when it overflows, until pmu_sampler_again(): the handler does not count, and
     * no second signal waits. Signals of events queue: a handler that takes longer than a period
     * would never end, and would fill the user's queue. */
    bool halts;
    /* :windows (the default), :gaps between windows, :always for both. */
    bool in_windows, in_gaps;
    uint32_t name_bytes; /* length of the event's name in the text */
    /* Random variation of periods to either side, in per mille; 0: constant periods. */
    uint32_t spread;
    char unit[PMU_NAME];          /* "ns of CPU time", or the event's name */
    char meaning[PMU_NAME + 256]; /* description of what is counted */
};

/* An interrupt and its signal may take this long (30 to 50 us on virtual machines). A clock with a
 * shorter period may leave a thread no time at all, not even for the handler that would lengthen
 * the period. So no sampler begins with a shorter one. */
#define PMU_SHORT_NS 100000u

/* Sampler of one thread; all zero before pmu_sampler_begin(). */
struct pmu_sampler {
    bool made;
    int id; /* the kernel's timer, or the descriptor */
    const struct pmu_sample_spec *spec;
    uint64_t random; /* state of the random generator */
    uint32_t since;  /* samples since the period was last varied */
    uint64_t factor; /* period divided by the spec's: pmu_sampler_pace() */
    uint64_t least;  /* smaller factors have left the program too little time */
    /* pmu_sampler_pace() tries a smaller factor than `least` after `patience` rounds with time to
     * spare; `room` counts them. */
    uint32_t patience, room;
    bool armed;   /* it stops at its next overflow: spec->halts */
    bool halted;  /* by pmu_sampler_halt() */
    bool careful; /* stops during each of its samples: pmu_sampler_careful() */
};

/* Parses "EVENT:PERIOD[:windows|gaps|always]", "" for none. Returns 0, or -EINVAL with a text that
 * names what is legal. pmu_sample_read() leaves out the event's codes, for readers of a recorded
 * run. */
RT_MUST_CHECK int pmu_sample_parse(const char *text, struct pmu_sample_spec *spec,
                                   struct rt_error *err);
RT_MUST_CHECK int pmu_sample_read(const char *text, struct pmu_sample_spec *spec,
                                  struct rt_error *err);

/* Checks that this machine can sample it. Returns 0, or -errno with the reason and the remedy.
 * one_window: the whole run is one window, so there are no gaps. */
RT_MUST_CHECK int pmu_sample_probe(const struct pmu_sample_spec *spec, bool one_window,
                                   struct rt_error *err);

/* Prepares a sampler for the calling thread; pmu_sampler_run() starts it. A timer's signal carries
 * `code` in si_value. Returns 0 or -errno. */
RT_MUST_CHECK int pmu_sampler_begin(struct pmu_sampler *s, const struct pmu_sample_spec *spec,
                                    int signo, int code, uint32_t kernel_tid);
/* Starts the sampler with a full period, or stops it. */
void pmu_sampler_run(struct pmu_sampler *s, bool on);
/* In the handler of a sample: changes the period from time to time if the spec has a spread. */
void pmu_sampler_vary(struct pmu_sampler *s);
/* Adapts the period. `samples` and `program` are the times, in any unit, that samples took lately
 * and that were left to the program. Lengthens the period if the program got less, up to 2^16 times
 * the spec's. Shortens it if the program got more than twice as much; the more often a shorter
 * period was too short, the longer it waits. */
void pmu_sampler_pace(struct pmu_sampler *s, uint64_t samples, uint64_t program);
/* From now on stops the event during each of its samples, so that no second signal waits. This
 * costs two system calls a sample. Clocks with a period below PMU_SHORT_NS begin so, and
 * pmu_sampler_pace() calls it when it lengthens a period. No effect on a timer. */
void pmu_sampler_careful(struct pmu_sampler *s);
/* In the handler: a signal of this sampler has come. */
void pmu_sampler_overflowed(struct pmu_sampler *s);
/* Stops the event, since the handler will take long. No effect on a timer, which has at most one
 * signal waiting. */
void pmu_sampler_halt(struct pmu_sampler *s);
/* The handler ends: continues the event if it was halted; with spec->halts, from 0 on. */
void pmu_sampler_again(struct pmu_sampler *s);
void pmu_sampler_end(struct pmu_sampler *s);
/* In the child of fork, which inherits descriptors but no timers. */
void pmu_sampler_forked(struct pmu_sampler *s);

/* Returns whether this signal is from the sampler's event. A timer's signal shows by its code. */
bool pmu_sampler_is_overflow(const struct pmu_sampler *s, const siginfo_t *info);
/* Returns how many periods one signal stands for: also those that ended before its delivery. */
uint32_t pmu_sampler_weight(const struct pmu_sampler *s, const siginfo_t *info);

/* --- counters --------------------------------------------------------------------------------- */
/* Events that are counted all the time, for one thread in user mode, and read on demand. */

#define PMU_COUNTERS 8

/* A parsed REGTRACE_EVENTS. An event may need several counters: derived presets of PAPI. */
struct pmu_counter_set {
    unsigned count;    /* number of events; 0: none are counted */
    unsigned counters; /* number of kernel counters for all events */
    char name[PMU_COUNTERS][PMU_NAME];
    char meaning[PMU_COUNTERS][PMU_NAME + 256]; /* description of what is counted */
    struct pmu_counter {
        struct pmu_code code;
        signed char sign;
        unsigned char event;
    } counter[PMU_COUNTERS];
};

/* Counters of one thread; all zero before pmu_counters_begin(). */
struct pmu_counters {
    unsigned count;
    int fd[PMU_COUNTERS]; /* -errno if the kernel gave none */
    struct pmu_direct direct[PMU_COUNTERS];
};

/* As read(2) returns it with PERF_FORMAT_TOTAL_TIME_ENABLED | _RUNNING. running < enabled: events
 * shared the counter. */
struct pmu_reading {
    uint64_t value, enabled, running;
};

/* Parses "EVENT,EVENT...", "" for none. Returns 0, or -EINVAL with the text. */
RT_MUST_CHECK int pmu_counters_parse(const char *text, struct pmu_counter_set *set,
                                     struct rt_error *err);
/* Checks that this machine can count all events at once, together with instructions (backend) and
 * what is sampled; either may be NULL. Returns 0, or -errno with the reason and the remedy. */
RT_MUST_CHECK int pmu_counters_probe(const struct pmu_counter_set *set,
                                     const struct pmu_backend *backend,
                                     const struct pmu_sample_spec *sampled, struct rt_error *err);
/* Returns the count of event `event` between two readings. *per_mille: in how many thousandths of
 * the time its counters ran; the least of them. */
uint64_t pmu_counters_between(const struct pmu_counter_set *set, const struct pmu_counters *c,
                              unsigned event, const struct pmu_reading before[PMU_COUNTERS],
                              const struct pmu_reading after[PMU_COUNTERS], uint32_t *per_mille);

/* Starts counting on the calling thread. Returns -errno if a counter could not be opened: it reads
 * 0. */
RT_MUST_CHECK int pmu_counters_begin(struct pmu_counters *c, const struct pmu_counter_set *set);
void pmu_counters_read(const struct pmu_counters *c, struct pmu_reading out[PMU_COUNTERS]);
/* Stops counting. Also for the child of fork, where the counters still count the parent. */
void pmu_counters_end(struct pmu_counters *c);

/* --- what the options of a run ask for -------------------------------------------------------- */
/* Each function returns 0, or -errno with the complete error message. Callers run before main, or
 * in tools. one_window: the run has no chain, so the whole run is one window. */

/* The back end that counts instructions, or the reasons why there is none. Zeroed before
 * pmu_wanted_choose(). */
struct pmu_wanted {
    const struct pmu_backend *backend; /* NULL: none */
    const char *no_count;              /* why icount is not available; NULL: it is */
    const char *no_exact;              /* why the token exact is not available; NULL: it is */
    struct rt_error why;
};

/* counter, needed: as for pmu_choose(). */
void pmu_wanted_choose(struct pmu_wanted *w, const char *counter, bool needed);
/* Checks that a counting run (-count) can count. Looks for a back end if none has been chosen. */
RT_MUST_CHECK int pmu_wanted_count(struct pmu_wanted *w, const struct options *o,
                                   const char *counter, struct rt_error *e);
RT_MUST_CHECK int pmu_wanted_sample(const struct options *o, bool one_window,
                                    struct pmu_sample_spec *spec, struct rt_error *e);
/* Chooses when values are captured: as the options ask, otherwise the best that this machine offers
 * (cycles, as DCPI does; the kernel's timer for events; a timer on CPU time). */
RT_MUST_CHECK int pmu_wanted_values(const struct options *o, bool one_window,
                                    struct pmu_sample_spec *spec, struct rt_error *e);
RT_MUST_CHECK int pmu_wanted_counters(const struct options *o, const struct pmu_backend *backend,
                                      const struct pmu_sample_spec *sampled,
                                      struct pmu_counter_set *set, struct rt_error *e);

#endif
