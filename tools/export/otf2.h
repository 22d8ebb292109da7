/* SPDX-License-Identifier: BSD-3-Clause
 * The export to OTF2: between otf2.c, which writes events, otf2_definitions.c, which writes what they refer to, and
 * otf2_comms.c, which knows communicators. */
#ifndef REGTRACE_TOOLS_EXPORT_OTF2_H
#define REGTRACE_TOOLS_EXPORT_OTF2_H

#include "tools/export/export.h"

#include <otf2/otf2.h>

#define OTF2_NONE UINT32_MAX

/* Communicators that are the same by their number in every process (mpi/handles.c). */
enum { OTF2_WORLD = 1, OTF2_SELF = 2 };

/* Communicators by OTF2's number: two that are always there, and others behind them. */
enum { OTF2_COMM_WORLD, OTF2_COMM_SELF };
struct otf2_comm {
    uint32_t sides, count[2]; /* MPI_COMM_SELF: none */
    uint32_t *processes[2];   /* by rank */
    bool whole;               /* every rank of it is exported */
};

struct otf2_thread {
    OTF2_EvtWriter *writer;
    uint32_t depth;         /* of spans that are open */
    uint32_t collective_at; /* depth of the one that is open, 0 none */
    uint64_t events;        /* once it is closed */
    bool closed;
};

struct otf2_region {
    enum export_kind kind;
    uint32_t name;
};

struct otf2_metric {
    char *name;
    bool is_mark; /* a value that stays, else a count since the last */
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
    uint32_t *comm_of; /* by number in emu_comms_all() */
    struct otf2_member *members;
    size_t member_count;
    uint64_t other_comms, left_out;
    int cause; /* errno of its first failure where that is a lack of room, 0 else */
};

/* True where it went well, else x has the failure. */
bool otf2_good(struct otf2 *o, OTF2_ErrorCode code);
/* Before anything is asked of communicators; false: x has the failure. */
bool otf2_comms_open(struct otf2 *o) RT_MUST_CHECK;
void otf2_comms_close(struct otf2 *o);
/* What a process calls `id` (column id of /comms); OTF2_NONE: not known. */
uint32_t otf2_comm(const struct otf2 *o, uint32_t process, uint32_t id);
/* In the group that is exported, OTF2_NONE: it is not in it. */
uint32_t otf2_rank(const struct otf2 *o, uint32_t comm, uint32_t process);
void otf2_write_definitions(struct otf2 *o);
/* Once the archive is closed. Where that cannot be, it keeps the library's number. */
void otf2_number_archive(const struct otf2 *o);

/* What an MPI function does, by its name; OTF2_NONE: it is no blocking collective operation. */
uint32_t otf2_collective(const char *name);

#endif
