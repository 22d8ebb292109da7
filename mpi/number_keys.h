/* SPDX-License-Identifier: BSD-3-Clause
 * The counts of messages by key, which numbers.c and undecided.c share. A key is a communicator, a
 * direction, a peer and a tag. */
#ifndef REGTRACE_MPI_NUMBER_KEYS_H
#define REGTRACE_MPI_NUMBER_KEYS_H

#include "mpi/numbers.h"

enum { NUMBER_ANY = -1 }; /* any source, any tag */

/* Identifies a communicator: its handle and how often the handle was made. 0: none. */
uint32_t number_comm(const struct comm_entry *e);
/* Returns its entry, or NULL if its handle belongs to another communicator by now. */
struct comm_entry *number_comm_entry(uint32_t comm);

/* Takes the next number of a key. Returns a lost number if there is no room for the key. */
mpi_number number_take_send(uint32_t comm, int32_t dest, int32_t tag);
mpi_number number_take_receive(uint32_t comm, int32_t source, int32_t tag);
/* Partitioned requests have keys of their own, whose tags have this bit; other tags are not
 * negative. number_calls() counts calls that make requests of such a key, for partitioned.c. */
#define NUMBER_PARTITIONED_TAG (1u << 31)
_Atomic uint64_t *number_calls(mpi_number n);
/* Counts a message that gets no number, or one that is too large. */
void number_count_unnumbered(void);
/* Gives back the key's last number. Returns false if it was not the last one. */
bool number_give_back(mpi_number n);
/* The key's, or the communicator's, later receives have no numbers. */
void number_lose(mpi_number n);
void number_lose_receives(uint32_t comm);
/* This number may turn out to belong to no message, so that later ones of its key are too large:
 * until it is clear, the key's messages have no numbers. */
void number_doubt(mpi_number n, bool begins);
void number_key_of(mpi_number n, uint32_t *comm, int32_t *peer, int32_t *tag);
/* The number as recorded. */
uint64_t number_value(mpi_number n);
/* Returns the communicator's number for events, or 0 if it has none. */
uint32_t number_comm_id(struct recorder_thread *t, uint32_t comm);
/* Records a number. comm: as number_comm_id() returns it; 0: the event that follows has none. */
void number_record(struct recorder_thread *t, uint32_t code, uint32_t comm, uint64_t peer_tag,
                   uint64_t number);

/* Adds a receive that begins to the list. Returns its number at once if no receive in the list can
 * belong to its key; not if it is_cancelling: it may get no message. */
mpi_number undecided_post(uint32_t comm, int32_t source, int32_t tag, bool is_cancelling);
/* The receive has got this message. Returns its number, or NUMBER_UNDECIDED and its place in the
 * list; `recorded`: then records that the number follows. */
mpi_number undecided_received(mpi_number n, int32_t source, int32_t tag, bool recorded);
/* MPI_Cancel is called for the receive: it may get no message. */
void undecided_cancelling(mpi_number n);
/* The receive gets no message; or what it gets is never known. */
void undecided_remove(mpi_number n, bool unknown);

#endif
