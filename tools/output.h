/* SPDX-License-Identifier: BSD-3-Clause
 * Output files and folders of commands, which appear under their name only when they are complete.
 *
 * Until then they are beside that place under the name NAME.unfinished-PID, and what was at the
 * place stays. After a failure, or a signal that ends the command, no unfinished output remains;
 * after SIGKILL it does. */
#ifndef REGTRACE_TOOLS_OUTPUT_H
#define REGTRACE_TOOLS_OUTPUT_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A kind of output of a command. */
struct output_kind {
    const char *option; /* the option that names it: "output" */
    bool folder;
    /* For folders: returns true if this command made the folder, so that -force may remove it. */
    bool (*is_ours)(const char *folder);
    bool stdout_too; /* "-" means standard output; otherwise "-" is refused */
};

struct output {
    const struct output_kind *kind;
    char path[PATH_MAX], working[PATH_MAX + 32]; /* working: the path to write to */
    int slot;                                    /* what a signal removes; -1: nothing */
};

/* Creates the output, empty, at o->working. A pipe, a device, or "-" if kind->stdout_too, is
 * written to directly. Returns -EEXIST if something exists at the path that may not be replaced
 * (without `force`: anything). Returns 0, or -errno with the text. */
RT_MUST_CHECK int output_begin(struct output *o, const char *path, const struct output_kind *kind,
                               bool force, struct rt_error *e);
/* Ends the output. rc: result of writing it. If 0, moves it to its place; otherwise removes it and
 * returns rc. If it cannot be moved, removes it and returns -errno with the text. */
RT_MUST_CHECK int output_end(struct output *o, int rc, struct rt_error *e);

/* output_begin() for a file, which it opens for writing. The caller ends it with
 * output_close_file(). */
RT_MUST_CHECK int output_open_file(struct output *o, const char *path,
                                   const struct output_kind *kind, bool force, FILE **file,
                                   struct rt_error *e);
/* Closes the file and ends the output. rc: result of writing it; a write that failed unnoticed is
 * found here. Returns 0 with the size in *bytes, or -errno with the path and the text. */
RT_MUST_CHECK int output_close_file(struct output *o, FILE *file, int rc, int64_t *bytes,
                                    struct rt_error *e);
/* Writes the folder that contains `path` to `out`. */
void output_folder_of(char out[PATH_MAX], const char *path);

/* Registers a temporary folder that the signals of output_catch_signals() remove, until
 * output_forget(). Call it, like the creation and removal of the folder, between
 * output_hold_signals() and output_release_signals(). Returns -1 if too many folders are
 * registered. */
int output_note(const char *folder);
void output_forget(int slot);
/* Registers a child process group, led by `leader`, that writes to such a folder: the signals kill
 * it before they remove anything. 0: there is none any more. Only one group at a time. Call it with
 * signals held, like output_note(), and with 0 before you wait for the child. */
void output_note_group(pid_t leader);

/* From now on, signals that end the command remove the registered outputs, and this process's files
 * in OUT.parts (tools/streams/joint_processes.h). output_begin() calls this. */
void output_catch_signals(void);

/* Between these calls, signals that end a command wait. For short actions that would leave
 * something behind if a signal interrupted them. The calls nest. */
void output_hold_signals(void);
void output_release_signals(void);

#endif
