/* SPDX-License-Identifier: BSD-3-Clause
 * The last calls of MPI_Probe of a thread. The recording does not tell which message such a call
 * has found: it is that of the first receive of its thread, posted after it, that fits it. */
#ifndef REGTRACE_TOOLS_WAITS_PROBES_H
#define REGTRACE_TOOLS_WAITS_PROBES_H

#include "tools/messages/messages.h"

enum { PROBES_MOST = 16, PROBE_ANY = -1 };

struct probe {
    int64_t begin;
    uint32_t comm;       /* index in comms_all() */
    int32_t source, tag; /* rank in MPI_COMM_WORLD; PROBE_ANY */
    int64_t receive_ns;  /* of the message that it has found; INT64_MAX: not known yet */
};

struct probes {
    struct probe last[PROBES_MOST]; /* older ones are forgotten */
    uint32_t next;
};

/* Forgets all probes. */
void probes_clear(struct probes *p);
/* Adds the call that begins with this event, unless its communicator is not known or it probes
 * MPI_PROC_NULL. */
void probes_add(struct probes *p, const struct comms *comms, const struct stream_record *r);
/* Finds the probes of the receiving thread that have found this message: call it with *i = 0, then
 * again until it returns NULL. */
const struct probe *probes_find(struct probes *p, const struct message *m, uint32_t *i);

#endif
