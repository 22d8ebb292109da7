/* SPDX-License-Identifier: BSD-3-Clause
 * Running a compiled skeleton over a recorded stream (isa/memory/replay/stream.h): all accesses, in the order of execution. */
#ifndef REGTRACE_ISA_MEMORY_REPLAY_REPLAY_H
#define REGTRACE_ISA_MEMORY_REPLAY_REPLAY_H

#include "base/format/accesses.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* As skeletons are compiled with it: isa/memory/source/prelude.c has it as struct skeleton_access. */
typedef struct accesses_record replay_access;

struct skeleton {
    const uint8_t *in, *in_end;
    replay_access *out, *out_end;
    unsigned long long image, fs,
        gs; /* where the image of what is entered is loaded; the thread's segment bases */
    int (*call)(struct skeleton *s); /* runs what is called; not 0: the recording ends there */
    void (*more)(struct skeleton *s,
                 unsigned bytes);    /* so many are not there; does not return if they never come */
    int (*turn)(struct skeleton *s); /* all input is used up; not 0: for ever */
    void (*flush)(struct skeleton *s); /* there is no room for another access */
    unsigned long long values,
        outcomes; /* read so far, where they are compiled with SKELETON_COUNTS */
    void *host;
    unsigned long long entered, stack; /* direct calls, and jumps: how many; where the last leads */
    int (*left)(struct skeleton *s, unsigned long long stack);
    unsigned long long lowest;        /* that the stack may go */
    void (*deep)(struct skeleton *s); /* it does; does not return */
    unsigned long long passed[16];    /* registers that such a jump hands over */
    void (*lost)(struct skeleton *s, unsigned long long pc); /* the jump there; does not return */
};

struct skeleton_function {
    unsigned long long address;
    int (*run)(struct skeleton *s);
    const char *name;
    unsigned number, image;
};

/* What a recording enters by its number; without `run` where it was not compiled. */
struct replay_function {
    int (*run)(struct skeleton *s);
    uint64_t image;
};

/* What a replay makes, a piece at a time. Not 0: that errno, and no more comes. */
typedef int (*replay_sink)(void *context, const replay_access *list, uint64_t count);
/* The next bytes of the stream, at most `room`, at least one: *got; 0: there are none, ever. 0, or -errno with the text. */
typedef int (*replay_source)(void *context, uint8_t *to, size_t room, size_t *got,
                             struct rt_error *e);

struct replay {
    struct replay_function *functions; /* by number; replay_load()'s */
    uint32_t function_count;
    uint64_t fs, gs;
    bool cut; /* it may end anywhere, amid a value too: asked when it has ended */
    replay_source source;
    replay_sink sink;
    void *source_context, *sink_context;
    /* A function that was not compiled is entered: loads it, or -errno with the text. NULL: it is an error. */
    int (*missing)(void *context, struct replay *r, uint32_t number, struct rt_error *e);
    uint64_t accesses, entered;            /* done */
    uint64_t missing_count, missing_first; /* TOKEN_MISSING: how many, and the place of the first */
    uint64_t values, outcomes;             /* read, if skeletons count them */
};

/* 0, or -errno with the text: the stream is damaged (-EINVAL), or what the sink or the source said. Runs on the thread's stack, whose
 * calls may be nested as deeply as the program's were. */
RT_MUST_CHECK int replay_run(struct replay *r, struct rt_error *e);
/* A skeleton that was compiled to a shared object; it stays loaded. NULL, with the text. */
void *replay_library(const char *path, struct rt_error *e);
/* Its functions, in no order; there may be none. 0, or -EINVAL with the text: it is no skeleton. */
RT_MUST_CHECK int replay_functions(void *library, const char *path,
                                   const struct skeleton_function **list, unsigned *count,
                                   struct rt_error *e);
/* Such a skeleton, whose first function has that number; it stays loaded. images[n] is where its image n is
 * loaded, of so many. */
RT_MUST_CHECK int replay_load(struct replay *r, const char *path, uint32_t first,
                              const uint64_t *images, uint32_t image_count, struct rt_error *e);

#endif
