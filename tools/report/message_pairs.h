/* SPDX-License-Identifier: BSD-3-Clause
 * Messages of the report's windows: from rank to rank, and sends and receives that have no partner.
 * A message is of the window in which it is sent. */
#ifndef REGTRACE_TOOLS_REPORT_MESSAGE_PAIRS_H
#define REGTRACE_TOOLS_REPORT_MESSAGE_PAIRS_H

#include "tools/json.h"
#include "tools/messages/messages.h"
#include "tools/report/calls/pair_sites.h"

struct message_pair {
    uint64_t messages, bytes;
};

/* Open with message_pairs_open(), free with message_pairs_free(). */
struct message_pairs {
    const struct window_span *windows;
    struct message_pair *pairs; /* at from * rank_count + to; NULL: too many ranks */
    uint32_t rank_count;
    uint64_t messages, bytes;
    struct unmatched unmatched;
    struct pair_sites sites;
};

/* windows must outlive it. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int message_pairs_open(struct message_pairs *p, uint32_t ranks,
                                     const struct window_span *windows);
/* Adds a message, if it is of the windows. Returns whether it counts for a pair of ranks. */
bool message_pairs_add(struct message_pairs *p, const struct message *m);
/* Adds a send or a receive without a partner, if it is in the windows. */
void message_pairs_add_lone(struct message_pairs *p, const struct unmatched_end *x);
void message_pairs_free(struct message_pairs *p);
/* Returns how many receives in the windows have no partner. */
uint64_t message_pairs_lone_receives(const struct message_pairs *p);

/* Prints a table of pairs; then, what has no partner, or that all has one. collectives: calls that
 * could not be compared between ranks. */
void message_pairs_print(FILE *out, const struct message_pairs *p, uint64_t collectives);
/* Writes the members "messages" and "message_sites": null if there are more pairs than
 * most_rows. */
void message_pairs_json(struct json *j, const struct message_pairs *p, size_t most_rows);
/* Writes the members "unmatched_sends" and "unmatched_receives". */
void message_pairs_json_lone(struct json *j, const struct message_pairs *p);

#endif
