/* SPDX-License-Identifier: BSD-3-Clause
 * Identity of this process: rank and job from the launcher, program, host, and the folder of the
 * run. */
#ifndef REGTRACE_BASE_IDENTITY_H
#define REGTRACE_BASE_IDENTITY_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct identity {
    int32_t rank, size;             /* -1 unknown; without a launcher rank 0, size 1 */
    int32_t local_rank, local_size; /* on this node; -1 unknown */
    bool launched;                  /* the environment holds a launcher's variables */
    const char *rank_variable;      /* name of the variable that gave the rank; NULL = none */
    /* The n-th MPI world of the job, by MPI_Comm_spawn (Open MPI); 1 is the first, 0 is unknown. */
    uint32_t world;
    uint32_t pid, parent_pid, uid;
    uint64_t pid_start_time; /* clock ticks since boot, field 22 of /proc/PID/stat */
    char host[65];
    char boot_id[40];
    char job[128];    /* safe as part of a file name */
    char program[64]; /* base name of the executable */
    char executable[PATH_MAX];
};

/* Fills *id from the environment and /proc. `run_id` is REGTRACE_RUN or "". Reads files by open()
 * and read() alone. */
void identity_read(struct identity *id, char *const *envp, const char *run_id);

/* Returns true in the one process per node that speaks to the user: local rank 0, or a process that
 * no launcher started. */
bool identity_speaks(const struct identity *id);

/* Gives the process that speaks time to report before this process ends. Launchers end a job at its
 * first failed process, which could otherwise end the job without a message. In the process that
 * speaks, gives its launcher, if it has one, a moment to pass the message on. */
void identity_let_speak(const struct identity *id);

/* Fields of /proc/PID/stat (proc(5)). */
struct process_stat {
    char name[64];
    char state; /* Z or X: dead; if threads > 1, only the main thread is */
    uint32_t parent;
    unsigned long threads;
    uint64_t start_time; /* clock ticks since boot */
};

/* Reads /proc/PID/stat. Returns false if there is no such process or /proc does not show it. */
bool identity_look(uint32_t pid, struct process_stat *out);

/* Returns the start time of a process, or 0 if it is gone, or dead and not yet waited for. */
uint64_t identity_start_time(uint32_t pid);

/* Returns the part of the path after the last slash, or the whole path if it has none. */
const char *identity_base_name(const char *path);

/* Writes "regtrace-PROGRAM-JOB", the default name of the run's folder. */
void identity_folder_name(const struct identity *id, char out[256]);

/* Checks that the process can later append lines to the file of -controller-log. Does not create
 * the file, because a process that logs nothing leaves no file. The path may lie in `run`, the
 * folder of the run, before that folder exists. Returns 0, or -errno with the reason. */
RT_MUST_CHECK int folder_check_log(const char *path, const char *run, struct rt_error *e);

/* Finds or creates the folder of the run: `wanted`, or regtrace-PROGRAM-JOB if that is NULL or "".
 * If another job owns a folder of that name, tries the suffixes -2, -3 ... Creates the folder and
 * its subfolder .regtrace, which names the job, atomically, so that all ranks of a job agree on it.
 * Writes the absolute path to out[PATH_MAX]. Returns 0, or -errno with the reason: read-only
 * folder, no permission, or a file of that name. */
RT_MUST_CHECK int identity_make_folder(const struct identity *id, const char *wanted, char *out,
                                       struct rt_error *e);

/* Finds out whether identity_make_folder() could make this folder. Leaves nothing behind. Returns
 * 0, or -errno with that function's message. */
RT_MUST_CHECK int identity_try_folder(const struct identity *id, const char *wanted,
                                      struct rt_error *e);

/* Returns true if this folder was created for this job. */
bool identity_folder_is_of(const char *path, const char *job);

/* Looks up a variable in envp as getenv() does. Returns NULL if it is not there. */
const char *identity_env(char *const *envp, const char *name);

#endif
