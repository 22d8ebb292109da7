/* SPDX-License-Identifier: BSD-3-Clause
 * Life of a traced process. Makes the stream and starts its writer when there is something to
 * record, attaches and detaches threads, and at the end gives the writer the time to close its
 * file. */
#include "preload/count/counting.h"
#include "preload/window/marks.h"
#include "preload/memory/memory.h"
#include "preload/patch/probes.h"
#include "preload/stack/own_stack.h"
#include "preload/count/sampling.h"
#include "preload/window/parts.h"

#include "base/toolkit/beside.h"
#include "base/log.h"
#include "base/sys.h"
#include "mpi/mpi.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint32_t process_start_state;
static _Atomic uint32_t finish_state;

/* Publishes how the start ended, and wakes the threads that wait for that. */
static void start_ended(enum start_state state)
{
    atomic_store_explicit(&process_start_state, state, memory_order_release);
    sys_futex_wake(&process_start_state, INT_MAX);
}

static void start_failed(const char *what, const struct rt_error *e)
{
    recorder_stop();
    start_ended(START_OVER);
    log_set_folder(process.dir[0] != '\0' ? process.dir : NULL, process.id.rank, process.pid);
    log_detail(LOG_ERROR, what, e->text);
    if (process.stream_path[0] != '\0')
        (void)unlink(process.stream_path);
}

/* Other threads wait here for some ms while one makes the stream; otherwise their events would be
 * lost without being counted. The thread that makes the stream never comes here. The wait has a
 * limit, because a start can hang (a file system that does not answer). */
static bool wait_for_start(void)
{
    const uint64_t patience_ns = 10000000000u;
    uint64_t limit = clock_monotonic_ns() + patience_ns;
    uint32_t state;
    while ((state = atomic_load(&process_start_state)) == START_RUNS &&
           clock_monotonic_ns() < limit)
        sys_futex_wait(&process_start_state, START_RUNS, 20000000);
    return state == START_DONE;
}

static int make_stream(struct rt_error *e)
{
    int rc;
    if (process.dir[0] == '\0') {
        if (process.parent_dir[0] != '\0')
            process.child = snprintf(process.dir, sizeof process.dir, "%s", process.parent_dir) > 0;
        else if (!process.id.launched && process_ancestor_folder(process.dir))
            process.child = true; /* by system() or popen(); ranks have the folder of their job */
        else if ((rc = identity_make_folder(&process.id, process.wanted_dir, process.dir, e)) !=
                 0) {
            process.dir[0] = '\0';
            return rc;
        }
    }
    log_set_folder(process.dir, process.id.rank, process.pid);
    /* exec keeps the pid, and the stream of the previous program exists until its writer has
     * closed. The time tells the two apart. */
    (void)snprintf(process.stream_path, sizeof process.stream_path,
                   "%s/regtrace-%u-%.64s-%d-%u-%llx", process.options.text[OPT_shm], process.id.uid,
                   process.id.job, process.id.rank, process.pid,
                   (unsigned long long)clock_monotonic_ns());
    static const uint32_t shares[] = {1, 4, 16}; /* divisors, for too little room */
    enum { LEAST = 2 * 32768 };                  /* two chunks */
    uint64_t pool = process.options.number[OPT_buffer];
    if (pool < LEAST) {
        log_line(LOG_NOTE, "REGTRACE_BUFFER is less than the 64 KiB that a stream needs: 64 KiB");
        pool = LEAST;
    }
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct stream_geometry g = {
            .pool_bytes = pool / shares[i], .meta_bytes = metadata_room(), .unnamed = true};
        if (g.pool_bytes < LEAST)
            g.pool_bytes = LEAST;
        if (i > 0) {
            g.thread_capacity = 256;
            g.string_capacity = 1024;
            g.string_bytes = 64u << 10;
        }
        struct stream s;
        rc = stream_create(&s, process.stream_path, &g, e);
        if (rc == 0) {
            if (i > 0)
                log_line(LOG_WARNING, "little room in shared memory: the stream is smaller than "
                                      "asked for (REGTRACE_BUFFER)");
            recorder_stream = s;
            return 0;
        }
        if (rc != -ENOSPC && rc != -EDQUOT && rc != -EFBIG && rc != -ENOMEM && rc != -EINVAL)
            break;
    }
    process.stream_path[0] = '\0';
    struct rt_error folder;
    if (beside_streams(process.options.text[OPT_shm], &folder) != 0)
        *e = folder; /* the same message as `regtrace run` */
    else
        rt_error_prefix(e, "no recording (REGTRACE_SHM names another memory file system)");
    return rc;
}

static void fill_header(void)
{
    struct stream_header *h = recorder_stream.header;
    h->pid = process.pid;
    h->parent_pid = process.id.parent_pid;
    h->pid_start_time = process.id.pid_start_time;
    h->uid = process.id.uid;
    atomic_store(&h->rank, process.id.rank);
    atomic_store(&h->size, process.id.size);
    h->clock_start = clock_calibrate();
    h->clock_source = (uint32_t)clock_source;
    if (strcmp(process.options.text[OPT_full], "drop") == 0)
        h->flags |= STREAM_FLAG_DROP;
    if (process.links_mpi)
        h->flags |= STREAM_FLAG_LINKS_MPI;
    if (process.child)
        h->flags |= STREAM_FLAG_CHILD;
    mpi_glue_fill(h);
}

static bool start_recording(void)
{
    struct rt_error e = {{0}};
    if (make_stream(&e) != 0) {
        start_failed("nothing is recorded in this process", &e);
        return false;
    }
    fill_header();
    metadata_write(&recorder_stream);
    if (!process_start_writer()) {
        start_ended(START_OVER);
        (void)unlink(process.stream_path);
        return false;
    }
    (void)close(recorder_stream.fd);
    recorder_stream.fd = -1;
    atomic_store_explicit(&recorder_stream.header->state, STREAM_LIVE, memory_order_release);
    /* Not earlier: while there is no writer, the events of a new thread would die with the
     * process. */
    struct stream s = recorder_stream;
    recorder_start(&s);
    start_ended(START_DONE);
    return true;
}

bool process_ensure_started(void)
{
    uint32_t state = atomic_load_explicit(&process_start_state, memory_order_acquire);
    if (RT_LIKELY(state == START_DONE))
        return recorder_is_on();
    if (state == START_OVER || !process.traced)
        return false;
    if (recorder_self.in_toolkit)
        return false;
    if (state == START_RUNS ||
        !atomic_compare_exchange_strong(&process_start_state, &state, START_RUNS))
        return wait_for_start();
    recorder_self.in_toolkit++;
    int keep = errno;
    struct sys_cancel cancel = sys_cancel_off();
    uint64_t mask = sys_block_signals(); /* a longjmp would leave it half done */
    struct sys_file_guard guard = sys_file_guard_begin();
    bool ok = run_on_own_stack(start_recording);
    sys_file_guard_end(&guard);
    sys_restore_signals(mask);
    recorder_self.in_toolkit--;
    sys_cancel_on(cancel);
    errno = keep;
    return ok;
}

struct ctl_moment moment_now(uintptr_t ip)
{
    return (struct ctl_moment){
        .icount = counting_now(recorder_self.window_state), .clock = clock_ticks(), .ip = ip};
}

/* Allocates the thread's state, and counts its instructions from here on if a counter was chosen.
 * Returns NULL without memory. */
static struct preload_thread *make_counter(struct recorder_thread *t)
{
    size_t head =
        (sizeof(struct preload_thread) + CTL_ALIGNMENT - 1) / CTL_ALIGNMENT * CTL_ALIGNMENT;
    size_t size = ctl_thread_size(process.config);
    size_t bytes = head + size + parts_thread_room();
    long p = sys_call6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p < 0 && p > -4096)
        return NULL;
    struct preload_thread *pt = (struct preload_thread *)p; /* NOLINT: the kernel's address */
    pt->bytes = bytes;
    pt->automaton_memory = (char *)pt + head;
    t->window_state = pt;
    parts_thread_made(pt, (char *)pt + head + size);
    counting_begin(pt, t);
    return pt;
}

/* Makes the thread's automaton, and its state unless that exists. at_begin: the program has not
 * executed anything on this thread yet. Otherwise a thread that is not counted yet is counted too
 * late. */
static struct preload_thread *make_thread(struct recorder_thread *t, bool at_begin)
{
    struct preload_thread *pt = t->window_state;
    bool counted = pt != NULL;
    if (!counted && (pt = make_counter(t)) == NULL)
        return NULL;
    pt->counting.late = !counted && !at_begin;
    struct ctl_moment m = moment_now(0);
    if (m.icount != CTL_UNKNOWN)
        m.icount = counted ? counting_known(pt) : 0;
    /* Callbacks of the automaton find the thread through recorder_self.window_state. */
    pt->automaton = ctl_thread_init(process.shared, pt->automaton_memory, t->tid, &m);
    t->automaton = pt->automaton;
    probes_wake();
    triggers_count_armed(pt);
    if (!counted)
        counting_started(pt);
    totals_begin(t, pt);
    counting_retire(pt);
    sampling_gap(t, pt);
    return pt;
}

struct preload_thread *thread_count_from_here(void)
{
    struct recorder_thread *t = &recorder_self;
    bool asked = strcmp(process.options.text[OPT_pmu], "auto") != 0;
    if (process.pmu == NULL || process.internal_signal == 0 || t->window_state != NULL ||
        t->attachment != RECORDER_UNATTACHED || (process_is_idle() && !asked) ||
        atomic_load(&process_start_state) == START_OVER)
        return NULL;
    uint64_t mask = sys_block_signals();
    struct preload_thread *pt = make_counter(t);
    if (pt != NULL)
        counting_started(pt);
    sys_restore_signals(mask);
    return pt;
}

void thread_count_ends(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->window_state;
    if (t->attachment != RECORDER_UNATTACHED || pt == NULL || pt->automaton != NULL)
        return;
    uint64_t mask = sys_block_signals();
    counting_thread_ends(t, pt);
    t->window_state = NULL;
    probe_room_end();
    sys_restore_signals(mask);
    own_stack_unmap(pt->wait_stack);
    (void)sys_call6(SYS_munmap, (long)pt, (long)pt->bytes, 0, 0, 0, 0);
}

/* A child of a raw system call has come to its first event. Returns false if nothing can be
 * recorded here. */
RT_COLD static bool follow_unseen_fork(const struct recorder_thread *t)
{
    if (!process.traced || t->in_toolkit)
        return false;
    process_fork_unseen();
    return process.traced;
}

static void attach_here(void *p)
{
    struct recorder_thread *t = p;
    struct preload_thread *pt = t->window_state;
    if (t->attachment == RECORDER_UNATTACHED && recorder_thread_attach(t, false)) {
        if (pt == NULL || pt->automaton == NULL)
            pt = make_thread(t, !process.activated && (uint32_t)sys_gettid() == process.pid);
        else {
            process_adopt_regions(pt);
            windows_after_fork(t, pt); /* the thread that forked, now in the child */
            totals_begin(t, pt);
            probes_wake();
            triggers_count_armed(pt); /* in the row of its new stream */
        }
        mpi_glue_tell(t);
        marks_tell_all(t);
        threads_watch_end();
    }
    if (t->attachment != RECORDER_UNATTACHED)
        probes_thread_known();
}

static struct preload_thread *attach(struct recorder_thread *t)
{
    uint64_t mask = sys_block_signals();
    run_with_room(NULL, attach_here, t);
    sys_restore_signals(mask);
    return recorder_is_attached(t) ? t->window_state : NULL;
}

struct preload_thread *thread_self(void)
{
    struct recorder_thread *t = &recorder_self;
    if (RT_UNLIKELY(recorder_was_forked()) && !follow_unseen_fork(t))
        return NULL;
    if (RT_LIKELY(t->window_state != NULL && recorder_is_attached(t)))
        return t->window_state;
    if (t->attachment == RECORDER_DETACHED || t->in_toolkit || process_is_idle_now())
        return NULL;
    int keep = errno;
    bool counted = t->window_state != NULL;
    unsigned own = counting_own_begin();
    struct preload_thread *pt = process_ensure_started() ? attach(t) : NULL;
    counting_own_end(own);
    if (!counted && pt != NULL)
        pmu_go(&pt->counting.counter);
    errno = keep;
    return pt;
}

void thread_begin(uintptr_t start_routine, const char *start_image, bool helper)
{
    struct recorder_thread *t = &recorder_self;
    if (!process.traced || t->attachment != RECORDER_UNATTACHED)
        return;
    if (helper)
        probes_thread_known();
    if (!recorder_is_on()) {
        if (t->claimed != 0)
            requests_early_thread(t->claimed - 1, (uint32_t)sys_gettid());
        (void)thread_count_from_here();
        if (atomic_load(&process_start_state) == START_UNTRIED)
            probes_wake(); /* in a forked child its chains may begin the recording */
        return;
    }
    uint64_t mask = sys_block_signals();
    if (recorder_thread_attach(t, helper)) {
        if (t->row != NULL) {
            t->row->start_routine = start_routine;
            t->row->start_image = stream_string_id(&recorder_stream, start_image);
        }
        (void)make_thread(t, true);
    }
    probes_thread_known(); /* also if the thread does not record */
    sys_restore_signals(mask);
    (void)recorder_active(t);
}

void thread_finish(void)
{
    struct recorder_thread *t = &recorder_self;
    struct preload_thread *pt = t->window_state;
    probes_thread_gone();
    if (t->claimed != 0)
        requests_early_thread(t->claimed - 1, 0);
    if (!recorder_is_attached(t) || pt == NULL) {
        memory_thread_ends(t, pt);
        thread_count_ends();
        return;
    }
    (void)recorder_active(t);
    windows_close_thread(t, RT_WINDOW_THREAD_END, totals_note(t, pt));
    uint64_t mask = sys_block_signals();
    parts_thread_ends(t, pt);
    if (pt->automaton != NULL) {
        ctl_thread_exit(pt->automaton);
        triggers_count_armed(NULL);
    }
    t->automaton = NULL;
    t->window_state = NULL;
    probe_room_end();
    recorder_thread_end(t);
    sys_restore_signals(mask);
    own_stack_unmap(pt->wait_stack);
    (void)sys_call6(SYS_munmap, (long)pt, (long)pt->bytes, 0, 0, 0, 0);
}

void thread_named(const char *name)
{
    struct recorder_thread *t = &recorder_self;
    if (recorder_is_attached(t) && t->row != NULL && recorder_is_on())
        t->row->name = stream_string_id(&recorder_stream, name);
}

/* Returns the reason why an alarm that was armed until the end has not fired. */
static const char *unmatched(const struct ctl_alarm *alarm)
{
    switch (alarm->type) {
    case CTL_TIMEOUT: return "the program ended before that time had passed";
    case CTL_ICOUNT:
    case CTL_UNIFORM: return "the program ended before so many instructions";
    case CTL_INTERACTIVE: return "nobody asked by regtrace ctl";
    case CTL_SIGNAL: return "the signal did not come";
    default: return "nothing matched it";
    }
}

static void report_never_fired(void *context, const struct ctl_alarm *alarm, enum ctl_unfired why,
                               uint64_t reached)
{
    unsigned *n = context;
    char key[32], text[512];
    if (why == CTL_OTHER_RANK)
        return;
    (void)snprintf(key, sizeof key, "never_fired.%u", (*n)++);
    const char *reason = why == CTL_NEVER_ARMED
                             ? "it was never armed: what stands before it did not happen"
                         : why == CTL_COUNT_SHORT ? "its count was not reached"
                                                  : unmatched(alarm);
    (void)snprintf(text, sizeof text, "%u\t%.300s\t%s\t%llu\t%llu", alarm->index, alarm->text,
                   reason, (unsigned long long)reached, (unsigned long long)alarm->count);
    (void)stream_meta_put(&recorder_stream, key, text);
}

/* Reports the completions of MPI requests that were not recorded for lack of memory. They are no
 * events that a stream has lost. */
static void report_skipped(void)
{
    char text[32];
    uint64_t skipped = atomic_load_explicit(&mpi_completions_skipped, memory_order_relaxed);
    if (skipped == 0)
        return;
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)skipped);
    (void)stream_meta_put(&recorder_stream, "mpi_completions_skipped", text);
}

static bool others_live(void)
{
    struct stream_header *h = recorder_stream.header;
    uint32_t n = atomic_load(&h->thread_count);
    for (uint32_t i = 0; i < n && i < h->thread_capacity; i++)
        if (i != recorder_self.index &&
            atomic_load(&stream_threads(&recorder_stream)[i].state) == THREAD_LIVE)
            return true;
    return false;
}

void process_thread_ends(void)
{
    if (process.traced && recorder_is_on() && others_live())
        thread_finish();
    else
        process_finish(RT_WINDOW_PROGRAM_END, true);
}

void process_finish(unsigned reason, bool wait)
{
    if (!process.traced || sys_getpid() != (pid_t)process.pid ||
        atomic_exchange(&finish_state, 1) != 0)
        return;
    int keep = errno;
    process.traced = false;
    if (atomic_load(&process_start_state) != START_DONE || !recorder_is_on()) {
        errno = keep;
        return;
    }
    struct recorder_thread *t = &recorder_self;
    t->in_toolkit++;
    struct preload_thread *pt = t->window_state;
    /* Note the count first: the rest of this function is not the program's. */
    windows_close_thread(t, reason, totals_note(t, pt));
    atomic_store(&recorder_stream.header->ended, clock_ticks());
    if (pt != NULL)
        timers_thread_ends(t, pt);
    totals_finish();
    unsigned n = 0;
    ctl_never_fired(process.shared, report_never_fired, &n);
    report_skipped();
    recorder_thread_end(t);
    recorder_stop();
    atomic_fetch_add(&recorder_epoch, 1); /* other threads see that it is over */
    struct stream_header *h = recorder_stream.header;
    if (process_nothing_recorded())
        atomic_store(&h->state, STREAM_EMPTY);
    else
        atomic_store(&h->state, STREAM_FINISHED);
    recorder_wake_writer();
    struct sys_cancel cancel = sys_cancel_off();
    if (wait)
        process_wait_for_writer();
    log_take_shared(); /* lines of children that could not write to the log */
    t->in_toolkit--;
    sys_cancel_on(cancel);
    errno = keep;
}
