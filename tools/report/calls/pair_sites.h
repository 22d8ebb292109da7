/* SPDX-License-Identifier: BSD-3-Clause
 * Messages by sender, receiver and call path of the send. */
#ifndef REGTRACE_TOOLS_REPORT_CALLS_PAIR_SITES_H
#define REGTRACE_TOOLS_REPORT_CALLS_PAIR_SITES_H

#include "base/error.h"
#include "base/toolkit/key_table.h"
#include "tools/json.h"

struct pair_site {
    int32_t sender, receiver; /* ranks in MPI_COMM_WORLD */
    uint32_t node; /* of the report's call tree: the sending function; KEY_NONE: unknown */
    uint64_t messages, bytes;
};

/* Zero-initialize before use; free with pair_sites_free(). */
struct pair_sites {
    struct key_table keys;
    struct pair_site *rows;
    size_t room;
    bool incomplete; /* more than PAIR_SITES_MOST: later ones are left out */
};
#define PAIR_SITES_MOST 100000

/* Adds a message. Returns 0 or -ENOMEM. */
RT_MUST_CHECK int pair_sites_add(struct pair_sites *p, int32_t sender, int32_t receiver,
                                 uint32_t node, uint64_t bytes);
void pair_sites_free(struct pair_sites *p);
/* Writes a member "message_sites": an array of arrays of from, to, node (null: unknown), messages
 * and bytes; null if some are left out. */
void pair_sites_json(struct json *j, const struct pair_sites *p);

#endif
