/* SPDX-License-Identifier: BSD-3-Clause
 * Between the reader and its child process: HDF5 runs in the child, plain rows come over a socket. */
#ifndef REGTRACE_WRITER_READER_H
#define REGTRACE_WRITER_READER_H

#include "writer/schema.h"

#define READER_ERROR UINT32_C(0xffff0001) /* payload: text; rc says which */
#define READER_INFO UINT32_C(0xffff0002)  /* payload: struct reader_info */
#define READER_READY UINT32_C(0xffff0003) /* all tables have been sent */
#define READER_ROWS UINT32_C(0xffff0004)  /* payload: struct rt_event[] */
/* Any other kind is an enum schema_table: its rows. */

struct reader_message {
    uint32_t kind;
    int32_t rc;
    uint64_t bytes; /* of payload */
};

struct reader_request {
    uint64_t first, count;
};

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

/* How long the parent waits for one answer; a damaged file can send HDF5 round in circles. */
extern int reader_patience_ms;

/* In the child: never returns. */
_Noreturn void reader_child_run(int fd, const char *path);

/* What recover needs beside the public interface. */
const struct reader_info *rt_rank_raw_info(const struct rt_rank *rank);
const char *rt_rank_raw_metadata(const struct rt_rank *rank, size_t *bytes);
/* Entry i of the string table; NULL past the last. */
const char *rt_rank_string_at(const struct rt_rank *rank, size_t i, uint32_t *id);

#endif
