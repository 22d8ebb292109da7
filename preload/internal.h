/* SPDX-License-Identifier: BSD-3-Clause
 * Per-thread state of preload/ and the functions that its lead files (constructor, windows, triggers) share. */
#ifndef REGTRACE_PRELOAD_INTERNAL_H
#define REGTRACE_PRELOAD_INTERNAL_H

#include "controller/controller.h"
#include "pmu/pmu.h"
#include "preload/count/pace.h"
#include "preload/window/deadlines.h"
#include "preload/preload.h"

#include <sys/types.h>

#define THREAD_FUNCTION_DEPTH 256
#define THREAD_REGION_DEPTH 32

/* A function of a -finstrument-functions program that is active on this thread. */
struct open_function {
    uintptr_t address;
    uintptr_t
        stack; /* of the caller's frame: a higher one later means that this one was left by longjmp */
};

/* A set of processors as sched_getaffinity(2) has it. */
struct affinity_mask {
    uint64_t words[128]; /* 8,192 processors: Linux can be built for no more */
    uint32_t used;       /* words that the kernel gave; 0: it gave none */
};

/* The timeout that is armed in a chain: kernel timer, the alarm it is for. */
struct thread_timer {
    int id; /* kernel's, valid when used */
    bool used;
    uint16_t alarm;
    uint32_t generation;
};

struct counting {
    struct pmu_thread counter;
    uint32_t armings; /* so far */
    bool held;
    bool late; /* begun somewhere on its way: what it counts is no count of the whole thread */
    bool own;  /* our code runs, since the count own_since: for counters that count it as well */
    uint64_t own_since;
    struct deadlines waiting;
};

/* What is sampled, each by its own timer or counter. */
enum sample_kind { SAMPLE_PLACES, SAMPLE_VALUES, SAMPLE_KINDS };
struct thread_sampler {
    struct pmu_sampler sampler;
    struct pace pace;
    bool runs;
};
struct values_thread;

/* Each thread has one mapping: this struct, then the memory of the automaton, the deadlines, the
 * lists of the probes, and the timers. */
#define THREAD_READABLE_PAGES 8u
#define TEXT_PAGE ((uintptr_t)4096)

struct preload_thread {
    size_t bytes;
    uint32_t closes_seen; /* of struct windows: broadcast closes that this thread has followed */
    uint32_t
        bcast_seen; /* number of the broadcast window that it has been in (or has stayed out of), 0 none */
    uint32_t left_number; /* of the broadcast window that is open and that it left, 0 none */
    uint8_t kind;         /* of the open window: enum window_kind */
    bool was_recording;   /* over fork */
    bool fired;           /* an alarm of its own, since triggers_after_hit() has looked */
    uint32_t asked;       /* interactive alarms that fired in this thread */
    uintptr_t readable[THREAD_READABLE_PAGES]; /* pages that text_look() found so, plus 1 */
    uint64_t affinity; /* sum of the processors last told, 0: nothing was asked so far */
    struct affinity_mask asked_affinity;
    uint32_t region_depth, function_depth;
    uint32_t function_unseen; /* up to that depth, beyond `functions`, no enter is in the window */
    uint32_t regions[THREAD_REGION_DEPTH];
    struct open_function functions[THREAD_FUNCTION_DEPTH];
    uint32_t timer_count;        /* of the chains, where one has a timeout, else 0 */
    struct thread_timer *timers; /* by chain */
    struct counting counting;
    struct thread_sampler samplers[SAMPLE_KINDS];
    struct values_thread *values; /* NULL: no value was captured yet */
    struct pmu_counters counters;
    struct pmu_reading counted[PMU_COUNTERS]; /* when the window opened */
    struct pmu_reading called[PMU_COUNTERS];  /* when the outermost MPI call began */
    int32_t called_window;                    /* in this window; STREAM_NO_WINDOW: none */
    struct pmu_reading reset[PMU_COUNTERS];   /* at the last stats-reset */
    bool sampling_held;
    struct ctl_thread *automaton; /* NULL: the thread is counted, and not attached yet */
    void *automaton_memory;
};

enum window_kind { WINDOW_REGION = 0, WINDOW_WARMUP = 1, WINDOW_PROLOG = 2, WINDOW_EPILOG = 3 };

/* Reasons of EV_WINDOW_CLOSE. */
enum {
    CLOSE_ALARM = 0,
    CLOSE_END = 1,
    CLOSE_THREAD_END = 2,
    CLOSE_FORK = 3,
    CLOSE_EXEC = 4,
    CLOSE_API = 5
};

/* The calling thread's state, attached and started if it is not; NULL when this process records nothing (any more). */
struct preload_thread *thread_self(void);

/* The thread is counted from here on, and attached when it first records; nothing where no counter was chosen, or no count can
 * ever be shown (NULL). Of the main thread at the end of the constructor, of others when they begin. */
struct preload_thread *thread_count_from_here(void);
/* It ends without ever having been attached. */
void thread_count_ends(void);

/* Streams and writers are made when something is to be recorded, not before. True: recording is on. */
bool process_ensure_started(void);

/* 0 not tried, 1 being made, 2 recording, 3 failed or finished: nothing more is recorded. */
extern _Atomic uint32_t process_start_state;

/* Nothing can ever be recorded but by our named calls: no chain, no default start. _now: nor was it asked by them. */
bool process_is_idle(void);
bool process_is_one_window(void); /* the run has no chain and is recorded as a whole */
bool process_is_idle_now(void);
/* Something is about to be recorded after all: the process is idle no more. */
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

/* The folder of the nearest traced ancestor that records on this node. Uses some 16 KiB of stack. parent.c */
bool process_ancestor_folder(char out[PATH_MAX]);

/* Where the writer program is; found in the constructor, since dladdr takes the loader's lock. */
void process_find_writer(void);
/* A program of ours, by its name: beside the library, or where that is installed. False: *path is where it should be. */
bool process_find_program(const char *name, char path[PATH_MAX]);

/* MPI is linked, or an alarm needs no MPI: the writer starts in the constructor. */
bool process_wants_early_start(void);
bool process_links_mpi(void);
/* Instructions of whole threads, into their rows of the stream: totals.c. begin: once its counter runs; note: now, which it returns (CTL_UNKNOWN: not known); end:
 * before its counter is closed; finish: of those that outlive the program. */
void totals_begin(struct recorder_thread *t, struct preload_thread *pt);
uint64_t totals_note(struct recorder_thread *t, const struct preload_thread *pt);
void totals_end(struct recorder_thread *t, const struct preload_thread *pt);
void totals_retire(struct recorder_thread *t, const struct preload_thread *pt);
void totals_finish(void);
bool totals_are_there(void);

/* At the end: nothing but the edges of a default window is in the stream, so no file is to be left. */
bool process_nothing_recorded(void);

/* Warning i about the chains, NULL past the last; one more, said at once too. In the constructor. */
const char *process_chain_warning(unsigned i);
void process_warn(const char *text);
/* At the end of the program: until the file is closed, the writer is gone, or REGTRACE_EXIT_WAIT is over. */
void process_wait_for_writer(void);
bool writer_is_alive(void);
/* "; limits: ..." where this process may have too little for a writer, else "". */
void writer_limits(char *text, size_t room);
void process_install_mpi_hooks(void);
/* MPI may be up before there is a stream: what it has said goes into the new one's header, and its first thread's events. */
void mpi_glue_fill(struct stream_header *h);
void mpi_glue_tell(struct recorder_thread *t);

/* Identity, options, chains, alarms as key=value text for the writer. */
void metadata_write(const struct stream *s);
uint32_t metadata_room(void); /* bytes of the stream's metadata area */

/* Is this program one that is not traced: a shell, a launcher, or a program of the system that
 * starts other programs? plumbing_note() writes a note about a program of the last kind to the log
 * of the run, once for each program, if the folder of the run exists. Callers run before main. */
bool plumbing_is(const struct identity *id);
void plumbing_note(const struct identity *id);

/* Callbacks of the automaton. */
void windows_fired(void *context, const struct ctl_fired *fired);
uint64_t alarm_armed(void *context, uint32_t tid, const struct ctl_arming *arming);
void alarm_disarmed(void *context, uint32_t tid, uint16_t alarm);
void timers_sync_needed(void *context);
/* Bytes that a thread needs for its timers: zeroed, aligned to 8, for timers_begin(). */
size_t timers_room(void);
void timers_begin(struct preload_thread *pt, void *memory);
void timers_thread_end(struct preload_thread *pt);
/* In a forked child: the parent's timers do not exist here. */
void timers_forget(struct preload_thread *pt);

/* In the child of fork, first: a thread that is not there may have held the lock of the windows, which restart from
 * ordinal 0. pt: of the thread that forked, or NULL. again: it was a forked child itself, and had not recorded: what its parent
 * was in counts. */
void windows_forked(struct preload_thread *pt, bool again);
/* When that thread first records, others may do so already: it opens a window if it was recording. */
void windows_after_fork(struct recorder_thread *t, struct preload_thread *pt);
/* In a child that has its own stream now: names of the regions that were open at the fork. */
void process_adopt_regions(struct preload_thread *pt);
/* After a failed exec: the window that the exec closed goes on as a new one. */
void windows_reopen(struct recorder_thread *t, struct preload_thread *pt);

/* The alarms of one type, in index order. */
struct alarm_list {
    unsigned count;
    uint16_t alarm[CTL_SAME_TYPE_MAX]; /* the constructor refuses more */
};
/* Fills *list with the alarms of this type that this rank can reach. */
void alarms_collect(const struct ctl_config *config, enum ctl_type type, struct alarm_list *list);
/* Collects the interactive alarms, which `regtrace ctl` fires. requests.c */
void requests_prepare(const struct ctl_config *config);
/* regtrace_fire() for another thread: that thread fires the event when our signal reaches it. */
void requests_fire(uint32_t tid, enum ctl_event event, bool bcast, uintptr_t ip);
/* A thread begins before anything is recorded, or ends (kernel_tid 0). */
void requests_early_thread(uint32_t tid, uint32_t kernel_tid);

/* Would a start (stop) of this thread, or with bcast of all threads, open (close) a window? */
bool windows_would_change(struct recorder_thread *t, bool open, bool bcast);

/* Match tables: alarms by type, made once from the config. */
void triggers_prepare(const struct ctl_config *config);
/* image_load alarms for what is loaded before main. */
void triggers_images_at_start(void);
/* Can a text that the program gave us be read? Asked of the kernel once a page and thread, so that a wrong pointer ends in a
 * line of the log and not in a fault of ours. A page that is unmapped later is not noticed. */
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
/* Names to addresses for enter_func, exit_func over the images loaded now; again after each dlopen. */
void functions_resolve(void);
bool functions_wanted(void);
void functions_say_limits(void); /* once a log is there */
/* A longjmp to this stack pointer is about to happen. longjmp.c */
void functions_jumped(uintptr_t stack);
void longjmp_resolve(void);

void triggers_count_armed(const struct preload_thread *pt);
/* After every hit: end the program if it asked for that (REGTRACE_EXIT_ON_STOP). */
void triggers_after_hit(struct preload_thread *pt);

struct ctl_moment moment_now(uintptr_t ip);

/* Where a handler's ucontext says that the thread was interrupted. */
uintptr_t signals_ip_of(const void *context);

/* Send the internal signal to one of our threads; code tells why. False: it was not sent, since the
 * thread has ended. */
enum interrupt_code {
    INTERRUPT_SYNC = 0x5254,
    INTERRUPT_REQUEST = 0x5255,
    INTERRUPT_TIMER = 0x5256,
    INTERRUPT_SAMPLE = 0x5257
};
bool process_interrupt_thread(uint32_t kernel_tid, enum interrupt_code code);

/* One line a fired event into REGTRACE_CONTROLLER_LOG; in the constructor: can that be? -errno with the reason. */
RT_MUST_CHECK int controller_log_prepare(struct rt_error *e);
void controller_log_fired(const struct ctl_fired *fired, bool ignored);

#endif
