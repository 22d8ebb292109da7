/* SPDX-License-Identifier: BSD-3-Clause
 * Starts a recording when there is something to record: makes the folder and the stream, and starts
 * the writer. */
#include "preload/count/profile_part.h"
#include "preload/libc/interpose.h"
#include "preload/life.h"
#include "preload/process.h"
#include "preload/stack/own_stack.h"
#include "preload/stack/with_room.h"

#include "base/toolkit/beside.h"
#include "base/log.h"
#include "base/sys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

_Atomic uint32_t process_start_state;

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

/* What the stream needs besides its pool, divided by `share`. */
static struct stream_geometry geometry(uint32_t share)
{
    struct stream_geometry g = {.meta_bytes = metadata_room(), .unnamed = true};
    if (process.options.number[OPT_callpath] > 1)
        g.path_capacity = 65536 / share;
    if (profile_is_on())
        g.profile_capacity = profile_entries() / share;
    if (share > 1) {
        g.thread_capacity = 256;
        g.string_capacity = 1024;
        g.string_bytes = 64u << 10;
    }
    return g;
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
        log_line(LOG_NOTE,
                 "REGTRACE_BUFFER is less than the 64 KiB that a stream needs; 64 KiB are used");
        pool = LEAST;
    }
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct stream_geometry g = geometry(shares[i]);
        g.pool_bytes = pool / shares[i] > LEAST ? pool / shares[i] : LEAST;
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
