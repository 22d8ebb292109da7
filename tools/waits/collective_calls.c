/* SPDX-License-Identifier: BSD-3-Clause
 * Gives collective calls their numbers. In recordings of an older regtrace without numbers, calls
 * are counted as long as everything is recorded. */
#include "tools/waits/collective_calls.h"

#include "base/format/event_fields.h"
#include "tools/messages/recorded_numbers.h"
#include "tools/messages/recorded_until.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The number of the call that makes a communicator, in the order of that communicator itself. No
 * other call has it. */
#define NUMBER_OF_MAKING UINT64_MAX

enum how { NOT_COLLECTIVE, AT_ONCE, LATER, MAKES_COMM };

/* A thread's outermost call of MPI_Comm_create_group or the like. */
struct making {
    int64_t begin;
    int32_t window;
    uint16_t function;
    bool is_open;
};

struct collective_calls {
    const struct comms *comms;
    const struct window_span *windows;
    struct ideal_steps *steps;
    struct meetings *meetings;
    uint32_t thread_count;
    struct making *makings;  /* by stream */
    struct numbers *numbers; /* readers: the threads, then the processes */
    bool *is_numbered;       /* by process: EV_MPI_READY says so */
    bool *all_numbered;      /* nonblocking calls and calls on files too */
    int64_t *whole; /* by process, without numbers: everything is recorded up to this time */
    uint8_t how[EVENT_MPI_FUNCTIONS_MOST]; /* by function: enum how */
    bool is_new[EVENT_MPI_FUNCTIONS_MOST]; /* by function: numbered if all are */
    uint64_t left;
};

/* --- opening and closing ---------------------------------------------------------------------- */

static void find_functions(struct collective_calls *c)
{
    for (uint32_t f = 0; f < event_mpi_functions; f++) {
        const char *name = event_mpi_name(f);
        bool is_file = strncmp(name, "MPI_File_", strlen("MPI_File_")) == 0;
        switch (event_mpi_waits(f)) {
        case EVENT_MPI_WAITS_RANKS:
        case EVENT_MPI_WAITS_ALL_RANKS: c->how[f] = AT_ONCE; break;
        case EVENT_MPI_WAITS_RANKS_LATER: c->how[f] = LATER; break;
        case EVENT_MPI_WAITS_MEMBERS: c->how[f] = MAKES_COMM; break;
        default: break;
        }
        c->is_new[f] = c->how[f] == LATER || (is_file && strcmp(name, "MPI_File_open") != 0);
    }
}

struct collective_calls *collective_calls_open(const struct comms *comms, uint32_t streams,
                                               const struct window_span *windows,
                                               struct ideal_steps *steps,
                                               const struct meeting_hooks *hooks)
{
    struct collective_calls *c = calloc(1, sizeof *c);
    uint32_t processes = comms_processes(comms);
    if (c == NULL)
        return NULL;
    c->comms = comms;
    c->windows = windows;
    c->steps = steps;
    c->thread_count = streams;
    c->meetings = meetings_open(comms, streams, windows, hooks);
    c->makings = calloc(streams + 1u, sizeof *c->makings);
    c->numbers = numbers_open(streams + processes);
    c->is_numbered = calloc(processes + 1u, sizeof *c->is_numbered);
    c->all_numbered = calloc(processes + 1u, sizeof *c->all_numbered);
    c->whole = calloc(processes + 1u, sizeof *c->whole);
    if (c->meetings == NULL || c->makings == NULL || c->numbers == NULL || c->is_numbered == NULL ||
        c->all_numbered == NULL || c->whole == NULL) {
        collective_calls_close(c);
        return NULL;
    }
    for (uint32_t i = 0; i < processes; i++)
        c->whole[i] = INT64_MIN;
    find_functions(c);
    return c;
}

void collective_calls_close(struct collective_calls *c)
{
    if (c == NULL)
        return;
    meetings_close(c->meetings);
    if (c->numbers != NULL)
        numbers_close(c->numbers);
    free(c->makings);
    free(c->is_numbered);
    free(c->all_numbered);
    free(c->whole);
    free(c);
}

uint64_t collective_calls_end(struct collective_calls *c)
{
    return c->left + meetings_end(c->meetings);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Gives the call its number. Returns false if it has none. */
static bool number_call(struct collective_calls *c, const struct stream_record *r, uint32_t id,
                        uint32_t comm, uint64_t *number)
{
    uint32_t process = comms_process_of(c->comms, r->stream);
    const struct number_key told = {r->stream, id, 0, 0, NUMBER_OF_COLLECTIVE};
    const struct number_key counted = {c->thread_count + process, comm, 0, 0, NUMBER_OF_COLLECTIVE};
    if (c->is_numbered[process])
        return numbers_take(c->numbers, &told, number);
    return r->ns < c->whole[process] && numbers_count(c->numbers, &counted, number) == 0;
}

static int meet(struct collective_calls *c, const struct meeting_call *call)
{
    struct meeting_part part;
    if (meetings_enter(c->meetings, call, &part) != 0)
        return -ENOMEM;
    if (c->steps != NULL && part.meeting != NO_MEETING)
        ideal_steps_meet(c->steps, call->stream, &part);
    return 0;
}

int collective_calls_enter(struct collective_calls *c, const struct stream_record *r,
                           uint32_t function, bool is_nested)
{
    uint32_t process = comms_process_of(c->comms, r->stream);
    bool is_cut = (r->event.flags & EVENT_FLAG_CUT) != 0;
    if (!is_nested)
        c->makings[r->stream] =
            (struct making){.begin = r->ns,
                            .window = r->event.window,
                            .function = (uint16_t)function,
                            .is_open = c->how[function] == MAKES_COMM && !is_cut};
    if ((c->how[function] != AT_ONCE && c->how[function] != LATER) ||
        (c->is_new[function] && !c->all_numbered[process]))
        return 0;
    uint32_t side, id = (uint32_t)EVENT_GET(&r->event, EV_MPI_ENTER, comm);
    uint32_t comm = comms_find(c->comms, process, id, &side);
    uint64_t number;
    bool has_number = comm != NO_COMM && number_call(c, r, id, comm, &number);
    if (is_nested)
        return 0;
    if (!has_number || is_cut) {
        c->left += c->windows == NULL || window_span_has(c->windows, r->event.window);
        return 0;
    }
    int32_t root = (int32_t)EVENT_GET(&r->event, EV_MPI_ENTER, peer);
    return meet(
        c, &(struct meeting_call){.stream = r->stream,
                                  .begin = r->ns,
                                  .window = r->event.window,
                                  .comm = comm,
                                  .number = number,
                                  .function = (uint16_t)function,
                                  .is_root = comms_process(c->comms, comm, side, root) == process,
                                  .is_later = c->how[function] == LATER});
}

int collective_calls_leave(struct collective_calls *c, const struct stream_record *r, uint32_t path)
{
    c->makings[r->stream].is_open = false;
    return meetings_leave(c->meetings, r->stream, r->ns, path,
                          EVENT_GET(&r->event, EV_MPI_LEAVE, request));
}

int collective_calls_made_comm(struct collective_calls *c, const struct stream_record *r)
{
    const struct making *m = &c->makings[r->stream];
    uint32_t side, id = (uint32_t)EVENT_GET(&r->event, EV_MPI_COMM, comm);
    uint32_t comm = comms_find(c->comms, comms_process_of(c->comms, r->stream), id, &side);
    /* The call's own communicators may be recorded in it, too, before it is made. */
    if (!m->is_open || comm == NO_COMM || EVENT_GET(&r->event, EV_MPI_COMM, parent) == 0)
        return 0;
    return meet(c, &(struct meeting_call){.stream = r->stream,
                                          .begin = m->begin,
                                          .window = m->window,
                                          .comm = comm,
                                          .number = NUMBER_OF_MAKING,
                                          .function = m->function});
}

void collective_calls_complete(struct collective_calls *c, const struct stream_record *r,
                               uint32_t function, int64_t begin)
{
    struct meeting_part part;
    enum event_mpi_waits waits = event_mpi_waits(function);
    bool does_wait = waits == EVENT_MPI_WAITS_MESSAGES || waits == EVENT_MPI_WAITS_FIRST_MESSAGE;
    uint64_t request = EVENT_GET(&r->event, EV_MPI_COMPLETE, request);
    if (meetings_complete(c->meetings, r->stream, request, begin, does_wait, &part) &&
        c->steps != NULL)
        ideal_steps_await(c->steps, r->stream, &part, waits == EVENT_MPI_WAITS_FIRST_MESSAGE);
}

/* --- numbers and edges ------------------------------------------------------------------------ */

int collective_calls_number(struct collective_calls *c, const struct stream_record *r)
{
    const struct number_key key = {r->stream,
                                   (uint32_t)EVENT_GET(&r->event, EV_MPI_COLLECTIVE_NUMBER, comm),
                                   0, 0, NUMBER_OF_COLLECTIVE};
    const uint32_t process = comms_process_of(c->comms, r->stream);
    uint32_t side, comm = comms_find(c->comms, process, key.comm, &side);
    uint64_t number = EVENT_GET(&r->event, EV_MPI_COLLECTIVE_NUMBER, number);
    if (comm != NO_COMM && meetings_failed(c->meetings, r->stream, comm, number) &&
        c->steps != NULL)
        ideal_steps_fail(c->steps, r->stream);
    return numbers_set(c->numbers, &key, number);
}

void collective_calls_ready(struct collective_calls *c, const struct stream_record *r, bool came_up)
{
    uint32_t process = comms_process_of(c->comms, r->stream);
    c->is_numbered[process] = EVENT_GET(&r->event, EV_MPI_READY, numbered) != 0;
    c->all_numbered[process] = EVENT_GET(&r->event, EV_MPI_READY, all_numbered) != 0;
    if (came_up && r->event.window >= 0)
        c->whole[process] =
            whole_until(comms_file(c->comms, process), r->event.thread, r->event.window,
                        (int)EVENT_GET(&r->event, EV_MPI_READY, thread_level));
}

void collective_calls_window(struct collective_calls *c, uint32_t stream)
{
    numbers_forget(c->numbers, stream);
}

void collective_calls_forget(struct collective_calls *c, uint32_t stream)
{
    c->makings[stream].is_open = false;
    meetings_forget(c->meetings, stream);
    numbers_forget(c->numbers, stream);
}
