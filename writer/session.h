/* SPDX-License-Identifier: BSD-3-Clause
 * The life of one writer: from a mapped stream to a closed rank file. */
#ifndef REGTRACE_WRITER_SESSION_H
#define REGTRACE_WRITER_SESSION_H

#include "writer/claim.h"
#include "writer/ctl_server.h"
#include "writer/stream_facts.h"
#include "writer/traced_process.h"

struct writer_session {
    struct stream stream;
    struct drain drain;
    struct rankfile file;
    struct claim claim;
    struct ctl_server ctl;
    struct stream_facts facts;
    const char *dir;
    struct traced_process traced;
    bool file_open;
    bool limit_reached;
    bool keep_stream; /* for recover */
    uint64_t last_tail_ns, last_files_ns, last_calibration_ns, last_profile_ns;
    _Atomic uint32_t attention;  /* set by the watcher: the process ended or a client connected */
    _Atomic uint32_t watcher_go; /* futex: the watcher waits on it until that is served */
};

/* Serves until the traced process has finished or ended, then closes everything. Returns the exit
 * code. */
int session_run(struct writer_session *s, int stream_fd, const char *dir);

/* --- a program that has called exec: replaced_program.c --------------------------------------- */

/* Were its instructions counted as -count asks? */
bool replaced_program_is_counted(const struct writer_session *s);
/* Returns false if its file would hold nothing that the user has asked for. */
bool replaced_program_has_results(const struct writer_session *s);

#endif
