/* SPDX-License-Identifier: BSD-3-Clause
 * Scratch folders, traced stand-ins in processes of their own, and waiting for their writers. */
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
        _Atomic uint64_t emitted[64]; /* by thread: what the process says it has recorded */
        _Atomic uint32_t started, go;
        _Atomic int32_t writer;
        _Atomic uint64_t seen[8]; /* free use */
    } * shared;
};

/* Recover f->dir in a process of its own; rt_recover_dir()'s result, or -ECHILD if it crashed. Its last report goes to *r. */
int fixture_recover(struct fixture *f, struct rt_recovered *r);

/* Make the folder and become the reaper of orphans, so that writers can be waited for. */
void fixture_begin(struct fixture *f);
/* Remove everything. */
void fixture_end(struct fixture *f);

/* Path of regtrace-writer in the build tree; ends the test where there is none. */
const char *fixture_writer(void);

/* Run body(f, p) in a child process that has a stream and a writer and is attached; it ends by _exit(0) if body returns. */
pid_t fixture_run(struct fixture *f, void (*body)(struct fixture *f, struct producer *p));

/* Wait for a child; its wait status. */
int fixture_wait(pid_t pid);
/* Wait for all children, writers too, at most `seconds`; false if some are still there (they are killed). */
bool fixture_wait_all(int seconds);

/* How many children so far ended by a signal that says "crash" (SEGV, BUS, ABRT, FPE, ILL, TRAP, SYS). */
int fixture_crashes(void);

/* The text of DIR/regtrace.log (malloc'ed, "" if there is none). */
char *fixture_log(const struct fixture *f);

/* Open the only rank file; ends the test where that fails. */
struct rt_rank *fixture_open(struct fixture *f);

void fixture_sleep_ms(long ms);

#endif
