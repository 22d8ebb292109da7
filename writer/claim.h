/* SPDX-License-Identifier: BSD-3-Clause
 * Who owns which file name of a run: entries in DIR/.regtrace, changed under one lock.
 *
 * DIR/.regtrace/lock       flock'ed for every change but the making of an entry; its text is the number of open rank files.
 * DIR/.regtrace/<key>.entry one per traced process whose writer runs or ran; key = <host>-<pid>-<start time>.
 * DIR/.regtrace/values.<key> what its writer has counted of captured values (values.h), until the file is closed.
 * DIR/.regtrace/name.<file> who holds a file name: the key. Names move: the first process of a rank that calls
 *                          MPI_Init takes rank-NNNNN.h5 from a holder that did not, and a process that was
 *                          there before its children from one of them. */
#ifndef REGTRACE_WRITER_CLAIM_H
#define REGTRACE_WRITER_CLAIM_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum claim_state { CLAIM_WAITING, CLAIM_OPEN, CLAIM_CLOSED, CLAIM_FAILED, CLAIM_RECOVERED };

/* What an entry says. */
struct claim {
    char dir[PATH_MAX - 512];
    char key[160];
    char file[80]; /* "rank-00003.h5", "" = none yet */
    char host[65], boot_id[40], program[64];
    char stream[PATH_MAX - 512];
    int32_t rank, size;
    bool mpi;   /* it called MPI_Init */
    bool child; /* a traced process forked or started it */
    uint32_t
        world; /* 2 and up: in a world that MPI_Comm_spawn made, whose ranks are not the run's */
    uint32_t pid, writer_pid;
    uint64_t pid_start_time, writer_start_time;
    enum claim_state state;
    uint64_t events;
    struct claim_summary {
        uint64_t fired, windows, threads; /* rows */
        uint64_t file_bytes,
            file_mtime_ns; /* of the file that this is about; 0: nothing is known */
        uint64_t checksum; /* of all its bytes, by verify_note(); 0: none was made */
        uint64_t clock_ticks0;
        int64_t clock_ns0, clock_offset_ns; /* ns0: on rank 0's node */
        double ns_per_tick;
        char end_reason[128];
    } summary; /* of a closed file, so that the index need not open it */
};

/* The lock, for whoever changes what is in DIR/.regtrace. A descriptor, whose close unlocks, or -errno. */
RT_MUST_CHECK int claim_lock(const char *dir);

/* Write the entry, without a file name yet, so that recover finds the stream whatever happens. 0 or -errno. */
RT_MUST_CHECK int claim_register(struct claim *c, struct rt_error *e);

/* Take a file name (none held yet), or after rank or mpi changed try for the better one: renames our file and, where
 * it must yield, the other holder's. c->file is what we hold now; its file must be created next
 * when this is the first call. 0 or -errno. */
RT_MUST_CHECK int claim_take(struct claim *c, struct rt_error *e);

/* Where our file grows until readers can open it: DIR/.regtrace/new.<key>. 0 or -ENAMETOOLONG. */
RT_MUST_CHECK int claim_new_path(const struct claim *c, char out[PATH_MAX]);

/* Where the values that are counted for our file are kept until it is closed: DIR/.regtrace/values.<key>. 0 or -ENAMETOOLONG. */
RT_MUST_CHECK int claim_values_path(const struct claim *c, char out[PATH_MAX]);

/* Put the finished beginning of our file, at claim_new_path(), in the place of the name that we hold by now. 0 or -errno. */
RT_MUST_CHECK int claim_publish(struct claim *c);

/* Another process may have renamed our file: read the name we hold now. 0 or -errno. */
RT_MUST_CHECK int claim_refresh(struct claim *c);

/* The file is complete (or failed). *last: no other file is open now. */
RT_MUST_CHECK int claim_finish(struct claim *c, enum claim_state state, uint64_t events,
                               bool *last);

/* Nothing was recorded: remove the entry. */
void claim_withdraw(struct claim *c);

/* Call visit for each entry of the folder. 0 or -errno (-ENOENT: no .regtrace folder). */
RT_MUST_CHECK int claim_each(const char *dir, void (*visit)(void *context, const struct claim *c),
                             void *context);

/* Read the entry again: its writer may have changed it. Returns 0, or -errno (-ENOENT: the writer
 * has withdrawn the entry). On failure *c is unchanged. */
RT_MUST_CHECK int claim_reload(struct claim *c);

/* Is the writer that made this entry alive? 1 yes, 0 no, -1 unknown: another host. The others: of this host. */
int claim_writer_lives(const struct claim *c, const char *host, const char *boot_id);

/* This host's boot id and name. */
void claim_this_host(char host[65], char boot_id[40]);

#endif
