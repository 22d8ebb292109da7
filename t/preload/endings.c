/* SPDX-License-Identifier: BSD-3-Clause
 * The order of the last steps of a recording: the end of the process (preload/finish.c) and exec
 * (preload/new_program.c), with functions of the other files that write down their names. */
#include "base/log.h"
#include "mpi/mpi.h"
#include "preload/count/totals.h"
#include "preload/life.h"
#include "preload/patch/probes.h"
#include "preload/process.h"
#include "preload/window/interrupts.h"
#include "preload/window/windows.h"
#include "t/tap.h"

#include <errno.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

static struct two_threads {
    struct stream_header header;
    struct stream_thread threads[2];
} stream;
static struct stream_header *const header = &stream.header;
static struct recorder_thread *thread; /* the running one */
static const uint64_t noted = 1234;    /* its count of instructions */
static char said[1024];

/* Writes down a step with what the other processes and threads can see at that time. */
static void say(const char *name)
{
    size_t at = strlen(said);
    (void)snprintf(said + at, sizeof said - at, " %s%s%s", name,
                   atomic_load(&header->state) != STREAM_LIVE ? "+" : "",
                   header->ended != 0 ? "!" : "");
}

static void check(const char *want, const char *name)
{
    (void)is_str(said, want, name);
    said[0] = '\0';
}

/* --- what the two files call ------------------------------------------------------------------ */

struct process process;
struct stream recorder_stream = {.base = (unsigned char *)&stream, .header = &stream.header};
_Thread_local struct recorder_thread recorder_self;
struct recorder_page recorder_page;
_Atomic uint32_t process_start_state;
_Atomic uint64_t mpi_completions_skipped, mpi_messages_unnumbered;
static bool is_on = true, is_empty, may_wait;

static uint32_t sync_windows(struct recorder_thread *t)
{
    say("windows_sync");
    t->epoch = atomic_load(&recorder_epoch);
    return t->recording;
}
uint32_t (*recorder_sync)(struct recorder_thread *t) = sync_windows;

bool recorder_is_on(void)
{
    return is_on;
}
void recorder_stop(void)
{
    say("recorder_stop");
    is_on = false;
}
void recorder_thread_end(struct recorder_thread *t)
{
    say(t == thread ? "recorder_thread_end" : "another thread's end");
}
void recorder_flush(struct recorder_thread *t)
{
    (void)t;
    say("recorder_flush");
}
void recorder_wake_writer(void)
{
    say("recorder_wake_writer");
}
bool recorder_emit_slow(struct recorder_thread *t, uint32_t code_flags, uint64_t a, uint64_t b,
                        uint64_t *clock)
{
    (void)t;
    (void)b;
    *clock = 0;
    say(code_flags == EV_EXEC && a == 7 ? "EV_EXEC" : "another event");
    return true;
}
uint32_t stream_string_id(const struct stream *s, const char *text)
{
    (void)s;
    return strcmp(text, "/bin/next") == 0 ? 7 : 0;
}
int stream_meta_put(const struct stream *s, const char *key, const char *value)
{
    (void)s;
    (void)value;
    say(key);
    return 0;
}
void windows_close_thread(struct recorder_thread *t, unsigned reason, uint64_t icount)
{
    say(icount != noted ? "a wrong count" : reason == RT_WINDOW_EXEC ? "close:exec" : "close:end");
    t->recording = 0;
}
void windows_reopen(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)pt;
    say("windows_reopen");
    t->recording = 1;
}
uint64_t totals_note(struct recorder_thread *t, const struct preload_thread *pt)
{
    (void)t;
    (void)pt;
    say("totals_note");
    return noted;
}
void totals_finish(void)
{
    say("totals_finish");
}
void timers_thread_ends(struct recorder_thread *t, struct preload_thread *pt)
{
    (void)t;
    (void)pt;
    say("timers_thread_ends");
}
void thread_finish(void)
{
    say("thread_finish");
}
void ctl_never_fired(struct ctl_shared *shared, ctl_unfired_function *report, void *context)
{
    (void)shared;
    (void)report;
    (void)context;
    say("ctl_never_fired");
}
bool probes_have_alarm(uint16_t alarm)
{
    return alarm == 0;
}
bool process_nothing_recorded(void)
{
    say("process_nothing_recorded");
    return is_empty;
}
void process_wait_for_writer(void)
{
    say("process_wait_for_writer");
    errno = EIO;
}
void log_take_shared(void)
{
    say("log_take_shared");
}

/* --- the checks ------------------------------------------------------------------------------- */

static struct ctl_thread *const automaton = (struct ctl_thread *)&stream; /* any address */
static struct preload_thread pt;

static void test_exec(void)
{
    process_before_exec("/bin/next");
    check(" EV_EXEC totals_note close:exec totals_finish! recorder_flush! recorder_wake_writer+!",
          "exec: the event is in the window, all is flushed before the stream says so");
    (void)is_int((int)atomic_load(&header->state), STREAM_EXECED, "exec: the stream's state");
    process_exec_failed();
    check(" windows_reopen!", "exec failed: the window opens again after the stream is live");
    thread->recording = 0;
    process_before_exec("/bin/next");
    said[0] = '\0';
    process_exec_failed();
    check("", "a thread outside windows opens none");
    header->ended = 0;
    pt.automaton = NULL;
    process_before_exec("/bin/next");
    process_exec_failed();
    check("", "a thread that is not attached has nothing to end");
    pt.automaton = automaton;
    (void)process_child_environment();
    ok(process_child_environment()[0] == NULL, "no folder: a child gets no variable");
    (void)strcpy(process.dir, "/runs/one");
    (void)is_str(process_child_environment()[0], "REGTRACE_PARENT=/runs/one",
                 "a child gets the run's folder");
}

static void test_end(void)
{
    process.pid++;
    process_finish(RT_WINDOW_PROGRAM_END, true);
    check("", "a child that no wrapper saw does not end its parent's recording");
    process.pid--;
    header->threads_offset = offsetof(struct two_threads, threads);
    header->thread_count = header->thread_capacity = 2;
    atomic_store(&stream.threads[1].state, THREAD_LIVE);
    process_thread_ends();
    check(" thread_finish", "one thread of two ends: the recording goes on");
    atomic_store(&stream.threads[1].state, THREAD_ENDED);
    uint32_t epoch = atomic_load(&recorder_epoch);
    atomic_store(&mpi_completions_skipped, 2);
    errno = ENOENT;
    process_thread_ends();
    int now = errno;
    check(" totals_note close:end timers_thread_ends! totals_finish! ctl_never_fired! "
          "mpi_completions_skipped! recorder_thread_end! recorder_stop! process_nothing_recorded! "
          "recorder_wake_writer+! process_wait_for_writer+! log_take_shared+!",
          "the last thread ends: the count, windows, timers, facts, the last chunk, and then the "
          "stream's state");
    (void)is_int(now, ENOENT, "errno stays the program's");
    (void)is_int((int)atomic_load(&header->state), STREAM_FINISHED, "the stream is finished");
    ok(atomic_load(&recorder_epoch) == epoch + 1 && !process.traced && thread->in_toolkit == 0,
       "other threads see it, wrappers pass straight through");
    process_finish(RT_WINDOW_PROGRAM_END, true);
    check("", "a second end does nothing");
}

/* The state of finish.c is the process's, so each kind of end needs a process of its own. */
static void check_end_of_child(const char *want, const char *name)
{
    int pipes[2];
    (void)fflush(stdout);
    if (pipe(pipes) != 0)
        exit(99);
    pid_t child = fork();
    if (child == 0) {
        process.pid = (uint32_t)getpid();
        process_finish(RT_WINDOW_PROGRAM_END, may_wait);
        const char *last = strstr(said, "recorder_wake_writer");
        (void)snprintf(said, sizeof said, "%s state:%u", last != NULL ? last : "nothing",
                       (unsigned)atomic_load(&header->state));
        _exit(write(pipes[1], said, strlen(said) + 1) < 0);
    }
    (void)close(pipes[1]);
    if (read(pipes[0], said, sizeof said) <= 0)
        said[0] = '\0';
    (void)close(pipes[0]);
    (void)waitpid(child, NULL, 0);
    check(want, name);
}

static void test_ends_of_children(void)
{
    check_end_of_child("recorder_wake_writer+! log_take_shared+! state:2",
                       "the end does not wait where it may not");
    may_wait = is_empty = true;
    check_end_of_child("recorder_wake_writer+! process_wait_for_writer+! log_take_shared+! state:4",
                       "nothing was recorded: the stream is empty");
    is_empty = false;
    atomic_store(&process_start_state, START_OVER);
    check_end_of_child("nothing state:1", "a recording that has ended already is left alone");
    atomic_store(&process_start_state, START_DONE);
}

int main(void)
{
    thread = &recorder_self;
    thread->preload_thread = &pt;
    thread->recording = 1;
    pt.automaton = automaton;
    process.traced = true;
    process.pid = (uint32_t)getpid();
    atomic_store(&header->state, STREAM_LIVE);
    atomic_store(&process_start_state, START_DONE);
    test_exec();
    thread->recording = 1;
    test_ends_of_children();
    test_end();
    return done_testing();
}
