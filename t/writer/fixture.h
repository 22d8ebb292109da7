/* SPDX-License-Identifier: BSD-3-Clause
 * Helpers for the writer's tests: scratch folders, stand-ins for traced processes, and waiting for
 * their writers. */
#ifndef REGTRACE_T_WRITER_FIXTURE_H
#define REGTRACE_T_WRITER_FIXTURE_H

#include "t/writer/producer.h"
#include "writer/writer.h"

struct fixture {
    char dir[PATH_MAX / 4];    /* the run's folder */
    char stream[PATH_MAX / 4]; /* of the next process */
    struct stream_geometry geometry;
    const char *const *meta;
    struct shared {
        /* events that the process claims to have recorded, by thread */
        _Atomic uint64_t emitted[64];
        _Atomic uint32_t started, go;
        _Atomic int32_t writer;
        _Atomic uint64_t seen[8]; /* for any use */
    } * shared;
};

/* Recovers f->dir in a child process. Returns the result of rt_recover_dir(), or -ECHILD if the
 * child crashed. Copies the last report to *r. */
int fixture_recover(struct fixture *f, struct rt_recovered *r);

/* Makes the folder, and makes this process the reaper of orphans, so that it can wait for
 * writers. */
void fixture_begin(struct fixture *f);
/* Removes everything that belongs to the fixture. */
void fixture_end(struct fixture *f);

/* Returns the path of regtrace-writer in the build tree; ends the test if there is none. */
const char *fixture_writer(void);

/* Runs body(f, p) in a child process that has a stream and a writer and is attached. The child
 * calls _exit(0) if body returns. Returns the child's pid. */
pid_t fixture_run(struct fixture *f, void (*body)(struct fixture *f, struct producer *p));

/* Waits for a child; returns its wait status. */
int fixture_wait(pid_t pid);
/* Waits at most `seconds` for all children, including writers. Returns false if some were left;
 * kills those. */
bool fixture_wait_all(int seconds);

/* Returns how many children so far ended by a signal that means a crash (SEGV, BUS, ABRT, FPE, ILL,
 * TRAP, SYS). */
int fixture_crashes(void);

/* Returns the text of DIR/regtrace.log, "" if there is none; the caller frees it. */
char *fixture_log(const struct fixture *f);

/* Opens the only rank file; ends the test if that fails. The caller closes it. */
struct rt_rank *fixture_open(struct fixture *f);

void fixture_sleep_ms(long ms);

#endif
