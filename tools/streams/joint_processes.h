/* SPDX-License-Identifier: BSD-3-Clause
 * Lets the processes of a launcher (mpirun, srun) convert one run together: which process this is,
 * where the processes meet, and how one waits for the others.
 *
 * They share only a file system. The folder OUT.parts has these files of process K:
 *
 * - here-K: identifies the process; it touches the file every few seconds while it lives
 * - part-K: the events of its files (merged.h)
 * - the parts of the output that it makes
 * - failed-K: why it failed; the first of these files is also linked as failure-0
 *
 * The first process makes the folder, writes `go` when all processes have come and `end` when the
 * conversion is over, and removes the folder.
 *
 * A process belongs to one such group, so the functions take no handle. Functions that can fail
 * return 0 or -errno and put the reason and the remedy into *e. */
#ifndef REGTRACE_TOOLS_STREAMS_JOINT_PROCESSES_H
#define REGTRACE_TOOLS_STREAMS_JOINT_PROCESSES_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* A paragraph for the descriptions of commands. */
#define PARTS_DESCRIPTION                                                                          \
    "\n\n"                                                                                         \
    "Started by mpirun or srun the command runs as one: each process opens and reads the files "   \
    "of "                                                                                          \
    "a "                                                                                           \
    "part of the ranks, and what is made is the same, byte by byte. They meet in a folder beside " \
    "it, whose name ends in .parts, which is gone at the end. REGTRACE_PARTS=0 has each process "  \
    "work on its own."

/* Reads this process's number and the number of processes from the launcher's variables, unless
 * REGTRACE_PARTS is 0. From then on every process but the first discards its standard output and
 * keeps what it writes to stderr as the reason of a failure. Call it once, before anything else. */
void joint_enter(void);
/* Returns 1 if this process is alone. It then needs only joint_enter(), joint_is_first() and
 * joint_end(). */
uint32_t joint_count(void);
uint32_t joint_number(void); /* from 0 */
/* Returns whether this process is alone or the first. */
bool joint_is_first(void);

/* Waits until all processes have come to OUT.parts. If some have not come after REGTRACE_PARTS_WAIT
 * seconds (120), it fails and names one of them, so that no process goes on. */
RT_MUST_CHECK int joint_meet(const char *out, struct rt_error *e);
/* Returns a number that is the same in all processes of this meeting and differs from that of any
 * other meeting. */
uint64_t joint_meeting(void);
/* Sets `out` to the path of a process's file in the folder. If it is this process's, the file is
 * removed at the end. */
void joint_path(char out[PATH_MAX], const char *what, uint32_t number);
/* Renames path.unfinished to `path`: the file is complete, and other processes see it only from now
 * on. */
RT_MUST_CHECK int joint_is_whole(const char *path, struct rt_error *e);
/* Waits for a file of a process. Returns 0, or -ECANCELED if a process has failed, with its reason
 * in *e. */
RT_MUST_CHECK int joint_wait(const char *what, uint32_t number, struct rt_error *e);
/* Gives a short text to the other processes, or waits for the text of the first process. */
RT_MUST_CHECK int joint_tell(const char *what, const char *text, struct rt_error *e);
RT_MUST_CHECK int joint_hear(const char *what, char *text, size_t room, struct rt_error *e);

/* The other processes have all that they need of this one: from now on its failure does not stop
 * them. */
void joint_delivered(void);

/* Removes this process's files in OUT.parts, since a signal ends it. Async-signal-safe. */
void joint_signalled(void);

/* Ends the conversion with the status of this process. The first process makes the others leave and
 * removes the folder; the others wait for it. Returns the status to exit with, which is that of the
 * first process. */
int joint_end(int status);

#endif
