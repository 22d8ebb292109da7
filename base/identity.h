/* SPDX-License-Identifier: BSD-3-Clause
 * Who this process is: rank and job as the launcher says, program, host, and the folder of the run. */
#ifndef REGTRACE_BASE_IDENTITY_H
#define REGTRACE_BASE_IDENTITY_H

#include "base/error.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

struct identity {
    int32_t rank, size;             /* -1 unknown; not launched: rank 0, size 1, launched false */
    int32_t local_rank, local_size; /* on this node; -1 unknown */
    bool launched;                  /* some launcher's variables are there */
    const char *rank_variable;      /* which one gave the rank, NULL = none */
    uint32_t
        world; /* 1: first MPI world of the job; n: n-th, by MPI_Comm_spawn (Open MPI); 0 unknown */
    uint32_t pid, parent_pid, uid;
    uint64_t pid_start_time; /* clock ticks since boot, field 22 of /proc/PID/stat */
    char host[65];
    char boot_id[40];
    char job[128];    /* safe as part of a file name */
    char program[64]; /* base name of the executable */
    char executable[PATH_MAX];
};

/* Fill *id from the environment and /proc. run_id: REGTRACE_RUN or "". Uses open/read only. */
void identity_read(struct identity *id, char *const *envp, const char *run_id);

/* One voice a node: the local rank 0, or a process that no launcher started. */
bool identity_speaks(const struct identity *id);

/* A process that is about to end unheard gives the one that speaks time to be heard: launchers end a job at its first
 * failed process, and that one must not be silent. Returns at once in the one that speaks. */
void identity_let_speak(const struct identity *id);

/* Of /proc/PID/stat (proc(5)). */
struct process_stat {
    char name[64];
    char state; /* Z and X: dead, or only its main thread is (threads > 1) */
    uint32_t parent;
    unsigned long threads;
    uint64_t start_time; /* clock ticks since boot */
};

/* False where there is no such process, or /proc does not tell. */
bool identity_look(uint32_t pid, struct process_stat *out);

/* Start time of a process, 0 when it is gone (or dead and not yet waited for). */
uint64_t identity_start_time(uint32_t pid);

/* What follows the last slash; all of a path without one. */
const char *identity_base_name(const char *path);

/* "regtrace-PROGRAM-JOB", the folder's name where none was asked for. */
void identity_folder_name(const struct identity *id, char out[256]);

/* Checks that the process can later append lines to the file of -controller-log. Does not create
 * the file, because a process that logs nothing leaves no file. The path may lie in `run`, the
 * folder of the run, before that folder exists. Returns 0, or -errno with the reason. */
RT_MUST_CHECK int folder_check_log(const char *path, const char *run, struct rt_error *e);

/* The folder of the run: `wanted`, or regtrace-PROGRAM-JOB; an existing folder of another job gets -2, -3 ... .
 * Created (with its .regtrace subfolder, which names the job) if needed, atomically, so that all ranks of a job agree. The absolute
 * path goes to out[PATH_MAX]. -errno with the reason: read-only folder, no permission, name in use by a file. */
RT_MUST_CHECK int identity_make_folder(const struct identity *id, const char *wanted, char *out,
                                       struct rt_error *e);

/* Was this folder created for this job? */
bool identity_folder_is_of(const char *path, const char *job);

/* getenv over an envp. NULL if not there. */
const char *identity_env(char *const *envp, const char *name);

#endif
