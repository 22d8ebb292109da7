/* SPDX-License-Identifier: BSD-3-Clause
 * What wrappers call around calls that make, start or complete requests, or that receive. */
#ifndef REGTRACE_MPI_REQUESTS_H
#define REGTRACE_MPI_REQUESTS_H

#include "mpi/abi.h"
#include "mpi/numbers.h"

/* An argument as a word, as in mpi/wrapper.h. */
typedef uint64_t mpi_word;

/* --- requests --------------------------------------------------------------------------------- */

/* Contents of MPI's status for a completed request: source, tag and bytes for receives only
 * (MPI-3.1, 3.7.3). */
enum mpi_request_kind {
    MPI_REQUEST_UNKNOWN = 0, /* made outside the window in which it completes */
    MPI_REQUEST_RECEIVE = 1,
    MPI_REQUEST_OTHER = 2,
    MPI_REQUEST_NONE = 3,       /* an inactive persistent request: nothing has completed */
    MPI_REQUEST_PERSISTENT = 4, /* added to one of the others; known in all windows */
    MPI_REQUEST_SILENT = 64     /* its status has no meaning */
};
/* Kind of MPI_Isendrecv's request: MPICH (4.0.2) leaves the status that the request object had from
 * an earlier request. */
static inline unsigned mpi_request_of_both(void)
{
    return mpi_abi.kind == MPI_ABI_MPICH ? MPI_REQUEST_SILENT : MPI_REQUEST_RECEIVE;
}
/* Notes that a call made a request, inside or outside windows. `window`: in which its enter event
 * was recorded, or STREAM_NO_WINDOW. `kinds`: values of enum mpi_request_kind. `number`: of its
 * message. */
void mpi_request_made(const struct recorder_thread *t, int32_t window, uint64_t request,
                      unsigned kinds, mpi_number number);
/* The request receives the message of a matched probe. */
void mpi_request_of_probe(uint64_t request);
/* The same for a persistent request of a send or a receive with these arguments (comm 0: of
 * something else), and for a partitioned one. mpi_request_started() numbers its message, and
 * records a send's number. */
void mpi_request_made_persistent(const struct recorder_thread *t, int32_t window, uint64_t request,
                                 unsigned kinds, uint64_t comm, int peer, int tag);
void mpi_request_made_partitioned(const struct recorder_thread *t, int32_t window, uint64_t request,
                                  unsigned kinds, const struct mpi_partitioned *p);
void mpi_request_started(struct recorder_thread *t, uint64_t request);
/* MPI_Cancel is called for the request. */
void mpi_request_cancelling(uint64_t request);
/* What is known of a request at a moment; value 0: nothing. */
struct mpi_noted {
    uint64_t value;
    mpi_number number;
};
/* Before MPI_Request_free, mpi_request_noted() returns what is known of the request; afterwards,
 * mpi_request_freed() forgets it. */
struct mpi_noted mpi_request_noted(uint64_t request);
void mpi_request_freed(uint64_t request, struct mpi_noted noted);
/* Before a call that may complete the request, mpi_request_await() returns what is known of it; a
 * value of 0 if nothing is, or if only one thread uses MPI. mpi_request_awaited(): the call did not
 * complete it. */
struct mpi_noted mpi_request_await(uint64_t request);
void mpi_request_awaited(uint64_t request, struct mpi_noted noted);
/* A completed request. */
struct mpi_completed {
    enum mpi_request_kind kind;
    mpi_number number;                  /* of its message */
    struct mpi_partitioned partitioned; /* if mpi_is_partitioned(number) */
    bool receives;                      /* it is a receive */
    bool outside;                       /* posted, or made, outside the window */
    bool cancelling;                    /* mpi_number_cancelled() must be called */
};
/* Returns what has completed. `noted`: from mpi_request_await(). `empty`: the status is MPI-3.1's
 * empty status (3.7.3), which inactive requests have. */
struct mpi_completed mpi_request_completed(const struct recorder_thread *t, uint64_t request,
                                           struct mpi_noted noted, bool empty);
/* Several threads may be in MPI at once, so requests must be awaited. */
extern _Atomic bool mpi_concurrent;

/* Outside windows: does it matter which of these requests a call completes? Cheap if nothing is
 * undecided. */
bool mpi_any_matters(mpi_word count, mpi_word requests, bool fortran);
static inline bool mpi_completions_matter(mpi_word count, mpi_word requests, bool fortran)
{
    return RT_UNLIKELY(atomic_load_explicit(&mpi_undecided, memory_order_relaxed) != 0) &&
           mpi_any_matters(count, requests, fortran);
}

/* --- completions ------------------------------------------------------------------------------ */

/* One completion. If the program ignores the status, MPI gets `own` instead. */
struct mpi_one {
    uint64_t request;
    struct mpi_noted noted;
    bool plain; /* a receive without a request; then `noted.number` is its number, in `comm` */
    uint64_t comm;
    mpi_word place; /* pointer to the request */
    bool fortran;
    mpi_word status;
    _Alignas(8) unsigned char own[64];
};
/* Returns the word to pass as the status. request: pointer to the request; 0 for a plain
 * receive. */
mpi_word mpi_one_begin(struct mpi_one *c, mpi_word request, mpi_word status, bool fortran);
void mpi_one_end(struct recorder_thread *t, const struct mpi_one *c, bool done);
/* The same for a call that receives: `number` is that of its receive. */
void mpi_receive_begin(struct mpi_one *c, mpi_number number, uint64_t comm);
void mpi_receive_end(struct recorder_thread *t, const struct mpi_one *c, int result);
/* A call that receives has failed. A message that is too long for its buffer is received all the
 * same. */
void mpi_receive_failed(mpi_number number, int result);
/* The same for a call that also sends: whether it has sent is not known. */
void mpi_sendrecv_failed(mpi_number sent, mpi_number number, int result);
/* Does this result mean that a message was too long for its buffer? */
bool mpi_is_truncated(int result);
/* A matched probe has found a message, which its status describes. */
void mpi_probed(const struct recorder_thread *t, const struct mpi_one *c, uint64_t comm,
                uint64_t message);
/* Returns the number of a message that a matched probe has found. */
mpi_number mpi_message_number(uint64_t message);

#define MPI_STATUSES 12 /* few, because the stack may be small */
struct mpi_many {
    uint32_t n; /* requests noted; 0: none, or no room for them */
    bool own;   /* MPI gets our statuses */
    mpi_word status, array;
    uint64_t *requests;
    struct mpi_noted *noted;
    unsigned char *statuses;
    struct recorder_scratch *scratch; /* for more than MPI_STATUSES requests */
    uint64_t few_requests[MPI_STATUSES];
    struct mpi_noted few_noted[MPI_STATUSES];
    _Alignas(8) unsigned char few_statuses[MPI_STATUSES * 32];
};
/* Returns the word to pass as the array of statuses. */
mpi_word mpi_many_begin(struct mpi_many *c, mpi_word count, mpi_word requests, mpi_word statuses,
                        bool fortran);
/* Does this result mean that some of many requests are complete? */
bool mpi_many_done(int result);
/* Records that all requests are complete; with MPI_ERR_IN_STATUS, those whose status tells so. */
void mpi_many_end(struct recorder_thread *t, const struct mpi_many *c, int result);
/* Records that `done` requests are complete: those at `indices` (in Fortran from 1). */
void mpi_some_end(struct recorder_thread *t, const struct mpi_many *c, int result, mpi_word done,
                  mpi_word indices, bool fortran);
/* Releases what mpi_many_begin() or mpi_any_begin() took. Call it last. */
void mpi_many_free(const struct mpi_many *c);
/* For Waitany and Testany: one status, many requests. */
mpi_word mpi_any_begin(struct mpi_many *c, struct mpi_one *one, mpi_word count, mpi_word requests,
                       mpi_word status, bool fortran);
void mpi_any_end(struct recorder_thread *t, const struct mpi_many *c, struct mpi_one *one,
                 mpi_word index, bool fortran);

/* Returns the message handle of a matched probe. Fortran's handle is another number. */
static inline uint64_t mpi_message_at(mpi_word address, bool fortran)
{
    if (address == 0)
        return 0;
    return fortran || mpi_abi.handle_bytes == 4 ? *(const uint32_t *)(uintptr_t)address
                                                : *(const uint64_t *)(uintptr_t)address;
}
/* mpi_receives() records what a call that also sends receives. mpi_message_taken() records that the
 * message of a matched probe was received. */
void mpi_receives(struct recorder_thread *t, uint64_t source_tag, uint64_t room);
void mpi_message_taken(struct recorder_thread *t, uint64_t message);

/* Numbers, notes and records persistent requests that have been started. */
void mpi_started(struct recorder_thread *t, mpi_word count, mpi_word requests, bool fortran);

#endif
