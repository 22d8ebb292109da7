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
#ifndef REGTRACE_WRITER_CONTROL_H
#define REGTRACE_WRITER_CONTROL_H

#include "base/format/stream.h"
#include "writer/claim.h"

#include <limits.h>

#define CONTROL_PENDING 64
#define CONTROL_CLIENTS 64
#define CONTROL_KNOWN                                                                              \
    256 /* request ids that the writer remembers: at least as many as a stream holds */
#define CONTROL_LINE 128
#define CONTROL_ANSWER 320

enum control_kind {
    CONTROL_FIRE = STREAM_REQUEST_FIRE,
    CONTROL_OPEN = STREAM_REQUEST_OPEN,
    CONTROL_CLOSE = STREAM_REQUEST_CLOSE,
    CONTROL_STATUS
};

/* One request. */
struct control_request {
    enum control_kind kind;
    int32_t tid; /* -1: none */
    uint64_t id; /* 0: none */
    int fd;      /* the client's connection; -1: the request came by file */
};

/* A client that waits for the process's answer. */
struct control_pending {
    struct control_request request;
    bool used;
    uint32_t target; /* number of the request in the stream */
    uint64_t deadline_ns, signal_ns;
};

/* A client that has not yet sent its whole line. */
struct control_client {
    int fd;
    bool used;
    unsigned bytes;
    uint64_t deadline_ns;
    char line[CONTROL_LINE];
};

/* A request with an id, and the process's answer once there is one. */
struct control_known {
    uint64_t id; /* 0: free */
    uint32_t target;
    char answer[CONTROL_ANSWER]; /* "": none yet */
};

struct control {
    int listener; /* -1 = none */
    int signal_number;
    uint32_t pid;
    char base[PATH_MAX - 64]; /* DIR/ctl/NAME */
    char socket_path[PATH_MAX];
    struct control_pending pending[CONTROL_PENDING];
    struct control_client clients[CONTROL_CLIENTS];
    struct control_known known[CONTROL_KNOWN];
    unsigned next_known;
};

/* Creates the folder, the socket and the .path file. If that fails (read-only folder), control is
 * off, which is not an error. */
void control_open(struct control *c, const char *dir, const struct claim *claim, uint32_t pid,
                  int signal_number);
/* Answers the requests that still wait, and removes the socket and the files. */
void control_close(struct control *c, const struct stream *s);

/* Accepts clients and serves the requests that wait. `files`: look for a request file too.
 * `events`: number of rows so far, for status. */
void control_serve(struct control *c, const struct stream *s, uint64_t events, bool files);

#endif
