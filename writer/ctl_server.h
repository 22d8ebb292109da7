/* SPDX-License-Identifier: BSD-3-Clause
 * The server side of `regtrace ctl`: a writer answers requests for its process, which arrive by a
 * Unix socket or by request files.
 *
 * DIR/ctl/NAME.path     three lines: host, path of the socket, number of ranks (-1: unknown);
 *                       NAME = rank-NNNNN.PID
 * DIR/ctl/NAME.sock     the socket (0600), or under /tmp if the path is too long for a socket
 * DIR/ctl/NAME.request  from another node: one request line, which the writer removes when it has
 *                       read it; the answer is NAME.answer, or NAME.answer-ID if the request has
 *                       an id
 *
 * A request is one line: VERB ["tid" N] ["id" ID]. VERB is fire, open, close or status. ID is 1 to
 * 16 hexadecimal digits, not 0. An answer is one line of JSON with "ok". A client that got no
 * answer repeats the request with the same ID: the process executes the request once, and each
 * repetition gets the same answer. "again" in an answer says that the process has not served the
 * request yet. */
#ifndef REGTRACE_WRITER_CTL_SERVER_H
#define REGTRACE_WRITER_CTL_SERVER_H

#include "base/format/stream.h"
#include "writer/claim.h"

#include <limits.h>

#define CTL_PENDING 64
#define CTL_CLIENTS 64
#define CTL_KNOWN                                                                                  \
    256 /* request ids that the writer remembers: at least as many as a stream holds */
#define CTL_LINE 128
#define CTL_ANSWER 320

enum ctl_kind {
    CTL_FIRE = STREAM_REQUEST_FIRE,
    CTL_OPEN = STREAM_REQUEST_OPEN,
    CTL_CLOSE = STREAM_REQUEST_CLOSE,
    CTL_STATUS
};

/* One request. */
struct ctl_request {
    enum ctl_kind kind;
    int32_t tid; /* -1: none */
    uint64_t id; /* 0: none */
    int fd;      /* the client's connection; -1: the request came by file */
};

/* A client that waits for the process's answer. */
struct ctl_pending {
    struct ctl_request request;
    bool used;
    uint32_t target; /* number of the request in the stream */
    uint64_t deadline_ns, signal_ns;
};

/* A client that has not yet sent its whole line. */
struct ctl_client {
    int fd;
    bool used;
    unsigned bytes;
    uint64_t deadline_ns;
    char line[CTL_LINE];
};

/* A request with an id, and the process's answer once there is one. */
struct ctl_known {
    uint64_t id; /* 0: free */
    uint32_t target;
    char answer[CTL_ANSWER]; /* "": none yet */
};

struct ctl_server {
    int listener; /* -1 = none */
    int signal_number;
    uint32_t pid;
    char base[PATH_MAX - 64]; /* DIR/ctl/NAME */
    char socket_path[PATH_MAX];
    struct ctl_pending pending[CTL_PENDING];
    struct ctl_client clients[CTL_CLIENTS];
    struct ctl_known known[CTL_KNOWN];
    unsigned next_known;
};

/* Creates the folder, the socket and the .path file. If that fails (read-only folder), no request
 * reaches the process, which is not an error. */
void ctl_open(struct ctl_server *c, const char *dir, const struct claim *claim, uint32_t pid,
              int signal_number);
/* Answers the requests that still wait, and removes the socket and the files. */
void ctl_close(struct ctl_server *c, const struct stream *s);

/* Accepts clients and serves the requests that wait. `files`: look for a request file too.
 * `events`: number of rows so far, for status. */
void ctl_serve(struct ctl_server *c, const struct stream *s, uint64_t events, bool files);

#endif
