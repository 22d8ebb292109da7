/* SPDX-License-Identifier: BSD-3-Clause
 * Files and folders that commands make: under the name NAME.unfinished-PID beside their place until they are whole, then moved there. What
 * was there stays up to then. A failure, and a signal that ends the command, leave nothing behind; SIGKILL leaves the unfinished one. */
#ifndef REGTRACE_TOOLS_OUTPUT_H
#define REGTRACE_TOOLS_OUTPUT_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* What it is. */
struct output_kind {
    const char *option; /* that names it: "output" */
    bool folder;
    /* Of folders: did this command make that one, so that -force may remove it? */
    bool (*is_ours)(const char *folder);
    bool stdout_too; /* "-" is standard output; of others it is refused */
};

struct output {
    const struct output_kind *kind;
    char path[PATH_MAX], working[PATH_MAX + 32]; /* working: where it is written to */
    int slot;                                    /* what a signal removes; -1: nothing */
};

/* Made empty at o->working. path: "-" where stdout_too, pipes and devices are written to as they are. -EEXIST: something is there, and stays. 0 or -errno
 * with the text. */
RT_MUST_CHECK int output_begin(struct output *o, const char *path, const struct output_kind *kind,
                               bool force, struct rt_error *e);
/* rc: what making it has come to. 0: it is moved to its place; else it is removed, and rc returned. -errno with the text where it could not be
 * moved; then it is removed as well. */
RT_MUST_CHECK int output_end(struct output *o, int rc, struct rt_error *e);

/* A temporary folder that such signals are to remove, as is all that output_catch_signals() is called for; -1: there are too many. Until
 * output_forget(), between output_hold_signals() and output_release_signals() like the folder's making and removal. */
int output_note(const char *folder);
void output_forget(int slot);
/* A child that leads a process group and writes to such a folder: such signals kill the group before they remove anything; 0: there is none any more. One at a
 * time; noted like the folders, and taken back before the child is waited for. */
void output_note_group(pid_t leader);

/* From here on such signals also remove what is in OUT.parts (tools/streams/parts.h). output_begin() does it. */
void output_catch_signals(void);

/* Between these, signals that end a command wait: for what is short and would leave something behind. */
void output_hold_signals(void);
void output_release_signals(void);

#endif
