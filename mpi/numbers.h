/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers of messages and of collective calls, counted from MPI_Init on, inside and outside
 * windows.
 *
 * Messages of one communicator, sender, receiver and tag do not overtake each other (MPI-3.1, 3.5).
 * The sender numbers its sends by that key, in the order of its calls. The receiver numbers its
 * receives by the same key, in the order in which they were posted. So the two ends of a message
 * have the same number, which identifies it. In the same way all ranks of a communicator number its
 * collective calls.
 *
 * A receive from any source or with any tag belongs to a key as soon as MPI has told its source and
 * tag. Until then no later receive that could belong to the same key has a number. These receives
 * wait in a list (undecided.c).
 *
 * An event gets its number by EV_MPI_SEND_NUMBER, EV_MPI_RECEIVE_NUMBER or EV_MPI_COLLECTIVE_NUMBER
 * before it, unless its number is one more than that of the key's last event of the same thread in
 * the same window. Numbers of partitioned messages are always recorded (partitioned.c). */
#ifndef REGTRACE_MPI_NUMBERS_H
#define REGTRACE_MPI_NUMBERS_H

#include "base/format/recorder.h"
#include "mpi/comm_table.h"

/* A message's place in the order of its key: the key and the number, or a receive in the list of
 * undecided.c. NO_NUMBER: it is not counted. */
typedef uint64_t mpi_number;
#define NO_NUMBER UINT64_C(0)
#define NUMBER_LOST ((UINT64_C(1) << 48) - 1) /* it is counted, but has no number */
#define NUMBER_UNDECIDED (UINT64_C(1) << 63)

/* 1: calls are numbered. Set as MPI_Init succeeds if windows may open later; else messages have no
 * numbers, even if they are recorded. */
void mpi_numbering_begin(void);

/* A call has made this communicator: its counts begin anew. */
void mpi_numbers_begin(struct comm_entry *e);

/* Numbers a send that begins. `dest` and `tag` as the program passes them. */
mpi_number mpi_number_send(uint64_t comm, int dest, int tag);
/* The call has failed, or was cancelled: nothing was sent. Does nothing for NO_NUMBER. */
void mpi_number_unsent(mpi_number n);
/* Nobody knows whether it was sent: later sends of its key have no numbers. */
void mpi_number_lost(mpi_number n);

/* Numbers a receive that begins, or the message of a matched probe. Pass the result to
 * mpi_number_received(), to mpi_number_unposted() if the call fails, or to mpi_number_freed() if
 * its request is freed while it is open. */
mpi_number mpi_number_receive(uint64_t comm, int source, int tag);
/* The same for a blocking call of a process in which one thread at a time calls MPI. */
mpi_number mpi_number_receive_now(uint64_t comm, int source, int tag);
/* The receive has got a message from this source with this tag. Returns its number, which is
 * undecided as long as earlier receives are; then `recorded` makes EV_MPI_NUMBER_LATER follow. */
mpi_number mpi_number_received(uint64_t comm, mpi_number n, int source, int tag, bool recorded);
void mpi_number_unposted(mpi_number n);
void mpi_number_freed(mpi_number n);
/* MPI_Cancel is called for a send, or a receive: it may get no message. May change its number.
 * Returns true if mpi_number_cancelled() must be called as it ends (is_over: without a message). */
bool mpi_number_cancelling(mpi_number *n, bool a_send);
void mpi_number_cancelled(mpi_number n, bool a_send, bool is_over);
/* The same if its request was freed, so that it is never known. */
void mpi_number_cancel_freed(mpi_number n);

/* Not 0: completions outside windows matter as well. In the low half, the number of receives that
 * are undecided and of requests that are being cancelled; in the high half, that of partitioned
 * receives that are active. */
extern _Atomic uint64_t mpi_undecided RT_HIDDEN;
#define MPI_PARTITIONED_ACTIVE (INT64_C(1) << 32)
void mpi_undecided_add(int64_t n);

/* Partitioned messages (partitioned.c): one call makes a request, whose starts have the numbers. */
struct mpi_partitioned {
    uint32_t comm; /* number_comm() */
    int32_t peer, tag;
    mpi_number number; /* of the request before its first start; NO_NUMBER: it gets none */
    /* Until the call has ended: */
    mpi_number order; /* the request's place in the order of its key */
    uint64_t others;  /* what was known of other such calls when it began */
};
/* A call begins that makes a partitioned request: `a_send`: of sends. Pass the result to
 * mpi_partitioned_made(), which sets `number`. made: the call has succeeded. */
struct mpi_partitioned mpi_partitioned_begin(uint64_t comm, int peer, int tag, bool a_send);
void mpi_partitioned_made(struct mpi_partitioned *p, bool made);
/* Is it the number of such a request, or of its current message? */
static inline bool mpi_is_partitioned(mpi_number n)
{
    return n >> 46 == 1;
}
/* Returns the number of the request's next message; NO_NUMBER if there are no more numbers. */
mpi_number mpi_partitioned_next(mpi_number n);
/* A request that had numbers gets none from now on. */
void mpi_partitioned_lost(void);
/* Records the number in a window, before the event that has it. */
void mpi_tell_partitioned(struct recorder_thread *t, uint32_t code,
                          const struct mpi_partitioned *p);

/* Record the number in a window, before the event that has it. */
void mpi_tell_send(struct recorder_thread *t, mpi_number n, bool always);
void mpi_tell_receive(struct recorder_thread *t, mpi_number n, bool always);

/* Counts a collective call that begins, and records its number in a window. Only if calls are
 * numbered (mpi_numbering). */
void mpi_number_collective(struct recorder_thread *t, uint64_t comm);
/* The call has failed: the next one gets its number. In a window, the same event as before a call
 * says so, between the enter and the leave of the call that has that number. */
void mpi_collective_failed(uint64_t comm, int result);

#endif
