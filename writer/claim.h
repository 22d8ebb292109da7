/* SPDX-License-Identifier: BSD-3-Clause
 * Ownership of the file names of a run: entries in DIR/.regtrace, changed under one lock.
 *
 * - DIR/.regtrace/lock: locked by flock(2) for every change except the creation of an entry. Its
 *   text is the number of open rank files.
 * - DIR/.regtrace/<key>.entry: one for each traced process whose writer runs or ran. The key is
 *   <host>-<pid>-<start time>, and a further number if the process ran other programs before, by
 *   exec.
 * - DIR/.regtrace/values.<key>: what its writer has counted of captured values (value_traces.h),
 *   until it closes the file.
 * - DIR/.regtrace/name.<file>: the key of the process that holds this file name.
 *
 * Names move. The first process of a rank that calls MPI_Init takes rank-NNNNN.h5 from a holder
 * that did not call it. A process that no traced process started takes it from one that a traced
 * process started. */
#ifndef REGTRACE_WRITER_CLAIM_H
#define REGTRACE_WRITER_CLAIM_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum claim_state { CLAIM_WAITING, CLAIM_OPEN, CLAIM_CLOSED, CLAIM_FAILED, CLAIM_RECOVERED };

/* Contents of an entry. */
struct claim {
    char dir[PATH_MAX - 512];
    char key[160];
    char file[80]; /* "rank-00003.h5"; "": none yet */
    char host[65], boot_id[40], program[64];
    char stream[PATH_MAX - 512];
    int32_t rank, size;
    bool mpi;   /* the process called MPI_Init */
    bool child; /* a traced process forked or started it */
    /* 2 and up: MPI_Comm_spawn made its world, whose ranks are not the run's. */
    uint32_t world;
    uint32_t pid, writer_pid;
    uint64_t pid_start_time, writer_start_time;
    enum claim_state state;
    uint64_t events;
    struct claim_summary {
        uint64_t fired, windows, threads; /* numbers of rows */
        /* Size and modification time of the file that this summary describes; 0: nothing is
         * known. */
        uint64_t file_bytes, file_mtime_ns;
        uint64_t checksum; /* of all its bytes, by verify_note(); 0: none */
        uint64_t clock_ticks0;
        int64_t clock_ns0, clock_offset_ns; /* clock_ns0: on rank 0's node */
        double ns_per_tick;
        char end_reason[128];
    } summary; /* of a closed file, so that the index need not open it */
};

/* Takes the lock for changes in DIR/.regtrace. Returns a descriptor, or -errno. Close the
 * descriptor to unlock. */
RT_MUST_CHECK int claim_lock(const char *dir);

/* Writes the entry, without a file name yet: from then on recover finds the stream even if the
 * writer is killed. Returns 0, or -errno with the text in *e. */
RT_MUST_CHECK int claim_register(struct claim *c, struct rt_error *e);

/* Takes a file name if the claim holds none. After `rank` or `mpi` changed, tries to take the
 * better name: renames our file and, if another holder must yield, its file. c->file becomes the
 * name that we hold now; after the first call the caller creates the file. Returns 0, or -errno
 * with the text in *e. */
RT_MUST_CHECK int claim_take(struct claim *c, struct rt_error *e);

/* Writes the path at which our file grows until readers can open it: DIR/.regtrace/new.<key>.
 * Returns 0 or -ENAMETOOLONG. */
RT_MUST_CHECK int claim_new_path(const struct claim *c, char out[PATH_MAX]);

/* Writes the path of the values that are counted for our file, until it is closed:
 * DIR/.regtrace/values.<key>. Returns 0 or -ENAMETOOLONG. */
RT_MUST_CHECK int claim_values_path(const struct claim *c, char out[PATH_MAX]);

/* Renames the file at claim_new_path(), which readers can open now, to the name that we hold now.
 * Returns 0 or -errno. */
RT_MUST_CHECK int claim_publish(struct claim *c);

/* Reads the name that we hold now: another process may have renamed our file. Returns 0 or
 * -errno. */
RT_MUST_CHECK int claim_refresh(struct claim *c);

/* Sets the state of our file, which is complete or failed. *last becomes true if no other file of
 * the run is open now. Returns 0 or -errno. */
RT_MUST_CHECK int claim_finish(struct claim *c, enum claim_state state, uint64_t events,
                               bool *last);

/* Removes the entry and its name: nothing was recorded. */
void claim_withdraw(struct claim *c);

/* Calls visit() for each entry of the folder. Returns 0 or -errno (-ENOENT: no .regtrace
 * folder). */
RT_MUST_CHECK int claim_each(const char *dir, void (*visit)(void *context, const struct claim *c),
                             void *context);

/* Reads the entry again: its writer may have changed it. Returns 0, or -errno (-ENOENT: the writer
 * has withdrawn the entry). On failure *c is unchanged. */
RT_MUST_CHECK int claim_reload(struct claim *c);

/* Returns 1 if the writer of this entry lives, 0 if not, -1 if unknown (another host). `host` and
 * `boot_id` are those of this host. */
int claim_writer_lives(const struct claim *c, const char *host, const char *boot_id);

/* Writes this host's name, and its boot id ("" if it cannot be read). */
void claim_this_host(char host[65], char boot_id[40]);

#endif
