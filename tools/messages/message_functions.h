/* SPDX-License-Identifier: BSD-3-Clause
 * Which MPI function sends or receives. */
#ifndef REGTRACE_TOOLS_MESSAGES_MESSAGE_FUNCTIONS_H
#define REGTRACE_TOOLS_MESSAGES_MESSAGE_FUNCTIONS_H

enum {
    SENDS = 1,
    RECEIVES = 2,
    REQUEST = 4,    /* its completion comes later */
    PERSISTENT = 8, /* each start does it */
    UNTOLD = 16,    /* source and tag of the receive are not recorded before it has matched */
    PROBES = 32,    /* takes a message; the receive comes later */
    TAKES = 64,     /* the receive of such a one */
    CANCELS = 128,
    FREES = 256,
    PARTITIONED = 512,
    INITS = 1024,
    WAITS = 2048,   /* until something is complete */
    AT_ONCE = 4096, /* is over when its receive has been posted */
    BUFFERS = 8192,
    SLOW = 16384 /* its request is complete when its receive has been posted */
};

/* What the function of that name ("MPI_Send") does; 0: nothing of it. */
unsigned message_function(const char *name);

#endif
