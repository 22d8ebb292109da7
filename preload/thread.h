/* SPDX-License-Identifier: BSD-3-Clause
 * The state of a thread, and the beginning and end of threads: attach.c, threads.c. */
#ifndef REGTRACE_PRELOAD_THREAD_H
#define REGTRACE_PRELOAD_THREAD_H

#include "base/format/enums.h"
#include "base/format/recorder.h"
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "preload/count/deadlines.h"
#include "preload/count/pace.h"

#define THREAD_FUNCTION_DEPTH 256
#define THREAD_REGION_DEPTH 32

/* An active function of a thread, in a program compiled with -finstrument-functions. */
struct open_function {
    uintptr_t address;
    /* Frame address at the entry. A later hook with a higher one shows that longjmp has left this
     * function. */
    uintptr_t stack;
    uint32_t path; /* of its caller; 0: not known, or not recorded */
};

/* A set of processors, in the format of sched_getaffinity(2). */
struct affinity_mask {
    uint64_t words[128]; /* 8,192 processors, the most that Linux can be built for */
    uint32_t used;       /* words that the kernel has written; 0: none */
};

/* The kernel's timer for the timeout alarm that is armed in a chain. */
struct thread_timer {
    int id; /* the kernel's id, valid if used */
    bool used;
    uint16_t alarm;
    uint32_t generation;
};

/* The instruction counter of a thread. */
struct counting {
    struct pmu_thread counter;
    uint32_t armings; /* number of armings so far */
    bool held;
    /* Counting began after the thread did, so this is not the count of the whole thread. */
    bool late;
    /* Our code is running, since the count own_since; for counters that count our code as well. */
    bool own;
    uint64_t own_since;
    struct deadlines waiting;
};

/* The kinds of samples. Each has its own timer or counter. */
enum sample_kind { SAMPLE_PLACES, SAMPLE_VALUES, SAMPLE_KINDS };
struct thread_sampler {
    struct pmu_sampler sampler;
    struct pace pace;
    bool runs;
};
struct thread_sampling {
    struct thread_sampler samplers[SAMPLE_KINDS];
    bool held;
};
struct values_thread;

/* Counters of events. */
struct thread_counters {
    struct pmu_counters running;
    struct pmu_reading opened[PMU_COUNTERS]; /* when the window opened */
    struct pmu_reading called[PMU_COUNTERS]; /* when the outermost MPI call began */
    int32_t called_window;                   /* window of `called`; STREAM_NO_WINDOW: none */
    struct pmu_reading reset[PMU_COUNTERS];  /* at the last stats-reset */
};

struct thread_affinity {
    uint64_t told; /* hash of the processors last reported; 0: it has not asked yet */
    struct affinity_mask asked;
};

/* Named regions that are open, by string id. */
struct thread_regions {
    uint32_t depth, ids[THREAD_REGION_DEPTH];
};

/* Functions that are active, in a program compiled with -finstrument-functions. */
struct thread_functions {
    uint32_t depth;
    /* Functions beyond `open`, up to this depth, were entered before the window opened. */
    uint32_t unseen;
    struct open_function open[THREAD_FUNCTION_DEPTH];
};

struct thread_timers {
    uint32_t count;                /* number of chains if one has a timeout, else 0 */
    struct thread_timer *of_chain; /* by chain */
};

/* What the thread knows of broadcast windows. */
struct thread_broadcast {
    uint32_t closes_seen; /* closes (struct windows) that it has followed */
    uint32_t last;        /* last window that it was in, or stayed out of; 0: none */
    uint32_t left;        /* open window that it has left; 0: none */
};

/* The state of a thread: that of its window, and that of each part. Each thread has one mapping:
 * this struct, the memory of the automaton, and the rooms of the parts (preload/window/parts.h). */
#define THREAD_READABLE_PAGES 8u
#define TEXT_PAGE ((uintptr_t)4096)

struct preload_thread {
    size_t bytes;
    struct thread_broadcast broadcast;
    uint8_t kind;       /* enum window_kind of the open window */
    bool was_recording; /* it was recording at the fork or the exec */
    bool fired;         /* an alarm has fired here since triggers_after_hit() last looked */
    uint32_t asked;     /* interactive alarms that have fired in this thread */
    uintptr_t readable[THREAD_READABLE_PAGES]; /* readable pages, by text_look(): number plus 1 */
    struct thread_affinity affinity;
    struct thread_regions regions;
    struct thread_functions functions;
    struct thread_timers timers;
    struct counting counting;
    struct thread_sampling sampling;
    struct values_thread *values; /* NULL: no value was captured yet */
    struct thread_counters counters;
    struct ctl_thread *automaton; /* NULL: the thread is counted but not attached yet */
    void *automaton_memory;
    uintptr_t wait_stack; /* of wait_stack.c, mapped if the thread's own is small; 0: none */
};

/* Returns the calling thread's state. Starts the recording and attaches the thread if necessary.
 * Returns NULL if this process records nothing, or nothing more. */
struct preload_thread *thread_self(void);

/* Counts the calling thread's instructions from here on; the thread is attached when it first
 * records. Does nothing and returns NULL if no counter was chosen, or if no count can ever be
 * shown. The main thread calls it at the end of the constructor, other threads when they begin. */
struct preload_thread *thread_count_from_here(void);
/* Ends the counting of a thread that was never attached. */
void thread_count_ends(void);

/* Call it in a new thread before its start routine. start_image: path of the object that contains
 * the routine; "": unknown. helper: MPI, its plug-ins, PMIx, UCX or PAPI made the thread; such
 * threads have numbers from 1000 on. Safe in any thread; idempotent. */
void thread_begin(uintptr_t start_routine, const char *start_image, bool helper);
/* Call it at the thread's end, also after pthread_exit() and cancellation: closes its windows and
 * its chunk. Idempotent. */
void thread_finish(void);
/* Makes sure that thread_finish() is called when the calling thread ends, however that thread was
 * made. Async-signal-safe. */
void threads_watch_end(void);
/* Notes the name that the thread gave itself (pthread_setname_np, prctl). */
void thread_named(const char *name);

struct ctl_moment moment_now(uintptr_t ip);

#endif
