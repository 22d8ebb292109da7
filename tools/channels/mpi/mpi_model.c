/* SPDX-License-Identifier: BSD-3-Clause
 * Implements the model of MPI calls: a stack of functions, and the arguments of the innermost
 * call. */
#include "base/format/event_fields.h"
#include "base/toolkit/array.h"
#include "tools/channels/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* States, numbered as Paraver's users know them. */
enum activity {
    UNKNOWN = 0,
    RUNNING = 1,
    RECEIVES = 3,
    SENDS = 4,
    SYNCHRONIZES = 5,
    TESTS = 6,
    WAITS = 8,
    SENDS_AT_ONCE = 10,
    RECEIVES_AT_ONCE = 11,
    FILES = 12,
    COLLECTIVE = 13,
    NOT_RECORDED = 14,
    OTHER = 15,
    SENDS_AND_RECEIVES = 16,
    MEMORY = 17,
    ACTIVITIES
};

static const char *const activity_names[ACTIVITIES] = {
    [UNKNOWN] = "Idle",
    [RUNNING] = "Running",
    [RECEIVES] = "Waiting a message",
    [SENDS] = "Blocking Send",
    [SYNCHRONIZES] = "Synchronization",
    [TESTS] = "Test/Probe",
    [WAITS] = "Wait/WaitAll",
    [SENDS_AT_ONCE] = "Immediate Send",
    [RECEIVES_AT_ONCE] = "Immediate Receive",
    [FILES] = "I/O",
    [COLLECTIVE] = "Group Communication",
    [NOT_RECORDED] = "Tracing Disabled",
    [OTHER] = "Others",
    [SENDS_AND_RECEIVES] = "Send Receive",
    [MEMORY] = "Memory transfer",
};

/* Functions of each activity. Names stand between spaces, without MPI_ or MPIX_, and without the _c
 * of large-count variants. MPI_File_* are FILES. Other functions that are not listed are OTHER,
 * such as those that make persistent requests, communicators and types. */
static const char *const functions_of[ACTIVITIES] = {
    [RECEIVES] = " Recv Mrecv ",
    [SENDS] = " Send Bsend Ssend Rsend ",
    [SYNCHRONIZES] = " Barrier Win_fence Win_lock Win_lock_all Win_unlock Win_unlock_all Win_flush"
                     " Win_flush_all Win_flush_local Win_flush_local_all Win_start Win_complete"
                     " Win_post Win_wait Win_sync ",
    [TESTS] = " Test Testall Testany Testsome Probe Iprobe Mprobe Improbe Request_get_status"
              " Parrived Win_test ",
    [WAITS] = " Wait Waitall Waitany Waitsome ",
    [SENDS_AT_ONCE] = " Isend Ibsend Issend Irsend Isendrecv Isendrecv_replace ",
    [RECEIVES_AT_ONCE] = " Irecv Imrecv ",
    [COLLECTIVE] =
        " Allgather Allgatherv Allreduce Alltoall Alltoallv Alltoallw Bcast Exscan Gather Gatherv"
        " Reduce Reduce_scatter Reduce_scatter_block Scan Scatter Scatterv Neighbor_allgather"
        " Neighbor_allgatherv Neighbor_alltoall Neighbor_alltoallv Neighbor_alltoallw"
        " Iallgather Iallgatherv Iallreduce Ialltoall Ialltoallv Ialltoallw Ibarrier Ibcast Iexscan"
        " Igather Igatherv Ireduce Ireduce_scatter Ireduce_scatter_block Iscan Iscatter Iscatterv"
        " Ineighbor_allgather Ineighbor_allgatherv Ineighbor_alltoall Ineighbor_alltoallv"
        " Ineighbor_alltoallw Comm_agree Comm_iagree ",
    [SENDS_AND_RECEIVES] = " Sendrecv Sendrecv_replace ",
    [MEMORY] = " Put Get Rput Rget Accumulate Get_accumulate Raccumulate Rget_accumulate"
               " Fetch_and_op Compare_and_swap ",
};

static enum activity activity_of_name(const char *name)
{
    char text[64];
    const char *plain = strchr(name, '_');
    if (plain == NULL)
        return OTHER;
    if (strncmp(plain, "_File_", 6) == 0)
        return FILES;
    int n = snprintf(text, sizeof text, " %s ", plain + 1);
    if (n < 4 || n >= (int)sizeof text)
        return OTHER;
    if (text[n - 3] == '_' && text[n - 2] == 'c')
        (void)snprintf(text + n - 3, sizeof text - (size_t)n + 3, " ");
    for (unsigned i = 0; i < ACTIVITIES; i++)
        if (functions_of[i] != NULL && strstr(functions_of[i], text) != NULL)
            return (enum activity)i;
    return OTHER;
}

int64_t mpi_activity(uint32_t function)
{
    static uint8_t known[EVENT_MPI_FUNCTIONS_MOST];
    if (known[function] == 0) {
        const char *name = event_mpi_name(function);
        known[function] = (uint8_t)(name != NULL ? activity_of_name(name) : OTHER);
    }
    return known[function];
}

/* Shows the innermost open call, or that there is none. */
int mpi_show(struct event_replay *r, uint32_t stream, struct rt_error *e)
{
    const struct replay_row *row = &r->rows[stream];
    struct open_call none = {.activity = RUNNING};
    if (!row->in_window || row->activity == ROW_IN_GAP)
        none.activity = NOT_RECORDED;
    else if (row->activity == ROW_BEHIND_GAP && rt_rank_info(r->all[stream].rank)->confirmed)
        none.activity = UNKNOWN;
    const struct open_call *c = row->calls != 0 ? &row->open[row->calls - 1] : &none;
    int rc = emu_set(r->emu, stream, CHANNEL_MPI_BYTES, c->bytes, e);
    if (rc == 0)
        rc = emu_set(r->emu, stream, CHANNEL_MPI_PEER, c->peer, e);
    if (rc == 0)
        rc = emu_set(r->emu, stream, CHANNEL_MPI_COMM, c->comm, e);
    return rc == 0 ? emu_set(r->emu, stream, CHANNEL_MPI_ACTIVITY, c->activity, e) : rc;
}

int mpi_enter(struct event_replay *r, const struct stream_record *rec, int64_t *value,
              struct rt_error *e)
{
    struct replay_row *row = &r->rows[rec->stream];
    uint32_t function = EVENT_MPI_FUNCTION(rec->event.code);
    int32_t peer = (int32_t)EVENT_GET(&rec->event, EV_MPI_ENTER, peer);
    (void)value;
    int rc = emu_push(r->emu, rec->stream, CHANNEL_MPI_FUNCTION, (int64_t)function + 1, e);
    if (rc != 0)
        return rc;
    void *open = array_grown(row->open, row->calls, &row->call_room, sizeof *row->open);
    if (open == NULL)
        return replay_no_memory(e);
    row->open = open;
    row->activity = ROW_KNOWN;
    row->open[row->calls++] = (struct open_call){
        function, mpi_activity(function), (int64_t)EVENT_GET(&rec->event, EV_MPI_ENTER, bytes),
        peer >= 0 ? (int64_t)peer + 1 : 0, (int64_t)EVENT_GET(&rec->event, EV_MPI_ENTER, comm)};
    return mpi_show(r, rec->stream, e);
}

int mpi_leave(struct event_replay *r, const struct stream_record *rec, int64_t *value,
              struct rt_error *e)
{
    struct replay_row *row = &r->rows[rec->stream];
    (void)value;
    if (row->calls == 0 && row->has_lost) { /* entered in a gap or before it */
        emu_clear(r->emu, rec->stream, CHANNEL_MPI_FUNCTION, false);
        row->activity = ROW_KNOWN;
        return mpi_show(r, rec->stream, e);
    }
    int rc = emu_pop(r->emu, rec->stream, CHANNEL_MPI_FUNCTION,
                     (int64_t)EVENT_MPI_FUNCTION(rec->event.code) + 1, e);
    if (rc != 0)
        return rc;
    row->calls--;
    return mpi_show(r, rec->stream, e);
}

static int64_t last_function(const struct event_replay *r, uint32_t channel)
{
    (void)r;
    (void)channel;
    return event_mpi_functions;
}

static const char *function_text(const struct event_replay *r, uint32_t channel, int64_t value,
                                 char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return value == 0 ? "Outside MPI" : event_mpi_name((uint32_t)value - 1);
}

const struct labels labels_of_mpi = {
    .known = last_function, .unrecorded = "Not recorded", .text = function_text};

static const char *activity_text(const struct event_replay *r, uint32_t channel, int64_t value,
                                 char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return activity_names[value];
}

const struct labels labels_of_activities = {.last = ACTIVITIES - 1, .text = activity_text};

static const char *comm_text(const struct event_replay *r, uint32_t channel, int64_t value,
                             char room[64])
{
    (void)r;
    (void)channel;
    (void)room;
    return value == 1 ? "MPI_COMM_WORLD" : value == 2 ? "MPI_COMM_SELF" : NULL;
}

const struct labels labels_of_comms = {.last = 2, .text = comm_text};
