/* SPDX-License-Identifier: BSD-3-Clause
 * A library to preload before libregtrace: logs the messages of a program that is not ours, and
 * opens and closes windows at random moments (MPI_Pcontrol), on each rank by itself. Main threads
 * only. call_log.c has the log, logged_calls.c and logged_fortran.c the logged functions.
 *
 * CALL_LOG: folder of the logs, log.RANK. CALL_LOG_SEED: where windows open and close.
 *
 * Lines, in the order of the calls: ID numbers sends and receives of all ranks, COMM is the same
 * text on all ranks of a communicator, ranks are those of MPI_COMM_WORLD, WINDOW is 1 in a window.
 *   send ID COMM FROM TO TAG WINDOW        receive ID COMM TO
 *   done ID FROM TAG WINDOW                cancelled ID
 * A receive is logged when it is posted, or when a probe has found its message; `done` comes when
 * its call, wait or test returns. Mark 1 numbers sends in the recording. */
#ifndef REGTRACE_T_TOOLS_MESSAGES_CALL_LOG_H
#define REGTRACE_T_TOOLS_MESSAGES_CALL_LOG_H

#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_HIDDEN __attribute__((visibility("hidden")))

/* The next definition of a function: libregtrace's. */
#define NEXT(name)                                                                                 \
    ({                                                                                             \
        static __typeof__(name) *next_;                                                            \
        if (next_ == NULL)                                                                         \
            next_ = (__typeof__(name) *)dlsym(RTLD_NEXT, #name);                                   \
        next_;                                                                                     \
    })

/* Is a logged call open? Calls within it are those of the MPI library. */
extern LOG_HIDDEN int log_inside;
/* Begins a logged call: a window may open or close here. Returns false if the call comes from the
 * MPI library: pass it on by a jump, so that its return address stays in that library. */
LOG_HIDDEN bool log_enter(void);

/* A request, by its C handle or its Fortran number. */
struct request {
    uint64_t key;
    long id; /* of the active receive or send; 0: inactive */
    bool receives, persistent, used;
    MPI_Comm comm;
    int peer, tag;
};
#define C_KEY(request) ((uint64_t)(uintptr_t)(request))
#define FORTRAN_KEY(number) (UINT64_C(1) << 60 | (uint32_t)(number))
LOG_HIDDEN struct request *log_find(uint64_t key); /* NULL: there is none */
LOG_HIDDEN void log_keep(uint64_t key, struct request r);

/* These log a send or the posting of a receive. They return its ID; 0: there is no such rank. */
LOG_HIDDEN long log_send(MPI_Comm comm, int to, int tag);
LOG_HIDDEN long log_receive(MPI_Comm comm, int from);
/* Logs what a receive has got, or that it was cancelled. */
LOG_HIDDEN void log_done(long id, MPI_Comm comm, const MPI_Status *s);
/* The same for a receive from a known source, whose status the caller does not know. */
LOG_HIDDEN void log_done_known(long id, MPI_Comm comm, int from, int tag);
/* A wait or test has completed this request. s: NULL if the status is not known. */
LOG_HIDDEN void log_completed(uint64_t key, const MPI_Status *s);
/* The program has made `comm`; `like` has the same groups and may be asked. */
LOG_HIDDEN void log_comm(MPI_Comm comm, MPI_Comm like);

#endif
