/* SPDX-License-Identifier: BSD-3-Clause
 * The state of the process, which all parts of preload/ share. */
#ifndef REGTRACE_PRELOAD_PROCESS_H
#define REGTRACE_PRELOAD_PROCESS_H

#include "base/identity.h"
#include "base/options.h"
#include "base/format/recorder.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Marks interposed functions. Everything else in the object is hidden. */
#define PRELOAD_EXPORT __attribute__((visibility("default")))

struct ctl_config;
struct ctl_shared;

/* The state of the process. The constructor, forked children and MPI's hooks write it. */
struct process {
    /* The constructor is over: a thread that is first seen now has already executed code of the
     * program. */
    bool activated;
    bool traced; /* false: every wrapper passes straight through, for good */
    bool writer_started;
    bool links_mpi;
    bool child;   /* a traced process forked or started this one */
    bool follow;  /* REGTRACE_FOLLOW */
    uint32_t pid; /* pid that owns this state; a different getpid() means an unseen fork */
    const struct pmu_backend *pmu; /* instruction counter; NULL: none */
    int internal_signal;           /* interrupts our own threads; 0: none is reserved */
    struct identity id;
    struct options options;
    char dir[PATH_MAX]; /* "": no folder yet */
    /* Absolute, from the start of the program, which may change its working directory later. */
    char wanted_dir[PATH_MAX];
    char parent_dir[PATH_MAX]; /* REGTRACE_PARENT at the start, or "" */
    char stream_path[PATH_MAX];
    struct ctl_config *config;
    struct ctl_shared *shared;
    _Atomic bool forced; /* a named call asked for recording although no chain does */
};
extern struct process process;

#endif
