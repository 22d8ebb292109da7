/* SPDX-License-Identifier: BSD-3-Clause
 * regtrace-skel with compiled skeletons: what of the command line is for that, and doing it. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_PLAY_H
#define REGTRACE_ISA_MEMORY_REPLAY_PLAY_H

#include "isa/memory/replay/recording.h"

#include <getopt.h>

struct play {
    const char *stream, *recording, *shapes; /* one of them */
    uint64_t base;                           /* of the stream's image */
    struct recording_skeletons skeletons;
    struct recording_wishes wishes;
    const char *format, *lock;
    unsigned program; /* of those that the process has been */
    int code;         /* enum accesses_exit */
};

/* For getopt_long(). */
#define PLAY_OPTIONS                                                                               \
    {"replay", required_argument, NULL, 'r'}, {"base", required_argument, NULL, 'b'},              \
        {"recording", required_argument, NULL, 'R'}, {"first", required_argument, NULL, 'w'},      \
        {"last", required_argument, NULL, 'W'}, {"format", required_argument, NULL, 'F'},          \
        {"late", required_argument, NULL, 'L'}, {"follow", required_argument, NULL, 'O'},          \
        {"from", required_argument, NULL, 'A'}, {"lock", required_argument, NULL, 'x'},            \
        {"program", required_argument, NULL, 'N'},                                                 \
    {                                                                                              \
        "shapes", required_argument, NULL, 'H'                                                     \
    }

#define PLAY_USAGE                                                                                 \
    "       regtrace-skel --replay STREAM [--base ADDRESS] SKELETON\n"                             \
    "       regtrace-skel --recording FILE [--first N] [--last N] [--format "                      \
    "text|lackey|count|binary] [--program N]\n"                                                    \
    "                     [--follow DESCRIPTOR [--from OFFSET] --lock FILE] [--late SKELETON] "    \
    "SKELETON...\n"                                                                                \
    "       regtrace-skel --shapes SKELETON\n"

/* Takes one of them; false: it is another's, or wrong. */
bool play_take(struct play *p, int option, const char *value);
/* Is any of it to be done? */
bool play_is_meant(const struct play *p);
/* For in_thread(): `argument` is the struct play. */
void *play_all(void *argument);

#endif
