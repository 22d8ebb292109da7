/* SPDX-License-Identifier: BSD-3-Clause
 * Declarations that the files of `regtrace skel` share: options, a run's recordings, child
 * processes. */
#ifndef REGTRACE_TOOLS_MEMORY_SKEL_COMMAND_H
#define REGTRACE_TOOLS_MEMORY_SKEL_COMMAND_H

#include "tools/memory/compile/skel_build.h"
#include "tools/tools.h"

enum skel_action { SKEL_NONE, SKEL_ANALYZE, SKEL_SOURCE, SKEL_REPLAY, SKEL_STATS, SKEL_ACTIONS };
/* names on the command line */
extern const char *const skel_actions[SKEL_ACTIONS];

struct skel_options {
    enum skel_action action;
    unsigned given; /* options given, as bits: skel_options.c */
    const char *path, *function, *plan, *format;
    struct rank_list ranks;
    struct window_span windows;
    int64_t thread; /* -1: all */
    uint64_t jobs;  /* 0: as many as this process may use processors */
    const char *output;
    uint64_t compress;
    uint64_t line_bytes, page_bytes; /* of stats; powers of two */
    bool dot, summary, force, follow;
};

/* --- skel_options.c --------------------------------------------------------------------------- */

/* Takes one option of the command into *w. Returns TOOL_OK, or prints a message and returns
 * TOOL_USAGE. */
int skel_take_option(struct skel_options *o, const struct arguments *a);
/* Checks that the given options fit the action and each other. Returns TOOL_OK, or prints a message
 * and returns TOOL_USAGE. */
int skel_check_options(const struct skel_options *o);
/* Returns how many recordings to replay at once: -jobs or the number of processors, at most
 * `most`. */
size_t skel_jobs(const struct skel_options *o, size_t most);

/* --- recordings of a run: skel_folder.c ------------------------------------------------------- */

/* One of the programs that a process executed one after another, by exec, and that has
 * recordings. */
struct skel_born {
    uint32_t pid;
    uint64_t born; /* greater for later programs of the process */
};

struct skel_folder {
    const struct skel_options *options;
    char program[PATH_MAX], folder[PATH_MAX]; /* path of regtrace-isa; folder of the recordings */
    /* Each call of skel_folder_look() appends its recordings, sorted by rank, process, program and
     * thread. */
    struct skel_recording **list;
    size_t count;
    struct skel_born *born; /* programs of all recordings seen, selected or not */
    size_t born_count;
    struct skel_builds builds;
    bool is_open;
    int slot; /* slot of the builds' folder: output_note() */
};

/* Finds regtrace-isa. Returns false, and prints a message, if it is not installed. */
bool skel_program(char program[PATH_MAX]);
/* Opens the recordings' folder, with an empty list. Returns TOOL_OK, or prints a message and
 * returns TOOL_FAILURE. The caller calls skel_folder_close() in any case. */
int skel_folder_open(struct skel_folder *f, const struct skel_options *o);
/* Appends the selected recordings that are not in the list yet. grows: the program still runs;
 * skips recordings that are not ready, and a later call finds them. Returns TOOL_OK, or prints a
 * message and returns TOOL_FAILURE if some are damaged. */
int skel_folder_look(struct skel_folder *f, bool grows);
/* After all replays: returns whether any recording had something to replay. */
bool skel_folder_had_some(const struct skel_folder *f);
/* Prints why there are no recordings, or why none had something to replay. Returns TOOL_FAILURE. */
int skel_folder_lacks(const struct skel_folder *f);
/* Reads the head of a recording again. Returns false if it is damaged; r->head then stays
 * unchanged. */
bool skel_recording_refresh(struct skel_recording *r);
void skel_folder_close(struct skel_folder *f);

/* --- run_compilers.c -------------------------------------------------------------------------- */

/* Why programs failed. */
struct skel_ended {
    bool lacks; /* a program could not be executed */
    bool full;  /* their messages say that a device has no space left */
    bool said;  /* a message was printed; print no other */
};
/* Appended to messages about a full device. */
#define SKEL_TMPDIR " (the variable TMPDIR names another folder for temporary files)"
/* Runs the program words[0] and waits for it. folder: for its temporary files; output_note() has
 * noted it. Returns false, and passes on what the program wrote to stderr, if it failed. */
bool skel_run(const char *const *words, const char *folder, struct skel_ended *ended);
/* Runs several programs, at most `jobs` at once. Starts no further one after the first failure. */
bool skel_run_all(const char *const *const *list, size_t count, size_t jobs, const char *folder,
                  struct skel_ended *ended);
/* --- actions on recordings -------------------------------------------------------------------- */

/* Writes the accesses of a run. Returns the exit code of the command. */
int skel_replay(const struct skel_options *o);
/* Writes statistics of a run's accesses to standard output. Returns the exit code of the
 * command. */
int skel_stats(const struct skel_options *o);
/* Writes all accesses to the HDF5 file that -output names. Returns TOOL_OK, or prints a message and
 * returns TOOL_FAILURE. */
int skel_hdf5(struct skel_folder *f);
/* Writes all accesses to standard output, in the order of f->list, as text or records. Returns enum
 * accesses_exit. */
int skel_ordered(struct skel_folder *f);
/* Writes bytes to standard output. Returns enum accesses_exit; prints a message on
 * ACCESSES_UNWRITTEN. */
int skel_put(const void *bytes, size_t n);

#endif
