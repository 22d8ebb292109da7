/* SPDX-License-Identifier: BSD-3-Clause
 * Numbers of messages and of collective calls, as the recording gives them (mpi/numbers.h): an
 * event tells the number of what follows it; later ones of the same key have the next numbers. */
#ifndef REGTRACE_TOOLS_MESSAGES_RECORDED_NUMBERS_H
#define REGTRACE_TOOLS_MESSAGES_RECORDED_NUMBERS_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum number_kind { NUMBER_OF_SEND, NUMBER_OF_RECEIVE, NUMBER_OF_COLLECTIVE };

/* `reader`: a stream, or another counter. comm: number of the communicator in its process. */
struct number_key {
    uint32_t reader, comm;
    int32_t peer, tag;
    enum number_kind kind;
};

struct numbers;

/* Makes a table for readers 0 to readers - 1. Returns NULL if there is no memory. */
struct numbers *numbers_open(uint32_t readers);
void numbers_close(struct numbers *n);
/* The next event of the key has this number; EVENT_NO_NUMBER: it and later ones have none. Returns
 * 0 or -ENOMEM. */
RT_MUST_CHECK int numbers_set(struct numbers *n, const struct number_key *key, uint64_t next);
/* Gives an event of the key its number. Returns false if it has none. */
bool numbers_take(struct numbers *n, const struct number_key *key, uint64_t *number);
/* Counts an event of a key that counts from 0, without being told. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int numbers_count(struct numbers *n, const struct number_key *key, uint64_t *number);
/* Forgets what is known of a reader's keys: its window ends, or it has lost events. */
void numbers_forget(struct numbers *n, uint32_t reader);

#endif
