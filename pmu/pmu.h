/* SPDX-License-Identifier: BSD-3-Clause
 * Counting of a thread's own user-mode instructions, with an interrupt when a count is reached, behind one interface.
 *
 * pmu_choose() runs before main and may allocate. Everything else runs on the thread concerned, in signal handlers too: it
 * allocates nothing and calls nothing but raw system calls. Counts are absolute for the thread, from pmu_thread_begin()
 * on, without what was taken out by pmu_thread_exclude(). Sources: perf_event_open(2); Weaver, "Non-determinism and
 * overcount on modern hardware performance counters", 2013, for what such counts are worth; Intel SDM 3B 17.3.1.4, for
 * what the trap flag does. */
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

/* By which a thread reads a counter of its own without a system call (pmu/direct.c). page NULL: it does not. */
struct pmu_direct {
    const struct perf_event_mmap_page *page;
    uint32_t owner; /* the process that has it: recorder_own_mappings() */
};

struct pmu_backend {
    const char *name; /* as REGTRACE_PMU has it */
    bool steps;       /* counts by pmu/step.c alone: own code is not counted to begin with */
    bool kernels;     /* pmu_thread.fd is an event of the kernel's */
    bool exact;       /* interrupts come at the very instruction */
    /* 0, or -errno with the reason and the remedy. */
    int (*probe)(struct rt_error *err);
    /* signo goes to the thread kernel_tid at each overflow. 0 or -errno. */
    int (*begin)(struct pmu_thread *t, int signo, uint32_t kernel_tid);
    void (*end)(struct pmu_thread *t);
    uint64_t (*read)(const struct pmu_thread *t); /* raw: nothing taken out */
    void (*set)(struct pmu_thread *t,
                uint64_t distance); /* interrupt after so many more, PMU_NEVER: none */
};

/* Of one thread; zero before pmu_thread_begin(). */
struct pmu_thread {
    const struct pmu_backend *backend; /* NULL: this thread is not counted */
    uint64_t excluded;                 /* instructions that were ours */
    uint64_t target;                   /* absolute count of the next interrupt, PMU_NEVER */
    uint64_t asked;                    /* where the back end was told to interrupt, PMU_NEVER */
    bool exact;                        /* target is to be met at the very instruction */
    bool approaching;                  /* step.c counts the last bit to it */
    int fd;                            /* perf */
    struct pmu_direct direct;
    uint64_t seed; /* late */
    struct pmu_step step;
};

/* `wanted`: auto, papi, perf, step, none, and late:SEED:MAXIMUM for tests. 0 and *backend, NULL with none; else -EINVAL for
 * an unknown name, or the reason why this machine cannot count, with the remedy. papi counts what PAPI means by PAPI_TOT_INS on
 * this processor, perf what the kernel means by instructions; the kernel counts either. auto is papi, else perf; where it is not
 * known to be `needed` it is perf, which costs no start of regtrace-events. */
int pmu_choose(const char *wanted, bool needed, const struct pmu_backend **backend,
               struct rt_error *err) RT_MUST_CHECK;
/* What it counts, in words: "PAPI: arm_ac57::INST_RETIRED (type 4 config 0x8)". */
void pmu_describe(const struct pmu_backend *backend, char *out, size_t room);
/* Refuses recordings that do not work while threads are single-stepped, by the back end or for an
 * `exact` alarm. Returns 0, or -EINVAL with the remedy. */
RT_MUST_CHECK int pmu_check_steps(bool stepped, bool memory, bool values, struct rt_error *err);
/* NULL where `exact` works with this back end, else why not. */
const char *pmu_exact_reason(const struct pmu_backend *backend);

/* Begin to count on the calling thread. Nothing is stepped before pmu_go(). */
int pmu_thread_begin(struct pmu_thread *t, const struct pmu_backend *backend, int signo,
                     uint32_t kernel_tid);
void pmu_thread_end(struct pmu_thread *t);
/* In the child of fork: the parent's counter is not the child's. Counts go on from where the parent's stood. */
void pmu_thread_forked(struct pmu_thread *t, int signo, uint32_t kernel_tid);

/* The count now; PMU_NEVER where the thread is not counted. */
uint64_t pmu_thread_count(const struct pmu_thread *t);

/* In how many thousandths of its time the thread was counted: below 1000 somebody else wanted more counters than there are, and
 * the kernel let them take turns. */
uint32_t pmu_thread_share(const struct pmu_thread *t);

/* What has been executed since `since`, a pmu_thread_count(), was ours. */
void pmu_thread_exclude(struct pmu_thread *t, uint64_t since);

/* Interrupt at `target` (or as soon as possible where it is past), PMU_NEVER: not at all. Replaces the one before.
 * exact: at that very instruction. */
void pmu_thread_arm(struct pmu_thread *t, uint64_t target, bool exact);

/* Is this signal the overflow of this thread's counter? */
bool pmu_is_overflow(const struct pmu_thread *t, const siginfo_t *info);
/* Has it been reached, whatever signal says so? */
bool pmu_thread_is_due(const struct pmu_thread *t);
/* It came: learn from its lateness. False: it came early, for an exact target; the thread is stepped there from now on (the
 * handler ends with pmu_step_resume()), or was armed again. */
bool pmu_thread_overflowed(struct pmu_thread *t);

/* --- stepping: step.c -------------------------------------------------------------------------------------------- */

enum pmu_trap {
    PMU_TRAP_FOREIGN, /* not of stepping */
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

/* Where our text is: nothing in there is counted. */
void pmu_step_own_text(uintptr_t from, uintptr_t to);
/* Functions of ours that call pmu_stop() before anything else and pmu_go() in the end, whatever they do between: these are not
 * stepped up to there either. */
void pmu_step_entries(uintptr_t from, uintptr_t to);

/* The calling thread is stepped from the next instruction on; nothing where it is not to be. */
void pmu_go(struct pmu_thread *t);
/* It executes our own code from here on: no stepping. True: it was stepped, and is to be again by pmu_go(). */
bool pmu_stop(struct pmu_thread *t);

/* Our code calls the program's (a thread's routine, a handler, a function that we stand in for), and has come back: stepped
 * if it was before. The first returns what the second is to be given. */
struct pmu_inside {
    uintptr_t bound;
    bool on, handling, entered;
    bool own; /* for the caller's use */
};
struct pmu_inside pmu_program_begin(struct pmu_thread *t);
void pmu_program_end(struct pmu_thread *t, struct pmu_inside inside);

/* A SIGTRAP. */
enum pmu_trap pmu_step_trap(struct pmu_thread *t, const siginfo_t *info, void *context);
/* First in any other handler: what it interrupted is brought to where the program thinks it is. Returns what
 * pmu_step_resume() is to be given. */
struct pmu_inside pmu_step_settle(struct pmu_thread *t, void *context);
/* Last in a handler, with SIGTRAP blocked: the interrupted code goes on being stepped. Never PMU_TRAP_FOREIGN. */
enum pmu_trap pmu_step_resume(struct pmu_thread *t, void *context, struct pmu_inside inside);
/* Called after each PMU_TRAP_DUE and PMU_TRAP_PLACE, until it returns something else. */
enum pmu_trap pmu_step_go_on(struct pmu_thread *t, void *context);
/* Is the interrupted code being stepped? */
bool pmu_step_is_on(const struct pmu_thread *t, const void *context);
/* The int3 of a place has trapped while the thread was stepped. The caller has set the instruction
 * pointer to the place. */
enum pmu_trap pmu_step_at_place(struct pmu_thread *t, void *context);
/* An int3 of the program has trapped and has no effect. The stepper counts it. */
enum pmu_trap pmu_step_over_int3(struct pmu_thread *t, void *context);
/* A SIGTRAP that is not of stepping: is the program to have it now? Else it gets it when it no longer blocks it. */
bool pmu_step_lets_through(struct pmu_thread *t, const siginfo_t *info);

/* --- names ------------------------------------------------------------------------------------------
 *
 * Events have names: the kernel's generic ones, rHEX, and those of PAPI (PAPI_L1_DCM) and libpfm4 (perf::PAGE-FAULTS), for
 * which the program regtrace-events is asked, out of the process. Before main, or in tools. */

#define PMU_NAME 128

/* Of struct perf_event_attr. */
struct pmu_code {
    uint32_t type;
    uint64_t config, config1, config2;
};

/* Where regtrace-events is (false: nowhere), and the environment to run it with, which stays the caller's. */
void pmu_names_prepare(bool (*find)(char path[PATH_MAX]), char *const *environment);
/* What it has told, to be handed on to other processes of this boot of this machine: false where that is nothing, or
 * more than the room. take: in those. */
#define PMU_NAMES_VARIABLE "REGTRACE_EVENT_CODES"
bool pmu_names_give(const char *boot_id, char *out, size_t room);
void pmu_names_take(const char *given, const char *boot_id);
/* What PAPI and libpfm4 can do here, a line each; false with the reason in the text. */
bool pmu_names_about(char *papi, char *pfm, size_t room);

/* --- samples ------------------------------------------------------------------------------------------
 *
 * Interrupts of a thread at a regular distance of its own: so much CPU time, or so many of a counted event. Sources:
 * timer_create(2), CLOCK_THREAD_CPUTIME_ID; perf_event_open(2), whose generic names these are. */

/* What REGTRACE_SAMPLE asks for. */
struct pmu_sample_spec {
    uint64_t period; /* ns of CPU time, or events; 0: nothing is sampled */
    struct pmu_code code;
    bool by_time;
    bool is_clock; /* the event is time of the processor, in ns */
    /* The event stops when it has overflowed, until pmu_sampler_again(): the handler is not counted, and no second signal waits. Signals
     * of events queue: a handler that takes longer than a period would never end, and fill the user's queue. */
    bool halts;
    bool in_windows,
        in_gaps;         /* :windows (also where nothing is said), :gaps between them, :always */
    uint32_t name_bytes; /* of the event in the text */
    uint32_t
        spread; /* per mille by which periods differ to either side, by chance; 0: they do not */
    char unit[PMU_NAME];          /* "ns of CPU time", or the event's name */
    char meaning[PMU_NAME + 256]; /* what is counted for it */
};

/* An interrupt and its signal may take this long (virtual machines: 30 to 50 us): a clock with a shorter period may leave a thread no time
 * at all, not even for the handler that would lengthen it. So no sampler begins with less. */
#define PMU_SHORT_NS 100000u

/* Of one thread; zero before pmu_sampler_begin(). */
struct pmu_sampler {
    bool made;
    int id; /* the kernel's: of the timer, or the descriptor */
    const struct pmu_sample_spec *spec;
    uint64_t random; /* its generator's state */
    uint32_t since;  /* samples with the present period */
    uint64_t factor; /* by which its period is longer than the spec's: pmu_sampler_pace() ... */
    uint64_t least; /* ... which tries smaller ones where it has found room for them so often ... */
    uint32_t patience, room; /* ... and so often it has, of late */
    bool armed;              /* by one overflow it will stop, and has not come to it: spec->halts */
    bool halted;             /* pmu_sampler_halt() */
    bool careful; /* its event stands still in each of its samples: pmu_sampler_careful() */
};

/* "EVENT:PERIOD[:windows|gaps|always]", "" for none. -EINVAL with the text, which names what is legal. read: without its codes, for
 * those who look at a recorded run. */
RT_MUST_CHECK int pmu_sample_parse(const char *text, struct pmu_sample_spec *spec,
                                   struct rt_error *err);
RT_MUST_CHECK int pmu_sample_read(const char *text, struct pmu_sample_spec *spec,
                                  struct rt_error *err);

/* Can it be had here? 0, or -errno with the reason and the remedy. one_window: the whole run is one, so there are no gaps. */
RT_MUST_CHECK int pmu_sample_probe(const struct pmu_sample_spec *spec, bool one_window,
                                   struct rt_error *err);

/* On the calling thread; it does not run yet. A timer's signal carries `code` in si_value. 0 or -errno. */
RT_MUST_CHECK int pmu_sampler_begin(struct pmu_sampler *s, const struct pmu_sample_spec *spec,
                                    int signo, int code, uint32_t kernel_tid);
/* Running from the full period on, or halted. */
void pmu_sampler_run(struct pmu_sampler *s, bool on);
/* In the handler of a sample: where the spec has a spread, another period now and then. */
void pmu_sampler_vary(struct pmu_sampler *s);
/* Of late, samples took so much of the thread's time (any unit), and so much was left to the program: lengthens the period where the program
 * has less than they, up to 2^16 times the spec's, and shortens it again where it has more than twice as much; the later, the more often
 * a shorter one was too short. */
void pmu_sampler_pace(struct pmu_sampler *s, uint64_t samples, uint64_t program);
/* From now on its event stands still while a sample of it is taken, so that no second signal of it waits: two system calls a
 * sample more. So it is from the beginning with clocks of less than PMU_SHORT_NS, and from where pmu_sampler_pace() lengthens a period.
 * Nothing for a timer. */
void pmu_sampler_careful(struct pmu_sampler *s);
/* A signal of its has come. */
void pmu_sampler_overflowed(struct pmu_sampler *s);
/* The handler will take long: its event stands still. Nothing for a timer, of which one signal waits at most. */
void pmu_sampler_halt(struct pmu_sampler *s);
/* The handler is over: the event goes on, where it was halted, or where spec->halts from 0 on. */
void pmu_sampler_again(struct pmu_sampler *s);
void pmu_sampler_end(struct pmu_sampler *s);
/* In the child of fork: timers are not inherited, descriptors are. */
void pmu_sampler_forked(struct pmu_sampler *s);

/* Is this a signal of its event (not of its timer, which its code tells)? */
bool pmu_sampler_is_overflow(const struct pmu_sampler *s, const siginfo_t *info);
/* How many periods one signal stands for: those that ended before it was delivered are counted with it. */
uint32_t pmu_sampler_weight(const struct pmu_sampler *s, const siginfo_t *info);

/* --- counters ------------------------------------------------------------------------------------------
 *
 * Events counted all the time, a thread's own in user mode, read when somebody wants to know. */

#define PMU_COUNTERS 8

/* What REGTRACE_EVENTS asks for. An event may be made of several counters: derived presets of PAPI. */
struct pmu_counter_set {
    unsigned count;    /* events; 0: nothing is counted */
    unsigned counters; /* of the kernel, for all of them */
    char name[PMU_COUNTERS][PMU_NAME];
    char meaning[PMU_COUNTERS][PMU_NAME + 256]; /* what is counted for it */
    struct pmu_counter {
        struct pmu_code code;
        signed char sign;
        unsigned char event;
    } counter[PMU_COUNTERS];
};

/* Of one thread; zero before pmu_counters_begin(). */
struct pmu_counters {
    unsigned count;
    int fd[PMU_COUNTERS]; /* -errno where the kernel gave none */
    struct pmu_direct direct[PMU_COUNTERS];
};

/* As read(2) gives them: PERF_FORMAT_TOTAL_TIME_ENABLED | _RUNNING. running < enabled: the counter was shared. */
struct pmu_reading {
    uint64_t value, enabled, running;
};

/* "EVENT,EVENT...", "" for none. -EINVAL with the text. */
RT_MUST_CHECK int pmu_counters_parse(const char *text, struct pmu_counter_set *set,
                                     struct rt_error *err);
/* Can they be had here, all at once and beside what counts instructions and what is sampled (either may be NULL)? 0, or -errno
 * with the reason and the remedy. */
RT_MUST_CHECK int pmu_counters_probe(const struct pmu_counter_set *set,
                                     const struct pmu_backend *backend,
                                     const struct pmu_sample_spec *sampled, struct rt_error *err);
/* Of event `event` between two readings: its count, and the least thousandths of the time in which its counters ran. */
uint64_t pmu_counters_between(const struct pmu_counter_set *set, const struct pmu_counters *c,
                              unsigned event, const struct pmu_reading before[PMU_COUNTERS],
                              const struct pmu_reading after[PMU_COUNTERS], uint32_t *per_mille);

/* On the calling thread. -errno where one of them could not be had: it reads 0. */
RT_MUST_CHECK int pmu_counters_begin(struct pmu_counters *c, const struct pmu_counter_set *set);
void pmu_counters_read(const struct pmu_counters *c, struct pmu_reading out[PMU_COUNTERS]);
/* Also in the child of fork, where they still count the parent. */
void pmu_counters_end(struct pmu_counters *c);

/* --- what the options of a run ask for -----------------------------------------------------------
 *
 * Each function returns 0, or -errno with the complete error message. Callers run before main, or
 * in tools. one_window: the run has no chain, so the whole run is one window. */

/* The back end that counts instructions, or the reasons why there is none. Zeroed before
 * pmu_wanted_choose(). */
struct pmu_wanted {
    const struct pmu_backend *backend; /* NULL: none */
    const char *no_count;              /* why icount is not available; NULL: it is */
    const char *no_exact;              /* likewise for the token exact */
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
