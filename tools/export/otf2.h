/* SPDX-License-Identifier: BSD-3-Clause
 * Declares what the parts of the OTF2 export share: otf2.c writes events, otf2_definitions.c writes
 * the definitions that events refer to, and otf2_comms.c knows communicators. */
#ifndef REGTRACE_TOOLS_EXPORT_OTF2_H
#define REGTRACE_TOOLS_EXPORT_OTF2_H

#include "tools/export/export.h"

#include <otf2/otf2.h>

#define OTF2_NONE UINT32_MAX

/* Numbers that mean the same communicator in every process (mpi/handles.c). */
enum { OTF2_WORLD = 1, OTF2_SELF = 2 };

/* OTF2's numbers of communicators: these two always exist; the others follow. */
enum { OTF2_COMM_WORLD, OTF2_COMM_SELF };
struct otf2_comm {
    uint32_t sides, count[2]; /* MPI_COMM_SELF: none */
    uint32_t *processes[2];   /* by rank */
    bool whole;               /* all its ranks are exported */
};

struct otf2_thread {
    OTF2_EvtWriter *writer;
    uint32_t depth;         /* of open spans */
    uint32_t collective_at; /* depth of the open collective operation, 0: none */
    uint64_t events;        /* set when the writer is closed */
    bool closed;
};

struct otf2_region {
    enum export_kind kind;
    uint32_t name;
};

struct otf2_metric {
    char *name;
    bool is_mark; /* a value that stays; otherwise a count since the last event */
};

struct otf2 {
    struct export *x;
    const char *path;
    OTF2_Archive *archive;
    struct otf2_thread *threads;
    uint32_t *region_of[EXPORT_KINDS]; /* by number of the name: a region + 1 */
    size_t region_room[EXPORT_KINDS];
    struct otf2_region *regions;
    uint32_t region_count;
    size_t regions_room;
    struct otf2_metric *metrics;
    uint32_t metric_count;
    size_t metrics_room;
    struct otf2_comm *comms;
    uint32_t comm_count;
    uint32_t *comm_of; /* by number in comms_all() */
    struct otf2_member *members;
    size_t member_count;
    uint64_t other_comms, left_out;
    int cause; /* errno of the library's first failure by lack of space, otherwise 0 */
};

/* Returns true if `code` is success; otherwise notes the failure in x. */
bool otf2_good(struct otf2 *o, OTF2_ErrorCode code);
/* Makes the table of communicators, which the functions below need. Returns false if it fails; x
 * then has the failure. */
bool otf2_comms_open(struct otf2 *o) RT_MUST_CHECK;
void otf2_comms_close(struct otf2 *o);
/* Returns the OTF2 number of the communicator that a process calls `id` (column id of /comms), or
 * OTF2_NONE if it is not known. */
uint32_t otf2_comm(const struct otf2 *o, uint32_t process, uint32_t id);
/* Returns the process's rank in the exported group of the communicator, or OTF2_NONE if it is not a
 * member. */
uint32_t otf2_rank(const struct otf2 *o, uint32_t comm, uint32_t process);
void otf2_write_definitions(struct otf2 *o);
/* Writes our own number into the closed archive. If that is impossible, the archive keeps the
 * library's number. */
void otf2_number_archive(const struct otf2 *o);

/* Returns the OTF2_CollectiveOp of an MPI function, or OTF2_NONE if it is no blocking collective
 * operation. */
uint32_t otf2_collective(const char *name);

#endif
