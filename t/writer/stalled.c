/* SPDX-License-Identifier: BSD-3-Clause
 * A writer whose loop stands still for 3 s while its process lives, as in a write to a file system
 * that hangs: the process waits, and no event is lost. A writer that is stopped altogether: the
 * process gives up, goes on, and counts what it drops. */
#include "t/tap.h"
#include "t/writer/fixture.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20000 }; /* more than the stream holds */
enum { DROPPED_STALLED, WAITS_STALLED, DROPPED_STOPPED, WAITS_STOPPED, REFUSED };

/* Emits MANY events. Stores at arg[0] how many were dropped, and at arg[1] how often it waited. */
static void *emit(void *arg)
{
    _Atomic uint64_t *result = arg;
    (void)recorder_thread_attach(&recorder_self, false);
    for (uint64_t i = 0; i < MANY; i++)
        (void)recorder_emit(&recorder_self, EV_MARK_SET, 0, i);
    atomic_store(&result[0], atomic_load(&recorder_self.row->dropped));
    atomic_store(&result[1], atomic_load(&recorder_self.row->waits));
    recorder_thread_end(&recorder_self);
    return NULL;
}

/* Stops the main thread of the writer alone. Returns 0 or -errno. */
static int hold_loop(pid_t writer)
{
    int status;
    if (ptrace(PTRACE_SEIZE, writer, NULL, NULL) != 0 ||
        ptrace(PTRACE_INTERRUPT, writer, NULL, NULL) != 0 ||
        waitpid(writer, &status, __WALL) != writer)
        return -errno;
    return 0;
}

static void produce(struct fixture *f, struct producer *p)
{
    struct stream_header *h = p->stream.header;
    pthread_t thread;
    int rc = hold_loop(p->writer);
    atomic_store(&f->shared->seen[REFUSED], (uint64_t)-rc);
    if (rc == 0) {
        (void)pthread_create(&thread, NULL, emit, &f->shared->seen[DROPPED_STALLED]);
        while (atomic_load(&h->producers_wait) == 0)
            fixture_sleep_ms(1);
        fixture_sleep_ms(3000);
        (void)ptrace(PTRACE_DETACH, p->writer, NULL, NULL);
        (void)pthread_join(thread, NULL);
    }
    (void)kill(p->writer, SIGSTOP);
    (void)pthread_create(&thread, NULL, emit, &f->shared->seen[DROPPED_STOPPED]);
    (void)pthread_join(thread, NULL);
    (void)kill(p->writer, SIGCONT);
    atomic_store(&f->shared->go, 1);
}

int main(void)
{
    struct fixture f;
    fixture_begin(&f);
    f.geometry = (struct stream_geometry){.pool_bytes = 256u << 10};
    (void)fixture_wait(fixture_run(&f, produce));
    int refused = (int)atomic_load(&f.shared->seen[REFUSED]);
    ok(atomic_load(&f.shared->go) == 1, "the process has recorded with both writers");
    if (refused != 0) {
        skip("the loop stands still", strerror(refused));
    } else {
        ok(atomic_load(&f.shared->seen[WAITS_STALLED]) > 0, "the loop stands still: a wait");
        is_u64(atomic_load(&f.shared->seen[DROPPED_STALLED]), 0,
               "the loop stands still: no event is dropped");
    }
    ok(atomic_load(&f.shared->seen[DROPPED_STOPPED]) > 0,
       "the writer is stopped: events are dropped");
    ok(fixture_wait_all(60), "the writer ends");
    fixture_end(&f);
    return done_testing();
}
