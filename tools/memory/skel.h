/* SPDX-License-Identifier: BSD-3-Clause
 * `regtrace skel`: what its files share. */
#ifndef REGTRACE_TOOLS_MEMORY_SKEL_H
#define REGTRACE_TOOLS_MEMORY_SKEL_H

#include "tools/memory/compile/skel_build.h"
#include "tools/tools.h"

enum skel_action { SKEL_NONE, SKEL_ANALYZE, SKEL_SOURCE, SKEL_REPLAY, SKEL_STATS, SKEL_ACTIONS };
/* As they are called. */
extern const char *const skel_actions[SKEL_ACTIONS];

struct skel_wishes {
    enum skel_action action;
    unsigned given; /* options, as bits: skel_options.c */
    const char *path, *function, *plan, *format;
    struct rank_list ranks;
    struct window_span windows;
    int64_t thread; /* -1: all */
    uint64_t jobs;  /* 0: as many as there are processors for this process */
    const char *output;
    uint64_t compress;
    uint64_t line_bytes, page_bytes; /* of stats: powers of two */
    bool dot, summary, force, follow;
};

/* --- skel_options.c ----------------------------------------------------------------------------------------------- */

/* An option of the command. TOOL_OK, or a message and TOOL_USAGE. */
int skel_take_option(struct skel_wishes *w, const struct arguments *a);
/* Do the options that were given go with the action, and with each other? Likewise. */
int skel_check_options(const struct skel_wishes *w);
/* How many recordings are replayed at once, of `most`. */
size_t skel_jobs(const struct skel_wishes *w, size_t most);

/* --- the recordings of a run: skel_folder.c ----------------------------------------------------------------------- */

/* A program that a process has been, and recorded. */
struct skel_born {
    uint32_t pid;
    uint64_t born; /* later ones have more */
};

struct skel_folder {
    const struct skel_wishes *wishes;
    char program[PATH_MAX], folder[PATH_MAX]; /* regtrace-skel; where recordings are */
    struct skel_recording **list; /* those found at once by rank, process, program of it, thread */
    size_t count;
    struct skel_born *born; /* of all recordings that have been seen */
    size_t born_count;
    struct skel_builds builds;
    bool is_open;
    int slot; /* of the builds' folder: output_note() */
};

/* Where regtrace-skel is. False, and a message. */
bool skel_program(char program[PATH_MAX]);
/* Without recordings yet. TOOL_OK, or a message and TOOL_FAILURE; to be closed in any case. */
int skel_folder_open(struct skel_folder *f, const struct skel_wishes *w);
/* Recordings that are wished for and not in the list yet go behind it. grows: the program still runs, so that some are not ready. TOOL_OK; or
 * TOOL_FAILURE and a message: some are damaged. */
int skel_folder_look(struct skel_folder *f, bool grows);
/* After all replays: had any of them something to replay? */
bool skel_folder_had_some(const struct skel_folder *f);
/* Why there are none, or why none had something: a message. TOOL_FAILURE. */
int skel_folder_lacks(const struct skel_folder *f);
/* The head as it is now; false: it is damaged, and as it was. */
bool skel_recording_refresh(struct skel_recording *r);
void skel_folder_close(struct skel_folder *f);

/* --- skel_run.c ----------------------------------------------------------------------------------------------------- */

/* Why programs did not do what they were to. */
struct skel_ended {
    bool lacks; /* one cannot be run at all */
    bool full;  /* they say that a device has no space left */
    bool said;  /* there is no more to say: a message has been */
};
/* Where that device is. */
#define SKEL_TMPDIR " (the variable TMPDIR names another folder for temporary files)"
/* Runs a program, its first word, to its end. folder: for its temporary files, noted by output_note(). False: it has failed; what it says has been
 * passed on. */
bool skel_run(const char *const *words, const char *folder, struct skel_ended *ended);
/* Several, so many at once; the first that fails is the last that is started. */
bool skel_run_all(const char *const *const *list, size_t count, size_t jobs, const char *folder,
                  struct skel_ended *ended);
/* What a program writes. */
struct skel_reader {
    FILE *file; /* NULL: nothing */
    int pid;
};
/* False, and a message; skel_read_end() in any case: its exit status, -1 where it did not end by itself. */
bool skel_read_begin(struct skel_reader *r, const char *const *words);
int skel_read_end(struct skel_reader *r);

/* --- what can be done with them ----------------------------------------------------------------------------------- */

/* The accesses of a run. The command's exit code. */
int skel_replay(const struct skel_wishes *w);
/* What they are like, to standard output. Likewise. */
int skel_stats(const struct skel_wishes *w);
/* As HDF5 to the file that is wished for. TOOL_OK, or a message and TOOL_FAILURE. */
int skel_hdf5(struct skel_folder *f);
/* To standard output, in the order of the folder, as text or records. enum accesses_exit. */
int skel_ordered(struct skel_folder *f);
/* Bytes to standard output. enum accesses_exit; why it cannot be written has been said. */
int skel_put(const void *bytes, size_t n);

#endif
