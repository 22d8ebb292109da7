/* SPDX-License-Identifier: BSD-3-Clause
 * The life of the process: constructor.c, start.c, finish.c, fork.c, new_program.c, and what they
 * need: parent.c, writer_start.c, metadata.c, mpi_glue.c, plumbing.c.
 *
 * Order of a life: the constructor, process_ensure_started(), threads begin and end,
 * process_finish(). fork, exec and _exit pass through the functions below. Nothing here allocates
 * memory after the constructor. */
#ifndef REGTRACE_PRELOAD_LIFE_H
#define REGTRACE_PRELOAD_LIFE_H

#include "base/identity.h"
#include "preload/thread.h"

#include <limits.h>
#include <sys/types.h>

/* --- constructor.c ---------------------------------------------------------------------------- */

/* process_is_idle(): the run has no chain, no default start, no count and no samples between
 * windows, so only named calls of our interface can start a recording. process_is_idle_now(): and
 * none of these has done so. */
bool process_is_idle(void);
bool process_is_one_window(void); /* the run has no chain and is recorded as a whole */
bool process_is_idle_now(void);
/* Ends the idle state, because something is to be recorded after all. */
void process_force(void);

/* Must the writer start in the constructor, because MPI is linked or an alarm needs no MPI? */
bool process_wants_early_start(void);
bool process_links_mpi(void);

/* Returns warning i about the chains, or NULL after the last one. process_warn() adds a warning in
 * the constructor, and prints it at once. */
const char *process_chain_warning(unsigned i);
void process_warn(const char *text);

/* --- start.c, parent.c ------------------------------------------------------------------------ */

/* Makes the stream and starts the writer, if that has not been done. Call it when there is
 * something to record, not earlier. Returns true if recording is on. */
bool process_ensure_started(void);

/* The state of the start. Threads wait on process_start_state by futex(2). */
enum start_state {
    START_UNTRIED,
    START_RUNS, /* a thread makes the stream */
    START_DONE, /* the process records */
    START_OVER  /* the start has failed, or the recording has ended: nothing more is recorded */
};
extern _Atomic uint32_t process_start_state;

/* Finds the folder of the nearest traced ancestor that records on this node. Returns false if there
 * is none. Uses some 16 KiB of stack. */
bool process_ancestor_folder(char out[PATH_MAX]);
/* Has a traced program started this one? */
bool process_is_child(void);

/* --- finish.c --------------------------------------------------------------------------------- */

/* Ends the recording normally: closes the calling thread's window, marks the stream and, with
 * `wait`, waits for the writer up to REGTRACE_EXIT_WAIT. reason: of EV_WINDOW_CLOSE. Idempotent.
 * Called by the destructor and at _exit() and quick_exit(). */
void process_finish(unsigned reason, bool wait);

/* Call it if the calling thread ends, and with the last thread its process, in a way that runs no
 * exit handler. */
void process_thread_ends(void);

/* --- fork.c, new_program.c -------------------------------------------------------------------- */

/* Call these in the parent before and after fork, and in the child. Signals are blocked in
 * between. */
void process_before_fork(void);
void process_after_fork_parent(pid_t child);
void process_after_fork_child(void);
/* Does the same, belatedly, in a child of a system call that no wrapper has seen
 * (recorder_was_forked()). */
void process_fork_unseen(void);

/* In a child that has its own stream now: copies the names of the regions that were open at the
 * fork. */
void process_adopt_regions(struct preload_thread *pt);

/* Call it before exec in the process that will be replaced (not in children of vfork): closes the
 * windows and marks the stream STREAM_EXECED. After a failed exec process_exec_failed() reverts
 * that. */
void process_before_exec(const char *path);
void process_exec_failed(void);
/* Returns the variables that a traced child program must get in addition to the caller's envp, as a
 * NULL-terminated list of "NAME=value" texts (REGTRACE_PARENT=<folder>). The list is empty while
 * this process has no folder. Valid until the next call. */
const char *const *process_child_environment(void);

/* --- writer_start.c --------------------------------------------------------------------------- */

/* Starts the writer unless it runs already. Not for signal handlers. Idempotent. Returns false,
 * with a line in the log, if it cannot. */
bool process_start_writer(void);
/* Finds the writer program. The constructor calls it, because dladdr() takes the loader's lock.
 * Returns 0, or -errno with the reason and the remedy. */
int process_find_writer(struct rt_error *e) RT_MUST_CHECK;
/* Finds a program of the toolkit by its name, beside the library or where the toolkit is installed.
 * Returns false if it is missing; *path is then where it should be. */
bool process_find_program(const char *name, char path[PATH_MAX]);
/* At the end of the program: waits until the writer has closed the file, the writer is gone, or
 * REGTRACE_EXIT_WAIT is over. */
void process_wait_for_writer(void);
bool writer_is_alive(void);
/* Writes "; limits: ..." if a limit of this process may be too low for a writer, else "". */
void writer_limits(char *text, size_t room);

/* --- metadata.c ------------------------------------------------------------------------------- */

/* Writes identity, options, chains and alarms as key=value text for the writer. */
void metadata_write(const struct stream *s);
uint32_t metadata_room(void); /* bytes of the stream's metadata area */
/* At the end of the process: does the stream hold nothing but the edges of a default window, so
 * that no file is to be left? */
bool process_nothing_recorded(void);

/* --- mpi_glue.c ------------------------------------------------------------------------------- */

void process_install_mpi_hooks(void);
/* MPI may be initialized before there is a stream. These functions put what MPI reported into the
 * header of a new stream, and into the events of its first thread. */
void mpi_glue_fill(struct stream_header *h);
void mpi_glue_tell(struct recorder_thread *t);

/* --- plumbing.c ------------------------------------------------------------------------------- */

/* Is this program one that is not traced: a shell, a launcher, or a program of the system that
 * starts other programs? plumbing_note() writes a note about a program of the last kind to the log
 * of the run, once for each program, if the folder of the run exists. Callers run before main. */
bool plumbing_is(const struct identity *id);
/* The same by a process's name alone, whatever it is linked with. */
bool plumbing_is_name(const char *name);
void plumbing_note(const struct identity *id);

#endif
