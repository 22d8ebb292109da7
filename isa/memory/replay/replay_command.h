/* SPDX-License-Identifier: BSD-3-Clause
 * Replays with compiled skeletons: parses the options of `regtrace-isa skel` for a replay, and runs
 * it. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_REPLAY_COMMAND_H
#define REGTRACE_ISA_MEMORY_REPLAY_REPLAY_COMMAND_H

#include "isa/memory/replay/replay_recording.h"

#include <getopt.h>

struct replay_command {
    const char *stream, *recording; /* one of them is set */
    uint64_t base;                  /* load address of the stream's image */
    struct recording_skeletons skeletons;
    struct recording_options options;
    const char *format, *lock;
    unsigned program; /* number among the programs that the process has executed */
    int code;         /* enum accesses_exit */
};

/* Options for getopt_long(). */
#define PLAY_OPTIONS                                                                               \
    {"replay", required_argument, NULL, 'r'}, {"base", required_argument, NULL, 'b'},              \
        {"recording", required_argument, NULL, 'R'}, {"first", required_argument, NULL, 'w'},      \
        {"last", required_argument, NULL, 'W'}, {"format", required_argument, NULL, 'F'},          \
        {"late", required_argument, NULL, 'L'}, {"follow", required_argument, NULL, 'O'},          \
        {"from", required_argument, NULL, 'A'}, {"lock", required_argument, NULL, 'x'},            \
    {                                                                                              \
        "program", required_argument, NULL, 'N'                                                    \
    }

#define PLAY_USAGE                                                                                 \
    "       regtrace-isa skel --replay STREAM [--base ADDRESS] SKELETON\n"                         \
    "       regtrace-isa skel --recording FILE [--first N] [--last N] [--format "                  \
    "text|lackey|count|binary] [--program N]\n"                                                    \
    "                     [--follow DESCRIPTOR [--from OFFSET] --lock FILE] [--late SKELETON] "    \
    "SKELETON...\n"

/* Takes an option of this part. Returns false if it is none. */
bool replay_command_take_option(struct replay_command *p, int option, const char *value);
/* Returns whether the command line asks for a replay. */
bool replay_command_is_meant(const struct replay_command *p);
/* Runs it; a function for in_thread(). `argument` is the struct replay_command. */
void *replay_command_run(void *argument);

#endif
