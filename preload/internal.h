/* SPDX-License-Identifier: BSD-3-Clause
 * Per-thread state of preload/, and the functions that its main files (constructor, windows,
 * triggers) share. */
#ifndef REGTRACE_PRELOAD_INTERNAL_H
#define REGTRACE_PRELOAD_INTERNAL_H

#include "base/format/enums.h"
#include "controller/controller.h"
#include "pmu/pmu.h"
#include "preload/count/pace.h"
#include "preload/count/deadlines.h"
#include "preload/preload.h"

#include <sys/types.h>

#define THREAD_FUNCTION_DEPTH 256
#define THREAD_REGION_DEPTH 32

/* An active function of a thread, in a program compiled with -finstrument-functions. */
struct open_function {
    uintptr_t address;
    /* Frame address at the entry. A later hook with a higher one shows that longjmp has left this
     * function. */
    uintptr_t stack;
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

/* Makes the stream and starts the writer, if that has not been done. Call it when there is
 * something to record, not earlier. Returns true if recording is on. */
bool process_ensure_started(void);

/* State of the start: an enum start_state, on which threads wait by futex(2). */
enum start_state {
    START_UNTRIED,
    START_RUNS, /* a thread makes the stream */
    START_DONE, /* the process records */
    START_OVER  /* the start has failed, or the recording has ended: nothing more is recorded */
};
extern _Atomic uint32_t process_start_state;

/* process_is_idle(): the run has no chain, no default start, no count and no samples between
 * windows, so only named calls of our interface can start a recording. process_is_idle_now(): and
 * none of these has done so. */
bool process_is_idle(void);
bool process_is_one_window(void); /* the run has no chain and is recorded as a whole */
bool process_is_idle_now(void);
/* Ends the idle state, because something is to be recorded after all. */
void process_force(void);

/* Calls the function on a stack of 256 KiB of our own, because the caller may run on a tiny
 * alternate stack. with_room.c */
bool run_on_own_stack(bool (*function)(void));

/* The stack of a new thread. The creator of the thread calls stack_wanted() with the attributes of
 * the thread (NULL: the default ones); the new thread passes the result to stack_of_thread(). The
 * constructor calls stack_of_process() for the first thread. */
struct thread_stack {
    uintptr_t at; /* lowest address; 0: libc maps the stack */
    size_t bytes;
};
struct thread_stack stack_wanted(const pthread_attr_t *attributes);
void stack_of_thread(struct thread_stack s);
void stack_of_process(void);

/* Finds the folder of the nearest traced ancestor that records on this node. Returns false if there
 * is none. Uses some 16 KiB of stack. parent.c */
bool process_ancestor_folder(char out[PATH_MAX]);

/* Finds the writer program. The constructor calls it, because dladdr() takes the loader's lock.
 * Returns 0, or -errno with the reason and the remedy. */
int process_find_writer(struct rt_error *e) RT_MUST_CHECK;
/* Finds a program of the toolkit by its name, beside the library or where the toolkit is installed.
 * Returns false if it is missing; *path is then where it should be. */
bool process_find_program(const char *name, char path[PATH_MAX]);

/* Must the writer start in the constructor, because MPI is linked or an alarm needs no MPI? */
bool process_wants_early_start(void);
bool process_links_mpi(void);
/* Total instructions of whole threads, in the threads' rows of the stream (totals.c):
 * - totals_begin(): the thread's counter runs now.
 * - totals_note(): stores the count and returns it; CTL_UNKNOWN: not known.
 * - totals_retire(): the thread goes on without being counted.
 * - totals_end(): the thread's counter is about to be closed.
 * - totals_finish(): at the end of the program, for threads that are still alive.
 * - totals_are_there(): does any thread have a total? */
void totals_begin(struct recorder_thread *t, struct preload_thread *pt);
uint64_t totals_note(struct recorder_thread *t, const struct preload_thread *pt);
void totals_end(struct recorder_thread *t, struct preload_thread *pt);
void totals_retire(struct recorder_thread *t, const struct preload_thread *pt);
void totals_finish(void);
bool totals_are_there(void);

/* At the end of the process: does the stream hold nothing but the edges of a default window, so
 * that no file is to be left? */
bool process_nothing_recorded(void);

/* Returns warning i about the chains, or NULL after the last one. process_warn() adds a warning in
 * the constructor, and prints it at once. */
const char *process_chain_warning(unsigned i);
void process_warn(const char *text);
/* At the end of the program: waits until the writer has closed the file, the writer is gone, or
 * REGTRACE_EXIT_WAIT is over. */
void process_wait_for_writer(void);
bool writer_is_alive(void);
/* Writes "; limits: ..." if a limit of this process may be too low for a writer, else "". */
void writer_limits(char *text, size_t room);
void process_install_mpi_hooks(void);
/* MPI may be initialised before there is a stream. These functions put what MPI reported into the
 * header of a new stream, and into the events of its first thread. */
void mpi_glue_fill(struct stream_header *h);
void mpi_glue_tell(struct recorder_thread *t);

/* Writes identity, options, chains and alarms as key=value text for the writer. */
void metadata_write(const struct stream *s);
uint32_t metadata_room(void); /* bytes of the stream's metadata area */

/* Is this program one that is not traced: a shell, a launcher, or a program of the system that
 * starts other programs? plumbing_note() writes a note about a program of the last kind to the log
 * of the run, once for each program, if the folder of the run exists. Callers run before main. */
bool plumbing_is(const struct identity *id);
void plumbing_note(const struct identity *id);

/* Hides our MPI functions that the program's MPI library does not have, from the program's weak
 * symbols and from dlsym(). For programs that are linked with MPI. Call it once, in the
 * constructor. */
void absent_functions_hide(void);

/* Callbacks of the automaton. */
void control_alarm_fired(void *context, const struct ctl_fired *fired);
uint64_t alarm_armed(void *context, uint32_t tid, const struct ctl_arming *arming);
void alarm_disarmed(void *context, uint32_t tid, uint16_t alarm);
/* Makes every other thread of the process look at the automaton again. */
void interrupt_other_threads(void *context);
/* timers_armed() starts the timer of a chain's alarm, and timers_delete() ends it. */
uint64_t timers_armed(struct preload_thread *pt, const struct ctl_arming *arming, uint16_t chain);
void timers_delete(struct thread_timer *t);
/* The room of a thread for its timers. */
size_t timers_room(void);
void timers_thread_made(struct preload_thread *pt, void *room);
void timers_thread_ends(struct recorder_thread *t, struct preload_thread *pt);
/* In a forked child: forgets the parent's timers, which do not exist here. */
void timers_forget(struct recorder_thread *t, struct preload_thread *pt);

/* In the child of fork: drops the lock of the windows, which a thread that does not exist here may
 * have held. The windows restart from ordinal 0. pt: state of the thread that forked, or NULL.
 * again: this process was a forked child already and had not recorded, so the windows of its parent
 * count. */
void windows_forked(struct preload_thread *pt, bool again);
/* When the thread that forked first records in the child: opens a window if it was recording. Other
 * threads may record already. */
void windows_after_fork(struct recorder_thread *t, struct preload_thread *pt);
/* In a child that has its own stream now: copies the names of the regions that were open at the
 * fork. */
void process_adopt_regions(struct preload_thread *pt);
/* After a failed exec: opens a new window, in place of the one that the exec closed. */
void windows_reopen(struct recorder_thread *t, struct preload_thread *pt);

/* The alarms of one type, ordered by index. */
struct alarm_list {
    unsigned count;
    uint16_t alarm[CTL_SAME_TYPE_MAX]; /* the constructor refuses more */
};
/* Fills *list with the alarms of this type that this rank can reach. */
void alarms_collect(const struct ctl_config *config, enum ctl_type type, struct alarm_list *list);
/* Collects the interactive alarms, which `regtrace ctl` fires. ctl_requests.c */
void requests_prepare(const struct ctl_config *config);
/* regtrace_fire() for another thread: that thread fires the event when our signal reaches it. */
void requests_fire(uint32_t tid, enum ctl_event event, bool bcast, uintptr_t ip);
/* Notes the kernel id of a thread that begins before anything is recorded. kernel_tid 0: the thread
 * ends. */
void requests_early_thread(uint32_t tid, uint32_t kernel_tid);

/* Would a start (stop) of this thread, or with bcast of all threads, open (close) a window? */
bool control_would_change(struct recorder_thread *t, bool open, bool bcast);

/* Makes the match tables (alarms by type) once from the configuration. */
void triggers_prepare(const struct ctl_config *config);
/* Fires the image_load alarms for images that were loaded before main. */
void triggers_images_at_start(void);
/* Can we read a text that the program passed to us? Asks the kernel once for each page and thread,
 * so that a wrong pointer leads to a line in the log and not to a fault in our code. Does not
 * notice if a page is unmapped later. */
bool text_look(struct preload_thread *pt, const char *text);
static inline bool text_is_readable(struct preload_thread *pt, const char *text)
{
    uintptr_t page = (uintptr_t)text / TEXT_PAGE;
    bool inside = (uintptr_t)text % TEXT_PAGE < TEXT_PAGE - STREAM_STRING_MAX;
    return RT_LIKELY(inside && pt != NULL &&
                     pt->readable[page % THREAD_READABLE_PAGES] == page + 1) ||
           text_look(pt, text);
}
void region_begin(const char *name, uintptr_t ip);
void region_end(const char *name, uintptr_t ip);
/* Hits all pcontrol alarms that this call matches. text NULL: the call has none, or none that can
 * be read. */
void triggers_hit_pcontrol(struct preload_thread *pt, bool has_level, int level, const char *text,
                           uintptr_t ip);
/* Hits the pcontrol alarms for the end of a region, which have the text "end=NAME". */
void triggers_hit_region_end(struct preload_thread *pt, const char *name, uintptr_t ip);
/* Finds the addresses of the functions that enter_func and exit_func name, in the images that are
 * loaded now. Called again after each dlopen(). */
void functions_resolve(void);
bool functions_wanted(void);
void functions_say_limits(void); /* call it once there is a log */
/* Call it before a longjmp to this stack pointer. */
void functions_jumped(uintptr_t stack);
void longjmp_resolve(void);
/* Ends the calls and functions whose frames lie between `here` and `stack`. A jump to another stack
 * (a coroutine's) says nothing about this one. */
void jump_leaves_frames(uintptr_t here, uintptr_t stack);

void triggers_count_armed(const struct preload_thread *pt);
/* Call it after every hit. Ends the program if REGTRACE_EXIT_ON_STOP asks for that. */
void triggers_after_hit(struct preload_thread *pt);

struct ctl_moment moment_now(uintptr_t ip);

/* Returns the address where the thread was interrupted, from a handler's ucontext. For an address
 * in an instrumented copy it returns the one in the original code. */
uintptr_t signals_ip_of(const void *context);

/* Sends the internal signal to one of our threads; `code` tells why. Returns false if the signal
 * was not sent because the thread has ended. */
enum interrupt_code {
    INTERRUPT_SYNC = 0x5254,
    INTERRUPT_REQUEST = 0x5255,
    INTERRUPT_TIMER = 0x5256,
    INTERRUPT_SAMPLE = 0x5257
};
bool process_interrupt_thread(uint32_t kernel_tid, enum interrupt_code code);

/* controller_log_fired() writes a line for each fired event to REGTRACE_CONTROLLER_LOG. The
 * constructor calls controller_log_prepare(), which checks whether that is possible. It returns 0,
 * or -errno with the reason. */
RT_MUST_CHECK int controller_log_prepare(struct rt_error *e);
void controller_log_fired(const struct ctl_fired *fired, bool ignored);

#endif
