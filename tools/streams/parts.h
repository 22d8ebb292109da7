/* SPDX-License-Identifier: BSD-3-Clause
 * Processes of a launcher (mpirun, srun) that convert one run together: who this one is, where they meet, how one waits for the others.
 *
 * They share the file system alone. The folder OUT.parts has, of process K: here-K (who it is; touched every few seconds while it lives),
 * part-K (the events of its files, merged.h), what it made of the output, and failed-K (why it ended; the first of these is failure-0 too).
 * The first process makes the folder, writes `go` when all have come, `end` when all is over, and removes it.
 *
 * There is one such group in a process, so nothing is passed around. Functions that can fail return 0 or -errno and have the reason, with
 * the remedy, in *e. */
#ifndef REGTRACE_TOOLS_STREAMS_PARTS_H
#define REGTRACE_TOOLS_STREAMS_PARTS_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* A paragraph of the commands' descriptions. */
#define PARTS_DESCRIPTION                                                                          \
    "\n\n"                                                                                         \
    "Started by mpirun or srun the command runs as one: each process opens and reads the files "   \
    "of "                                                                                          \
    "a "                                                                                           \
    "part of the ranks, and what is made is the same, byte by byte. They meet in a folder beside " \
    "it, whose name ends in .parts, which is gone at the end. REGTRACE_PARTS=0 has each process "  \
    "work on its own."

/* By the launcher's variables, unless REGTRACE_PARTS is 0. All but the first are silent from here on: what they say on stderr is kept as
 * the reason for which they fail. Call it once, at first. */
void parts_enter(void);
/* 1: this process is alone, and all functions but parts_enter() and parts_end() are none of its. */
uint32_t parts_count(void);
uint32_t parts_number(void); /* from 0 */
/* Alone, or the first. */
bool parts_is_first(void);

/* All come to OUT.parts, or none goes on: those that have not come after REGTRACE_PARTS_WAIT seconds (120) are named. */
RT_MUST_CHECK int parts_meet(const char *out, struct rt_error *e);
/* The same number in all processes of this meeting, and in no other. */
uint64_t parts_meeting(void);
/* The name of a file of a process in the folder. It is removed at the end. */
void parts_path(char out[PATH_MAX], const char *what, uint32_t number);
/* The file of this process is whole: out of path.unfinished. Until then nobody sees it. */
RT_MUST_CHECK int parts_is_whole(const char *path, struct rt_error *e);
/* Wait for that file of a process. -ECANCELED: some process has failed; *e has its reason. */
RT_MUST_CHECK int parts_wait(const char *what, uint32_t number, struct rt_error *e);
/* A short text from this process to the others, and from the first one. */
RT_MUST_CHECK int parts_tell(const char *what, const char *text, struct rt_error *e);
RT_MUST_CHECK int parts_hear(const char *what, char *text, size_t room, struct rt_error *e);

/* The others have all that they need of this process: what it ends with is not told as a failure. */
void parts_delivered(void);

/* A signal ends this process: its files in OUT.parts go. For handlers. */
void parts_signalled(void);

/* The command is over, with that status. The first has the others leave, and removes the folder; the others wait for it. The status to
 * end with: of the first process. */
int parts_end(int status);

#endif
