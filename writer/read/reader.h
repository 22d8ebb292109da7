/* SPDX-License-Identifier: BSD-3-Clause
 * Protocol of the reader and its child process: HDF5 runs in the child, which sends rows of small
 * tables over a socket and events in shared memory. */
#ifndef REGTRACE_WRITER_READ_READER_H
#define REGTRACE_WRITER_READ_READER_H

#include "writer/file/schema.h"

#include <sys/types.h>

#define READER_ERROR UINT32_C(0xffff0001) /* payload: text; rc: -errno */
#define READER_INFO UINT32_C(0xffff0002)  /* payload: struct reader_info */
#define READER_READY UINT32_C(0xffff0003) /* all tables have been sent */
#define READER_ROWS                                                                                \
    UINT32_C(0xffff0004) /* payload: uint64_t, the number of rows in the shared memory */
/* Any other kind is an enum schema_table; its payload is the rows of that table. */

struct reader_message {
    uint32_t kind;
    int32_t rc;
    uint64_t bytes; /* of payload */
};

/* Asks for events; the answer has at most READER_SHARED rows. */
struct reader_request {
    uint64_t first, count;
};

/* Rows for which the shared memory has room. */
#define READER_SHARED 8192u

struct reader_info {
    int32_t rank, size, confirmed;
    uint32_t pid, clock_source, writer_pid, schema_version, swmr;
    uint32_t parent_pid, uid; /* 0: unknown */
    uint64_t pid_start_time;
    uint64_t writer_start_time, fired_total, ignored_total, event_count;
    uint64_t tail_left_out; /* rows of the tail from the first torn one on */
    double nominal_ns_per_tick, clock_drift;
    int64_t clock_offset_ns, clock_error_ns;
    char host[80], boot_id[40], program[80], state[SCHEMA_STATE_WIDTH + 1],
        end_reason[SCHEMA_REASON_WIDTH + 1];
    char stream[1024];
};

/* How many milliseconds the parent waits for one answer when the child sleeps or gets no
 * processor. */
extern int reader_patience_ms;

/* Connection to a child that reads one file. */
struct reader_link {
    pid_t child; /* -1: ended */
    int fd;
    const struct rt_event *shared; /* READER_SHARED rows, written by the child */
    const char *path;              /* the caller owns it */
};

/* On failure these functions set the reason, with the remedy, in *e. If the child has crashed or
 * does not answer, they end it. */
RT_MUST_CHECK int reader_link_start(struct reader_link *l, const char *path, struct rt_error *e);
/* Ends the child. Harmless if the link is stopped already. */
void reader_link_stop(struct reader_link *l);
/* Receives the next message. *payload becomes its payload in malloc'ed memory, with a 0 byte after
 * it. A READER_ERROR message becomes a failure of this function. */
RT_MUST_CHECK int reader_link_take(struct reader_link *l, struct reader_message *m, void **payload,
                                   struct rt_error *e);
/* Reads events of the file. *got receives their number, at most READER_SHARED. */
RT_MUST_CHECK int reader_link_read(struct reader_link *l, uint64_t first, size_t count,
                                   struct rt_event *out, size_t *got, struct rt_error *e);

/* Called in a child that reads a file of that many bytes. From now on SIGPROF ends the child if
 * HDF5 uses more processor time than any intact file of that size needs: a damaged file can make
 * HDF5 loop forever. */
void reader_child_bound(uint64_t file_bytes);

/* Runs the child. Never returns. */
_Noreturn void reader_child_run(int fd, struct rt_event *shared, const char *path);

/* Facts that recover needs beyond the public interface. */
const struct reader_info *rt_rank_raw_info(const struct rt_rank *rank);
const char *rt_rank_raw_metadata(const struct rt_rank *rank, size_t *bytes);
/* Returns entry i of the string table, or NULL after the last. */
const char *rt_rank_string_at(const struct rt_rank *rank, size_t i, uint32_t *id);

#endif
