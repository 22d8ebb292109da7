/* SPDX-License-Identifier: BSD-3-Clause
 * Between the reader and its child process: HDF5 runs in the child, rows of small tables come over a socket, events in shared memory. */
#ifndef REGTRACE_WRITER_READ_READER_H
#define REGTRACE_WRITER_READ_READER_H

#include "writer/file/schema.h"

#include <sys/types.h>

#define READER_ERROR UINT32_C(0xffff0001) /* payload: text; rc says which */
#define READER_INFO UINT32_C(0xffff0002)  /* payload: struct reader_info */
#define READER_READY UINT32_C(0xffff0003) /* all tables have been sent */
#define READER_ROWS                                                                                \
    UINT32_C(0xffff0004) /* payload: uint64_t, how many rows stand in the shared memory */
/* Any other kind is an enum schema_table: its rows. */

struct reader_message {
    uint32_t kind;
    int32_t rc;
    uint64_t bytes; /* of payload */
};

/* At most READER_SHARED rows. */
struct reader_request {
    uint64_t first, count;
};

/* Rows of the shared memory. */
#define READER_SHARED 8192u

struct reader_info {
    int32_t rank, size, confirmed;
    uint32_t pid, clock_source, writer_pid, schema_version, swmr;
    uint32_t parent_pid, uid; /* 0: not said */
    uint64_t pid_start_time;
    uint64_t writer_start_time, fired_total, ignored_total, event_count;
    uint64_t tail_left_out; /* rows of the tail from a torn one on */
    double nominal_ns_per_tick, clock_drift;
    int64_t clock_offset_ns, clock_error_ns;
    char host[80], boot_id[40], program[80], state[SCHEMA_STATE_WIDTH + 1],
        end_reason[SCHEMA_REASON_WIDTH + 1];
    char stream[1024];
};

/* How many milliseconds the parent waits for one answer when the child sleeps or gets no
 * processor. */
extern int reader_patience_ms;

/* To a child that reads one file. */
struct reader_link {
    pid_t child; /* -1: none any more */
    int fd;
    const struct rt_event *shared; /* READER_SHARED rows, written by the child */
    const char *path;              /* the caller's */
};

/* Functions that fail have the reason, with the remedy, in *e; where the child has crashed or does not answer it is ended. */
RT_MUST_CHECK int reader_link_start(struct reader_link *l, const char *path, struct rt_error *e);
/* Harmless where it was stopped. */
void reader_link_stop(struct reader_link *l);
/* The next message; its payload in malloc'ed memory, terminated by a 0 byte. What READER_ERROR says is an error here. */
RT_MUST_CHECK int reader_link_take(struct reader_link *l, struct reader_message *m, void **payload,
                                   struct rt_error *e);
/* Rows of the file that there are; *got: how many, READER_SHARED at most. */
RT_MUST_CHECK int reader_link_read(struct reader_link *l, uint64_t first, size_t count,
                                   struct rt_event *out, size_t *got, struct rt_error *e);

/* Called in a child that reads a file of that many bytes. From now on SIGPROF ends the child if
 * HDF5 uses more processor time than any intact file of that size needs: a damaged file can make
 * HDF5 loop forever. */
void reader_child_bound(uint64_t file_bytes);

/* In the child: never returns. */
_Noreturn void reader_child_run(int fd, struct rt_event *shared, const char *path);

/* What recover needs beside the public interface. */
const struct reader_info *rt_rank_raw_info(const struct rt_rank *rank);
const char *rt_rank_raw_metadata(const struct rt_rank *rank, size_t *bytes);
/* Entry i of the string table; NULL past the last. */
const char *rt_rank_string_at(const struct rt_rank *rank, size_t i, uint32_t *id);

#endif
