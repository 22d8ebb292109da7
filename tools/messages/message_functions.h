/* SPDX-License-Identifier: BSD-3-Clause
 * What MPI functions do with messages. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGE_FUNCTIONS_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGE_FUNCTIONS_H

enum {
    SENDS = 1,
    RECEIVES = 2,
    REQUEST = 4,    /* completes later, as a request */
    PERSISTENT = 8, /* each MPI_Start does it */
    UNTOLD = 16,    /* the receive's source and tag are recorded only after its match */
    PROBES = 32,    /* takes a message; the receive follows later */
    TAKES = 64,     /* receives the message of such a probe */
    CANCELS = 128,
    FREES = 256,
    PARTITIONED = 512, /* its numbers are always told */
    INITS = 1024
};

/* Returns what the function of that name ("MPI_Send") does; 0: nothing with messages. */
unsigned message_function(const char *name);

#endif
